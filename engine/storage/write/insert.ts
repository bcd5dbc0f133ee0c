/** Inserts new records: one with one statement, or many. */
import { andThen, type Awaitable, orElse } from '../../awaitable.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { memoized } from '../../memo.ts';
import { OPEN_COLUMN, type RecordType } from '../../model/model.ts';
import { faultyRequest, type Problem } from '../../problem.ts';
import { rawObject } from '../../raw-json.ts';
import { columnOf, encode, foldedText } from '../columns.ts';
import { ConstraintError } from '../driver.ts';
import { uniqueConflict } from './conflicts.ts';
import { openKeysOf } from './record.ts';
import { type Node, storedValue, type WriteSession } from './session.ts';
import { type Insert, type InsertMany, rowsJson, withFolded } from './tables.ts';

/** Rows of one statement. */
const MOST_ROWS = 1000;

/** What is known of the records that a write makes. */
export interface Inserting {
  readonly session: WriteSession;
  readonly holders: (node: Node) => readonly Holder[];
  readonly begun: Set<Node>;
  readonly done: Set<Node>;
}

/** The new records in their order: those of one table that wait for nothing together. */
export function* runsOf({ session: { made, effects }, holders, done }: Inserting): Generator<readonly Node[]> {
  let run: Node[] = [];
  const isReady = (node: Node): boolean =>
    // A dry run chooses each identifier.
    !effects && node.identifier === undefined && holders(node).length === 0 && !linksNew(node, done);
  for (const node of made) {
    const [first] = run;
    const ready = isReady(node);
    if (first && (first.table !== node.table || run.length === MOST_ROWS || !ready)) {
      yield run;
      run = [];
    }
    if (ready) run.push(node);
    else yield [node];
  }
  if (run.length > 0) yield run;
}

/** Whether it links a record that is to be made, and is not yet. */
export function linksNew({ assigned }: Node, done?: ReadonlySet<Node>): boolean {
  for (const { value } of assigned.values()) if (isNode(value) && done?.has(value) !== true) return true;
  return false;
}

/** Records of one table that wait for nothing. */
export async function insertMany({ session, begun, done }: Inserting, nodes: readonly Node[]): Promise<void> {
  const many = nodes[0]?.table.insertMany;
  if (many) await insertTogether(session, many, nodes);
  else await insertEach(session, nodes);
  for (const node of nodes) {
    begun.add(node);
    done.add(node);
  }
}

/** In halves, if one of them breaks a constraint: then it is found, and told like that of a single record. */
async function insertTogether(session: WriteSession, many: InsertMany, nodes: readonly Node[]): Promise<void> {
  if (nodes.length < 2) return insertEach(session, nodes);
  const values = [rowsJson(nodes.map((node) => newValues(node, many.columns)))];
  try {
    const { rows = [] } = await session.writer.run(many.statement, values);
    const identifiers = rows.map(([identifier]) => Number(identifier)).toSorted((a, b) => a - b);
    for (const [index, node] of nodes.entries()) node.identifier = identifiers[index];
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    const half = Math.ceil(nodes.length / 2);
    await insertTogether(session, many, nodes.slice(0, half));
    await insertTogether(session, many, nodes.slice(half));
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
  if (!session.effects || node.identifier !== undefined) return insertRow(session, node);
  return rehearsedIdentifier(session, node).then((identifier) => {
    node.identifier = identifier;
    return insertRow(session, node);
  });
}

function insertRow(session: WriteSession, node: Node): Awaitable<void> {
  const { statement, columns } = insertOf(session, node);
  const values = newValues(node, columns);
  return andThen(
    explained(session, node, () => session.writer.run(statement, values)),
    ({ identifier }) => void (node.identifier = identifier),
  );
}

function insertOf({ effects }: WriteSession, { identifier, table }: Node): Insert {
  if (identifier === undefined) return table.insert;
  return effects ? table.insertRehearsed : table.insertGiven;
}

/** Where a dry run must not move the sequence, its next identifier may be taken by a record that this run has made. */
async function rehearsedIdentifier({ effects, writer }: WriteSession, { table }: Node): Promise<number | undefined> {
  if (!effects || !table.nextIdentifier) return undefined;
  for (;;) {
    const next = Number(await writer.value(table.nextIdentifier, []));
    if (!(await writer.get(table.load, [next]))) return next;
  }
}

/** What a new record holds in these columns. */
export const newValues = (node: Node, columns: readonly string[]): readonly SqlValue[] =>
  columns.map((name) => newValue(node, name));

function newValue(node: Node, name: string): SqlValue {
  const assigned = node.assigned.get(name);
  if (assigned) return valueOf(assigned.value) ?? null;
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

export const isNode = (value: SqlValue | Node): value is Node => typeof value === 'object' && value !== null;

export const valueOf = (value: SqlValue | Node): SqlValue | undefined => (isNode(value) ? value.identifier : value);

/** What the body deletes takes along what it owns: a record that goes with it cannot be written or linked. */
export const goneAt = (pointer: string): Problem => {
  const message = 'This record, or one that it is linked to, is deleted by this same body';
  return faultyRequest('invalid-reference', [{ pointer, code: 'deleted', message }]);
};
export const gone = ({ pointer }: Node): Problem => goneAt(pointer);

export const explained = <T>(session: WriteSession, node: Node, work: () => Awaitable<T>): Awaitable<T> =>
  orElse(work, async (error) => {
    if (!(error instanceof ConstraintError)) throw error;
    throw error.kind === 'unique' ? await uniqueConflict(session, node) : gone(node);
  });

// Unique values that move from one record to another within one body: the record that has the value is written first.

/** A record that has stored what another one is to get in columns that are unique together. */
export interface Holder {
  readonly node: Node;
  readonly columns: readonly string[];
}

/** Finds, among the records that the body changes, those that hold what a record is to get. */
export function holdersAmong(changed: readonly Node[], made: readonly Node[]): (node: Node) => readonly Holder[] {
  const holders = new Map<RecordType, Map<string, Holder>>();
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

/** The values of columns that are unique together, as text; undefined if one of them is null. */
function keyOf(node: Node, columns: readonly string[], asStored: boolean): string | undefined {
  const values = columns.map((column) => comparable(node, column, asStored));
  return values.includes(undefined) ? undefined : JSON.stringify([columns, values]);
}

function comparable(node: Node, name: string, asStored: boolean): SqlValue | undefined {
  const column = node.table.columns.find((one) => one.name === name);
  const assigned = node.assigned.get(name)?.value;
  // A link that is cut is cut before anything else is written.
  if (asStored && assigned === null && column?.reference) return undefined;
  const value =
    asStored || assigned === undefined ? ((node.stored ? storedValue(node, name) : column?.default) ?? null) : assigned;
  if (value === null || typeof value === 'object') return undefined;
  // One text for all values that are equal, on any database.
  const { sqlite } = column?.field?.type.columns ?? {};
  const plain = sqlite ? sqlite.operand(sqlite.decode(value)) : value;
  return node.table.folded.has(name) ? foldedText(plain) : plain;
}

const ATTEMPTS = 5;

/** Frees the value of a record until that record is written. Returns the column; undefined if that is not possible. */
export async function park(session: WriteSession, { node, columns }: Holder): Promise<string | undefined> {
  const among = node.table.columns.filter(({ name }) => columns.includes(name));
  const empty = among.find(({ nullable }) => nullable);
  if (empty) {
    await hold(session, node, empty.name, null);
    return empty.name;
  }
  const column = among.find(({ field }) => field);
  if (!column?.field) return undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const value = encode(column.field, session.dialect, column.field.type.good(column.field, randomSeed()));
    try {
      await hold(session, node, column.name, value);
      return column.name;
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
    }
  }
  return undefined;
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

const randomSeed = (): number => Math.floor(Math.random() * 2 ** 31);
