/** Carries a plan out: delete and unlink, update, create. Only columns whose values change are written. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { withFolded } from '../columns.ts';
import { type BoundStatement, ConstraintError } from '../driver.ts';
import { removeTree } from './cascade.ts';
import { tooLongForIndex, uniqueConflict } from './conflicts.ts';
import { goneAt, newValues, type RowUpdate, type WritePlan } from './plan.ts';
import { isNode, type Node, plain, type WriteSession } from './session.ts';
import { rowsJson } from './tables.ts';
import { stampValues } from './values.ts';

export async function apply(session: WriteSession, plan: WritePlan): Promise<void> {
  const { writer, tables, made, given } = session;
  for (const [table, pairs] of Map.groupBy(plan.unpairs, (pair) => pair.table))
    await writer.run(tables.rows(table).remove, [JSON.stringify(pairs.map(({ left, right }) => [left, right]))]);
  for (const { type, reference, identifiers } of plan.unlinks) {
    const { filled, unlink } = tables.of(type);
    await writer.run(unlink(reference.column), [...stampValues(session, filled), JSON.stringify(identifiers)]);
  }
  await runAll(session, plan.cuts.map(updateOf));
  for (const tree of plan.cascade?.trees ?? []) await removeTree(session, tree);
  // A record without an identifier must not get the one that a later record of the body brings.
  for (const [type, nodes] of given) {
    if (!made.some((node) => node.type === type && node.identifier === undefined)) continue;
    const last = [...nodes.keys()].reduce((most, identifier) => Math.max(most, identifier), 0);
    for (const statement of tables.of(type).moveSequence) await writer.run(statement, [last]);
  }
  for (const group of groupsOf(plan.steps)) {
    if ('updates' in group) await runAll(session, group.updates.map(updateOf));
    else await insertRows(session, group.inserts);
  }
  const side = (value: number | Node): SqlValue => (isNode(value) ? (value.identifier ?? null) : value);
  await runAll(
    session,
    plan.pairs.map(({ table, left, right, pointer }) => ({
      statement: tables.rows(table).insert,
      values: [side(left), side(right)],
      pointer,
    })),
  );
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
  /** The record that is made or changed; missing for a pair. */
  readonly node?: Node;
  readonly pointer: string;
}

/** Runs them in order; a constraint that broke is explained once the others have ended. */
async function runAll(session: WriteSession, all: readonly Sent[]): Promise<void> {
  for (let from = 0; from < all.length; from += TOGETHER) {
    const some = all.slice(from, from + TOGETHER);
    const ended = await Promise.allSettled(
      some.map(async ({ statement, values, node, pointer }) => {
        const { changes, identifier } = await session.writer.run(statement, values);
        if (node && !node.stored) noteInserted(session, node, identifier);
        else if (node && changes === 0) throw goneAt(pointer);
      }),
    );
    for (const [index, one] of ended.entries())
      if (one.status === 'rejected') {
        const { node, pointer = '' } = some[index] ?? {};
        throw await explained(session, one.reason, node ? [node] : [], pointer);
      }
  }
}

async function explained(
  session: WriteSession,
  error: unknown,
  nodes: readonly Node[],
  pointer: string,
): Promise<unknown> {
  if (!(error instanceof ConstraintError)) return error;
  if (error.kind === 'too-long') return tooLongForIndex(nodes, error.index);
  const [first] = nodes;
  return error.kind === 'unique' && first ? uniqueConflict(session, first) : goneAt(pointer);
}

function updateOf({ node, changes }: RowUpdate): Sent {
  const { table, identifier = null, pointer } = node;
  const plainly = changes.map(([column, value]) => [column, plain(value) ?? null] as const);
  const written = withFolded(table, plainly);
  const values = [...written.map(([, value]) => value), identifier];
  return { statement: table.update(written.map(([column]) => column)), values, node, pointer };
}

/** All have identifiers, or none has. */
async function insertRows(session: WriteSession, nodes: readonly Node[]): Promise<void> {
  const [first] = nodes;
  if (!first) return;
  const { statement, columns, many } = first.table.insert[first.identifier === undefined ? 'made' : 'given'];
  if (!many || nodes.length === 1) {
    const sent = nodes.map((node) => ({ statement, values: newValues(node, columns), node, pointer: node.pointer }));
    return runAll(session, sent);
  }
  try {
    const values = [rowsJson(nodes.map((node) => newValues(node, many.columns)))];
    const { rows = [] } = await session.writer.run(many.statement, values);
    const identifiers = rows.map(([identifier]) => Number(identifier)).toSorted((a, b) => a - b);
    for (const [index, node] of nodes.entries()) noteInserted(session, node, identifiers[index]);
    return undefined;
  } catch (error) {
    throw await explained(session, error, nodes, first.pointer);
  }
}

function noteInserted({ inserted }: WriteSession, node: Node, identifier: number | undefined): void {
  node.identifier ??= identifier;
  inserted.add(node);
}
