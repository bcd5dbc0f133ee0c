/** Carries a plan out: delete and unlink, update, create. Only columns whose values change are written. */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JoinTable } from '../../model/model.ts';
import { withFolded } from '../columns.ts';
import { type BoundStatement, ConstraintError, type Writer } from '../driver.ts';
import { removeTree } from './cascade.ts';
import { tooLongForIndex, uniqueConflict } from './conflicts.ts';
import { goneAt, newValues, type RowUpdate, type WritePlan } from './plan.ts';
import { isNode, type JoinPair, type Node, plain, type WriteSession } from './session.ts';
import { stampValues } from './values.ts';
import { rowsJson } from './tables.ts';

export async function apply(session: WriteSession, plan: WritePlan): Promise<void> {
  const { writer, tables, made, given } = session;
  for (const { table, column, identifier, others } of grouped(plan.unpairs))
    await writer.run(tables.rows(table).remove(column), [identifier, JSON.stringify(others)]);
  for (const { type, reference, identifiers } of plan.unlinks) {
    const { filled, unlink } = tables.of(type);
    await writer.run(unlink(reference.column), [...stampValues(session, filled), JSON.stringify(identifiers)]);
  }
  await updateRows(session, plan.cuts);
  for (const tree of plan.cascade?.trees ?? []) await removeTree(session, tree);
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
