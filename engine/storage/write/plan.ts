/** The plan of a write: all changes of the tables, in order. `apply` executes it. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { rawObject } from '../../json/raw.ts';
import { OPEN_COLUMN, type RecordType, type Reference } from '../../model/model.ts';
import { faultyRequest, type Problem } from '../../problem.ts';
import { foldedText, withFolded } from '../columns.ts';
import type { BoundStatement } from '../driver.ts';
import {
  type Cascade,
  type Deletion,
  isIn,
  type Refusal,
  removeTree,
  tooManyRows,
  type Unlinked,
  walkCascade,
} from './cascade.ts';
import { exchangeConflict, type Holder, holdersAmong, placeholderFor } from './conflicts.ts';
import { explained } from './refused.ts';
import { checkLinks } from './resolve.ts';
import {
  boundValue,
  idOf,
  isNode,
  isReplaced,
  keptNodes,
  nameOf,
  type JoinPair,
  type Node,
  refuse,
  type Released,
  storedValue,
  throwRefused,
  type WriteSession,
} from './session.ts';
import { rowsJson } from './tables.ts';
import { openKeysOf, stampChanged, stampValues } from './values.ts';

type ColumnValue = readonly [column: string, value: SqlValue | Node];

/** An insert, or an update of a stored record. */
interface Step {
  readonly node: Node;
  readonly changes: readonly ColumnValue[];
}

export interface WritePlan {
  readonly unpairs: readonly JoinPair[];
  readonly unlinks: readonly Unlinked[];
  /** Links that are cut before deletions, and before other records take them over. */
  readonly cuts: readonly Step[];
  readonly cascade: Cascade | undefined;
  /** Each record follows the records that it refers to, or takes unique values from. */
  readonly steps: readonly Step[];
  readonly pairs: readonly JoinPair[];
}

export const changedBy = ({ cuts, steps }: WritePlan): readonly Node[] => [
  ...new Set([...cuts, ...steps].flatMap(({ node }) => (node.stored ? node : []))),
];

export async function planDeletion(
  session: WriteSession,
  deletion: Deletion,
  most: number,
  refusal: Refusal,
  mostAffected?: number,
): Promise<WritePlan & { readonly cascade: Cascade }> {
  const cascade = await walkCascade(session, [deletion], most, refusal, mostAffected);
  return { unpairs: [], cuts: [], steps: [], pairs: [], unlinks: cascade.unlinked, cascade };
}

export async function planWrite(session: WriteSession): Promise<WritePlan> {
  const released = session.released.flatMap((one) => settle(session, one));
  checkLinks(session);
  for (const node of session.deleted.keys()) refuseNamed(session, node, 'which leaves it out of its owner');
  await refuseCircles(session, released);
  throwRefused(session, 'invalid-reference');
  throwRefused(session, 'link-conflict');
  const changed = keptNodes(session).filter((node) => changesOf(node).length > 0);
  const unpairs = [...session.pairs.values()].filter(({ isWanted }) => !isWanted);
  const pairs = [...session.pairs.values()].filter(({ isWanted, isStored }) => isWanted && !isStored);
  const cascade = await walkDeletions(session, released, [...unpairs, ...pairs, ...changed]);
  if (cascade) {
    const gone = (node: Node): boolean => isIn(session.gone, node.type, node.identifier ?? 0);
    for (const node of session.named.keys()) if (gone(node)) refuseNamed(session, node, 'together with its owner');
    throwRefused(session, 'invalid-reference');
    for (const node of changed) if (gone(node)) throw goneAt(node.pointer);
    for (const { assigned, type } of [...changed, ...session.made])
      for (const { target, column } of type.references) {
        const { value, pointer } = assigned.get(column) ?? {};
        if (typeof value === 'number' && isIn(session.gone, target, value)) throw goneAt(pointer ?? '');
      }
  }
  stampChanged(session, changed);
  const unlinks = released.flatMap(({ relation: { owned, target: type }, reference, identifiers }) =>
    owned ? [] : [{ type, reference, identifiers, isHidden: false }],
  );
  return {
    unpairs,
    unlinks: [...unlinks, ...(cascade?.unlinked ?? [])],
    cuts: changed.flatMap((node) => cutOf(node, cascade !== undefined)),
    cascade,
    steps: await inOrder(session, changed),
    pairs,
  };
}

/** Notes omitted records in their nodes, if the body mentions them elsewhere; returns the other records. */
function settle({ existing, deleted }: WriteSession, released: Released): readonly Released[] {
  const { relation, reference, pointer } = released;
  const known = existing.get(relation.target);
  for (const identifier of released.identifiers) {
    const node = known?.get(identifier);
    if (node && relation.owned) deleted.set(node, pointer);
    else if (node && !node.assigned.has(reference.column))
      node.assigned.set(reference.column, { value: null, pointer, byOmission: true });
  }
  const identifiers = released.identifiers.filter((identifier) => !known?.has(identifier));
  return identifiers.length === 0 ? [] : [{ ...released, identifiers }];
}

function refuseNamed(session: WriteSession, node: Node, how: string): void {
  const message = `${nameOf(node)} is deleted by this same body, ${how}`;
  for (const pointer of session.named.get(node) ?? [])
    refuse(session, 'invalid-reference', pointer, 'deleted', message);
}

const goneAt = (pointer: string): Problem => {
  const message = 'This record, or one that it is linked to, is deleted by this same body';
  return faultyRequest('invalid-reference', [{ pointer, code: 'deleted', message }]);
};

async function walkDeletions(
  session: WriteSession,
  released: readonly Released[],
  touched: readonly Pick<Node, 'pointer'>[],
): Promise<Cascade | undefined> {
  const { writeRows, deleted, made } = session;
  const refusal = ({ pointer }: Pick<Node, 'pointer'>): Problem => tooManyRows(writeRows, { pointer }, 'This set');
  const left = released.flatMap((one) => (one.relation.owned ? [] : one.identifiers.map(() => one)));
  const rows = [...touched, ...made, ...left];
  const first = rows[writeRows];
  if (first) throw refusal({ pointer: first.pointer.replace(/\/\d+$/, '') });
  const deletions: Deletion[] = [
    ...[...deleted].map(([{ type, identifier = 0 }, pointer]) => ({ type, identifiers: [identifier], pointer })),
    ...released.flatMap(({ relation: { owned, target: type }, identifiers, pointer }) =>
      owned ? [{ type, identifiers, pointer }] : [],
    ),
  ];
  return deletions.length === 0 ? undefined : walkCascade(session, deletions, writeRows - rows.length, refusal);
}

const MOST_ABOVE = 10_000;

/** Refuses cycles of acyclic links. No record is below a new record without an identifier. */
async function refuseCircles(session: WriteSession, released: readonly Released[]): Promise<void> {
  const { existing, given, made, deleted } = session;
  if (existing.size + given.size === 0) return;
  const stored = [...existing.values()].flatMap((nodes) => [...nodes.values()].filter(({ isLost }) => !isLost));
  for (const [type, nodes] of Map.groupBy([...stored, ...made], (node) => node.type))
    for (const reference of type.references) {
      const { column, acyclic } = reference;
      const moved = nodes.filter((node) => {
        const link = node.assigned.get(column)?.value ?? null;
        return (
          link !== null && link !== storedValue(node, column) && node.identifier !== undefined && !deleted.has(node)
        );
      });
      if (!acyclic || moved.length === 0) continue;
      const above = await parentsIn(session, [type, nodes], reference, released);
      const pointerOf = (node: Node): string => node.assigned.get(column)?.pointer ?? node.pointer;
      for (const node of moved) {
        if (!above) {
          const message = `More than ${MOST_ABOVE} records are above this one`;
          refuse(session, 'invalid-reference', pointerOf(node), 'too-deep', message);
          break;
        }
        const [start, seen] = [idOf(node), new Set<number | Node>()];
        let record = above(start);
        for (; record !== null && record !== start && !seen.has(record); record = above(record)) seen.add(record);
        const message = `${nameOf(node)} would be below itself; link a record that is not below it`;
        if (record === start) refuse(session, 'invalid-reference', pointerOf(node), 'cycle', message);
      }
    }
}

/** Returns a function for the future parent of a record; undefined if more than MOST_ABOVE are above. */
async function parentsIn(
  { deleted, tables, writer }: WriteSession,
  [type, nodes]: readonly [RecordType, readonly Node[]],
  reference: Reference,
  released: readonly Released[],
) {
  const links = new Map<number | Node, number | Node | null>();
  for (const node of nodes) {
    const value = deleted.has(node) ? null : node.assigned.get(reference.column)?.value;
    if (value !== undefined) links.set(idOf(node), value === null || isNode(value) ? value : Number(value));
  }
  for (const one of released)
    if (one.relation.target === type && (one.relation.owned || one.reference === reference))
      for (const identifier of one.identifiers) links.set(identifier, null);
  // Two concurrent writes could make a cycle that neither sees.
  if (tables.lockOwnership) await writer.value(tables.lockOwnership, []);
  const parents = [...new Set(links.values())].filter((record) => typeof record === 'number');
  const { above } = tables.of(type).linksIn(reference.column);
  const rows = await writer.all(above, [JSON.stringify(parents), MOST_ABOVE + 1]);
  if (rows.length > MOST_ABOVE) return undefined;
  const stored = new Map(rows.map(([identifier, parent]) => [Number(identifier), parent ?? null]));
  return (record: number | Node): number | Node | null => {
    const link = links.get(record);
    if (link !== undefined || typeof record !== 'number') return link ?? null;
    const parent = stored.get(record) ?? null;
    return parent === null ? null : Number(parent);
  };
}

/** JSON of all open keys after the write; undefined if the body writes none. */
function openColumn(node: Node): string | undefined {
  const written = [...node.openKeys].filter(([, { isWritten }]) => isWritten);
  if (written.length === 0) return undefined;
  const members = new Map(openKeysOf(node));
  for (const [key, { member }] of written) {
    if (member === undefined) members.delete(key);
    else members.set(key, { name: members.get(key)?.name ?? member.name, text: member.text });
  }
  return rawObject(members.values());
}

export const newValues = (node: Node, columns: readonly string[]): readonly SqlValue[] =>
  columns.map((name) => newValue(node, name));

function newValue(node: Node, name: string): SqlValue {
  const assigned = node.assigned.get(name);
  if (assigned) return boundValue(assigned.value);
  const text = node.table.texts.get(name);
  if (text !== undefined) return foldedText(newValue(node, text));
  if (name === node.type.identifier.column) return node.identifier ?? null;
  if (name === OPEN_COLUMN) return openColumn(node) ?? '{}';
  return node.table.defaults.get(name) ?? null;
}

/** `again`: columns that hold a placeholder and need their value back. */
export function changesOf(node: Node, again: readonly string[] = []): readonly ColumnValue[] {
  const changes: ColumnValue[] = [];
  for (const [column, { value }] of node.assigned)
    if (isReplaced(node, column) || again.includes(column)) changes.push([column, value]);
  const openKeys = openColumn(node);
  if (openKeys !== undefined && openKeys !== storedValue(node, OPEN_COLUMN)) changes.push([OPEN_COLUMN, openKeys]);
  for (const column of again) if (!node.assigned.has(column)) changes.push([column, storedValue(node, column) ?? null]);
  return changes;
}

const linkAt = ({ type }: Node, name: string): Reference | undefined =>
  type.references.find(({ column }) => column === name);

/** Links that become null; before a deletion, also links that change, so that none blocks it. */
function cutOf(node: Node, deletes: boolean): readonly Step[] {
  const changes = changesOf(node).flatMap(([column, value]): ColumnValue[] => {
    const link = linkAt(node, column);
    return link && (value === null || (deletes && !link.required)) ? [[column, null]] : [];
  });
  return changes.length === 0 ? [] : [{ node, changes }];
}

/** Depth at which an `await` empties the call stack. */
const MAX_NESTED = 100;

async function inOrder(session: WriteSession, changed: readonly Node[]): Promise<readonly Step[]> {
  const holders = changed.length + session.made.length > 1 ? holdersAmong(session, changed) : undefined;
  const steps: Step[] = [];
  const [begun, done] = [new Set<Node>(), new Set<Node>()];
  const parked = new Map<Node, readonly string[]>();

  async function visit(node: Node, depth = 1): Promise<void> {
    if (begun.has(node)) return;
    begun.add(node);
    if (depth % MAX_NESTED === 0) await undefined;
    for (const { value } of node.assigned.values()) if (isNode(value)) await visit(value, depth + 1);
    for (const holder of holders?.(node) ?? []) await handOver(node, holder, depth + 1);
    done.add(node);
    const again = parked.get(node) ?? [];
    // `cuts` has already set links to null.
    const changes = node.stored
      ? changesOf(node, again).filter(([name, value]) => value !== null || again.includes(name) || !linkAt(node, name))
      : [];
    if (!node.stored || changes.length > 0) steps.push({ node, changes });
  }

  /** Frees a unique value: by its holder's update, or by a placeholder if the update cannot come first. */
  async function handOver(taker: Node, { node, columns }: Holder, depth: number): Promise<void> {
    if (!linksNew(node)) await visit(node, depth);
    if (done.has(node)) return;
    const placeholder = await placeholderFor(session, node, columns);
    if (!placeholder) throw exchangeConflict(session, taker, node, columns);
    steps.push({ node, changes: [placeholder] });
    parked.set(node, [...(parked.get(node) ?? []), placeholder[0]]);
  }

  for (const node of changed) if (!linksNew(node)) await visit(node);
  // New records get identifiers in body order.
  for (const node of [...session.made, ...changed]) await visit(node);
  return steps;
}

const linksNew = ({ assigned }: Node): boolean => [...assigned.values()].some(({ value }) => isNode(value));

export async function apply(session: WriteSession, plan: WritePlan): Promise<void> {
  const { writer, tables, given } = session;
  for (const [table, pairs] of Map.groupBy(plan.unpairs, (pair) => pair.table))
    await writer.run(tables.rows(table).remove, [JSON.stringify(pairs.map(({ left, right }) => [left, right]))]);
  for (const { type, reference, identifiers } of plan.unlinks) {
    const { filled, linksIn } = tables.of(type);
    await writer.run(linksIn(reference.column).cut, [...stampValues(session, filled), JSON.stringify(identifiers)]);
  }
  await runAll(session, plan.cuts.map(updateOf));
  for (const tree of plan.cascade?.trees ?? []) await removeTree(session, tree);
  // Reserves identifiers that the body gives.
  for (const [type, nodes] of given) {
    const last = [...nodes.keys()].reduce((most, identifier) => Math.max(most, identifier), 0);
    for (const statement of tables.of(type).moveSequence) await writer.run(statement, [last]);
  }
  for (const group of groupsOf(plan.steps)) {
    const nodes = group.map(({ node }) => node);
    if (nodes[0]?.stored) await runAll(session, group.map(updateOf));
    else await insertRows(session, nodes);
  }
  await runAll(
    session,
    plan.pairs.map(({ table, left, right, pointer }) => ({
      statement: tables.rows(table).insert,
      values: [boundValue(left), boundValue(right)],
      pointer,
    })),
  );
}

/** Steps to send together: updates, or inserts into one table that do not refer to each other. */
function groupsOf(steps: readonly Step[]): readonly (readonly Step[])[] {
  const groups: Step[][] = [];
  for (const step of steps) {
    const last = groups.at(-1);
    if (last && belongs(step.node, last)) last.push(step);
    else groups.push([step]);
  }
  return groups;
}

const MOST_ROWS = 1000;

function belongs(node: Node, group: readonly Step[]): boolean {
  const first = group[0]?.node;
  if (node.stored || first?.stored) return node.stored !== undefined && first?.stored !== undefined;
  if (first?.table !== node.table || group.length === MOST_ROWS) return false;
  if ((first.identifier === undefined) !== (node.identifier === undefined)) return false;
  for (const { value } of node.assigned.values())
    if (isNode(value) && value.table === node.table && group.some((step) => step.node === value)) return false;
  return true;
}

interface Sent extends BoundStatement {
  readonly node?: Node;
  readonly pointer: string;
}

/** Sends all statements at once, and waits for all before it throws: none must run after the transaction. */
async function runAll(session: WriteSession, all: readonly Sent[]): Promise<void> {
  if (all.length === 0) return;
  const ended = await Promise.allSettled(
    all.map(async ({ statement, values, node, pointer }) => {
      const { changes, identifier } = await session.writer.run(statement, values);
      if (node && !node.stored) node.identifier ??= identifier;
      else if (node && changes === 0) throw goneAt(pointer);
    }),
  );
  for (const [index, one] of ended.entries())
    if (one.status === 'rejected') {
      const { node, pointer = '' } = all[index] ?? {};
      throw explained(session, one.reason, node ? [node] : [], pointer);
    }
}

/** Adds case-folded columns to the changes. New records must have identifiers. */
export const writtenBy = ({ node, changes }: Step): readonly (readonly [column: string, value: SqlValue])[] =>
  withFolded(
    node.table,
    changes.map(([column, value]) => [column, boundValue(value)] as const),
  );

function updateOf(step: Step): Sent {
  const { node } = step;
  const { table, identifier = null, pointer } = node;
  const written = writtenBy(step);
  const columns = written.map(([column]) => column);
  const values = [...written.map(([, value]) => value), identifier];
  return { statement: table.update(columns.join(), columns), values, node, pointer };
}

async function insertRows(session: WriteSession, nodes: readonly Node[]): Promise<void> {
  const [first] = nodes;
  if (!first) return;
  const { statement, columns, many } = first.table.insert[first.identifier === undefined ? 'made' : 'given'];
  if (!many || nodes.length === 1 || session.isSearched) {
    const sent = nodes.map((node) => ({ statement, values: newValues(node, columns), node, pointer: node.pointer }));
    return runAll(session, sent);
  }
  try {
    const values = [rowsJson(nodes.map((node) => newValues(node, columns)))];
    const { rows = [] } = await session.writer.run(many, values);
    const identifiers = rows.map(([identifier]) => Number(identifier)).toSorted((a, b) => a - b);
    for (const [index, node] of nodes.entries()) node.identifier ??= identifiers[index];
    return undefined;
  } catch (error) {
    throw explained(session, error, nodes, first.pointer);
  }
}
