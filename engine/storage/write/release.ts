/** Records that sets leave out, and what is deleted with them: counted before anything is written, then deleted or unlinked. */
import { memoized } from '../../memo.ts';
import type { JoinTable, RecordType, Relation } from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import { ConstraintError } from '../driver.ts';
import { type MetRecords, newlyMet, otherSide, relationOf } from './effects.ts';
import { assign } from './members.ts';
import { type Going, restrictConflict } from './conflicts.ts';
import type { Node, WriteSession } from './session.ts';
import { stampValues, unlinkStamped } from './stamps.ts';

/** Children that a body leaves out: deleted where they are owned, else unlinked. */
export interface Released {
  readonly relation: Relation;
  readonly column: string;
  readonly identifiers: readonly number[];
  readonly pointer: string;
}

/** A record that a set leaves out, and that another part of the body mentions, is written by itself. */
export function settleReleased(session: WriteSession): readonly Released[] {
  return session.released.flatMap(({ relation, column, identifiers, pointer }) => {
    const known = session.existing.get(relation.target);
    for (const identifier of identifiers) {
      const node = known?.get(identifier);
      if (node && relation.owned) session.deleted.set(node, pointer);
      else if (node) assign(session, node, { column, value: null, pointer, writable: true, byOmission: true });
    }
    const others = identifiers.filter((identifier) => !known?.has(identifier));
    return others.length === 0 ? [] : [{ relation, column, identifiers: others, pointer }];
  });
}

export async function runReleased(
  session: WriteSession,
  { relation, column, identifiers, pointer }: Released,
): Promise<void> {
  if (relation.owned) return deleteRecords(session, relation.target, identifiers, pointer);
  const table = session.tables.of(relation.target);
  const values = [...stampValues(session, table.filled), JSON.stringify(identifiers)];
  await session.writer.run(table.unlinkMany(column), values);
}

/** Every deletion of records: what else they take along or unlink, the database does, or says why not. */
export async function deleteRecords(
  session: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
  pointer: string,
): Promise<void> {
  await unlinkStamped(session, type, identifiers);
  // SQLite leaves a statement that nests too deep half done.
  const nested = !session.tables.locks && mayNest(type) ? await levelsBelow(session, type, identifiers) : [];
  const count = nested.reduce((sum, level) => sum + level.identifiers.length, 0);
  if (count > MOST_NESTED) await deleteByLevel(session, nested, pointer);
  else if (!(await isDeleted(session, type, identifiers)))
    await deleteByLevel(session, await levelsBelow(session, type, identifiers), pointer);
}

/** Records that SQLite deletes within each other in one statement: a little below its limit of 1,000 nested triggers. */
const MOST_NESTED = 900;

/** Whether records of a type may be deleted together with others of the same type, to any depth. */
const mayNest = memoized((type: RecordType): boolean => {
  const below = (of: RecordType): readonly RecordType[] =>
    of.referrers.flatMap(({ type: child, reference }) => (reference.onDelete === 'cascade' ? [child] : []));
  const types = new Set([type]);
  for (const one of types) for (const child of below(one)) types.add(child);
  return [...types].some((one) => {
    const reached = new Set(below(one));
    for (const child of reached) for (const next of below(child)) reached.add(next);
    return reached.has(one);
  });
});

/** Whether nothing prevented it. */
async function isDeleted(session: WriteSession, type: RecordType, identifiers: readonly number[]): Promise<boolean> {
  try {
    await remove(session, type, identifiers);
    return true;
  } catch (error) {
    if (error instanceof ConstraintError) return false;
    throw error;
  }
}

async function remove(
  { writer, tables }: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
): Promise<void> {
  const { remove: removeOne, removeMany } = tables.of(type);
  if (identifiers.length === 1) await writer.run(removeOne, identifiers);
  else await writer.run(removeMany, [JSON.stringify(identifiers)]);
}

/** Records of one type that are deleted together with those above them. */
interface Level {
  readonly type: RecordType;
  readonly identifiers: readonly number[];
}

/** These records and all that are deleted with them, each once, the deepest last. */
async function levelsBelow(
  { writer, tables, writeRows }: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
): Promise<readonly Level[]> {
  const met: MetRecords = new Map([[type.table, new Set(identifiers)]]);
  const levels: Level[] = [{ type, identifiers }];
  for (const above of levels)
    for (const { type: child, reference } of above.type.referrers) {
      if (reference.onDelete !== 'cascade') continue;
      const all = [JSON.stringify(above.identifiers), writeRows];
      const fresh = newlyMet(met, child, await writer.column(tables.of(child).someChildren(reference.column), all));
      if (fresh.length > 0) levels.push({ type: child, identifiers: fresh });
    }
  return levels;
}

function goingIn(levels: readonly Level[]): Going {
  const going = new Map<RecordType, Set<number>>();
  for (const { type, identifiers } of levels) going.set(type, new Set([...(going.get(type) ?? []), ...identifiers]));
  return going;
}

/**
 * The deepest first: SQLite deletes at most 1,000 records within each other in one statement, and a record that goes may
 * refer to another that goes before it. Such links are cut, or where there must be one, lead to the first of these records.
 */
async function deleteByLevel(session: WriteSession, levels: readonly Level[], pointer: string): Promise<void> {
  const going = goingIn(levels);
  try {
    for (const level of levels.toReversed()) {
      await detach(session, level, going);
      await remove(session, level.type, level.identifiers);
    }
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    const [first] = levels;
    if (first && error.kind === 'reference')
      throw await restrictConflict(session, first.type, first.identifiers, { pointer, going });
    throw new Problem('too-many-rows', TOO_DEEP, { errors: [{ pointer, code: 'too-many-rows', message: TOO_DEEP }] });
  }
}

const TOO_DEEP =
  'More records are deleted within each other than one step can delete: let an operator remove them with "records delete TYPE ID --chunked"';

/** All records deeper than this level are deleted: those that still refer to it are as deep, or less deep. */
async function detach({ writer, tables, writeRows }: WriteSession, level: Level, going: Going): Promise<void> {
  const [first = null] = going.get(level.type) ?? [];
  for (const { type, reference } of level.type.referrers) {
    if (reference.onDelete === 'setNull') continue;
    const { someChildren, link } = tables.of(type);
    const found = await writer.column(someChildren(reference.column), [JSON.stringify(level.identifiers), writeRows]);
    const within = found.filter((identifier) => going.get(type)?.has(Number(identifier)));
    if (within.length === 0) continue;
    await writer.run(link(reference.column), [reference.required ? first : null, JSON.stringify(within)]);
  }
}

/** Counts the rows of a write, and refuses it if there are too many. In a dry run it notes what happens to them. */
interface RowCount {
  add(rows: number, pointer: string): void;
  /** One row for each. */
  addItems(items: Iterable<Pick<Node, 'pointer'>>): void;
  /** These records, and what is deleted or unlinked together with them. */
  addDeleted(type: RecordType, identifiers: readonly number[], pointer: string): Promise<void>;
}

export function countRows(session: WriteSession): RowCount {
  const { writeRows } = session;
  let count = 0;
  const add = (rows: number, pointer: string): void => {
    count += rows;
    if (count > writeRows) throw tooManyRows(writeRows, { pointer }, 'This set');
  };
  return {
    add,
    addItems: (items) => {
      for (const { pointer } of items) {
        count += 1;
        if (count > writeRows) throw tooManyRows(writeRows, { pointer: setOf(pointer) }, 'This set');
      }
    },
    addDeleted: async (type, identifiers, pointer) => {
      add(identifiers.length, pointer);
      const below = await countBelow(session, type, identifiers, writeRows - count);
      add(below.rows, pointer);
    },
  };
}

/** The pointer of the set that a record stands in. */
const setOf = (pointer: string): string => pointer.replace(/\/\d+$/, '');

/** Throws if the record, and what is deleted with it, has more rows than one write may touch. */
export async function requireFewRows(
  session: WriteSession,
  { type, identifier }: Pick<Node, 'type' | 'identifier'>,
): Promise<void> {
  const { writeRows } = session;
  const { rows, through } = await countBelow(session, type, [identifier ?? 0], writeRows - 1);
  if (rows < writeRows) return;
  throw tooManyRows(writeRows, { relation: through }, `"${through}"`);
}

export function tooManyRows(
  most: number,
  place: { readonly pointer: string } | { readonly relation: string } | { readonly parameter: string },
  what: string,
): Problem {
  const message =
    `${what} would delete, unlink or change more than ${most} rows in one step: do it in several, ` +
    `or let an operator remove a large tree with "records delete TYPE ID --chunked"`;
  return new Problem('too-many-rows', message, { errors: [{ ...place, code: 'too-many-rows', message }] });
}

interface Below {
  readonly rows: number;
  /** The relation of the first type that leads to the last of them. */
  readonly through: string;
}

/** Rows that are deleted or unlinked together with these, on all levels. Stops counting beyond `most`. `locked`: nothing joins those that are deleted. */
export async function countBelow(
  { writer, tables, effects }: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
  most: number,
  locked = false,
): Promise<Below> {
  const gone: MetRecords = new Map([[type.table, new Set(identifiers)]]);
  const cut: MetRecords = new Map();
  const pairs = new Set<string>();
  const agenda: { readonly type: RecordType; readonly identifiers: readonly number[]; readonly through?: string }[] = [
    { type, identifiers },
  ];
  effects?.note({ kind: 'deleted', type, identifiers });
  let rows = 0;
  for (const above of agenda) {
    const all = JSON.stringify(above.identifiers);
    for (const { type: child, reference } of above.type.referrers) {
      if (reference.onDelete === 'restrict') continue;
      const through = above.through ?? nameOf(type, reference) ?? child.name;
      // One that is unlinked may be deleted as well, and then takes others along.
      const [mine, others] = reference.onDelete === 'cascade' ? [gone, cut] : [cut, gone];
      const counted = others.get(child.table);
      // Those that are counted already may be found again.
      const enough = most - rows + 1 + (mine.get(child.table)?.size ?? 0) + (counted?.size ?? 0);
      const found = await writer.column(tables.of(child).someChildren(reference.column, locked), [all, enough]);
      const fresh = newlyMet(mine, child, found);
      rows += fresh.filter((identifier) => !counted?.has(identifier)).length;
      const kind = reference.onDelete === 'cascade' ? 'deleted' : 'unlinked';
      const relation = kind === 'unlinked' ? relationOf(child, reference) : undefined;
      // By each of its links: a record may hold several.
      effects?.note({ kind, type: child, relation, identifiers: found.map(Number) });
      if (rows > most) return { rows, through };
      if (reference.onDelete === 'cascade' && fresh.length > 0)
        agenda.push({ type: child, identifiers: fresh, through });
    }
    for (const [table, column] of tables.joinsOf(above.type)) {
      // With both of its records, a link is found twice.
      const found = await writer.all(tables.rows(table).pairs(column), [all, most - rows + 1 + pairs.size]);
      const fresh = found.filter((pair) => !pairs.has(`${table.name} ${pair.join(' ')}`));
      for (const pair of fresh) pairs.add(`${table.name} ${pair.join(' ')}`);
      rows += fresh.length;
      const others = fresh.map((pair) => Number(pair[column === table.left.column ? 1 : 0]));
      effects?.note({ kind: 'unlinked', ...otherSide(table, column), identifiers: others });
      if (rows > most) return { rows, through: above.through ?? joinName(type, table) ?? 'links' };
    }
  }
  return { rows, through: '' };
}

const nameOf = ({ relations }: RecordType, reference: unknown): string | undefined =>
  [...relations.values()].find(({ link }) => link.at === 'target' && link.reference === reference)?.name;

const joinName = ({ relations }: RecordType, { name }: JoinTable): string | undefined =>
  [...relations.values()].find(({ link }) => link.at === 'join' && link.table.name === name)?.name;
