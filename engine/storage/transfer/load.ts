/** Inserts the lines of an import into empty tables: in batches if the database is a server, else one by one. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { escapeStep } from '../../json/json.ts';
import { memoized } from '../../memo.ts';
import { type Field, type Model, type RecordType, type Relation, uniqueIndexes } from '../../model/model.ts';
import type { Fault } from '../../problem.ts';
import { type Column, columnOf, columnsOf, encode, encodedDefault, foldedText, heldOperand } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Awaitable, Row, Statement, Values, Writer } from '../driver.ts';
import { type BulkColumn, columnSql, SEED_TABLE } from '../tables.ts';
import { findHolder } from '../write/conflicts.ts';
import { createTables, rowsJson, type WriteTable } from '../write/tables.ts';
import type { Line, RecordLine, SequenceLine } from './export.ts';

/** Rows of one statement, and characters of their texts. */
const MAX_ROWS = 1000;
const MAX_LENGTH = 1024 * 1024;

const SAVEPOINT: Statement = { sql: 'savepoint batch' };
const ROLL_BACK: Statement = { sql: 'rollback to batch' };

export interface LineFault {
  readonly line: number;
  readonly fault: Fault;
}

/** Lines were refused, and the database is unchanged. */
export class LinesRefused extends Error {
  readonly faults: readonly LineFault[];

  constructor(faults: readonly LineFault[]) {
    super();
    this.faults = faults;
  }
}

interface LoadTarget {
  /** How many of the first columns identify a row. */
  readonly keys: number;
  /** Bound: the columns. Leaves out a row that breaks a unique constraint. */
  readonly one: Statement;
  /** Bound: rows as a JSON array of arrays. Answers the keys of the rows that were inserted. */
  readonly many: Statement | undefined;
  /** Why a row was left out. */
  readonly conflict: (values: Values) => Awaitable<Fault>;
}

interface LoadedRow {
  readonly values: Values;
  readonly line: number;
}

interface Batch {
  readonly target: LoadTarget;
  readonly many: Statement;
  /** By key: the keys of the inserted rows tell which ones were left out. */
  readonly rows: Map<string, LoadedRow>;
  length: number;
}

const keyOf = (values: Row): string => values.join(' ');

export interface Loader {
  /** The line was checked: its names are those of the model. */
  add(line: Exclude<Line, SequenceLine>, number: number): Awaitable<void>;
  /** Resolves when every row has been inserted or refused. */
  flush(): Promise<void>;
  /** The number of the line that is inserted alone: an error of the database is about it. */
  current(): number | undefined;
}

export function createLoader(
  model: Model,
  dialect: Dialect,
  writer: Writer,
  refuse: (line: number, fault: Fault) => void,
): Loader {
  const rowOf = createRows(model, dialect, writer);
  let batch: Batch | undefined;
  let current: number | undefined;
  let sent: Promise<void> = Promise.resolve();

  async function insert({ target, many, rows }: Batch): Promise<void> {
    const inserted = await writer.all(many, [rowsJson([...rows.values()].map(({ values }) => values))]);
    if (inserted.length === rows.size) return;
    const taken = new Set(inserted.map(keyOf));
    for (const [key, { values, line }] of rows) if (!taken.has(key)) refuse(line, await target.conflict(values));
  }

  /** An error does not name the row: the rows are sent again, one by one. */
  async function send(full: Batch): Promise<void> {
    await writer.run(SAVEPOINT, []);
    try {
      return await insert(full);
    } catch (error) {
      if (error instanceof LinesRefused) throw error;
      await writer.run(ROLL_BACK, []);
    }
    for (const row of full.rows) {
      current = row[1].line;
      await insert({ ...full, rows: new Map([row]) });
    }
    current = undefined;
  }

  /** The next batch is read while this one is on its way. */
  async function sendBatch(): Promise<void> {
    const full = batch;
    batch = undefined;
    await sent;
    if (!full) return;
    sent = send(full);
    sent.catch(() => undefined);
  }

  /** Most rows only join a batch: no promise is needed. */
  function addToBatch(target: LoadTarget, many: Statement, row: LoadedRow): Awaitable<void> {
    const key = keyOf(row.values.slice(0, target.keys));
    if (batch && (target !== batch.target || batch.rows.has(key)))
      return sendBatch().then(() => addToBatch(target, many, row));
    batch ??= { target, many, rows: new Map(), length: 0 };
    batch.rows.set(key, row);
    for (const value of row.values) batch.length += typeof value === 'string' ? value.length : 8;
    return batch.rows.size >= MAX_ROWS || batch.length >= MAX_LENGTH ? sendBatch() : undefined;
  }

  async function addAlone({ one, conflict }: LoadTarget, { values, line }: LoadedRow): Promise<void> {
    current = line;
    const { changes } = await writer.run(one, values);
    if (changes === 0) refuse(line, await conflict(values));
    current = undefined;
  }

  return {
    add: (line, number) => {
      const { target, values } = rowOf(line);
      const row = { values, line: number };
      return target.many ? addToBatch(target, target.many, row) : addAlone(target, row);
    },
    flush: async () => {
      await sendBatch();
      await sent;
    },
    current: () => current,
  };
}

/** Returns the row that a line becomes. */
function createRows(model: Model, dialect: Dialect, writer: Writer) {
  const { quote } = dialect;
  const tables = createTables(dialect, () => model);
  const time = new Date();
  const integer = (name: string): BulkColumn => ({ name, type: dialect.integer });

  function createTarget(
    table: string,
    columns: readonly BulkColumn[],
    keys: number,
    conflict: LoadTarget['conflict'],
  ): LoadTarget {
    const names = columns.map(({ name }) => quote(name));
    const into = `insert into ${quote(table)} (${names.join(', ')})`;
    const rows = dialect.rowsOfJson?.(columns);
    const taken = names.slice(0, keys).join(', ');
    return {
      keys,
      one: { sql: `${into} values (${columns.map(() => '?').join(', ')}) on conflict do nothing` },
      many: rows === undefined ? undefined : { sql: `${into} ${rows} on conflict do nothing returning ${taken}` },
      conflict,
    };
  }

  const twice = (what: string) => (): Fault => ({
    pointer: '',
    code: 'taken',
    message: `This ${what} is in the file twice`,
  });
  const seeds = createTarget(SEED_TABLE, [{ name: 'type', type: 'text' }, integer('identifier')], 2, twice('seed'));
  const pairs = new Map(
    model.joinTables.map(({ name, exportName, left, right }) => [
      exportName,
      createTarget(name, [integer(left.column), integer(right.column)], 2, twice('pair')),
    ]),
  );
  const recordsOf = memoized((type: RecordType) => {
    const columns = columnsOf(type, dialect.name);
    const bulk = columns.map((column) => ({ name: column.name, type: columnSql(column, dialect) }));
    const target = createTarget(type.table, [integer(type.identifier.column), ...bulk], 1, (values) =>
      conflictOf(tables.of(type), values, dialect, writer),
    );
    return { target, columns };
  });

  return (line: Exclude<Line, SequenceLine>): { readonly target: LoadTarget; readonly values: Values } => {
    if ('pair' in line) return { target: known(pairs.get(line.pair)), values: [line.left, line.right] };
    if ('seed' in line) return { target: seeds, values: [line.seed, line.identifier] };
    const { target, columns } = recordsOf(known(model.types.get(line.type)));
    return { target, values: [line.identifier, ...columns.map((column) => valueOf(column, line, dialect, time))] };
  };
}

function known<T>(found: T | undefined): T {
  if (found === undefined) throw new Error('a line with an unknown name was not refused');
  return found;
}

function valueOf({ field, reference, folds }: Column, line: RecordLine, dialect: Dialect, time: Date): SqlValue {
  if (folds) return foldedText(fieldValue(folds, line, dialect, time));
  if (field) return fieldValue(field, line, dialect, time);
  return reference ? (line.references[reference.exportName] ?? null) : (line.open ?? '{}');
}

/** A field that the export does not have gets its default, except for stamps: when and by whom is not known. */
function fieldValue(field: Field, { fields, texts }: RecordLine, { name }: Dialect, time: Date): SqlValue {
  const given = fields[field.name];
  if (given === undefined && field.isNowByDefault) return encode(field, name, field.type.now?.(time) ?? null);
  if (given === undefined) return encodedDefault(field, name);
  return given === null ? null : (texts.get(field.name) ?? encode(field, name, given));
}

/** Finds the earlier line that a refused row conflicts with. `values`: the identifier, then the table's columns. */
async function conflictOf(table: WriteTable, values: Values, { name }: Dialect, writer: Writer): Promise<Fault> {
  const { type } = table;
  const [identifier = 0] = values;
  if ((await writer.get(table.load, [identifier])) !== undefined)
    return { pointer: '/identifier', code: 'taken', message: `${type.name} ${identifier} is in the file twice` };
  const operandOf = (member: Field | Relation): SqlValue => {
    const value = values[table.position.get(columnOf(member)) ?? -1] ?? null;
    return 'link' in member || value === null ? value : heldOperand(member, name, value);
  };
  for (const index of uniqueIndexes(type)) {
    const holder = await findHolder(writer, table, index, index.members.map(operandOf));
    if (holder === undefined) continue;
    const names = index.members.map((member) => `"${member.name}"`).join(' and ');
    const message = `${type.name} ${holder} has this value of ${names} already`;
    return { pointer: placeOf(index.members[0]), code: 'unique', message };
  }
  return { pointer: '', code: 'unique', message: `Another ${type.name} has a value already that must be unique` };
}

function placeOf(member: Field | Relation | undefined): string {
  if (member === undefined) return '';
  if (!('link' in member)) return `/fields/${escapeStep(member.name)}`;
  return member.link.at === 'source' ? `/references/${escapeStep(member.link.reference.exportName)}` : '';
}
