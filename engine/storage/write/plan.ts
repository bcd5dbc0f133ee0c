/** A write as a value: everything that it does to the tables, in order. Nothing is written yet, and a dry run ends here. */
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import { memoized } from '../../memo.ts';
import { type Field, OPEN_COLUMN, type RecordType, uniqueIndexes } from '../../model/model.ts';
import { faultyRequest, type Problem } from '../../problem.ts';
import { rawObject } from '../../json/tokenizer.ts';
import { columnOf, encode, foldedText, heldOperand } from '../columns.ts';
import { type Cascade, type Deletion, isIn, tooManyRows, type Unlinked, walkCascade } from './cascade.ts';
import { exchangeConflict, findHolders, heldAs } from './conflicts.ts';
import { checkLinks } from './resolve.ts';
import {
  isNode,
  isReplaced,
  nameOf,
  plain,
  type JoinPair,
  type Node,
  refuse,
  type Released,
  storedValue,
  throwRefused,
  type WriteSession,
} from './session.ts';
import { stampChanged } from './values.ts';
import { openKeysOf } from './values.ts';
import { checkTrees } from './trees.ts';

/** A node stands for the identifier that it gets. */
export type ColumnValue = readonly [column: string, value: SqlValue | Node];

export interface RowUpdate {
  readonly kind: 'update';
  readonly node: Node;
  readonly changes: readonly ColumnValue[];
}

export interface WritePlan {
  readonly unpairs: readonly JoinPair[];
  /** Records that the body does not mention otherwise, and that lose a link. */
  readonly unlinks: readonly Unlinked[];
  /** Links that are cut before anything is deleted, and before others take them over. */
  readonly cuts: readonly RowUpdate[];
  /** undefined if nothing is deleted. */
  readonly cascade: Cascade | undefined;
  /** Each record after those that it refers to, and after those whose unique values it takes over. */
  readonly steps: readonly (RowUpdate | { readonly kind: 'insert'; readonly node: Node })[];
  readonly pairs: readonly JoinPair[];
}

/** Stored records that change. */
export const changedBy = ({ cuts, steps }: WritePlan): readonly Node[] => [
  ...new Set([...cuts, ...steps].flatMap((step) => (step.kind === 'update' ? step.node : []))),
];

/** Deletes records as a whole or not at all; `most` and `refusal` as for `walkCascade`. */
export async function planDeletion(
  session: WriteSession,
  deletion: Deletion,
  most: number,
  refusal: (deletion: Deletion, through: string) => Problem,
): Promise<WritePlan & { readonly cascade: Cascade }> {
  const cascade = await walkCascade(session, [deletion], most, refusal);
  if (cascade.faults.length > 0) throw faultyRequest('restrict-conflict', cascade.faults);
  return { unpairs: [], cuts: [], steps: [], pairs: [], unlinks: cascade.unlinked, cascade };
}

/** Makes the plan of a resolved body. Throws if references or related records do not allow it. */
export async function planWrite(session: WriteSession): Promise<WritePlan> {
  const released = settleReleased(session);
  checkLinks(session);
  refuseNamed(session, [...session.deleted.keys()], 'which leaves it out of its owner');
  if ([...session.existing.keys(), ...session.given.keys()].some(isTree)) await checkTrees(session, released);
  throwRefused(session, 'invalid-reference');
  throwRefused(session, 'link-conflict');
  const changed = changedNodes(session);
  const unpaired = [...session.pairs.values()].filter(({ isWanted }) => !isWanted);
  const pairs = [...session.pairs.values()].filter(({ isWanted, isStored }) => isWanted && !isStored);
  const cascade = await planDeletions(session, { released, unpaired, pairs, changed });
  const gone = (node: Node): boolean => isIn(session.gone, node.type, node.identifier ?? 0);
  if (cascade) {
    refuseNamed(session, [...session.named.keys()].filter(gone), 'together with its owner');
    throwRefused(session, 'invalid-reference');
    for (const node of changed) if (gone(node)) throw goneAt(node.pointer);
  }
  stampChanged(session, changed);
  return {
    unpairs: unpaired,
    unlinks: [...released.flatMap(unlinkedBy), ...(cascade?.unlinked ?? [])],
    cuts: changed.flatMap((node) => cutOf(node, cascade !== undefined)),
    cascade,
    steps: await inOrder(session, changed),
    pairs,
  };
}

const isTree = ({ references }: RecordType): boolean => references.some(({ acyclic }) => acyclic);

const unlinkedBy = ({ relation, identifiers }: Released): WritePlan['unlinks'] =>
  relation.owned || relation.link.at !== 'target'
    ? []
    : [{ type: relation.target, reference: relation.link.reference, identifiers }];

/** A record that a set leaves out, and that another part of the body mentions, is written by itself. */
function settleReleased(session: WriteSession): readonly Released[] {
  return session.released.flatMap(({ relation, column, identifiers, pointer }) => {
    const known = session.existing.get(relation.target);
    for (const identifier of identifiers) {
      const node = known?.get(identifier);
      if (node && relation.owned) session.deleted.set(node, pointer);
      else if (node && !node.assigned.has(column))
        node.assigned.set(column, { value: null, pointer, byOmission: true });
    }
    const others = identifiers.filter((identifier) => !known?.has(identifier));
    return others.length === 0 ? [] : [{ relation, column, identifiers: others, pointer }];
  });
}

/** A body cannot name in one place what it deletes in another. */
function refuseNamed(session: WriteSession, nodes: readonly Node[], how: string): void {
  for (const node of nodes) {
    const message = `${nameOf(node)} is deleted by this same body, ${how}`;
    for (const pointer of session.named.get(node) ?? [])
      refuse(session, 'invalid-reference', pointer, 'deleted', message);
  }
}

export const goneAt = (pointer: string): Problem => {
  const message = 'This record, or one that it is linked to, is deleted by this same body';
  return faultyRequest('invalid-reference', [{ pointer, code: 'deleted', message }]);
};

/** By type and identifier: the order in which they were loaded depends on the database, and decides which one a conflict names. */
const changedNodes = ({ existing, deleted }: WriteSession): readonly Node[] =>
  [...existing]
    .toSorted(([a], [b]) => (a.name < b.name ? -1 : 1))
    .flatMap(([, nodes]) =>
      [...nodes.values()]
        .filter((node) => !deleted.has(node) && isChanged(node))
        .toSorted((a, b) => (a.identifier ?? 0) - (b.identifier ?? 0)),
    );

interface TouchedRows {
  readonly released: readonly Released[];
  readonly unpaired: readonly JoinPair[];
  readonly pairs: readonly JoinPair[];
  readonly changed: readonly Node[];
}

/** Also counts the rows that the write would touch. */
async function planDeletions(
  session: WriteSession,
  { released, unpaired, pairs, changed }: TouchedRows,
): Promise<Cascade | undefined> {
  const { writeRows, made } = session;
  let count = 0;
  const add = (rows: number, pointer: string): void => {
    count += rows;
    if (count > writeRows) throw tooManyRows(writeRows, { pointer }, 'This set');
  };
  for (const { pointer } of unpaired) add(1, pointer);
  for (const some of [pairs, changed, made]) for (const { pointer } of some) add(1, setOf(pointer));
  for (const { relation, identifiers, pointer } of released) if (!relation.owned) add(identifiers.length, pointer);
  const deletions: readonly Deletion[] = [
    ...[...session.deleted].map(([{ type, identifier = 0 }, pointer]) => ({
      type,
      identifiers: [identifier],
      pointer,
    })),
    ...released.flatMap(({ relation: { owned, target: type }, identifiers, pointer }) =>
      owned ? [{ type, identifiers, pointer }] : [],
    ),
  ];
  if (deletions.length === 0) return undefined;
  const cascade = await walkCascade(session, deletions, writeRows - count, ({ pointer }) =>
    tooManyRows(writeRows, { pointer }, 'This set'),
  );
  if (cascade.faults.length > 0) throw faultyRequest('restrict-conflict', cascade.faults);
  return cascade;
}

/** The pointer of the set that a record stands in. */
const setOf = (pointer: string): string => pointer.replace(/\/\d+$/, '');

// Values of rows.

/** The text of the open keys as they will be; undefined where the body says nothing of them. */
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

/** The values of a new record in these columns. */
export const newValues = (node: Node, columns: readonly string[]): readonly SqlValue[] =>
  columns.map((name) => newValue(node, name));

function newValue(node: Node, name: string): SqlValue {
  const assigned = node.assigned.get(name);
  if (assigned) return plain(assigned.value) ?? null;
  const text = node.table.texts.get(name);
  if (text !== undefined) return foldedText(newValue(node, text));
  if (name === node.type.identifier.column) return node.identifier ?? null;
  if (name === OPEN_COLUMN) return openColumn(node) ?? '{}';
  return node.table.defaults.get(name) ?? null;
}

function isChanged(node: Node): boolean {
  for (const column of node.assigned.keys()) if (isReplaced(node, column)) return true;
  return changedText(node) !== undefined;
}

/** The text of the open keys, if it becomes another one. */
function changedText(node: Node): string | undefined {
  const openKeys = openColumn(node);
  return openKeys === storedValue(node, OPEN_COLUMN) ? undefined : openKeys;
}

/** `again`: columns that hold something else meanwhile. */
export function changesOf(node: Node, again: readonly string[] = []): readonly ColumnValue[] {
  const changes: ColumnValue[] = [];
  for (const [column, { value }] of node.assigned)
    if (isReplaced(node, column) || again.includes(column)) changes.push([column, value]);
  const openKeys = changedText(node);
  if (openKeys !== undefined) changes.push([OPEN_COLUMN, openKeys]);
  const kept = again.filter((column) => !node.assigned.has(column));
  return [...changes, ...kept.map((column): ColumnValue => [column, storedValue(node, column) ?? null])];
}

const isLink = ({ type }: Node, name: string): boolean => type.references.some(({ column }) => column === name);
const isNullableLink = ({ type }: Node, name: string): boolean =>
  type.references.some(({ column, required }) => column === name && !required);

/** Links that become null; if something is deleted, also links that change, so that nothing holds the deleted records. */
function cutOf(node: Node, deletes: boolean): readonly RowUpdate[] {
  const changes = changesOf(node).flatMap(([column, value]): ColumnValue[] =>
    (value === null && isLink(node, column)) || (deletes && isNullableLink(node, column)) ? [[column, null]] : [],
  );
  return changes.length === 0 ? [] : [{ kind: 'update', node, changes }];
}

// The order of updates and inserts.

/** Records that wait for one another before the call stack is left. */
const MAX_NESTED = 100;

async function inOrder(session: WriteSession, changed: readonly Node[]): Promise<WritePlan['steps']> {
  const holders = holdersAmong(session, changed);
  const steps: WritePlan['steps'][number][] = [];
  const [begun, done] = [new Set<Node>(), new Set<Node>()];
  const parked = new Map<Node, readonly string[]>();
  let spares = 0;

  function push(node: Node): void {
    done.add(node);
    if (!node.stored) return void steps.push({ kind: 'insert', node });
    const again = parked.get(node) ?? [];
    const changes = changesOf(node, again).filter(
      ([column, value]) => value !== null || again.includes(column) || !isLink(node, column),
    );
    if (changes.length > 0) steps.push({ kind: 'update', node, changes });
  }

  async function visit(node: Node, depth = 1): Promise<void> {
    if (begun.has(node)) return;
    begun.add(node);
    if (depth % MAX_NESTED === 0) await undefined;
    for (const { value } of node.assigned.values()) if (isNode(value)) await visit(value, depth + 1);
    for (const holder of holders(node)) await handOver(node, holder, depth + 1);
    push(node);
  }

  /** If the owner of the value depends on a record that does not exist yet, the value is cleared temporarily. */
  async function handOver(taker: Node, { node, columns }: Holder, depth: number): Promise<void> {
    if (!linksNew(node)) await visit(node, depth);
    if (done.has(node)) return;
    const members = columns.flatMap((name) => node.table.columns.find((column) => column.name === name) ?? []);
    const empty = members.find(({ nullable }) => nullable);
    const column = empty ?? members.find(({ field }) => field?.type.spare);
    if (!column) throw exchangeConflict(session, taker, node, columns);
    const value = column.field && !empty ? await spareValue(node, column.field) : null;
    steps.push({ kind: 'update', node, changes: [[column.name, value]] });
    parked.set(node, [...(parked.get(node) ?? []), column.name]);
  }

  /** A value that no record has where it must be unique. It may exceed the limits of the descriptor: it is never committed. */
  async function spareValue(node: Node, field: Field): Promise<SqlValue> {
    for (;;) {
      spares += 1;
      const value = encode(field, session.dialect, field.type.spare?.(spares) ?? null);
      if (!(await isTaken(session, node, field.column, value))) return value;
    }
  }

  for (const node of changed) if (!linksNew(node)) await visit(node);
  // In the order of the body, which is that of their identifiers: the links to them come after.
  for (const node of session.made) await visit(node);
  for (const node of changed) await visit(node);
  return steps;
}

function linksNew({ assigned }: Node): boolean {
  for (const { value } of assigned.values()) if (isNode(value)) return true;
  return false;
}

/** A record that has stored what another one is to get in columns that are unique together. */
interface Holder {
  readonly node: Node;
  readonly columns: readonly string[];
}

/** Finds, among the records that the body changes, those that hold what a record is to get. */
function holdersAmong({ dialect, made }: WriteSession, changed: readonly Node[]): (node: Node) => readonly Holder[] {
  const holders = new Map<RecordType, Map<string, Holder>>();
  /** The values of columns that are unique together, as text; undefined if one of them is null. */
  const keyOf = (node: Node, columns: readonly string[], asStored: boolean): string | undefined => {
    const values = columns.map((column) => comparable(node, column, asStored, dialect));
    return values.includes(undefined) ? undefined : JSON.stringify([columns, values]);
  };
  for (const node of changed)
    for (const columns of uniqueColumns(node.type)) {
      if (!columns.some((column) => node.assigned.has(column))) continue;
      const held = keyOf(node, columns, true);
      if (held === undefined || held === keyOf(node, columns, false)) continue;
      const known = holders.get(node.type) ?? new Map<string, Holder>();
      holders.set(node.type, known.set(held, { node, columns }));
    }
  if (holders.size === 0 || changed.length + made.length < 2) return () => [];
  return (node) => {
    const held = holders.get(node.type);
    if (!held) return [];
    return uniqueColumns(node.type).flatMap((columns) => {
      const holder = held.get(keyOf(node, columns, false) ?? '');
      return holder && holder.node !== node ? [holder] : [];
    });
  };
}

const uniqueColumns = memoized(({ indexes, references }: RecordType): readonly (readonly string[])[] => [
  ...indexes.flatMap(({ unique, members }) => (unique ? [members.map(columnOf)] : [])),
  ...references.flatMap(({ unique, column }) => (unique ? [[column]] : [])),
]);

function comparable(node: Node, name: string, asStored: boolean, dialect: DialectName): SqlValue | undefined {
  const column = node.table.columns.find((one) => one.name === name);
  const assigned = node.assigned.get(name)?.value;
  // A link that is cut is cut before anything else is written.
  if (asStored && assigned === null && column?.reference) return undefined;
  const value =
    asStored || assigned === undefined ? ((node.stored ? storedValue(node, name) : column?.default) ?? null) : assigned;
  if (value === null || typeof value === 'object') return undefined;
  const operand = column?.field ? heldOperand(column.field, dialect, value) : value;
  return node.table.folded.has(name) ? foldedText(operand) : operand;
}

/** Whether another record would be in the way of this one, with that value in this column. */
async function isTaken(session: WriteSession, node: Node, column: string, value: SqlValue): Promise<boolean> {
  for (const index of uniqueIndexes(node.type)) {
    if (!index.members.some((member) => columnOf(member) === column)) continue;
    const key = index.members.map((member) => {
      const name = columnOf(member);
      return heldAs(session, member, name === column ? value : (storedValue(node, name) ?? null));
    });
    if (key.includes(null)) continue;
    const [holder] = await findHolders(session.writer, node.table, index, [key]);
    if (holder !== undefined) return true;
  }
  return false;
}
