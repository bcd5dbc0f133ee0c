/** Carries a plan out: delete and unlink, update, create. Only columns whose values change are written. */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JoinTable, RecordType } from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import { withFolded } from '../columns.ts';
import { type BoundStatement, ConstraintError, type Writer } from '../driver.ts';
import type { Cascade, Level } from './cascade.ts';
import { tooLongForIndex, uniqueConflict } from './conflicts.ts';
import { goneAt, newValues, type RowUpdate, type WritePlan } from './plan.ts';
import { isNode, type JoinPair, type Node, plain, type WriteSession } from './session.ts';
import { stampValues } from './stamps.ts';
import { NAMED, rowsJson } from './tables.ts';

export async function apply(session: WriteSession, plan: WritePlan): Promise<void> {
  const { writer, tables, made, given } = session;
  for (const { table, column, identifier, others } of grouped(plan.unpairs))
    await writer.run(tables.rows(table).removeMany(column), [identifier, JSON.stringify(others)]);
  for (const { type, reference, identifiers } of plan.unlinks) {
    const table = tables.of(type);
    const values = [...stampValues(session, table.filled), JSON.stringify(identifiers)];
    await writer.run(table.unlinkMany(reference.column), values);
  }
  await updateRows(session, plan.cuts);
  for (const cascade of plan.deletes) await remove(session, cascade);
  // A record without an identifier must not get the one that a later record of the body brings.
  for (const [type, nodes] of given) {
    if (!made.some((node) => node.type === type && node.identifier === undefined)) continue;
    const last = [...nodes.keys()].reduce((most, identifier) => Math.max(most, identifier), 0);
    for (const statement of tables.of(type).moveSequence) await writer.run(statement, [last]);
  }
  for (const group of groupsOf(plan.steps)) {
    if ('updates' in group) await updateRows(session, group.updates);
    else await insertRows(session, group.inserts);
  }
  const side = (value: number | Node): SqlValue => (typeof value === 'number' ? value : (value.identifier ?? null));
  await runAll(
    session,
    plan.pairs.map(({ table, left, right, pointer }) => ({
      statement: tables.rows(table).insert,
      values: [side(left), side(right)],
      pointer,
    })),
  );
}

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

/** Steps that can be sent together: inserts into one table that do not refer to each other, or updates. */
type Group = { readonly updates: RowUpdate[] } | { readonly inserts: Node[] };

const MOST_ROWS = 1000;

function groupsOf(steps: WritePlan['steps']): readonly Group[] {
  const groups: Group[] = [];
  for (const step of steps) {
    const last = groups.at(-1);
    if (step.kind === 'update') {
      if (last && 'updates' in last) last.updates.push(step);
      else groups.push({ updates: [step] });
    } else if (last && 'inserts' in last && belongs(step.node, last.inserts)) last.inserts.push(step.node);
    else groups.push({ inserts: [step.node] });
  }
  return groups;
}

function belongs(node: Node, group: readonly Node[]): boolean {
  const [first] = group;
  if (first?.table !== node.table || group.length === MOST_ROWS) return false;
  if ((first.identifier === undefined) !== (node.identifier === undefined)) return false;
  for (const { value } of node.assigned.values())
    if (isNode(value) && value.table === node.table && group.includes(value)) return false;
  return true;
}

/** Statements that are sent before the answers to others are there. */
const TOGETHER = 100;

interface Sent extends BoundStatement {
  readonly node?: Node;
  readonly pointer: string;
}

type Ran = Awaited<ReturnType<Writer['run']>>;

/** Runs them in order; a constraint that broke is explained once the others have ended. */
async function runAll(session: WriteSession, all: readonly Sent[]): Promise<readonly Ran[]> {
  const results: Ran[] = [];
  for (let from = 0; from < all.length; from += TOGETHER) {
    const some = all.slice(from, from + TOGETHER);
    const ended = await Promise.allSettled(
      some.map(async ({ statement, values }) => session.writer.run(statement, values)),
    );
    for (const [index, one] of ended.entries()) {
      const node = some[index]?.node;
      if (one.status === 'fulfilled' && node && !node.stored) noteInserted(session, node, one.value.identifier);
    }
    for (const [index, one] of ended.entries()) {
      if (one.status === 'rejected') throw await explained(session, one.reason, some[index]);
      results.push(one.value);
    }
  }
  return results;
}

async function explained(
  session: WriteSession,
  error: unknown,
  sent: Pick<Sent, 'node' | 'pointer'> | undefined,
  nodes: readonly Node[] = sent?.node ? [sent.node] : [],
): Promise<unknown> {
  if (!(error instanceof ConstraintError)) return error;
  if (error.kind === 'too-long') return tooLongForIndex(nodes, error.index);
  const [first] = nodes;
  return error.kind === 'unique' && first ? uniqueConflict(session, first) : goneAt(sent?.pointer ?? '');
}

async function updateRows(session: WriteSession, updates: readonly RowUpdate[]): Promise<void> {
  const ran = await runAll(session, updates.map(updateOf));
  for (const [index, { changes }] of ran.entries()) if (changes === 0) throw goneAt(updates[index]?.node.pointer ?? '');
}

function updateOf({ node, changes }: RowUpdate): Sent {
  const { table, identifier, pointer } = node;
  const written = withFolded(
    table,
    changes.map(([column, value]) => [column, plain(value) ?? null]),
  );
  const values = [...written.map(([, value]) => value), identifier ?? null];
  return { statement: table.update(written.map(([column]) => column)), values, node, pointer };
}

/** All have identifiers, or none has. */
async function insertRows(session: WriteSession, nodes: readonly Node[]): Promise<void> {
  const [first] = nodes;
  if (!first) return;
  const { statement, columns, many } = first.table.insert[first.identifier === undefined ? 'made' : 'given'];
  if (!many || nodes.length === 1) {
    const sent = nodes.map((node) => ({ statement, values: newValues(node, columns), node, pointer: node.pointer }));
    return void (await runAll(session, sent));
  }
  try {
    const values = [rowsJson(nodes.map((node) => newValues(node, many.columns)))];
    const { rows = [] } = await session.writer.run(many.statement, values);
    const identifiers = rows.map(([identifier]) => Number(identifier)).toSorted((a, b) => a - b);
    for (const [index, node] of nodes.entries()) noteInserted(session, node, identifiers[index]);
  } catch (error) {
    throw await explained(session, error, { pointer: first.pointer }, nodes);
  }
}

function noteInserted({ inserted }: WriteSession, node: Node, identifier: number | undefined): void {
  node.identifier ??= identifier;
  inserted.add(node);
}

/** Records that SQLite deletes within each other in one statement: a little below its limit of 1,000 nested triggers. */
const MOST_NESTED = 900;

/** The database deletes what goes with them, unless that nests too deep. */
async function remove(session: WriteSession, cascade: Cascade): Promise<void> {
  const { levels, nests, type, identifiers, pointer } = cascade;
  const count = levels.reduce((sum, level) => sum + level.identifiers.length, 0);
  try {
    if (count > MOST_NESTED && nests) await removeByLevel(session, levels);
    else if (levels[0]) await removeLevel(session, levels[0]);
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    if (error.kind === 'reference') {
      const known = `${type.name} ${identifiers.slice(0, NAMED).join(', ')}`;
      throw new Problem('restrict-conflict', `Records of a type that only newer descriptors name refer to ${known}`);
    }
    throw new Problem('too-many-rows', TOO_DEEP, { errors: [{ pointer, code: 'too-many-rows', message: TOO_DEEP }] });
  }
}

const TOO_DEEP =
  'More records are deleted within each other than one step can delete: let an operator remove them with "records delete TYPE ID --chunked"';

export async function removeLevel(
  { writer, tables }: WriteSession,
  { type, identifiers }: Level,
): Promise<{ readonly changes: number }> {
  const { remove: removeOne, removeMany } = tables.of(type);
  if (identifiers.length === 0) return { changes: 0 };
  return identifiers.length === 1
    ? writer.run(removeOne, identifiers)
    : writer.run(removeMany, [JSON.stringify(identifiers)]);
}

type Going = ReadonlyMap<RecordType, ReadonlySet<number>>;

export function goingIn(levels: readonly Level[]): Going {
  const going = new Map<RecordType, Set<number>>();
  for (const { type, identifiers } of levels) {
    const known = going.get(type) ?? new Set<number>();
    going.set(type, known);
    for (const identifier of identifiers) known.add(identifier);
  }
  return going;
}

/** The deepest first. */
async function removeByLevel(session: WriteSession, levels: readonly Level[]): Promise<void> {
  const going = goingIn(levels);
  for (const level of levels.toReversed()) {
    await cutWithin(session, level, going);
    await removeLevel(session, level);
  }
}

/** A record that goes may refer to another that goes before it: its link is cut, or leads to the first of them. */
export async function cutWithin(
  { writer, tables, writeRows }: WriteSession,
  level: Level,
  going: Going,
): Promise<void> {
  const [first = null] = going.get(level.type) ?? [];
  for (const { type, reference } of level.type.referrers) {
    if (reference.onDelete === 'setNull') continue;
    const { someChildren, link } = tables.of(type);
    const found = await writer.column(someChildren(reference.column), [JSON.stringify(level.identifiers), writeRows]);
    const within = found.filter((identifier) => going.get(type)?.has(Number(identifier)));
    if (within.length > 0)
      await writer.run(link(reference.column), [reference.required ? first : null, JSON.stringify(within)]);
  }
}
