/** Inserts new records: one with one statement, or many. */
import { andThen, type Awaitable, orElse } from '../../awaitable.ts';
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import { memoized } from '../../memo.ts';
import { type Field, OPEN_COLUMN, type RecordType, uniqueIndexes } from '../../model/model.ts';
import { faultyRequest, type Problem } from '../../problem.ts';
import { rawObject } from '../../json/texts.ts';
import { columnOf, encode, foldedText, heldOperand, withFolded } from '../columns.ts';
import { ConstraintError } from '../driver.ts';
import { findHolders, heldAs, tooLongForIndex, uniqueConflict } from './conflicts.ts';
import { isNode, plain } from './members.ts';
import { openKeysOf } from './record.ts';
import { type Node, storedValue, type WriteSession } from './session.ts';
import { type Identified, type Insert, rowsJson } from './tables.ts';

/** Rows of one statement. */
const MOST_ROWS = 1000;

/** What is known of the records that a write makes. */
export interface Inserting {
  readonly session: WriteSession;
  readonly holders: (node: Node) => readonly Holder[];
  readonly begun: Set<Node>;
  readonly done: Set<Node>;
}

/** The new records that are not begun, in their order: those of one table that wait for nothing together. */
export function* runsOf({ session, holders, begun, done }: Inserting): Generator<readonly Node[]> {
  let run: Node[] = [];
  const belongs = (node: Node, first: Node): boolean =>
    first.table === node.table && hasIdentifier(first) === hasIdentifier(node) && run.length < MOST_ROWS;
  for (const node of session.made) {
    if (begun.has(node)) continue;
    const [first] = run;
    const isReady = holders(node).length === 0 && !linksNew(node, done);
    if (first && !(isReady && belongs(node, first))) {
      yield run;
      run = [];
    }
    if (isReady) run.push(node);
    else yield [node];
  }
  if (run.length > 0) yield run;
}

const hasIdentifier = ({ identifier }: Node): boolean => identifier !== undefined;

/** Whether it links a record that is to be made, and is not yet. */
export function linksNew({ assigned }: Node, done?: ReadonlySet<Node>): boolean {
  for (const { value } of assigned.values()) if (isNode(value) && done?.has(value) !== true) return true;
  return false;
}

/**
 * A record without an identifier may be made before one that brings the next: the sequence goes behind these first. A dry
 * run that must not move it chooses others.
 */
export async function leaveGiven({ given, made, effects, tables, writer }: WriteSession): Promise<void> {
  for (const [type, nodes] of given) {
    const { moveSequence, nextIdentifiers } = tables.of(type);
    if (effects && nextIdentifiers) continue;
    if (!made.some((node) => node.type === type && !hasIdentifier(node))) continue;
    const last = [...nodes.keys()].reduce((most, identifier) => Math.max(most, identifier), 0);
    for (const statement of moveSequence) await writer.run(statement, [last]);
  }
}

/** Records of one table that wait for nothing: all have identifiers, or none has. */
export async function insertMany({ session, begun, done }: Inserting, nodes: readonly Node[]): Promise<void> {
  const [first] = nodes;
  const one = first && insertOf(session, first);
  if (one?.many) {
    await rehearse(session, nodes);
    await insertTogether(session, one, nodes);
  } else await insertEach(session, nodes);
  for (const node of nodes) {
    begun.add(node);
    done.add(node);
  }
}

/** In halves, if one of them breaks a constraint: then it is found, and told like that of a single record. */
async function insertTogether(session: WriteSession, one: Insert, nodes: readonly Node[]): Promise<void> {
  const { many } = one;
  if (nodes.length < 2 || !many) return insertEach(session, nodes);
  const values = [rowsJson(nodes.map((node) => newValues(node, many.columns)))];
  try {
    const { rows = [] } = await session.writer.run(many.statement, values);
    const identifiers = rows.map(([identifier]) => Number(identifier)).toSorted((a, b) => a - b);
    for (const [index, node] of nodes.entries()) noteInserted(session, node, node.identifier ?? identifiers[index]);
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    const half = Math.ceil(nodes.length / 2);
    await insertTogether(session, one, nodes.slice(0, half));
    await insertTogether(session, one, nodes.slice(half));
  }
}

/** Without a promise for each, where the database answers at once. */
async function insertEach(session: WriteSession, nodes: readonly Node[]): Promise<void> {
  for (const node of nodes) {
    const inserted = insert(session, node);
    if (inserted instanceof Promise) await inserted;
  }
}

export function insert(session: WriteSession, node: Node): Awaitable<void> {
  return andThen(rehearse(session, [node]), () => insertRow(session, node));
}

function insertRow(session: WriteSession, node: Node): Awaitable<void> {
  const { statement, columns } = insertOf(session, node);
  const values = newValues(node, columns);
  return andThen(
    explained(session, node, () => session.writer.run(statement, values)),
    ({ identifier }) => noteInserted(session, node, identifier),
  );
}

function noteInserted({ inserted }: WriteSession, node: Node, identifier: number | undefined): void {
  node.identifier = identifier;
  inserted.add(node);
}

const insertOf = (session: WriteSession, node: Node): Insert => node.table.insert[identifiedBy(session, node)];

function identifiedBy({ effects }: WriteSession, { identifier, table }: Node): Identified {
  if (effects && (identifier !== undefined || table.nextIdentifiers)) return 'rehearsed';
  return identifier === undefined ? 'made' : 'given';
}

/** A dry run that must not move the sequence behind the identifiers that its body brings chooses others. */
function rehearse({ effects, writer, given }: WriteSession, nodes: readonly Node[]): Awaitable<void> {
  const { nextIdentifiers, type } = nodes[0]?.table ?? {};
  if (!effects || !nextIdentifiers || !type) return undefined;
  const brought = given.get(type);
  const choose = async (): Promise<void> => {
    let waiting = nodes.filter((node) => !hasIdentifier(node));
    while (waiting.length > 0) {
      const next = (await writer.all(nextIdentifiers, [waiting.length])).map(([value]) => Number(value));
      const free = next.filter((value) => brought?.has(value) !== true);
      for (const [index, node] of waiting.entries()) node.identifier = free[index];
      waiting = waiting.slice(free.length);
    }
  };
  return choose();
}

/** What a new record holds in these columns. */
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

/** The text of the open keys as they will be; undefined where the body says nothing of them. */
export function openColumn(node: Node): string | undefined {
  if (node.openKeys === undefined) return undefined;
  const members = new Map(openKeysOf(node));
  for (const [key, { member }] of node.openKeys) {
    if (member === undefined) members.delete(key);
    else members.set(key, { name: members.get(key)?.name ?? member.name, text: member.text });
  }
  return rawObject(members.values());
}

/** What the body deletes takes along what it owns: a record that goes with it cannot be written or linked. */
export const goneAt = (pointer: string): Problem => {
  const message = 'This record, or one that it is linked to, is deleted by this same body';
  return faultyRequest('invalid-reference', [{ pointer, code: 'deleted', message }]);
};
export const gone = ({ pointer }: Node): Problem => goneAt(pointer);

export const explained = <T>(session: WriteSession, node: Node, work: () => Awaitable<T>): Awaitable<T> =>
  orElse(work, async (error) => {
    if (!(error instanceof ConstraintError)) throw error;
    if (error.kind === 'too-long') throw tooLongForIndex(node, error.index);
    throw error.kind === 'unique' ? await uniqueConflict(session, node) : gone(node);
  });

// Unique values that move from one record to another within one body: the record that has the value is written first.

/** A record that has stored what another one is to get in columns that are unique together. */
export interface Holder {
  readonly node: Node;
  readonly columns: readonly string[];
}

/** Finds, among the records that the body changes, those that hold what a record is to get. */
export function holdersAmong(
  { dialect, made }: WriteSession,
  changed: readonly Node[],
): (node: Node) => readonly Holder[] {
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

/**
 * Frees the value of a record until that record is written. Returns the column that holds another value meanwhile;
 * undefined if none of the set can.
 */
export async function park(
  session: WriteSession,
  { node, columns }: Holder,
  spares: Spares,
): Promise<string | undefined> {
  const members = columns.flatMap((name) => node.table.columns.find((column) => column.name === name) ?? []);
  const empty = members.find(({ nullable }) => nullable);
  const column = empty ?? members.find(({ field }) => field?.type.spare);
  if (!column) return undefined;
  const value = column.field && !empty ? await spareValue(session, node, column.field, spares) : null;
  await explained(session, node, () => hold(session, node, column.name, value));
  return column.name;
}

/** How many spare values a write has used: each is used once, so that two records never get the same. */
export interface Spares {
  used: number;
}

/** A value that no record has where it must be unique. It may exceed the limits of the descriptor: none is committed. */
async function spareValue(session: WriteSession, node: Node, field: Field, spares: Spares): Promise<SqlValue> {
  for (;;) {
    spares.used += 1;
    const value = encode(field, session.dialect, field.type.spare?.(spares.used) ?? null);
    if (!(await isTaken(session, node, field.column, value))) return value;
  }
}

/** Whether another record would be in the way of this one, with that value in this column. */
async function isTaken(session: WriteSession, node: Node, column: string, value: SqlValue): Promise<boolean> {
  const { type, table } = node;
  for (const index of uniqueIndexes(type)) {
    if (!index.members.some((member) => columnOf(member) === column)) continue;
    const key = index.members.map((member) => {
      const name = columnOf(member);
      return heldAs(session, member, name === column ? value : (storedValue(node, name) ?? null));
    });
    if (key.includes(null)) continue;
    const [holder] = await findHolders(session.writer, table, index, [key]);
    if (holder !== undefined) return true;
  }
  return false;
}

async function hold(
  { writer }: WriteSession,
  { table, identifier }: Node,
  column: string,
  value: SqlValue,
): Promise<void> {
  const changes = withFolded(table, [[column, value]]);
  await writer.run(table.update(changes.map(([name]) => name)), [...changes.map((one) => one[1]), identifier ?? null]);
}
