/** Unique values that move from one record to another within one body: the record that has the value is written first. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { memoized } from '../../memo.ts';
import type { RecordType } from '../../model/model.ts';
import { columnOf, encode, foldedText } from '../columns.ts';
import { ConstraintError } from '../driver.ts';
import { type Node, type WriteSession, storedValue } from './session.ts';
import { withFolded } from './tables.ts';

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
