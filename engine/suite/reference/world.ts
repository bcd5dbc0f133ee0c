/** The records of the reference model: rows as plain values in memory, and what changed between two states of them. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Field, JoinTable, RecordType, Reference } from '../../model/model.ts';
import { reference, referenceName } from '../bindings.ts';

/** The name of a variable (`Order:1`), or the number where the client chose it. */
export type Id = string | number;

/** Never changed in place: a row that is written is a new object. */
export interface Row {
  readonly id: Id;
  readonly values: ReadonlyMap<Field, JsonValue>;
  readonly links: ReadonlyMap<Reference, Id>;
  /** The keys that no field names, in their order, each with what it holds. */
  readonly open: ReadonlyMap<string, JsonValue>;
}

export interface World {
  /** Each map is replaced when a row of it changes, so that a copy of the world is cheap. */
  readonly rows: Map<RecordType, ReadonlyMap<Id, Row>>;
  /** For each join table its rows: left and right. */
  readonly joins: Map<JoinTable, readonly (readonly [Id, Id])[]>;
  /** How many identifiers were given out. */
  readonly given: { count: number };
  /** What identifiers are ordered by; where it is not known yet, by when they were given out. */
  readonly rank: (id: Id) => number;
}

export const rankByCreation = (id: Id): number =>
  typeof id === 'number' ? id : Number(id.slice(id.lastIndexOf(':') + 1));

export const createWorld = (rank: (id: Id) => number = rankByCreation): World => ({
  rows: new Map(),
  joins: new Map(),
  given: { count: 0 },
  rank,
});

/** Writes work on a copy, so that a refused one leaves no trace. */
export const copyWorld = (world: World): World => ({
  ...world,
  rows: new Map(world.rows),
  joins: new Map(world.joins),
});

/** Takes over what a copy holds. */
export function replaceWorld(world: World, copy: World): void {
  world.rows.clear();
  world.joins.clear();
  for (const [type, rows] of copy.rows) world.rows.set(type, rows);
  for (const [table, pairs] of copy.joins) world.joins.set(table, pairs);
}

const NO_ROWS: ReadonlyMap<Id, Row> = new Map();

export const rowsOf = (world: World, type: RecordType): ReadonlyMap<Id, Row> => world.rows.get(type) ?? NO_ROWS;

export function putRow(world: World, type: RecordType, row: Row): void {
  world.rows.set(type, new Map(rowsOf(world, type)).set(row.id, row));
}

export function deleteRow(world: World, type: RecordType, id: Id): void {
  const rows = new Map(rowsOf(world, type));
  rows.delete(id);
  world.rows.set(type, rows);
}

export const rowOf = (world: World, type: RecordType, id: Id): Row | undefined => rowsOf(world, type).get(id);

export const newId = (world: World, type: RecordType): Id => `${type.name}:${(world.given.count += 1)}`;

/** The identifier as bodies hold it. */
export const idValue = (id: Id): JsonValue => (typeof id === 'string' ? reference(id) : id);

/** The identifier that a body holds; undefined where it has none. */
export function idIn(body: JsonObject, type: RecordType): Id | undefined {
  const value = body[type.identifier.name];
  return typeof value === 'number' ? value : referenceName(value);
}

/** The keys are parts of the Model, which are compared as they are. */
const sameMap = <K>(before: ReadonlyMap<K, unknown>, after: ReadonlyMap<K, unknown>): boolean =>
  before.size === after.size && [...after].every(([key, value]) => isDeepStrictEqual(before.get(key), value));

/** Most rows are the same object; one that was changed and changed back is not. */
function sameRow(before: Row | undefined, after: Row): boolean {
  if (before === undefined || before === after) return before === after;
  return (
    sameMap(before.values, after.values) &&
    sameMap(before.links, after.links) &&
    isDeepStrictEqual([...before.open], [...after.open])
  );
}

function sameRows(before: ReadonlyMap<Id, Row>, after: ReadonlyMap<Id, Row>): boolean {
  if (before === after) return true;
  return before.size === after.size && [...after].every(([id, row]) => sameRow(before.get(id), row));
}

function samePairs(before: readonly (readonly [Id, Id])[], after: readonly (readonly [Id, Id])[]): boolean {
  const known = new Set(before.map((pair) => JSON.stringify(pair)));
  return known.size === after.length && after.every((pair) => known.has(JSON.stringify(pair)));
}

/** The tables whose rows differ. */
export function changedTables(before: World, after: World): string[] {
  const types = [...after.rows].filter(([type, rows]) => !sameRows(rowsOf(before, type), rows));
  const joins = [...after.joins].filter(([table, pairs]) => !samePairs(before.joins.get(table) ?? [], pairs));
  return [...types.map(([type]) => type.table), ...joins.map(([table]) => table.name)].toSorted();
}
