/** Carries a session out: delete and unlink, update, create. Only columns whose values change are written. */
import { andThen, type Awaitable } from '../../awaitable.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { enclosing, escapeStep } from '../../json.ts';
import type { JoinTable, RecordType } from '../../model/model.ts';
import { ConstraintError } from '../driver.ts';
import { noteUnlinked, noteWritten } from './effects.ts';
import {
  goneAt,
  type Holder,
  holdersAmong,
  insert,
  type Inserting,
  insertMany,
  leaveGiven,
  linksNew,
  park,
  runsOf,
  type Spares,
} from './insert.ts';
import { exchangeConflict } from './conflicts.ts';
import { countRows, deleteRecords, type Released, runReleased, settleReleased } from './release.ts';
import { type Asked, findDisagreements, holdToChecks, isNode, isSaid } from './members.ts';
import { type JoinPair, type Node, refuse, storedValue, throwRefused, withdraw, type WriteSession } from './session.ts';
import { fillNew, stampChanged } from './stamps.ts';
import { checkTrees } from './trees.ts';
import { changesOf, type ColumnValue, gatherUpdates, isChanged, update } from './update.ts';

/** Refuses what is wrong with the body itself, before it is asked what it refers to, or what it is to replace. */
export async function checkBody(session: WriteSession, asked: Asked): Promise<void> {
  fillNew(session);
  const refused = refusedPlaces(session);
  for (const node of session.made) checkComplete(session, node, refused);
  holdToChecks(session);
  throwRefused(session, 'forbidden');
  const contradictions = await findDisagreements(session, asked);
  const known = contradictions
    ? [...session.faults.filter(({ code }) => code !== 'contradiction'), ...contradictions]
    : session.faults;
  if (known.some(({ code }) => code === 'contradiction')) withdraw(session, 'contradiction');
  throwRefused(session, 'invalid-body', known);
}

export async function execute(session: WriteSession): Promise<void> {
  const released = settleReleased(session);
  for (const check of session.checks) check();
  for (const node of session.deleted.keys()) checkUnnamed(session, node);
  if ([...session.existing.keys(), ...session.given.keys()].some(isTree)) await checkTrees(session, released);
  throwRefused(session, 'invalid-reference');
  throwRefused(session, 'link-conflict');
  // By type and identifier: they were loaded in an order that depends on the database, and it decides which one a conflict names.
  const types = [...session.existing].toSorted(([a], [b]) => (a.name < b.name ? -1 : 1));
  const changed = types.flatMap(([, nodes]) =>
    [...nodes.values()]
      .filter((node) => !session.deleted.has(node) && isChanged(node))
      .toSorted((a, b) => (a.identifier ?? 0) - (b.identifier ?? 0)),
  );
  const unpaired = unwantedPairs(session);
  await requireFewRows(session, { released, unpaired, changed });

  for (const group of grouped(unpaired)) await removePairs(session, group);
  stampChanged(session, changed);
  const removed = released.filter(({ relation }) => relation.owned);
  for (const one of released) if (!one.relation.owned) await runReleased(session, one);
  const parked = new Map<Node, readonly string[]>();
  const deletes = session.deleted.size + removed.length > 0;
  for (const node of changed) if (speaksOfLinks(node)) parked.set(node, await unlink(session, node, deletes));
  for (const [{ type, identifier = 0 }, pointer] of session.deleted)
    await deleteRecords(session, type, [identifier], pointer);
  for (const one of removed) await runReleased(session, one);
  if (deletes) await checkNamed(session);
  await leaveGiven(session);
  const writing: Writing = {
    session,
    holders: holdersAmong(session, changed),
    begun: new Set(),
    done: new Set(),
    parked,
    spares: { used: 0 },
  };
  // New records are made in the order of the body, which is that of their identifiers: what links them comes after.
  // Those that wait for no other are not waited for, either.
  if (session.writer.isPipelined) {
    const free = changed.filter((node) => waitsForNothing(writing, node));
    await inGroups(free, (node) => write(writing, node));
  }
  await updateInOrder(writing, changed);
  for (const nodes of runsOf(writing)) {
    const [first] = nodes;
    if (nodes.length > 1) await insertMany(writing, nodes);
    else if (first) await write(writing, first);
  }
  for (const node of changed) if (!writing.begun.has(node)) await write(writing, node);
  const paired = [...session.paired.values()];
  if (session.writer.isPipelined) await inGroups(paired, (wanted) => insertPair(session, wanted));
  else for (const wanted of paired) await insertPair(session, wanted);
  if (!session.effects) return;
  const changes = changed.map((node) => [node, changesOf(node)] as const);
  noteWritten(session, changes, unpaired);
}

/** Statements that are sent together: each takes some microseconds here. */
const TOGETHER = 100;

async function inGroups<T>(items: readonly T[], work: (item: T) => Awaitable<void>): Promise<void> {
  for (let from = 0; from < items.length; from += TOGETHER) {
    await Promise.all(items.slice(from, from + TOGETHER).map(work));
  }
}

/** All but those that link new records. */
async function updateInOrder(writing: Writing, changed: readonly Node[]): Promise<void> {
  const { session, begun, done, parked } = writing;
  const updates = gatherUpdates(session, (node) => done.add(node));
  for (const node of changed) {
    if (begun.has(node) || linksNew(node)) continue;
    let written: Awaitable<void>;
    if (session.writer.runEach && !parked.has(node) && waitsForNothing(writing, node)) {
      begun.add(node);
      written = updates.add(node);
    } else {
      await updates.end();
      written = write(writing, node);
    }
    if (written instanceof Promise) await written;
  }
  await updates.end();
}

const isTree = ({ references }: RecordType): boolean => references.some(({ acyclic }) => acyclic);

interface Writing extends Inserting {
  /** Columns that hold something else for the moment. */
  readonly parked: Map<Node, readonly string[]>;
  readonly spares: Spares;
}

/** Records that wait for one another, one within the other, before the call stack is left. */
const MAX_NESTED = 100;

/** Each record in one statement: after those that it belongs to, and after those whose unique values it takes over. */
function write(writing: Writing, node: Node, depth = 1): Awaitable<void> {
  const { begun, done } = writing;
  if (begun.has(node)) return undefined;
  begun.add(node);
  if (!waitsForNothing(writing, node)) return writeAfter(writing, node, depth);
  return andThen(writeRow(writing, node), () => void done.add(node));
}

async function writeAfter(writing: Writing, node: Node, depth: number): Promise<void> {
  // What follows then begins on an empty call stack, however many hand their values over.
  if (depth % MAX_NESTED === 0) await undefined;
  for (const { value } of node.assigned.values()) if (isNode(value)) await write(writing, value, depth + 1);
  for (const holder of writing.holders(node)) await handOver(writing, node, holder, depth + 1);
  await writeRow(writing, node);
  writing.done.add(node);
}

function writeRow({ session, parked: all }: Writing, node: Node): Awaitable<void> {
  if (!node.stored) return insert(session, node);
  const parked = all.get(node);
  if (parked === undefined) return update(session, node, changesOf(node));
  const changes = changesOf(node, parked).filter((change) => parked.includes(change[0]) || !isUnlink(node, change));
  const kept = parked.filter((column) => !node.assigned.has(column));
  return update(session, node, [
    ...changes,
    ...kept.map((column): ColumnValue => [column, storedValue(node, column) ?? null]),
  ]);
}

/** One that waits for a record which is to be made, or for this one, cannot be written yet: it gives up the value first. */
async function handOver(writing: Writing, taker: Node, holder: Holder, depth: number): Promise<void> {
  const { session, begun, done, parked, spares } = writing;
  const { node, columns } = holder;
  if (!linksNew(node) && !begun.has(node)) await write(writing, node, depth);
  if (done.has(node)) return;
  const column = await park(session, holder, spares);
  if (column === undefined) throw exchangeConflict(session, taker, node, columns);
  parked.set(node, [...(parked.get(node) ?? []), column]);
}

const waitsForNothing = ({ holders }: Writing, node: Node): boolean => !linksNew(node) && holders(node).length === 0;

const speaksOfLinks = ({ type, assigned }: Node): boolean => type.references.some(({ column }) => assigned.has(column));

const isUnlink = ({ type }: Node, [column, value]: ColumnValue): boolean =>
  value === null && type.references.some((reference) => reference.column === column);

/** What the validator cannot see: that the only child of its owner, which is made since there is none, has all that it must have. */
function checkComplete(session: WriteSession, node: Node, refused: ReadonlySet<string>): void {
  const { type, table } = node;
  for (const { name, key } of table.needed) {
    if (isSaid(node, name)) continue;
    if (!type.fields.has(key) && !type.relations.has(key)) {
      const message = `This token may not create a ${type.name}; link an existing one by its "${type.identifier.name}"`;
      return refuse(session, 'forbidden', node.pointer, 'forbidden', message);
    }
    const pointer = `${node.pointer}/${escapeStep(key)}`;
    if (session.faults.length > 0 && !node.isOwnChild) return undefined;
    if (refused.has(pointer)) continue;
    refuse(session, 'invalid-body', pointer, 'required', `"${key}" is required`);
  }
  return undefined;
}

/** What was said and could not be used is not missing: all places of faults, and those around them. */
function refusedPlaces({ refusals, faulty }: WriteSession): ReadonlySet<string> {
  const told = refusals.flatMap(({ fault }) => ('pointer' in fault ? fault.pointer : []));
  return new Set([...told, ...faulty].flatMap(enclosing));
}

/** A body cannot link in one place what it deletes in another. */
function checkUnnamed(session: WriteSession, node: Node): void {
  const message = `${nameOf(node)} is deleted by this same body, which leaves it out of its owner`;
  for (const pointer of session.named.get(node) ?? [])
    refuse(session, 'invalid-reference', pointer, 'deleted', message);
}

/** What the body deletes takes along what it owns: neither may be named. */
async function checkNamed(session: WriteSession): Promise<void> {
  for (const [node, pointers] of session.named) {
    if (await session.writer.get(node.table.load, [node.identifier ?? null])) continue;
    const message = `${nameOf(node)} is deleted by this same body, together with its owner`;
    for (const pointer of pointers) refuse(session, 'invalid-reference', pointer, 'deleted', message);
  }
  throwRefused(session, 'invalid-reference');
}

/** Cuts the links that are to be cut, and where something is deleted, those that are to change: answers the columns of these. */
async function unlink(session: WriteSession, node: Node, deletes: boolean): Promise<readonly string[]> {
  const changes = changesOf(node);
  const cut = changes.filter((change) => isUnlink(node, change));
  const moved = changes.flatMap(([column, value]) =>
    deletes && value !== null && isNullableLink(node, column) ? [column] : [],
  );
  await update(session, node, [...cut, ...moved.map((column): ColumnValue => [column, null])]);
  return moved;
}

const isNullableLink = ({ type }: Node, name: string): boolean =>
  type.references.some(({ column, required }) => column === name && !required);

const nameOf = ({ type, identifier }: Node): string => `${type.recordName} ${identifier ?? ''}`.trim();

const unwantedPairs = ({ unpaired, kept, paired }: WriteSession): readonly JoinPair[] =>
  [...unpaired].flatMap(([key, pair]) => (kept.has(key) || paired.has(key) ? [] : [pair]));

/** Pairs of one record with others. */
interface PairGroup {
  readonly table: JoinTable;
  readonly column: string;
  readonly identifier: number;
  readonly others: number[];
}

/** Each set that was left is removed at once: which side that is, a body that leaves out many shows by itself. */
function grouped(pairs: readonly JoinPair[]): readonly PairGroup[] {
  const bySide = (side: 'left' | 'right'): readonly PairGroup[] => {
    const groups = new Map<string, PairGroup>();
    for (const { table, ...pair } of pairs) {
      const [identifier, other] = [Number(pair[side]), Number(pair[side === 'left' ? 'right' : 'left'])];
      const key = `${table.name} ${identifier}`;
      const group = groups.get(key) ?? { table, column: table[side].column, identifier, others: [] };
      groups.set(key, group);
      group.others.push(other);
    }
    return [...groups.values()];
  };
  const [left, right] = [bySide('left'), bySide('right')];
  return left.length <= right.length ? left : right;
}

async function removePairs(
  { writer, tables }: WriteSession,
  { table, column, identifier, others }: PairGroup,
): Promise<void> {
  await writer.run(tables.rows(table).removeMany(column), [identifier, JSON.stringify(others)]);
}

async function insertPair(session: WriteSession, { table, left, right, pointer }: JoinPair): Promise<void> {
  const side = (value: number | Node): SqlValue => (typeof value === 'number' ? value : (value.identifier ?? null));
  try {
    await session.writer.run(session.tables.rows(table).insert, [side(left), side(right)]);
  } catch (error) {
    throw error instanceof ConstraintError ? goneAt(pointer) : error;
  }
}

interface TouchedRows {
  readonly released: readonly Released[];
  readonly unpaired: readonly JoinPair[];
  readonly changed: readonly Node[];
}

/** Counts before anything is written what the write would touch. */
async function requireFewRows(session: WriteSession, { released, unpaired, changed }: TouchedRows): Promise<void> {
  const count = countRows(session);
  for (const { pointer } of unpaired) count.add(1, pointer);
  for (const some of [session.paired.values(), changed, session.made]) count.addItems(some);
  for (const { relation, identifiers, pointer } of released)
    if (relation.owned) await count.addDeleted(relation.target, identifiers, pointer);
    else {
      count.add(identifiers.length, pointer);
      if (session.effects) noteUnlinked(session.effects, relation, identifiers);
    }
  for (const [{ type, identifier }, pointer] of session.deleted)
    await count.addDeleted(type, [identifier ?? 0], pointer);
}
