/**
 * The plan of a write, as a value: all changes of the tables, in the order in which `apply` makes them. A record that the
 * plan makes has no identifier yet; a `NewRow` stands for it, in the changes that refer to it, and in the result. Rows that
 * were not read, such as those of a cascade, share one change. Effects, previews, limits and the write itself read the plan.
 */
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import { rawObject } from '../../json/raw.ts';
import { memoized } from '../../memo.ts';
import type { Identifier } from '../../model/identifier.ts';
import {
  closingLinks,
  type Field,
  type JoinTable,
  OPEN_COLUMN,
  type RecordType,
  type Reference,
  type Relation,
  uniqueIndexes,
} from '../../model/model.ts';
import { can, namesRecords } from '../../model/rights.ts';
import { faultyRequest, type Problem } from '../../problem.ts';
import { type Column, columnOf, encode, heldOperand, stampsOf, withFolded } from '../columns.ts';
import type { Row } from '../driver.ts';
import { type Cascade, type Deletion, type Refusal, tooManyRows, type Unlinked, walkCascade } from './cascade.ts';
import { findHolder, recordNames, refuseConflicts, TO_RESTORE } from './conflicts.ts';
import { type Allowed, confirmValues, type Expected, forbiddenFirst } from './allowed.ts';
import { checkLinks, stampChanged } from './resolve.ts';
import {
  finalValue,
  isIn,
  isNode,
  isReplaced,
  keptNodes,
  nameOf,
  openKeysOf,
  type JoinPair,
  type Node,
  refuse,
  type Released,
  storedValue,
  throwRefused,
  valueAfter,
  type WriteSession,
} from './session.ts';

/** A record that the plan makes: the number of its insert. */
export interface NewRow {
  readonly created: number;
}

export type RowId = Identifier | NewRow;
export type Changes = ReadonlyMap<string, SqlValue | NewRow>;

export interface RowChange {
  readonly kind: 'insert' | 'update' | 'delete';
  readonly type: RecordType;
  readonly rows: readonly RowId[];
  /** Of a new record, if the body gives it, or the service makes it before the insert. */
  readonly identifier: Identifier | undefined;
  /** The stored row, where it was read. */
  readonly before: Row | undefined;
  /** All columns of a new record. */
  readonly set: Changes;
  /** The place in the body that asks for the change. */
  readonly at: string;
  readonly isHidden: boolean;
}

/** A row of a join table. `lost`: its foreign key removes it with a record. */
export interface PairChange {
  readonly kind: 'add' | 'remove' | 'lost';
  readonly table: JoinTable;
  readonly left: RowId;
  readonly right: RowId;
  readonly at: string;
  readonly isHidden: boolean;
}

export interface WritePlan {
  /** Pairs are removed before the rows change, and added after. */
  readonly pairs: readonly PairChange[];
  /** Each row follows those that it refers to, or takes unique values from. */
  readonly rows: readonly RowChange[];
  /** The records that the request names, in its order. */
  readonly roots: readonly RowId[];
  /** What a role's conditions demand at the end. */
  readonly expected: readonly Expected<RowId>[];
}

export const isNew = (value: SqlValue | NewRow): value is NewRow => typeof value === 'object' && value !== null;

/** The value, or the identifier of the new record that it refers to. */
export const numberOf = <V extends SqlValue>(value: V | NewRow, identifiers: readonly Identifier[]): V | Identifier =>
  isNew(value) ? (identifiers[value.created] ?? 0) : value;

/** Placeholders of new records: their identifiers where the plan has these, else negative numbers. */
export const placeholdersIn = ({ rows }: WritePlan): readonly Identifier[] =>
  rows.flatMap(({ kind, rows: [row = 0], identifier }) =>
    kind === 'insert' && isNew(row) ? (identifier ?? -1 - row.created) : [],
  );

/** Notes the identifier of the record that an insert makes. */
export function noteIdentifier(identifiers: Identifier[], { rows: [row = 0] }: RowChange, identifier: Identifier) {
  if (isNew(row)) identifiers[row.created] ??= identifier;
}

/** The greatest of the identifiers that a database counts, at least this one. */
export const greatestOf = (changes: readonly RowChange[], least = 0): number =>
  changes.reduce((most, { identifier }) => (typeof identifier === 'number' ? Math.max(most, identifier) : most), least);

const NONE: Changes = new Map();
const UNREAD = { identifier: undefined, before: undefined, isHidden: false } as const;

export async function planDeletion(
  session: WriteSession,
  _allowed: Allowed,
  deletion: Deletion,
  most: number,
  refusal: Refusal,
  mostAffected?: number,
): Promise<{ readonly plan: WritePlan; readonly affected: number }> {
  const cascade = await walkCascade(session, [deletion], most, refusal, mostAffected);
  const rows = [...unlinksIn(session, cascade.unlinked), ...deletionsIn(cascade)];
  return {
    plan: frozen({ rows, pairs: lostIn(cascade), roots: deletion.identifiers, expected: [] }),
    affected: cascade.affected,
  };
}

/** All but the maps, which only their type protects. */
export function frozen(plan: WritePlan): WritePlan {
  for (const list of Object.values(plan)) for (const one of Object.freeze(list)) Object.freeze(one);
  for (const { rows } of plan.rows) Object.freeze(rows);
  return Object.freeze(plan);
}

/** What a write changes, resolved and checked. */
interface Resolved {
  /** Stored records that the body changes. */
  readonly changed: readonly Node[];
  readonly released: readonly Released[];
  readonly pairs: readonly JoinPair[];
  readonly cascade: Cascade;
  readonly steps: readonly Step[];
}

/** `roots`: the records that the request names. */
export async function planWrite(session: WriteSession, allowed: Allowed, roots: readonly Node[]): Promise<WritePlan> {
  const planned = async (): Promise<WritePlan> => {
    const plan = planOf(session, allowed, await checkedChanges(session), roots);
    if (session.isSearched) await refuseConflicts(session);
    return plan;
  };
  return forbiddenFirst(session, allowed, planned(), () => confirmValues(session, allowed));
}

/** Refuses what the references of a body forbid, finds what goes with its changes, and puts them in order. */
async function checkedChanges(session: WriteSession): Promise<Resolved> {
  const released = session.released.flatMap((one) => noteReleased(session, one));
  checkLinks(session);
  refuseNamed(session, (node) => session.deleted.has(node), 'which leaves it out of its owner');
  await refuseCircles(session, released);
  throwRefused(session, 'invalid-reference');
  throwRefused(session, 'link-conflict');
  const changed = keptNodes(session).filter((node) => changesOf(node).length > 0);
  const pairs = [...session.pairs.values()].filter(({ isWanted, isStored }) => isWanted !== isStored);
  const cascade = await walkDeletions(session, released, [...pairs, ...changed]);
  refuseDeleted(session, changed);
  stampChanged(session, changed);
  return { changed, released, pairs, cascade, steps: await inOrder(session, changed) };
}

/** Neither asks the database nor changes a node. */
function planOf(session: WriteSession, allowed: Allowed, resolved: Resolved, roots: readonly Node[]): WritePlan {
  const { changed, released, cascade, steps } = resolved;
  const inserted = steps.flatMap(({ node }) => (node.stored ? [] : node));
  const newRows = new Map(inserted.map((node, created) => [node, { created }]));
  const rowOf = (record: Identifier | Node): RowId =>
    isNode(record) ? (newRows.get(record) ?? record.identifier ?? 0) : record;
  const planned = (value: SqlValue | Node): SqlValue | NewRow => (isNode(value) ? rowOf(value) : value);
  const isHidden = (...types: readonly RecordType[]): boolean =>
    types.some((type) => !can(session.rights, type, 'get'));
  const pairs = resolved.pairs.map(({ isWanted, table, left, right, pointer: at }): PairChange => {
    const sides = { left: rowOf(left), right: rowOf(right), isHidden: isHidden(table.left.type, table.right.type) };
    return { kind: isWanted ? 'add' : 'remove', table, at, ...sides };
  });
  const changeOf = ({ node, changes }: Step): RowChange => {
    const { type, table, stored, identifier, pointer: at } = node;
    const set = new Map<string, SqlValue | NewRow>();
    if (stored) for (const [name, value] of withFolded(table, changes)) set.set(name, planned(value));
    else
      for (const name of table.names) {
        const isOpen = name === OPEN_COLUMN && !node.assigned.has(name);
        set.set(name, isOpen ? (openColumn(node) ?? '{}') : planned(valueAfter(node, name)));
      }
    return {
      kind: stored ? 'update' : 'insert',
      type,
      rows: [rowOf(node)],
      identifier: stored ? identifier : (identifier ?? type.identifier.next?.()),
      before: typeof stored === 'object' ? stored : undefined,
      set,
      at,
      isHidden: isHidden(type),
    };
  };
  const unlinked = released.flatMap(({ relation: { owned, target: type }, reference, identifiers }) =>
    owned ? [] : [{ type, reference, identifiers, isHidden: false }],
  );
  const cuts = changed.flatMap((node): readonly Step[] => {
    const cut = changesOf(node).filter((change) => isCut(session, node, change));
    return cut.length === 0 ? [] : [{ node, changes: cut.map(([column]) => [column, null]) }];
  });
  return frozen({
    pairs: [...pairs, ...lostIn(cascade)],
    rows: [
      ...unlinksIn(session, [...unlinked, ...cascade.unlinked]),
      ...cuts.map(changeOf),
      ...deletionsIn(cascade),
      ...steps.map(changeOf),
    ],
    roots: roots.map(rowOf),
    expected: allowed.expected.map(({ record, ...one }) => ({ ...one, record: rowOf(record) })),
  });
}

/** Links of rows that were not read, which become null. */
const unlinksIn = (session: WriteSession, unlinked: readonly Unlinked[]): readonly RowChange[] =>
  unlinked.map(({ type, reference, identifiers, isHidden }) => {
    const stamps = stampsOf(session, session.tables.of(type).filled);
    const set = new Map([[reference.column, null], ...stamps]);
    return { ...UNREAD, kind: 'update', type, rows: identifiers, set, at: '', isHidden };
  });

/** The lowest level first, since ON DELETE CASCADE could nest too deep, or meet a restriction too early. */
const deletionsIn = ({ levels }: Cascade): readonly RowChange[] =>
  levels
    .filter(({ identifiers }) => identifiers.length > 0)
    .map(({ type, identifiers, pointer, isHidden }): RowChange => {
      return { ...UNREAD, kind: 'delete', type, rows: identifiers, set: NONE, at: pointer, isHidden };
    })
    .toReversed();

const lostIn = ({ pairs }: Cascade): readonly PairChange[] =>
  pairs.flatMap(({ table, pairs: lost, isHidden }) =>
    lost.map(([left, right]): PairChange => ({ kind: 'lost', table, left, right, at: '', isHidden })),
  );

/** Notes omitted records in their nodes, if the body mentions them elsewhere; returns the other records. */
function noteReleased({ existing, deleted }: WriteSession, released: Released): readonly Released[] {
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

/** Refuses links to records that the body deletes, and changes of them. */
function refuseDeleted(session: WriteSession, changed: readonly Node[]): void {
  const isDeleted = (node: Node): boolean => isIn(session.cascaded, node.type, node.identifier ?? 0);
  refuseNamed(session, isDeleted, 'together with its owner');
  throwRefused(session, 'invalid-reference');
  const links = [...changed, ...session.created].flatMap(({ assigned, type }) =>
    type.references.flatMap(({ target, column }) => {
      const { value = null, pointer = '' } = assigned.get(column) ?? {};
      return value !== null && !isNode(value) && isIn(session.cascaded, target, value) ? pointer : [];
    }),
  );
  const [pointer] = [...changed.filter(isDeleted).map((node) => node.pointer), ...links];
  const message = 'This record, or one that it is linked to, is deleted by this same body';
  if (pointer !== undefined) throw faultyRequest('invalid-reference', [{ pointer, code: 'deleted', message }]);
}

function refuseNamed(session: WriteSession, isDeleted: (node: Node) => boolean, how: string): void {
  for (const { node, pointer } of session.named) {
    if (!isDeleted(node)) continue;
    const message = `${nameOf(node)} is deleted by this same body, ${how}`;
    refuse(session, 'invalid-reference', pointer, 'deleted', message);
  }
}

const NO_CASCADE: Cascade = { levels: [], unlinked: [], pairs: [], rows: 0, affected: 0 };

async function walkDeletions(
  session: WriteSession,
  released: readonly Released[],
  touched: readonly Pick<Node, 'pointer'>[],
): Promise<Cascade> {
  const { writeRows, deleted, created } = session;
  const refusal = ({ pointer }: Pick<Node, 'pointer'>): Problem => tooManyRows(writeRows, { pointer }, 'This set');
  const left = released.flatMap((one) => (one.relation.owned ? [] : one.identifiers.map(() => one)));
  const rows = [...touched, ...created, ...left];
  const first = rows[writeRows];
  if (first) throw refusal({ pointer: first.pointer.replace(/\/\d+$/, '') });
  const deletions: Deletion[] = [
    ...[...deleted].map(([{ type, identifier = 0 }, pointer]) => ({ type, identifiers: [identifier], pointer })),
    ...released.flatMap(({ relation: { owned, target: type }, identifiers, pointer }) =>
      owned ? [{ type, identifiers, pointer }] : [],
    ),
  ];
  if (deletions.length === 0) return NO_CASCADE;
  return walkCascade(session, deletions, writeRows - rows.length, refusal);
}

const MAX_ABOVE = 10_000;

/** New records with identifiers are linked by these where they are brought back. */
const linkKey = (node: Node): Identifier | Node => node.identifier ?? node;

/** Refuses cycles of acyclic links. No record is below a new record without an identifier. */
async function refuseCircles(session: WriteSession, released: readonly Released[]): Promise<void> {
  const { existing, createdById, created, deleted } = session;
  if (existing.size + createdById.size === 0) return;
  const stored = [...existing.values()].flatMap((nodes) => [...nodes.values()].filter(({ isLost }) => !isLost));
  for (const [type, nodes] of Map.groupBy([...stored, ...created], (node) => node.type))
    for (const reference of type.references) {
      const { column, acyclic } = reference;
      const moved = nodes.filter((node) => {
        const link = node.assigned.get(column)?.value ?? null;
        return (
          link !== null && link !== storedValue(node, column) && node.identifier !== undefined && !deleted.has(node)
        );
      });
      const [first] = moved;
      if (!acyclic || !first) continue;
      const pointerOf = (node: Node): string => node.assigned.get(column)?.pointer ?? node.pointer;
      const parents = await parentsIn(session, [type, nodes], reference, released);
      if (!parents) {
        const message = `More than ${MAX_ABOVE} records are above this one`;
        refuse(session, 'invalid-reference', pointerOf(first), 'too-deep', message);
      }
      for (const node of parents ? moved : []) {
        const seen = new Set([linkKey(node)]);
        let record = parents?.get(linkKey(node)) ?? null;
        for (; record !== null && !seen.has(record); record = parents?.get(record) ?? null) seen.add(record);
        const cure = session.restores ? 'move a record that is above it first' : 'link a record that is not below it';
        const message = `${nameOf(node)} would be below itself; ${cure}`;
        if (record === linkKey(node)) refuse(session, 'invalid-reference', pointerOf(node), 'cycle', message);
      }
    }
}

/** The future parents of the records and of all above them; undefined if more than MAX_ABOVE are above. */
async function parentsIn(
  { deleted, tables, writer }: WriteSession,
  [type, nodes]: readonly [RecordType, readonly Node[]],
  reference: Reference,
  released: readonly Released[],
): Promise<ReadonlyMap<Identifier | Node, Identifier | Node | null> | undefined> {
  const links = new Map<Identifier | Node, Identifier | Node | null>();
  for (const node of nodes) {
    const value = deleted.has(node) ? null : node.assigned.get(reference.column)?.value;
    if (value !== undefined) links.set(linkKey(node), isNode(value) ? linkKey(value) : value);
  }
  for (const one of released)
    if (one.relation.target === type && (one.relation.owned || one.reference === reference))
      for (const identifier of one.identifiers) links.set(identifier, null);
  // Two concurrent writes could make a cycle that neither sees.
  if (tables.lockOwnership) await writer.value(tables.lockOwnership, []);
  const parents = [...new Set(links.values())].filter((record) => typeof record !== 'object');
  const { above } = tables.of(type).linksIn(reference.column);
  const rows = await writer.all(above, [JSON.stringify(parents), MAX_ABOVE + 1]);
  if (rows.length > MAX_ABOVE) return undefined;
  return new Map([...(rows as readonly (readonly [Identifier, Identifier | null])[]), ...links]);
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

/** `again`: columns that hold a placeholder and need their value back. */
function changesOf(node: Node, again: readonly string[] = []): readonly ColumnValue[] {
  const changes: ColumnValue[] = [];
  for (const [column, { value }] of node.assigned)
    if (isReplaced(node, column) || again.includes(column)) changes.push([column, value]);
  const openKeys = openColumn(node);
  if (openKeys !== undefined && openKeys !== storedValue(node, OPEN_COLUMN)) changes.push([OPEN_COLUMN, openKeys]);
  for (const column of again) if (!node.assigned.has(column)) changes.push([column, storedValue(node, column) ?? null]);
  return changes;
}

/** Unique links that become null; before a deletion, all links that change, so that none blocks it. */
function isCut({ cascaded }: WriteSession, { type, table }: Node, [name, value]: ColumnValue): boolean {
  const link = table.columnOf.get(name)?.reference;
  if (!link) return false;
  if (cascaded.size > 0) return value === null || !link.required;
  return value === null && uniqueColumns(type).some((columns) => columns.includes(name));
}

/** An insert, or an update of a stored record. */
interface Step {
  readonly node: Node;
  readonly changes: readonly ColumnValue[];
  /** A column to set to a placeholder, which frees its value for another record. */
  readonly frees?: Column;
}

type ColumnValue = readonly [column: string, value: SqlValue | Node];

/** Inserts follow the records that they refer to; whatever takes a unique value follows its holder. */
async function inOrder(session: WriteSession, changed: readonly Node[]): Promise<readonly Step[]> {
  if (changed.length + session.created.length < 2)
    return [...session.created, ...changed].flatMap((node) => stepsOf(session, node));
  const holders = holdersAmong(session, changed);
  const order: Order = { session, holders, steps: [], done: new Set(), parked: new Map() };
  // New records get identifiers in body order.
  const starts = [...changed.filter((node) => !linksNew(node)), ...session.created, ...changed];
  closingLinks(starts, (node) => visit(order, node));
  return Promise.all(
    order.steps.map(async ({ node, changes, frees }): Promise<Step> => ({
      node,
      changes: frees ? [[frees.name, await freeValue(session, node, frees)]] : changes,
    })),
  );
}

interface Order {
  readonly session: WriteSession;
  readonly holders: ReturnType<typeof holdersAmong>;
  readonly steps: Step[];
  readonly done: Set<Node>;
  readonly parked: Map<Node, readonly string[]>;
}

/**
 * Yields the records that come before, then adds the steps of this one. Not a closure of the write: V8 would keep what it
 * refers to until a full collection.
 */
function* visit({ session, holders, steps, done, parked }: Order, node: Node): Generator<{ readonly to: Node }> {
  for (const { value } of node.assigned.values()) if (isNode(value)) yield { to: value };
  for (const { node: holder, columns } of holders(node)) {
    if (!linksNew(holder)) yield { to: holder };
    if (done.has(holder)) continue;
    const column = freeColumn(holder, columns);
    if (!column) throw exchangeConflict(session, node, holder, columns);
    steps.push({ node: holder, changes: [], frees: column });
    parked.set(holder, [...(parked.get(holder) ?? []), column.name]);
  }
  done.add(node);
  steps.push(...stepsOf(session, node, parked.get(node)));
}

/** `again`: columns that hold a placeholder. Links that were cut and become null have that value already. */
function stepsOf(session: WriteSession, node: Node, again: readonly string[] = []): readonly Step[] {
  if (!node.stored) return [{ node, changes: [] }];
  const changes = changesOf(node, again).filter(
    (change) => change[1] !== null || again.includes(change[0]) || !isCut(session, node, change),
  );
  return changes.length > 0 ? [{ node, changes }] : [];
}

const linksNew = ({ assigned }: Node): boolean => [...assigned.values()].some(({ value }) => isNode(value));

/** A record with unique values that another record will get. */
interface Holder {
  readonly node: Node;
  readonly columns: readonly string[];
}

const uniqueColumns = memoized(({ indexes, references }: RecordType): readonly (readonly string[])[] => [
  ...indexes.flatMap(({ unique, members }) => (unique ? [members.map(columnOf)] : [])),
  ...references.flatMap(({ unique, column }) => (unique ? [[column]] : [])),
]);

function holdersAmong({ dialect }: WriteSession, changed: readonly Node[]): (node: Node) => readonly Holder[] {
  /** undefined if one of the values is null. */
  const keyOf = (node: Node, columns: readonly string[], asStored: boolean): string | undefined => {
    const values = columns.map((column) => comparable(node, column, asStored, dialect));
    return values.includes(undefined) ? undefined : JSON.stringify([node.type.name, columns, values]);
  };
  const holders = new Map<string, Holder>();
  for (const node of changed)
    for (const columns of uniqueColumns(node.type)) {
      const key = columns.some((column) => node.assigned.has(column)) ? keyOf(node, columns, true) : undefined;
      if (key !== undefined && key !== keyOf(node, columns, false)) holders.set(key, { node, columns });
    }
  if (holders.size === 0) return () => [];
  return (node) =>
    uniqueColumns(node.type).flatMap((columns) => {
      const holder = holders.get(keyOf(node, columns, false) ?? '');
      return holder && holder.node !== node ? [holder] : [];
    });
}

function comparable(node: Node, name: string, asStored: boolean, dialect: DialectName): SqlValue | undefined {
  const column = node.table.columnOf.get(name);
  // Links are cut before other writes.
  if (asStored && column?.reference && node.assigned.get(name)?.value === null) return undefined;
  const value = asStored && node.stored ? (storedValue(node, name) ?? null) : finalValue(node, name);
  if (value === null || isNode(value)) return undefined;
  return column?.field ? heldOperand(column.field, dialect, value) : value;
}

/** The column in which a record frees a unique value until it gets its own: null fits, or a value of the type does. */
function freeColumn(node: Node, names: readonly string[]): Column | undefined {
  const columns = names.flatMap((name) => node.table.columnOf.get(name) ?? []);
  return columns.find(({ nullable }) => nullable) ?? columns.find(({ field }) => field?.type.temporary);
}

/** Null, or a value that no record has. It is never committed. */
async function freeValue(session: WriteSession, node: Node, { field, nullable, name }: Column): Promise<SqlValue> {
  if (nullable || !field) return null;
  const indexes = uniqueIndexes(node.type).filter(({ members }) => members.some((one) => columnOf(one) === name));
  for (;;) {
    session.placeholders += 1;
    const value = encode(field, session.dialect, field.type.temporary?.(session.placeholders) ?? null);
    const indexed = (one: Field | Relation): SqlValue =>
      heldOperand(one, session.dialect, columnOf(one) === name ? value : (storedValue(node, columnOf(one)) ?? null));
    const holders = await Promise.all(
      indexes.map((index) => findHolder(session.writer, node.table, index, index.members.map(indexed))),
    );
    if (holders.every((holder) => holder === undefined)) return value;
  }
}

function exchangeConflict(session: WriteSession, node: Node, holder: Node, columns: readonly string[]): Problem {
  const [pointer = node.pointer] = columns.flatMap((column) => node.assigned.get(column)?.pointer ?? []);
  const { rights } = session;
  const links = node.type.references.filter(({ column }) => columns.includes(column));
  const isNamed = [node.type, ...links.map(({ target }) => target)].every((type) => namesRecords(rights, type));
  const message = `${isNamed ? nameOf(holder) : 'Another record'} has this value, and cannot give it up in the same request${session.restores ? TO_RESTORE : '; give it another value first'}`;
  const identifiers = isNamed ? [node, holder].flatMap(({ identifier }) => identifier ?? []) : [];
  const records = recordNames(rights, node.type, identifiers);
  return faultyRequest('unique-conflict', [{ pointer, code: 'unique', message, ...records }]);
}
