/** Inserts rows into empty tables: many with one statement if the database is a server; each conflict is reported. */
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import { memoized } from '../../memo.ts';
import type { Fault } from '../../problem.ts';
import type { Dialect } from '../dialect.ts';
import type { Awaitable, Reader, Row, Statement, Values, Writer } from '../driver.ts';
import { type Field, type Model, type RecordType, type Relation, uniqueIndexes } from '../../model/model.ts';
import { type Column, columnsOf, encode, encodedDefault, foldedText, heldOperand } from '../columns.ts';
import { type BulkColumn, columnSql, SEED_TABLE } from '../tables.ts';
import { createTables, rowsJson, type WriteTable } from '../write/tables.ts';
import type { Line, RecordLine, SequenceLine } from './lines.ts';
import { escapeStep } from '../../json/json.ts';

/** Rows of one statement, and characters of their texts. */
const MAX_ROWS = 1000;
const MAX_LENGTH = 1024 * 1024;

interface LoadTarget {
  /** The first columns, by which a row is known. */
  readonly keys: number;
  /** Bound: the columns. A row that breaks a unique constraint is left out. */
  readonly one: Statement;
  /** Bound: rows as JSON, each an array. Answers the keys of those that were taken. */
  readonly many: Statement | undefined;
  /** Why a row was left out. */
  readonly conflict: (values: Values) => Awaitable<Fault>;
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Loader {
  add(target: LoadTarget, values: Values, line: number): Awaitable<void>;
  /** Resolves when every row has been taken or refused. */
  flush(): Promise<void>;
  /** Lines that are under way. */
  underWay(): Span | undefined;
}

interface QueuedRow {
  readonly values: Values;
  readonly line: number;
}

function createTarget(
  dialect: Dialect,
  table: string,
  columns: readonly BulkColumn[],
  keys: number,
  conflict: LoadTarget['conflict'],
): LoadTarget {
  const names = columns.map(({ name }) => dialect.quote(name)).join(', ');
  const into = `insert into ${dialect.quote(table)} (${names})`;
  const one = `${into} values (${columns.map(() => '?').join(', ')}) on conflict do nothing`;
  const rows = dialect.rowsOfJson?.(columns);
  const taken = columns
    .slice(0, keys)
    .map(({ name }) => dialect.quote(name))
    .join(', ');
  const many = rows === undefined ? undefined : { sql: `${into} ${rows} on conflict do nothing returning ${taken}` };
  return { keys, one: { sql: one }, many, conflict };
}

/** `slow`: lines that are sent one by one, because one of them failed and the error did not say which. */
export function createLoader(
  writer: Writer,
  refuse: (line: number, fault: Fault) => void,
  slow: Span | undefined,
): Loader {
  let batch: QueuedRow[] = [];
  /** Each is in a batch once, so that the keys of inserted rows tell which rows they were. */
  let keys = new Set<string>();
  let length = 0;
  let current: LoadTarget | undefined;
  let alone: Span | undefined;
  let sent: { readonly span: Span; readonly done: Promise<void> } | undefined;

  async function refused(to: LoadTarget, { values, line }: QueuedRow): Promise<void> {
    refuse(line, await to.conflict(values));
  }

  async function send(to: LoadTarget, many: Statement, rows: readonly QueuedRow[]): Promise<void> {
    const answered = await writer.all(many, [rowsJson(rows.map(({ values }) => values))]);
    if (answered.length === rows.length) return;
    const taken = new Set(answered.map(keyOf));
    for (const row of rows) if (!taken.has(keyOf(row.values.slice(0, to.keys)))) await refused(to, row);
  }

  /** One batch is on its way while the next one is read. */
  async function sendBatch(): Promise<void> {
    const rows = batch;
    [batch, keys, length] = [[], new Set(), 0];
    await sent?.done;
    const [first, last] = [rows[0], rows.at(-1)];
    if (!current?.many || !first || !last) return;
    const done = send(current, current.many, rows);
    done.catch(() => undefined);
    sent = { span: { from: first.line, to: last.line }, done };
  }

  const isSlow = (line: number): boolean => slow !== undefined && line >= slow.from && line <= slow.to;

  /** Most rows only join a batch: no promise is needed. */
  function addToBatch(to: LoadTarget, row: QueuedRow): Awaitable<void> {
    const key = keyOf(row.values.slice(0, to.keys));
    if (batch.length > 0 && (to !== current || keys.has(key))) return sendBatch().then(() => addToBatch(to, row));
    current = to;
    batch.push(row);
    keys.add(key);
    length += lengthOf(row.values);
    if (isSlow(row.line)) return flush();
    return batch.length >= MAX_ROWS || length >= MAX_LENGTH ? sendBatch() : undefined;
  }

  async function addAlone(to: LoadTarget, row: QueuedRow): Promise<void> {
    const { changes } = await writer.run(to.one, row.values);
    if (changes === 0) await refused(to, row);
  }

  async function flush(): Promise<void> {
    await sendBatch();
    await sent?.done;
  }

  return {
    add: (to, values, line) => {
      if (to.many !== undefined) return addToBatch(to, { values, line });
      alone = { from: line, to: line };
      return addAlone(to, { values, line });
    },
    flush,
    underWay: () => sent?.span ?? alone,
  };
}

const keyOf = (values: Row): string => values.join(' ');

function lengthOf(values: Values): number {
  let length = 0;
  for (const value of values) length += typeof value === 'string' ? value.length : 8;
  return length;
}

// Lines of an export -> the rows that they become.

type RowLine = Exclude<Line, SequenceLine>;

/** `line` was checked: its names are those of the model. */
export type RowOf = (line: RowLine) => { readonly target: LoadTarget; readonly values: Values };

export function createRows(model: Model, dialect: Dialect, writer: Writer): RowOf {
  const tables = createTables(dialect, () => model);
  const time = new Date();
  const integer = (name: string): BulkColumn => ({ name, type: dialect.integer });
  const twice = (what: string) => (): Fault => ({
    pointer: '',
    code: 'taken',
    message: `This ${what} is in the file twice`,
  });
  const seedColumns = [{ name: 'type', type: 'text' }, integer('identifier')];
  const seeds = createTarget(dialect, SEED_TABLE, seedColumns, 2, twice('seed'));
  const pairs = new Map(
    model.joinTables.map(({ name, exportName, left, right }) => [
      exportName,
      createTarget(dialect, name, [integer(left.column), integer(right.column)], 2, twice('pair')),
    ]),
  );
  const recordsOf = memoized((type: RecordType) => {
    const columns = columnsOf(type, dialect.name);
    const bulk = columns.map((column) => ({ name: column.name, type: columnSql(column, dialect) }));
    const target = createTarget(dialect, type.table, [integer(type.identifier.column), ...bulk], 1, (values) =>
      conflictOf(tables.of(type), values, dialect.name, writer),
    );
    return { target, columns };
  });

  return (line) => {
    if ('pair' in line) return { target: named(pairs, line.pair), values: [line.left, line.right] };
    if ('seed' in line) return { target: seeds, values: [line.seed, line.identifier] };
    const { target, columns } = recordsOf(named(model.types, line.type));
    return { target, values: [line.identifier, ...columns.map((column) => valueOf(column, line, dialect, time))] };
  };
}

function named<T>(all: ReadonlyMap<string, T>, name: string): T {
  const found = all.get(name);
  if (found !== undefined) return found;
  throw new Error(`a line of "${name}" was not refused`);
}

/** A field that the export does not know has its default, as in a record that is made. */
function valueOf(column: Column, line: RecordLine, dialect: Dialect, time: Date): SqlValue {
  const { field, reference, folds } = column;
  if (folds) return foldedText(fieldValue(folds, line, dialect, time));
  if (field) return fieldValue(field, line, dialect, time);
  return reference ? (line.references[reference.exportName] ?? null) : (line.open ?? '{}');
}

/** What is generated is what the export says, and null if it says nothing: when, and by whom, is not known. */
function fieldValue(field: Field, { fields, texts }: RecordLine, { name }: Dialect, time: Date): SqlValue {
  const given = fields[field.name];
  if (given === undefined && field.isNowByDefault) return encode(field, name, field.type.now?.(time) ?? null);
  if (given === undefined) return encodedDefault(field, name);
  return given === null ? null : (texts.get(field.name) ?? encode(field, name, given));
}

// Which earlier line conflicts with the one that the database refused.

/** `values`: the identifier, then those of the table's columns. */
async function conflictOf(table: WriteTable, values: Values, dialect: DialectName, reader: Reader): Promise<Fault> {
  const { type } = table;
  const [identifier = 0] = values;
  if ((await reader.get(table.load, [identifier])) !== undefined)
    return { pointer: '/identifier', code: 'taken', message: `${type.name} ${identifier} is in the file twice` };
  const operand = (member: Field | Relation) => {
    const isField = !('link' in member);
    const column = isField ? member.column : member.link.at === 'source' ? member.link.reference.column : '';
    const value = values[table.position.get(column) ?? -1] ?? null;
    if (!isField || value === null) return value;
    return heldOperand(member, dialect, value);
  };
  for (const index of uniqueIndexes(type)) {
    const operands = index.members.map(operand);
    if (operands.includes(null)) continue;
    const holder = await reader.value(table.holder(index), [...operands, identifier]);
    if (holder === undefined) continue;
    const names = index.members.map(({ name }) => `"${name}"`).join(' and ');
    const message = `${type.name} ${String(holder)} has this value of ${names} already`;
    return { pointer: placeOf(index.members[0]), code: 'unique', message };
  }
  return { pointer: '', code: 'unique', message: `Another ${type.name} has a value already that must be unique` };
}

function placeOf(member: Field | Relation | undefined): string {
  if (member === undefined) return '';
  if (!('link' in member)) return `/fields/${escapeStep(member.name)}`;
  return member.link.at === 'source' ? `/references/${escapeStep(member.link.reference.exportName)}` : '';
}
