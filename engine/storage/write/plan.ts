/** A write as a value: everything that it does to the tables, in order. Nothing is written yet, and a dry run ends here. */
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import { rawObject } from '../../json/json.ts';
import { memoized } from '../../memo.ts';
import { type Field, OPEN_COLUMN, type RecordType, type Reference, uniqueIndexes } from '../../model/model.ts';
import { faultyRequest, type Problem } from '../../problem.ts';
import { columnOf, encode, foldedText, heldOperand } from '../columns.ts';
import { type Cascade, type Deletion, isIn, tooManyRows, type Unlinked, walkCascade } from './cascade.ts';
import { exchangeConflict, findHolder, heldAs } from './conflicts.ts';
import { checkLinks } from './resolve.ts';
import {
  idOf,
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
  willHold,
  type WriteSession,
} from './session.ts';
import { openKeysOf, stampChanged } from './values.ts';

/** A node stands for the identifier that it gets. */
type ColumnValue = readonly [column: string, value: SqlValue | Node];

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
  await refuseCircles(session, released);
  throwRefused(session, 'invalid-reference');
  throwRefused(session, 'link-conflict');
  const changed = changedNodes(session);
  const unpairs = [...session.pairs.values()].filter(({ isWanted }) => !isWanted);
  const pairs = [...session.pairs.values()].filter(({ isWanted, isStored }) => isWanted && !isStored);
  const cascade = await walkDeletions(session, released, { unpairs, pairs, changed });
  if (cascade) {
    const gone = (node: Node): boolean => isIn(session.gone, node.type, node.identifier ?? 0);
    refuseNamed(session, [...session.named.keys()].filter(gone), 'together with its owner');
    throwRefused(session, 'invalid-reference');
    for (const node of changed) if (gone(node)) throw goneAt(node.pointer);
  }
  stampChanged(session, changed);
  const unlinks = released.flatMap(({ relation, identifiers }) =>
    relation.owned || relation.link.at !== 'target'
      ? []
      : [{ type: relation.target, reference: relation.link.reference, identifiers }],
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
        .filter((node) => !deleted.has(node) && changesOf(node).length > 0)
        .toSorted((a, b) => (a.identifier ?? 0) - (b.identifier ?? 0)),
    );

/** Also counts the rows that the write would touch. */
async function walkDeletions(
  session: WriteSession,
  released: readonly Released[],
  touched: { readonly [kind in 'unpairs' | 'pairs' | 'changed']: readonly Pick<Node, 'pointer'>[] },
): Promise<Cascade | undefined> {
  const { writeRows, made } = session;
  const refusal = ({ pointer }: Pick<Node, 'pointer'>): Problem => tooManyRows(writeRows, { pointer }, 'This set');
  let left = writeRows;
  const take = (rows: number, pointer: string): void => {
    left -= rows;
    if (left < 0) throw refusal({ pointer });
  };
  for (const { pointer } of touched.unpairs) take(1, pointer);
  // The pointer of the set that a record stands in.
  for (const { pointer } of [...touched.pairs, ...touched.changed, ...made]) take(1, pointer.replace(/\/\d+$/, ''));
  const deletions = [...session.deleted].map(([{ type, identifier = 0 }, pointer]): Deletion => {
    return { type, identifiers: [identifier], pointer };
  });
  for (const { relation, identifiers, pointer } of released)
    if (relation.owned) deletions.push({ type: relation.target, identifiers, pointer });
    else take(identifiers.length, pointer);
  if (deletions.length === 0) return undefined;
  const cascade = await walkCascade(session, deletions, left, refusal);
  if (cascade.faults.length > 0) throw faultyRequest('restrict-conflict', cascade.faults);
  return cascade;
}

// Links that must not lead back to where they begin.

/** Records above those that a write moves. */
const MOST_ABOVE = 10_000;

/** Refuses links that would put a record below itself. Only one that is there, or that the body can name, can be above another. */
async function refuseCircles(session: WriteSession, released: readonly Released[]): Promise<void> {
  const { existing, given, deleted } = session;
  for (const type of new Set([...existing.keys(), ...given.keys()]))
    for (const reference of type.references) {
      const { column, acyclic } = reference;
      const named = [existing, given].flatMap((nodes) => [...(nodes.get(type)?.values() ?? [])]);
      const moved = named.filter((node) => {
        const link = node.assigned.get(column)?.value ?? null;
        return link !== null && link !== storedValue(node, column) && !deleted.has(node);
      });
      if (!acyclic || moved.length === 0) continue;
      const above = await parentsIn(session, type, reference, released);
      const pointerOf = (node: Node): string => node.assigned.get(column)?.pointer ?? node.pointer;
      for (const node of moved) {
        if (!above) {
          const message = `More than ${MOST_ABOVE} records are above this one`;
          refuse(session, 'invalid-reference', pointerOf(node), 'too-deep', message);
          break;
        }
        const [start, seen] = [idOf(node), new Set<TreePlace>()];
        let place = above(start);
        for (; place !== null && place !== start && !seen.has(place); place = above(place)) seen.add(place);
        const message = `${nameOf(node)} would be below itself; link a record that is not below it`;
        if (place === start) refuse(session, 'invalid-reference', pointerOf(node), 'cycle', message);
      }
    }
}

/** A record that is there by its identifier, one that is to be made by its node. */
type TreePlace = number | Node;

/** What each record is to refer to, itself or by what is stored; undefined if too many records are above those of the body. */
async function parentsIn(
  { existing, made, deleted, tables, writer }: WriteSession,
  type: RecordType,
  reference: Reference,
  released: readonly Released[],
): Promise<((place: TreePlace) => TreePlace | null) | undefined> {
  const links = new Map<TreePlace, TreePlace | null>();
  for (const node of [...(existing.get(type)?.values() ?? []), ...made]) {
    const value = node.assigned.get(reference.column)?.value;
    if (node.type !== type || (value === undefined && !deleted.has(node))) continue;
    const isCut = deleted.has(node) || value === undefined || value === null;
    links.set(idOf(node), isCut ? null : isNode(value) ? value : Number(value));
  }
  for (const { relation, identifiers } of released)
    if (
      relation.target === type &&
      (relation.owned || ('reference' in relation.link && relation.link.reference === reference))
    )
      for (const identifier of identifiers) links.set(identifier, null);
  // No other write can change them before this one ends: two at once could make a cycle that neither of them sees.
  if (tables.lockOwnership) await writer.value(tables.lockOwnership, []);
  const parents = [...new Set(links.values())].filter((place) => typeof place === 'number');
  const above = tables.of(type).above(reference.column);
  const rows = await writer.all(above, [JSON.stringify(parents), MOST_ABOVE + 1]);
  if (rows.length > MOST_ABOVE) return undefined;
  const stored = new Map(rows.map(([identifier, parent]) => [Number(identifier), parent ?? null]));
  return (place) => {
    const link = links.get(place);
    if (link !== undefined || typeof place !== 'number') return link ?? null;
    const parent = stored.get(place) ?? null;
    return parent === null ? null : Number(parent);
  };
}

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

/** What changes of a record that is there. `again`: columns that hold something else meanwhile. */
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

/** Links that become null; if something is deleted, also links that change, so that nothing holds the deleted records. */
function cutOf(node: Node, deletes: boolean): readonly RowUpdate[] {
  const changes = changesOf(node).flatMap(([column, value]): ColumnValue[] => {
    const link = linkAt(node, column);
    return link && (value === null || (deletes && !link.required)) ? [[column, null]] : [];
  });
  return changes.length === 0 ? [] : [{ kind: 'update', node, changes }];
}

// The order of updates and inserts.

/** Records that wait for one another before the call stack is left. */
const MAX_NESTED = 100;

async function inOrder(session: WriteSession, changed: readonly Node[]): Promise<WritePlan['steps']> {
  const holders = holdersAmong(session, changed);
  const steps: WritePlan['steps'][number][] = [];
  const [begun, done] = [new Set<Node>(), new Set<Node>()];
  /** Columns that were cleared temporarily. */
  const parked = new Map<Node, readonly string[]>();
  let spares = 0;

  async function visit(node: Node, depth = 1): Promise<void> {
    if (begun.has(node)) return;
    begun.add(node);
    if (depth % MAX_NESTED === 0) await undefined;
    for (const { value } of node.assigned.values()) if (isNode(value)) await visit(value, depth + 1);
    for (const holder of holders(node)) await handOver(node, holder, depth + 1);
    done.add(node);
    if (!node.stored) return void steps.push({ kind: 'insert', node });
    const again = parked.get(node) ?? [];
    // Links that become null are cut before.
    const changes = changesOf(node, again).filter(
      ([column, value]) => value !== null || again.includes(column) || !linkAt(node, column),
    );
    return changes.length > 0 ? void steps.push({ kind: 'update', node, changes }) : undefined;
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
  for (const node of [...session.made, ...changed]) await visit(node);
  return steps;
}

const linksNew = ({ assigned }: Node): boolean => [...assigned.values()].some(({ value }) => isNode(value));

/** A record that has stored what another one is to get in columns that are unique together. */
interface Holder {
  readonly node: Node;
  readonly columns: readonly string[];
}

const uniqueColumns = memoized(({ indexes, references }: RecordType): readonly (readonly string[])[] => [
  ...indexes.flatMap(({ unique, members }) => (unique ? [members.map(columnOf)] : [])),
  ...references.flatMap(({ unique, column }) => (unique ? [[column]] : [])),
]);

/** Finds, among the records that the body changes, those that hold what a record is to get. */
function holdersAmong({ dialect, made }: WriteSession, changed: readonly Node[]): (node: Node) => readonly Holder[] {
  if (changed.length === 0 || changed.length + made.length < 2) return () => [];
  /** The values of columns that are unique together, as text; undefined if one of them is null. */
  const keyOf = (node: Node, columns: readonly string[], asStored: boolean): string | undefined => {
    const values = columns.map((column) => comparable(node, column, asStored, dialect));
    return values.includes(undefined) ? undefined : JSON.stringify([node.type.name, columns, values]);
  };
  const holders = new Map<string, Holder>();
  for (const node of changed)
    for (const columns of uniqueColumns(node.type)) {
      const held = columns.some((column) => node.assigned.has(column)) ? keyOf(node, columns, true) : undefined;
      if (held !== undefined && held !== keyOf(node, columns, false)) holders.set(held, { node, columns });
    }
  if (holders.size === 0) return () => [];
  return (node) =>
    uniqueColumns(node.type).flatMap((columns) => {
      const holder = holders.get(keyOf(node, columns, false) ?? '');
      return holder && holder.node !== node ? [holder] : [];
    });
}

function comparable(node: Node, name: string, asStored: boolean, dialect: DialectName): SqlValue | undefined {
  const column = node.table.columns.find((one) => one.name === name);
  // A link that is cut is cut before anything else is written.
  if (asStored && column?.reference && node.assigned.get(name)?.value === null) return undefined;
  const value = asStored && node.stored ? (storedValue(node, name) ?? null) : willHold(node, name);
  if (value === null || isNode(value)) return undefined;
  return column?.field ? heldOperand(column.field, dialect, value) : value;
}

/** Whether another record would be in the way of this one, with that value in this column. */
async function isTaken(session: WriteSession, node: Node, column: string, value: SqlValue): Promise<boolean> {
  for (const index of uniqueIndexes(node.type)) {
    if (!index.members.some((member) => columnOf(member) === column)) continue;
    const key = index.members.map((member) => {
      const name = columnOf(member);
      return heldAs(session, member, name === column ? value : (storedValue(node, name) ?? null));
    });
    if ((await findHolder(session.writer, node.table, index, key)) !== undefined) return true;
  }
  return false;
}
