/**
 * Deletes a record and everything that its deletion deletes, in short transactions, children before parents, so that
 * requests are served in between. It can be stopped at any time and run again.
 */
import { append } from '../../append.ts';
import { setTimeout as delay } from 'node:timers/promises';
import type { JoinTable, Model, RecordType, Reference } from '../../model/model.ts';
import { columnsOf, writtenSql } from '../columns.ts';
import { ConstraintError, type Driver, type Reader, type Statement } from '../driver.ts';
import { createStamp, filledFields, stampValues } from './stamps.ts';
import { createTables, type Tables } from './tables.ts';

/** Rows of one transaction. */
const CHUNK = 1000;
/** Links that are read at once. */
const LINKS = 50_000;
/** Milliseconds between two transactions, at least, for the writes of others. */
const PAUSE = 5;

/** A record outside the tree refers to one in it. Nothing was deleted, unless it was added during the deletion. */
export class TreeRestricted extends Error {}

interface Frame {
  readonly type: RecordType;
  readonly identifiers: readonly number[];
  /** The link that made these records part of the tree: it must still be there when they are deleted. */
  readonly above: { readonly column: string; readonly identifiers: readonly number[] } | undefined;
  /** The next referrer. */
  at: number;
  /** How far its records were read: those of the first parents are done, and the next one's up to an identifier. */
  parents: readonly number[];
  after: number;
}

type Referrer = RecordType['referrers'][number];

interface TreeWalk {
  readonly driver: Driver;
  readonly root: { readonly type: RecordType; readonly identifier: number };
  readonly joinsOf: Tables['joinsOf'];
  readonly stack: Frame[];
  /** Records on the stack: a path that leads back to them ends. */
  readonly path: Map<RecordType, Set<number>>;
  readonly onRows: (rows: number) => void;
}

/** Returns whether there was such a record. `onRows` is told how many rows were deleted or unlinked. */
export async function deleteTree(
  model: Model,
  driver: Driver,
  type: RecordType,
  identifier: number,
  onRows: (rows: number) => void,
): Promise<boolean> {
  const root = { type, identifier };
  const { joinsOf } = createTables(driver.dialect, () => model);
  const walk = (): TreeWalk => ({ driver, root, joinsOf, stack: [], path: new Map(), onRows });
  if ((await driver.value(identified(type, driver), [identifier])) === undefined) return false;
  await checkAll(walk());
  await deleteAll(walk());
  return true;
}

const identified = ({ table, identifier: { column } }: RecordType, { dialect: { quote } }: Driver): Statement => ({
  sql: `select 1 from ${quote(table)} where ${quote(column)} = ?`,
});

function push(walk: TreeWalk, type: RecordType, identifiers: readonly number[], above: Frame['above']): void {
  const known = walk.path.get(type) ?? new Set<number>();
  walk.path.set(type, known);
  for (const identifier of identifiers) known.add(identifier);
  const parents = identifiers.toSorted((a, b) => a - b);
  walk.stack.push({ type, identifiers: parents, above, at: 0, parents, after: 0 });
}

function pop({ stack, path }: TreeWalk): void {
  const frame = stack.pop();
  for (const identifier of frame?.identifiers ?? []) path.get(frame?.type as RecordType)?.delete(identifier);
}

/** The next records that refer to those of a frame; undefined if there are no more. */
async function nextReferring(
  driver: Driver,
  frame: Frame,
  { type, reference }: Referrer,
): Promise<readonly number[] | undefined> {
  while (frame.parents.length > 0) {
    const next = frame.after === 0 ? nextOfSeveral : nextOfOne;
    const found = await next(driver, frame, type, reference);
    if (found.length > 0) return found;
  }
  return undefined;
}

/** The same without those that are above the frame. */
async function nextBelow(walk: TreeWalk, frame: Frame, referrer: Referrer): Promise<readonly number[] | undefined> {
  const above = walk.path.get(referrer.type);
  return (await nextReferring(walk.driver, frame, referrer))?.filter((one) => !above?.has(one));
}

/** Of all parents that are left, from the first one on. */
async function nextOfSeveral(
  driver: Driver,
  frame: Frame,
  { table, identifier }: RecordType,
  { column }: Reference,
): Promise<readonly number[]> {
  const sql = driver.dialect.childrenInOrder(table, identifier.column, column, CHUNK);
  const rows = await driver.all({ sql }, [JSON.stringify(frame.parents)]);
  const last = rows.length < CHUNK ? undefined : rows.at(-1);
  frame.parents = last === undefined ? [] : frame.parents.filter((parent) => parent >= Number(last[0]));
  frame.after = Number(last?.[1] ?? 0);
  return rows.map(([, child]) => Number(child));
}

/** What is left of the first parent. */
async function nextOfOne(
  driver: Driver,
  frame: Frame,
  { table, identifier }: RecordType,
  reference: Reference,
): Promise<readonly number[]> {
  const { quote } = driver.dialect;
  const [id, column] = [quote(identifier.column), quote(reference.column)];
  const sql = `select ${id} from ${quote(table)} where ${column} = ? and ${id} > ? order by ${id} limit ${CHUNK}`;
  const found = (await driver.column({ sql }, [frame.parents[0] ?? 0, frame.after])).map(Number);
  frame.after = found.length < CHUNK ? 0 : (found.at(-1) ?? 0);
  if (frame.after === 0) frame.parents = frame.parents.slice(1);
  return found;
}

function nextReferrer(frame: Frame): void {
  frame.at += 1;
  frame.parents = frame.identifiers;
  frame.after = 0;
}

/** Reads the whole tree. Throws if a record outside it prevents the deletion. */
async function checkAll(walk: TreeWalk): Promise<void> {
  const { root, stack } = walk;
  /** Records of types with several parents: each is read once. */
  const seen = new Map<RecordType, Set<number>>();
  push(walk, root.type, [root.identifier], undefined);
  for (let frame = stack.at(-1); frame; frame = stack.at(-1)) {
    const referrer = frame.type.referrers[frame.at];
    if (!referrer) {
      pop(walk);
      continue;
    }
    const found = referrer.reference.onDelete === 'setNull' ? undefined : await nextBelow(walk, frame, referrer);
    if (found === undefined) nextReferrer(frame);
    else if (referrer.reference.onDelete === 'restrict') await requireWithin(walk, frame, referrer, found);
    else {
      const fresh = hasManyParents(referrer.type) ? unseen(seen, referrer.type, found) : found;
      if (fresh.length > 0) push(walk, referrer.type, fresh, undefined);
    }
  }
}

const hasManyParents = ({ references }: RecordType): boolean =>
  references.filter(({ onDelete }) => onDelete === 'cascade').length > 1;

function unseen(seen: Map<RecordType, Set<number>>, type: RecordType, found: readonly number[]): readonly number[] {
  const known = seen.get(type) ?? new Set<number>();
  seen.set(type, known);
  const fresh = found.filter((identifier) => !known.has(identifier));
  for (const identifier of fresh) known.add(identifier);
  return fresh;
}

async function requireWithin(
  walk: TreeWalk,
  frame: Frame,
  { type }: Referrer,
  identifiers: readonly number[],
): Promise<void> {
  for (const identifier of identifiers)
    if (!(await isWithin(walk, type, identifier)))
      throw new TreeRestricted(
        `${type.recordName} ${identifier} refers to a record of ${frame.type.name} that would be deleted, and does not go with it: delete it first, or unlink it`,
      );
}

/** Whether a record is deleted together with the root: one of its owners is. */
async function isWithin({ driver, root, path }: TreeWalk, type: RecordType, identifier: number): Promise<boolean> {
  const above: (readonly [RecordType, number])[] = [[type, identifier]];
  const seen = new Set<string>();
  for (const [one, id] of above) {
    if ((one === root.type && id === root.identifier) || path.get(one)?.has(id)) return true;
    if (seen.has(`${one.table} ${id}`)) continue;
    seen.add(`${one.table} ${id}`);
    append(above, await parentsOf(driver, one, id));
  }
  return false;
}

async function parentsOf(
  { dialect: { quote }, ...driver }: Driver,
  { table, identifier, references }: RecordType,
  id: number,
): Promise<readonly (readonly [RecordType, number])[]> {
  const owning = references.filter(({ onDelete }) => onDelete === 'cascade');
  if (owning.length === 0) return [];
  const columns = owning.map(({ column }: Reference) => quote(column)).join(', ');
  const row = await driver.get(
    { sql: `select ${columns} from ${quote(table)} where ${quote(identifier.column)} = ?` },
    [id],
  );
  return owning.flatMap(({ target }, index) => {
    const value = row?.[index] ?? null;
    return value === null ? [] : [[target, Number(value)] as const];
  });
}

async function deleteAll(walk: TreeWalk): Promise<void> {
  const { root, stack } = walk;
  push(walk, root.type, [root.identifier], undefined);
  for (let frame = stack.at(-1); frame; frame = stack.at(-1)) {
    const referrer = frame.type.referrers[frame.at];
    if (referrer) await goBelow(walk, frame, referrer);
    else {
      await deleteFrame(walk, frame);
      pop(walk);
    }
  }
}

async function goBelow(walk: TreeWalk, frame: Frame, referrer: Referrer): Promise<void> {
  const { type, reference } = referrer;
  if (reference.onDelete === 'setNull') return unlinkSome(walk, frame, referrer);
  const found = await nextBelow(walk, frame, referrer);
  if (found === undefined) return nextReferrer(frame);
  if (reference.onDelete === 'restrict') await requireWithin(walk, frame, referrer, found);
  if (found.length > 0) push(walk, type, found, { column: reference.column, identifiers: frame.identifiers });
}

async function unlinkSome(walk: TreeWalk, frame: Frame, referrer: Referrer): Promise<void> {
  const { quote, oneOf } = walk.driver.dialect;
  const { name: dialect } = walk.driver.dialect;
  const { table, identifier } = referrer.type;
  const columns = columnsOf(referrer.type, dialect);
  const filled = filledFields(columns);
  const stamped = filled.stamped.map((name) => {
    const field = columns.find((one) => one.name === name)?.field;
    return `${quote(name)} = ${writtenSql(field, '?', dialect, quote(name))}`;
  });
  const found = await nextReferring(walk.driver, frame, referrer);
  if (found === undefined) return nextReferrer(frame);
  const column = quote(referrer.reference.column);
  const set = [`${column} = null`, ...stamped].join(', ');
  const sql = `update ${quote(table)} set ${set} where ${oneOf(quote(identifier.column))} and ${oneOf(column)}`;
  const stamps = stampValues({ stamp: createStamp(undefined, null), dialect }, filled);
  await step(walk, { sql }, [...stamps, JSON.stringify(found), JSON.stringify(frame.identifiers)]);
}

async function deleteFrame(walk: TreeWalk, { type, identifiers, above }: Frame): Promise<void> {
  const { quote, oneOf } = walk.driver.dialect;
  for (const [table, column] of walk.joinsOf(type)) await removeLinks(walk, table, column, identifiers);
  const still = above === undefined ? '' : ` and ${oneOf(quote(above.column))}`;
  const sql = `delete from ${quote(type.table)} where ${oneOf(quote(type.identifier.column))}${still}`;
  const values = [identifiers, ...(above === undefined ? [] : [above.identifiers])].map((some) => JSON.stringify(some));
  try {
    await step(walk, { sql }, values);
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw new TreeRestricted(
      `Something refers to a record of ${type.name} that would be deleted, and does not go with it`,
    );
  }
}

/** Many are read at once: on PostgreSQL, each look at an index passes the rows that were deleted before. */
async function removeLinks(
  walk: TreeWalk,
  { name, left, right }: JoinTable,
  column: string,
  identifiers: readonly number[],
): Promise<void> {
  const { quote, oneOf, oneOfPairs } = walk.driver.dialect;
  const [table, ...sides] = [name, left.column, right.column].map(quote) as [string, string, string];
  const some = `select ${sides.join(', ')} from ${table} where ${oneOf(quote(column))} limit ${LINKS}`;
  const remove = { sql: `delete from ${table} where ${oneOfPairs(...sides)}` };
  for (let found = LINKS; found === LINKS;) {
    const pairs = await walk.driver.all({ sql: some }, [JSON.stringify(identifiers)]);
    for (let from = 0; from < pairs.length; from += CHUNK)
      await step(walk, remove, [JSON.stringify(pairs.slice(from, from + CHUNK))]);
    found = pairs.length;
  }
}

/** One transaction, and time for others. */
async function step(
  { driver, onRows }: TreeWalk,
  statement: Statement,
  values: Parameters<Reader['get']>[1],
): Promise<number> {
  const began = performance.now();
  const { changes } = await driver.write((writer) => writer.run(statement, values));
  onRows(changes);
  // SQLite has one writer, and it is not handed on in turn.
  if (!driver.dialect.locks && changes > 0) await delay(Math.max(PAUSE, performance.now() - began));
  return changes;
}
