/** Deletion: before any write, one walk finds the records to delete and the records to unlink. */
import { setTimeout as delay } from 'node:timers/promises';
import type { JoinTable, Model, RecordType, Reference } from '../../model/model.ts';
import { can, relationsFor, type Rights } from '../../model/rights.ts';
import { type Fault, faultyRequest, MAX_ERRORS, Problem } from '../../problem.ts';
import { ConstraintError, type Driver, type Writer } from '../driver.ts';
import { inTheWay } from './conflicts.ts';
import {
  createSession,
  onlyReading,
  type RecordSet,
  storedValue,
  UNLIMITED_ROWS,
  type WriteSession,
} from './session.ts';
import { createStamp, stampValues } from './values.ts';
import { createTables, MOST_LISTED } from './tables.ts';

interface Below {
  readonly column: string;
  readonly parents: ReadonlySet<number>;
}

interface Rows {
  readonly type: RecordType;
  readonly identifiers: readonly number[];
}

interface Level extends Rows {
  /** Whether its records, or the links that lead to them, include what the token may not read: no response names them. */
  readonly isHidden: boolean;
  readonly via?: Below;
  readonly through?: string;
}

export interface Unlinked extends Rows {
  readonly reference: Reference;
  readonly isHidden: boolean;
}

export interface Deletion extends Rows {
  readonly pointer: string;
}

/** The first level has the records that a deletion names; each further level, the records that cascade from above. */
interface Tree {
  readonly pointer: string;
  readonly levels: Level[];
}

export interface Cascade {
  readonly trees: Tree[];
  readonly unlinked: (Unlinked & { readonly via: Below })[];
  /** Join table rows that are deleted with the records in `column`. */
  readonly pairs: {
    readonly table: JoinTable;
    readonly column: string;
    readonly pairs: readonly (readonly [left: number, right: number])[];
    readonly isHidden: boolean;
  }[];
  rows: number;
  /** `rows` without what is hidden. */
  affected: number;
}

export const isIn = (set: RecordSet, { table }: RecordType, identifier: number): boolean =>
  set.get(table)?.has(identifier) === true;

/** Adds records to the set, and returns only new records, so that cycles end. */
export function added(set: RecordSet, { table }: RecordType, found: readonly number[]): readonly number[] {
  const known = set.get(table) ?? new Set<number>();
  set.set(table, known);
  const fresh = found.filter((identifier) => !known.has(identifier));
  for (const identifier of fresh) known.add(identifier);
  return fresh;
}

const HIDDEN = 'Records that you may not read';

/** All of `first`, then all of `second`; both may grow meanwhile. */
function* both<T>(first: readonly T[], second: readonly T[]): Generator<T> {
  yield* first;
  yield* second;
}

export type Refusal = (deletion: Deletion, through: string, affected: number) => Problem;

/** `most`: the maximum of rows. `mostAffected`: of rows that are not hidden. */
export async function walkCascade(
  session: WriteSession,
  deletions: readonly Deletion[],
  most: number,
  refusal: Refusal,
  mostAffected = most,
): Promise<Cascade> {
  const { writer, tables, rights, gone } = session;
  const cascade: Cascade = { trees: [], unlinked: [], pairs: [], rows: 0, affected: 0 };
  const cut: RecordSet = new Map();
  const seen = new Set<string>();
  const left = (known: number): number => most - cascade.rows + 1 + known;
  for (const deletion of deletions) {
    const { type, identifiers, pointer } = deletion;
    const count = (rows: number, through: string, isHidden: boolean): void => {
      cascade.rows += rows;
      if (!isHidden) cascade.affected += rows;
      if (cascade.rows > most || cascade.affected > mostAffected)
        throw refusal(deletion, isHidden ? HIDDEN : through, cascade.affected);
    };
    count(identifiers.length, '', false);
    const levels: Level[] = [{ type, identifiers: added(gone, type, identifiers), isHidden: false }];
    cascade.trees.push({ pointer, levels });
    // Hidden paths are walked last: what a visible path leads to as well is not hidden.
    const hidden: Level[] = [];
    for (const above of both(levels, hidden)) {
      const all = JSON.stringify(above.identifiers);
      for (const { type: child, reference } of above.type.referrers) {
        if (reference.onDelete === 'restrict') continue;
        const cascades = reference.onDelete === 'cascade';
        const via = { column: reference.column, parents: new Set(above.identifiers) };
        const isHidden = above.isHidden || !can(rights, child, 'get');
        const through = above.through ?? nameOfLink(rights, type, reference) ?? child.name;
        const already = alreadyCut(session, child, reference);
        const [mine, other] = cascades ? [gone, cut] : [cut, gone];
        // The query may return records that are already counted, so its limit includes them.
        const counted = already.size + (mine.get(child.table)?.size ?? 0) + (other.get(child.table)?.size ?? 0);
        const { children } = tables.of(child).linksIn(reference.column);
        const found = (await writer.column(children, [all, left(counted)]))
          .map(Number)
          .filter((identifier) => !already.has(identifier));
        const fresh = added(mine, child, found);
        count(fresh.filter((identifier) => !isIn(other, child, identifier)).length, through, isHidden);
        if (!cascades && found.length > 0)
          cascade.unlinked.push({ type: child, reference, identifiers: found, via, isHidden });
        if (cascades && fresh.length > 0)
          (isHidden ? hidden : levels).push({ type: child, identifiers: fresh, isHidden, through, via });
      }
      for (const [table, column] of tables.joinsOf(above.type)) {
        // Deleting both records of a pair finds it twice.
        const found = await writer.all(tables.rows(table).pairs(column), [all, left(seen.size)]);
        const fresh = found
          .map(([one, other]) => [Number(one), Number(other)] as const)
          .filter((pair) => !seen.has(`${table.name} ${pair.join(' ')}`));
        for (const pair of fresh) seen.add(`${table.name} ${pair.join(' ')}`);
        const isHidden = above.isHidden || ![table.left, table.right].every((side) => can(rights, side.type, 'get'));
        if (fresh.length > 0) cascade.pairs.push({ table, column, pairs: fresh, isHidden });
        count(fresh.length, above.through ?? nameOfLink(rights, type, table) ?? 'links', isHidden);
      }
    }
    levels.push(...hidden);
    await refuseRestricted(session, levels, pointer);
  }
  return cascade;
}

/** Records that stay because the write unlinks them before it deletes. */
function alreadyCut({ existing, released }: WriteSession, type: RecordType, reference: Reference) {
  const { column, required } = reference;
  const left = new Set<number>();
  for (const [identifier, node] of existing.get(type) ?? []) {
    const value = node.assigned.get(column)?.value;
    if (value !== undefined && value !== storedValue(node, column) && (value === null || !required))
      left.add(identifier);
  }
  for (const one of released)
    if (!one.relation.owned && one.reference === reference)
      for (const identifier of one.identifiers) left.add(identifier);
  return left;
}

async function refuseRestricted(session: WriteSession, levels: readonly Level[], pointer: string): Promise<void> {
  const { writer, tables, writeRows, rights, gone } = session;
  const faults: Fault[] = [];
  let isHidden = false;
  for (const above of levels)
    for (const { type: child, reference } of above.type.referrers) {
      if (reference.onDelete !== 'restrict') continue;
      const left = alreadyCut(session, child, reference);
      const bound = [JSON.stringify(above.identifiers), writeRows];
      const found = (await writer.all(tables.of(child).linksIn(reference.column).referring, bound))
        .map(([parent, identifier]) => [Number(parent), Number(identifier)] as const)
        .filter(([, identifier]) => !isIn(gone, child, identifier) && !left.has(identifier));
      if (above.isHidden || !can(rights, child, 'get')) isHidden ||= found.length > 0;
      else
        for (const [parent, some] of Map.groupBy(found, ([one]) => one)) {
          const staying = some.map(([, identifier]) => identifier);
          const message = refers([child, staying], [above.type, parent]);
          faults.push({ pointer, code: 'restrict', message, ...inTheWay(rights, child, staying) });
        }
    }
  if (isHidden) faults.push({ pointer, code: 'restrict', message: `${HIDDEN} refer to what would be deleted` });
  if (faults.length > 0) throw faultyRequest('restrict-conflict', faults.slice(0, MAX_ERRORS));
}

function refers(
  [child, found]: readonly [RecordType, readonly number[]],
  [type, identifier]: readonly [RecordType, number],
): string {
  const more = found.length > MOST_LISTED ? ` and ${found.length - MOST_LISTED} more` : '';
  return `${child.name} ${found.slice(0, MOST_LISTED).join(', ')}${more} ${found.length > 1 ? 'refer' : 'refers'} to ${type.name} ${identifier}`;
}

const nameOfLink = (rights: Rights, type: RecordType, from: Reference | JoinTable): string | undefined =>
  [...relationsFor(rights, type).values()].find(({ link }) =>
    link.at === 'target'
      ? link.reference === from
      : link.at === 'join' && 'name' in from && link.table.name === from.name,
  )?.name;

export function tooManyRows(
  most: number,
  source: { readonly pointer: string } | { readonly relation: string } | { readonly parameter: string },
  what: string,
): Problem {
  const message =
    `${what} would delete, unlink or change more than ${most} rows in one step: do it in several, ` +
    `or let an operator remove a large tree with "records delete TYPE ID --chunked"`;
  return new Problem('too-many-rows', message, { errors: [{ ...source, code: 'too-many-rows', message }] });
}

const TOO_DEEP =
  'More records are deleted within each other than one step can delete: let an operator remove them with "records delete TYPE ID --chunked"';

/** Deletes the lowest level first, since ON DELETE CASCADE could nest too deep, or meet a restriction too early. */
export async function removeTree(session: WriteSession, { levels, pointer }: Tree): Promise<void> {
  const going = goingIn(levels);
  try {
    for (const level of levels.toReversed()) {
      await cutWithin(session, level, going);
      await removeLevel(session, level);
    }
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    if (error.kind === 'reference') {
      const known = `${levels[0]?.type.name ?? ''} ${levels[0]?.identifiers.slice(0, MOST_LISTED).join(', ') ?? ''}`;
      throw new Problem('restrict-conflict', `Records of newer descriptors, or rows of others, refer to ${known}`);
    }
    throw new Problem('too-many-rows', TOO_DEEP, { errors: [{ pointer, code: 'too-many-rows', message: TOO_DEEP }] });
  }
}

const removeLevel = async ({ writer, tables }: WriteSession, { type, identifiers }: Rows) =>
  identifiers.length === 0 ? { changes: 0 } : writer.run(tables.of(type).remove, [JSON.stringify(identifiers)]);

type Going = ReadonlyMap<RecordType, ReadonlySet<number>>;

const goingIn = (levels: readonly Level[]): Going =>
  new Map(
    [...Map.groupBy(levels, ({ type }) => type)].map(([type, some]) => [
      type,
      new Set(some.flatMap(({ identifiers }) => identifiers)),
    ]),
  );

/** Cuts links to a level from records deleted later: to null, or if required, to the record deleted last. */
async function cutWithin({ writer, tables, writeRows }: WriteSession, level: Rows, going: Going): Promise<void> {
  const [first = null] = going.get(level.type) ?? [];
  for (const { type, reference } of level.type.referrers) {
    if (reference.onDelete === 'setNull' || !going.has(type)) continue;
    const { children, set } = tables.of(type).linksIn(reference.column);
    const found = await writer.column(children, [JSON.stringify(level.identifiers), writeRows]);
    const within = found.filter((identifier) => going.get(type)?.has(Number(identifier)));
    if (within.length > 0) await writer.run(set, [reference.required ? first : null, JSON.stringify(within)]);
  }
}

const CHUNK = 1000;
/** Minimum milliseconds between transactions. */
const PAUSE = 5;

/** A record outside the tree refers into it. Nothing was deleted, unless the record was added meanwhile. */
export class TreeRestricted extends Error {}

/** Deletes a record and its cascade in short transactions, children before parents. It can be stopped and rerun. */
export async function deleteTree(
  model: Model,
  driver: Driver,
  type: RecordType,
  identifier: number,
  onRows: (rows: number) => void,
): Promise<boolean> {
  const { dialect } = driver;
  const tables = createTables(dialect, () => model);
  const unlocked = createTables({ ...dialect, locks: false }, () => model);
  const stamp = createStamp(undefined, null);
  const sessionOf = (writer: Writer, using = tables): WriteSession =>
    createSession({ writer, tables: using, dialect: dialect.name, stamp });
  if ((await driver.get(tables.of(type).load, [identifier])) === undefined) return false;
  const root = { type, identifiers: [identifier], pointer: '' };
  const reading = sessionOf(onlyReading(driver), unlocked);
  const refusal: Refusal = () => new Problem('too-many-rows', TOO_DEEP);
  const walk = walkCascade(reading, [root], UNLIMITED_ROWS, refusal);
  const { trees, unlinked, pairs } = await walk.catch((error: unknown) => {
    const [fault] = error instanceof Problem ? error.errors : [];
    throw fault
      ? new TreeRestricted(`${fault.message}, and does not go with it: delete it first, or unlink it`)
      : error;
  });

  async function step<T>(
    all: readonly T[],
    work: (session: WriteSession, chunk: readonly T[]) => Promise<{ readonly changes: number }>,
  ): Promise<void> {
    for (let from = 0; from < all.length; from += CHUNK) {
      const began = performance.now();
      const { changes } = await driver.write((writer) => work(sessionOf(writer), all.slice(from, from + CHUNK)));
      onRows(changes);
      // SQLite's write lock is not fair: the pause lets other processes write.
      if (!dialect.locks && changes > 0) await delay(Math.max(PAUSE, performance.now() - began));
    }
  }

  /** Omits records that another write has moved since the walk. */
  async function stillBelow(writer: Writer, below: RecordType, some: readonly number[], via: Below): Promise<number[]> {
    const rows = await writer.all(tables.of(below).linksIn(via.column).rows, [JSON.stringify(some)]);
    return rows.filter(([, parent]) => via.parents.has(Number(parent))).map(([id]) => Number(id));
  }

  for (const { table, pairs: lost } of pairs)
    await step(lost, async ({ writer }, some) => writer.run(tables.rows(table).remove, [JSON.stringify(some)]));
  for (const { type: below, reference, identifiers, via } of unlinked)
    await step(identifiers, async (session, some) => {
      const still = JSON.stringify(await stillBelow(session.writer, below, some, via));
      const { filled, linksIn } = session.tables.of(below);
      return session.writer.run(linksIn(reference.column).cut, [...stampValues(session, filled), still]);
    });
  const levels = trees.flatMap((tree) => tree.levels);
  const going = goingIn(levels);
  try {
    for (const { type: below, identifiers, via } of levels.toReversed())
      await step(identifiers, async (session, some) => {
        const still = via ? await stillBelow(session.writer, below, some, via) : some;
        const level = { type: below, identifiers: still };
        await cutWithin(session, level, going);
        return removeLevel(session, level);
      });
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw new TreeRestricted('Something refers to a record that would be deleted, and does not go with it');
  }
  return true;
}
