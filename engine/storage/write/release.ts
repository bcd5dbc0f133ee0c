/** Records that sets leave out, and what is deleted with them: counted before anything is written, then deleted or unlinked. */
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
  await unlinkMany(session, relation.target, column, identifiers);
}

async function unlinkMany(
  session: WriteSession,
  type: RecordType,
  column: string,
  identifiers: readonly number[],
): Promise<void> {
  const table = session.tables.of(type);
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
  if (await isDeleted(session, type, identifiers)) return;
  const going = await deletedWith(session, type, identifiers);
  if ((await unlinkWithin(session, going)) && (await isDeleted(session, type, identifiers))) return;
  throw await restrictConflict(session, type, identifiers, { pointer, going });
}

/** Whether nothing prevented it. */
async function isDeleted(
  { writer, tables }: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
): Promise<boolean> {
  const { remove, removeMany } = tables.of(type);
  try {
    if (identifiers.length === 1) await writer.run(remove, identifiers);
    else await writer.run(removeMany, [JSON.stringify(identifiers)]);
    return true;
  } catch (error) {
    if (error instanceof ConstraintError) return false;
    throw error;
  }
}

/** These records and all that are deleted with them. */
async function deletedWith(
  { writer, tables, writeRows }: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
): Promise<Going> {
  const going = new Map<RecordType, Set<number>>([[type, new Set(identifiers)]]);
  const agenda = [{ type, identifiers }];
  for (const above of agenda)
    for (const { type: child, reference } of above.type.referrers) {
      if (reference.onDelete !== 'cascade') continue;
      const known = going.get(child) ?? new Set<number>();
      going.set(child, known);
      const all = [JSON.stringify(above.identifiers), writeRows];
      const found = (await writer.column(tables.of(child).someChildren(reference.column), all)).map(Number);
      const fresh = found.filter((one) => !known.has(one));
      for (const one of fresh) known.add(one);
      if (fresh.length > 0) agenda.push({ type: child, identifiers: fresh });
    }
  return going;
}

/**
 * One that goes may refer to another that goes before it, which the database refuses or not, depending on the order of
 * its constraints. Returns whether there was such a link.
 */
async function unlinkWithin(session: WriteSession, going: Going): Promise<boolean> {
  const { writer, tables, writeRows } = session;
  let changes = 0;
  for (const [type, own] of going)
    for (const { column, target, onDelete, required } of type.references) {
      const targets = going.get(target);
      if (onDelete !== 'restrict' || required || targets === undefined) continue;
      const all = [JSON.stringify([...targets]), writeRows];
      const found = (await writer.column(tables.of(type).someChildren(column), all)).map(Number);
      const within = found.filter((one) => own.has(one));
      if (within.length > 0) await unlinkMany(session, type, column, within);
      changes += within.length;
    }
  return changes > 0;
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
