/** The records that the oracle keeps in memory: rows, how they are connected, and what differs between two states. */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, type JsonValue } from '../../engine/json/json.ts';
import {
  type Field,
  type JoinTable,
  type RecordType,
  type Reference,
  type Relation,
  uniqueIndexes,
} from '../../engine/model/model.ts';
import { reference, referenceName, timeNumber } from './template.ts';
import type { ExpectedProblem } from './case.ts';
import { refuse, Unreachable } from './refusal.ts';

/** The name of a variable (`Order:1`), or the number where the client chose it. Others that clients choose are names too: see `givenId`. */
export type Id = string | number;

/** Never changed in place: a row that is written is a new object. */
export interface RecordRow {
  readonly id: Id;
  readonly values: ReadonlyMap<Field, JsonValue>;
  readonly links: ReadonlyMap<Reference, Id>;
  /** The keys that no field names, in their order, each with what it holds. */
  readonly open: ReadonlyMap<string, JsonValue>;
}

type Pair = readonly [left: Id, right: Id];
type Rows = ReadonlyMap<Id, RecordRow>;

export interface World {
  /** Each map is replaced when a row of it changes, so that a copy of the world is cheap. */
  readonly rows: Map<RecordType, Rows>;
  readonly joins: Map<JoinTable, readonly Pair[]>;
  /** How many identifiers were given out. */
  readonly given: { count: number };
  /** How many requests had a time of their own. */
  readonly stamps: { count: number };
  /** What identifiers are ordered by; where it is not known yet, by when they were given out. */
  readonly rank: (id: Id) => number | bigint;
}

export const rankByCreation = (id: Id): number => (typeof id === 'number' ? id : Number(/\d+$/.exec(id)?.[0]));

export const createWorld = (rank: World['rank']): World => ({
  rows: new Map(),
  joins: new Map(),
  given: { count: 0 },
  stamps: { count: 0 },
  rank,
});

/** Requests work on a copy, so that a refused one leaves no trace. */
export const copyWorld = (world: World): World => ({
  ...world,
  rows: new Map(world.rows),
  joins: new Map(world.joins),
});

export function replaceWorld(world: World, copy: World): void {
  for (const [type, rows] of copy.rows) world.rows.set(type, rows);
  for (const [table, pairs] of copy.joins) world.joins.set(table, pairs);
}

const NO_ROWS: Rows = new Map();

export const rowsOf = (world: World, type: RecordType): Rows => world.rows.get(type) ?? NO_ROWS;

export const rowOf = (world: World, type: RecordType, id: Id | undefined): RecordRow | undefined =>
  id === undefined ? undefined : rowsOf(world, type).get(id);

export const putRow = (world: World, type: RecordType, row: RecordRow): void =>
  void world.rows.set(type, new Map(rowsOf(world, type)).set(row.id, row));

export const newId = (world: World, type: RecordType): Id =>
  `${type.name}:${type.identifier.kind.isCounted ? '' : 'made '}${(world.given.count += 1)}`;

/** What a client chooses, one for each number, in their order. */
export const givenId = ({ name, identifier: { kind, type } }: RecordType, number: number): Id =>
  kind.isCounted ? number : `${name}:${type.name} ${number}`;

export const idValue = (id: Id): JsonValue => (typeof id === 'string' ? reference(id) : id);

/** Whether a key of a body is the identifier. Where records do not show it, its name is a key like any other. */
export const isIdentifierKey = ({ identifier: { name, inRecord } }: RecordType, key: string): boolean =>
  inRecord && key === name;

export function idIn(body: JsonObject, type: RecordType): Id | undefined {
  if (!type.identifier.inRecord) return undefined;
  const value = body[type.identifier.name];
  return Number.isInteger(value) ? Number(value) : referenceName(value);
}

/** The two ends of a join row as the relation's source sees them. */
const oriented = (table: JoinTable, sourceColumn: string, [left, right]: Pair): Pair =>
  table.left.column === sourceColumn ? [left, right] : [right, left];

export function related(world: World, { link, target }: Relation, row: RecordRow): readonly RecordRow[] {
  if (link.at === 'source') return [rowOf(world, target, row.links.get(link.reference)) ?? []].flat();
  if (link.at === 'target')
    return [...rowsOf(world, target).values()].filter((child) => child.links.get(link.reference) === row.id);
  const pairs = (world.joins.get(link.table) ?? []).map((pair) => oriented(link.table, link.sourceColumn, pair));
  return pairs.filter(([source]) => source === row.id).flatMap(([, id]) => rowOf(world, target, id) ?? []);
}

/** Sets a foreign key of a row; undefined clears it. A row that has it already stays the same object. */
export function setLink(world: World, type: RecordType, id: Id, key: Reference, value: Id | undefined): void {
  const row = rowOf(world, type, id);
  if (row === undefined || row.links.get(key) === value) return;
  const links = new Map(row.links);
  if (value === undefined) links.delete(key);
  else links.set(key, value);
  putRow(world, type, { ...row, links });
}

export function setPair(world: World, { link }: Relation, source: Id, target: Id, present: boolean): void {
  if (link.at !== 'join') return;
  const pair = oriented(link.table, link.sourceColumn, [source, target]);
  const others = (world.joins.get(link.table) ?? []).filter((one) => one[0] !== pair[0] || one[1] !== pair[1]);
  world.joins.set(link.table, present ? [...others, pair] : others);
}

interface Address {
  readonly type: RecordType;
  readonly id: Id;
}

/** The foreign keys that point at a record, each with the row that holds it. */
const pointingAt = (world: World, { type, id }: Address) =>
  type.referrers.flatMap(({ type: child, reference: key }) =>
    [...rowsOf(world, child).values()].filter((row) => row.links.get(key) === id).map((row) => ({ child, key, row })),
  );

function removedWith(world: World, type: RecordType, ids: readonly Id[]): readonly Address[] {
  const removed = ids.map((id): Address => ({ type, id }));
  for (const one of removed)
    for (const { child, key, row } of pointingAt(world, one)) {
      const known = removed.some(({ type: of, id }) => of === child && id === row.id);
      if (key.onDelete === 'cascade' && !known) removed.push({ type: child, id: row.id });
    }
  return removed;
}

export const inTheWay = ({ name: type }: RecordType, ids: readonly Id[]): Pick<ExpectedProblem, 'records'> => ({
  records: ids.map((identifier) => ({ type, identifier })),
});

function unlinkFrom(world: World, { type, id }: Address, before: World): void {
  for (const { child, key, row } of pointingAt(world, { type, id })) {
    if (key.onDelete === 'restrict' && rowOf(before, child, row.id)?.links.get(key) === id)
      refuse('restrict-conflict', inTheWay(child, [row.id]), `${child.name} ${row.id} refers to ${type.name} ${id}`);
    setLink(world, child, row.id, key, undefined);
  }
  for (const [table, pairs] of world.joins) {
    const kept = pairs.filter(
      ([left, right]) => !(table.left.type === type && left === id) && !(table.right.type === type && right === id),
    );
    if (kept.length < pairs.length) world.joins.set(table, kept);
  }
}

/** Deletes records, and what follows from that: cascades, emptied keys, join rows. Links that are not in `before` come later. */
export function removeRows(world: World, type: RecordType, ids: readonly Id[], before = world): void {
  const removed = removedWith(world, type, ids);
  for (const one of removed) {
    const rows = new Map(rowsOf(world, one.type));
    rows.delete(one.id);
    world.rows.set(one.type, rows);
  }
  for (const one of removed) unlinkFrom(world, one, before);
}

/** How many rows go or lose a link when records are deleted, themselves included. */
export function rowsTouched(world: World, type: RecordType, ids: readonly Id[]): number {
  const removed = removedWith(world, type, ids);
  const pointing = removed.flatMap((one) => pointingAt(world, one)).filter(({ key }) => key.onDelete === 'setNull');
  const unlinked = new Set(pointing.flatMap(({ child, row }) => (isRemoved(child, row.id) ? [] : row)));
  function isRemoved(end: RecordType, one: Id): boolean {
    return removed.some((gone) => gone.type === end && gone.id === one);
  }
  const pairs = [...world.joins].flatMap(([table, all]) =>
    all.filter(([left, right]) => isRemoved(table.left.type, left) || isRemoved(table.right.type, right)),
  );
  return removed.length + unlinked.size + pairs.length;
}

export const isField = (member: Field | Relation): member is Field => !('link' in member);

/**
 * What a value is compared by where case is ignored: each character alone, since a sigma that ends a word has another lower
 * case. Samples have none of the few letters for which folding is something else.
 */
const withoutCase = (value: JsonValue): JsonValue =>
  typeof value === 'string'
    ? [...value.normalize()]
        .map((one) => one.toUpperCase().toLowerCase())
        .join('')
        .normalize()
    : value;

export const asCompared = ({ caseless }: Pick<Field, 'caseless'>, value: JsonValue): JsonValue =>
  caseless ? withoutCase(value) : value;

function sameMember(member: Field | Relation, a: RecordRow, b: RecordRow): boolean {
  if (!isField(member)) return member.link.at === 'source' && sameLink(member.link.reference, a, b);
  const [first, second] = [a.values.get(member) ?? null, b.values.get(member) ?? null];
  if (first === null || second === null) return false;
  if ((timeNumber(first) ?? timeNumber(second)) !== undefined && !isDeepStrictEqual(first, second))
    throw new Unreachable(`only the service knows whether "${member.name}" is the same`);
  return isDeepStrictEqual(first, second) || member.type.equal(asCompared(member, first), asCompared(member, second));
}

const sameLink = (key: Reference, a: RecordRow, b: RecordRow): boolean => {
  const id = a.links.get(key);
  return id !== undefined && id === b.links.get(key);
};

export function holderOf(
  world: World,
  type: RecordType,
  members: readonly (Field | Relation)[],
  body: JsonObject,
): Id | undefined {
  const values = members.flatMap((member) => (isField(member) ? [[member, body[member.name] ?? null] as const] : []));
  const links = members.flatMap((member) => {
    const value = body[member.name];
    if (isField(member) || member.link.at !== 'source' || !isObject(value)) return [];
    const id = idIn(value, member.target);
    return id === undefined ? [] : [[member.link.reference, id] as const];
  });
  const wanted = { id: '', values: new Map(values), links: new Map(links), open: new Map() };
  return [...rowsOf(world, type).values()].find((row) => members.every((one) => sameMember(one, row, wanted)))?.id;
}

/** What is told of a row that has what another row of its type must have alone. `placeOf`: where the body says so, if that is known. */
export function duplicateOf(
  world: World,
  type: RecordType,
  id: Id | undefined,
  placeOf?: (members: readonly (Field | Relation)[]) => string,
): Pick<ExpectedProblem, 'pointers' | 'records'> | undefined {
  const row = rowOf(world, type, id);
  if (row === undefined) return undefined;
  const others = [...rowsOf(world, type).values()].filter((other) => other.id !== id);
  const holders = uniqueIndexes(type).flatMap(({ members }) => {
    const holder = others.find((other) => members.every((member) => sameMember(member, row, other)));
    return holder ? [{ members, holder }] : [];
  });
  const isTaken = type.references.some((key) => key.unique && others.some((other) => sameLink(key, row, other)));
  if (holders.length === 0 && !isTaken) return undefined;
  // Two records that are equal in some values are equal in every set around them: that is not told again.
  const least = holders.filter(
    ({ members, holder }) =>
      !holders.some(
        (other) =>
          other.holder === holder &&
          other.members.length < members.length &&
          other.members.every((one) => members.includes(one)),
      ),
  );
  const places = placeOf && least.map(({ members }) => placeOf(members));
  const records = inTheWay(
    type,
    holders.map(({ holder }) => holder.id),
  );
  return { ...(places && { pointers: places }), ...records };
}

/** The same text, the same content: links in any order, open keys in theirs. */
const contentOf = ({ values, links, open }: RecordRow): string =>
  JSON.stringify([
    [...values].map(([{ name }, value]) => [name, value]),
    [...links].map(([{ column }, id]) => [column, id]).toSorted(),
    [...open],
  ]);

/** Most rows are the same object; one that was changed and changed back is not. */
export const sameRow = (before: RecordRow | undefined, after: RecordRow): boolean =>
  before === after || (before !== undefined && contentOf(before) === contentOf(after));

const sameRows = (before: Rows, after: Rows): boolean =>
  before === after || (before.size === after.size && [...after].every(([id, row]) => sameRow(before.get(id), row)));

const samePairs = (before: readonly Pair[], after: readonly Pair[]): boolean =>
  isDeepStrictEqual(before.map(String).toSorted(), after.map(String).toSorted());

export function changedTables(before: World, after: World): readonly string[] {
  const types = [...after.rows].filter(([type, rows]) => !sameRows(rowsOf(before, type), rows));
  const joins = [...after.joins].filter(([table, pairs]) => !samePairs(before.joins.get(table) ?? [], pairs));
  return [...types.map(([type]) => type.table), ...joins.map(([table]) => table.name)].toSorted();
}
