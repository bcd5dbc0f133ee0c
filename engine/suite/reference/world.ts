/** The records of the reference model: rows as plain values in memory, and what changed between two states of them. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Field, JoinTable, Model, RecordType, Reference } from '../../model/model.ts';
import { reference, referenceName } from '../bindings.ts';

/** The name of a variable (`Order:1`), or the number where the client chose it. */
export type Id = string | number;

/** Never changed in place: a row that is written is a new object. */
export interface Row {
  readonly id: Id;
  readonly values: ReadonlyMap<Field, JsonValue>;
  readonly links: ReadonlyMap<Reference, Id>;
  readonly open: JsonObject;
}

export interface World {
  readonly rows: Map<RecordType, Map<Id, Row>>;
  /** For each join table its rows: left and right. */
  readonly joins: Map<JoinTable, readonly (readonly [Id, Id])[]>;
  /** How many identifiers were given out. */
  readonly given: { count: number };
  /** What identifiers are ordered by; where it is not known yet, by when they were given out. */
  readonly rank: (id: Id) => number;
}

export const rankByCreation = (id: Id): number =>
  typeof id === 'number' ? id : Number(id.slice(id.lastIndexOf(':') + 1));

export function createWorld(model: Model, rank: (id: Id) => number = rankByCreation): World {
  const rows = new Map([...model.types.values()].map((type) => [type, new Map<Id, Row>()]));
  const joins = new Map(model.joinTables.map((table) => [table, []]));
  return { rows, joins, given: { count: 0 }, rank };
}

/** Writes work on a copy, so that a refused one leaves no trace. */
export function copyWorld(world: World): World {
  const rows = new Map([...world.rows].map(([type, records]) => [type, new Map(records)]));
  return { ...world, rows, joins: new Map(world.joins) };
}

/** Takes over what a copy holds. */
export function replaceWorld(world: World, copy: World): void {
  for (const [type, records] of copy.rows) world.rows.set(type, records);
  for (const [table, pairs] of copy.joins) world.joins.set(table, pairs);
}

export function rowsOf(world: World, type: RecordType): Map<Id, Row> {
  const rows = world.rows.get(type);
  if (rows === undefined) throw new Error(`${type.name} is not a type of this model`);
  return rows;
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
    isDeepStrictEqual(before.open, after.open)
  );
}

function sameRows(before: ReadonlyMap<Id, Row>, after: ReadonlyMap<Id, Row>): boolean {
  return before.size === after.size && [...after].every(([id, row]) => sameRow(before.get(id), row));
}

function samePairs(before: readonly (readonly [Id, Id])[], after: readonly (readonly [Id, Id])[]): boolean {
  const known = new Set(before.map((pair) => JSON.stringify(pair)));
  return known.size === after.length && after.every((pair) => known.has(JSON.stringify(pair)));
}

/** The tables whose rows differ. */
export function changedTables(before: World, after: World): string[] {
  const none: ReadonlyMap<Id, Row> = new Map();
  const types = [...after.rows].filter(([type, rows]) => !sameRows(before.rows.get(type) ?? none, rows));
  const joins = [...after.joins].filter(([table, pairs]) => !samePairs(before.joins.get(table) ?? [], pairs));
  return [...types.map(([type]) => type.table), ...joins.map(([table]) => table.name)].toSorted();
}
