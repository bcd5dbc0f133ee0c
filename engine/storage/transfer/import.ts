/** Imports an export into an empty database: checks each line like a create, and inserts all or none. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { escapeStep, parsedJson } from '../../json/json.ts';
import { memoized } from '../../memo.ts';
import {
  type Field,
  type JoinTable,
  type Model,
  type RecordType,
  type Relation,
  uniqueIndexes,
} from '../../model/model.ts';
import { type Fault, Problem, StartError } from '../../problem.ts';
import {
  type Column,
  columnOf,
  columnsOf,
  encode,
  encodedDefault,
  foldedText,
  heldOperand,
  type BulkColumn,
} from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { type Awaitable, ConstraintError, type Driver, type Statement, type Values, type Writer } from '../driver.ts';
import { rowsInCircles } from '../migrate/diff.ts';
import { columnSql, columnTypeOf, IDEMPOTENCY_TABLE, METADATA, tablesOf } from '../tables.ts';
import { findHolder } from '../write/conflicts.ts';
import { createTables, rowsJson, type WriteTable } from '../write/tables.ts';
import {
  type CheckLine,
  FORMAT,
  type Head,
  type Line,
  type LineSource,
  type LineText,
  type PairLine,
  type RecordLine,
  type SequenceLine,
} from './export.ts';

interface Intake {
  readonly source: LineSource;
  readonly check: CheckLine;
  readonly progress: (done: number, all: number) => void;
  readonly mostFaults: number;
}

export interface LineFault {
  readonly line: number;
  readonly fault: Fault;
}

export class LinesRefused extends Error {
  readonly faults: readonly LineFault[];

  constructor(faults: readonly LineFault[]) {
    super();
    this.faults = faults;
  }
}

/** Returns the number of lines after the head. If it throws, the database is unchanged. */
export const importLines = (model: Model, { write, dialect }: Driver, intake: Intake): Promise<number> =>
  write((writer) => importAll({ model, dialect, writer, intake, faults: [] }));

interface Import {
  readonly model: Model;
  readonly dialect: Dialect;
  readonly writer: Writer;
  readonly intake: Intake;
  readonly faults: LineFault[];
}

async function importAll(state: Import): Promise<number> {
  const { model, dialect, writer, faults } = state;
  await requireEmpty(state);
  const deferred = dialect.deferred(tablesOf(model));
  for (const sql of deferred.begin) await writer.run({ sql }, []);
  // Seeds whose records this database has deleted stay deleted, even if the file does not name them.
  const seeds = await writer.all(METADATA.seeds, []);
  await writer.run(METADATA.clearSeeds, []);
  await writer.run(METADATA.clearKeys, []);
  const sequences = new Map<string, number>();
  const inserts = createInserts(state);
  const rowOf = createRows(model, dialect, writer);
  const count = await readLines(state, async (line, number) => {
    if ('sequence' in line) sequences.set(line.sequence, Math.max(line.last, sequences.get(line.sequence) ?? 0));
    else await inserts.add({ ...rowOf(line), line: number });
  });
  await inserts.end();
  for (const values of seeds) await writer.run(METADATA.addSeed, values);
  await refuseDangling(state);
  if (faults.length > 0) throw new LinesRefused(faults);
  for (const sql of deferred.end) await writer.run({ sql }, []);
  await moveSequences(state, sequences);
  return count;
}

async function requireEmpty({ model, dialect, writer }: Import): Promise<void> {
  for (const { table, name } of model.types.values())
    if ((await writer.get({ sql: `select 1 from ${dialect.quote(table)} limit 1` }, [])) !== undefined)
      throw new StartError(
        `The database has records of ${name} already; an import needs an empty one. Nothing was changed.`,
      );
}

/** `sequences`: the last identifiers that the file names. */
async function moveSequences({ model, dialect, writer }: Import, sequences: ReadonlyMap<string, number>) {
  for (const { name, table, identifier } of model.types.values()) {
    if (!identifier.kind.isCounted) continue;
    const newest = `select max(${dialect.quote(identifier.column)}) from ${dialect.quote(table)}`;
    const last = Math.max(sequences.get(name) ?? 0, Number((await writer.value({ sql: newest }, [])) ?? 0));
    if (last > 0) for (const sql of dialect.sequence.move(table, identifier.column)) await writer.run({ sql }, [last]);
  }
}

function refuse({ faults, intake }: Import, line: number, fault: Fault): void {
  faults.push({ line, fault });
  if (faults.length >= intake.mostFaults) throw new LinesRefused(faults);
}

async function readLines(state: Import, onLine: (line: Line, number: number) => Promise<void>): Promise<number> {
  const { source, check, progress } = state.intake;
  let head: Head | undefined;
  let number = 0;
  let count = 0;
  for await (const texts of source()) {
    for (const text of texts) {
      number += 1;
      if (text === '' || text === '\r') continue;
      if (!head) {
        head = headOf(text, number);
        continue;
      }
      count += 1;
      const checked = typeof text === 'string' ? check(text) : { faults: [text] };
      if ('line' in checked) await onLine(checked.line, number);
      else for (const fault of checked.faults) refuse(state, number, fault);
    }
    progress(count, head?.lines ?? count);
  }
  if (!head) throw new StartError('The file is empty. Nothing was changed.');
  const message = `The file is not whole: this line says that ${head.lines} lines follow, and ${count} do`;
  if (count !== head.lines) refuse(state, 1, { pointer: '/lines', code: 'not-whole', message });
  return count;
}

/** Throws a StartError if the line is not the head of an export. */
export function headOf(text: LineText, number: number): Head {
  const { format, lines = 0 } = (parsed(text) ?? {}) as Partial<Head>;
  if (format === FORMAT && Number.isSafeInteger(lines)) return { format, lines };
  throw new StartError(`Line ${number} is not the first line of an export of this engine. Nothing was changed.`);
}

const parsed = (text: LineText): unknown => (typeof text === 'string' ? parsedJson(text) : undefined);

/** Limits of a statement: rows, and characters in their strings. */
const MAX_BATCH_ROWS = 1000;
const MAX_BATCH_CHARS = 1024 * 1024;

const SAVEPOINT: Statement = { sql: 'savepoint batch' };
const ROLL_BACK: Statement = { sql: 'rollback to batch' };

interface Target {
  /** Binds the columns. Skips a row that breaks a unique constraint. */
  readonly one: Statement;
  /** Binds `rowsJson`, and skips such rows. Undefined if it is not faster. */
  readonly many: Statement | undefined;
  readonly conflict: (values: Values) => Awaitable<Fault>;
}

interface Row {
  readonly target: Target;
  readonly values: Values;
  readonly line: number;
}

const TOO_LONG = 'A value is too long for an index of the database';

function refusalOf(error: unknown): Fault | undefined {
  if (error instanceof Problem && error.status < 500) return { pointer: '', code: error.code, message: error.message };
  const isTooLong = error instanceof ConstraintError && error.kind === 'too-long';
  return isTooLong ? { pointer: '', code: 'too-long', message: TOO_LONG } : undefined;
}

/** Inserts rows in batches, each sent while the next one is read. */
function createInserts(state: Import) {
  const { writer } = state;
  let batch: Row[] = [];
  let length = 0;
  let sent: Promise<void> = Promise.resolve();

  async function insert({ target, values, line }: Row): Promise<void> {
    try {
      const { changes } = await writer.run(target.one, values);
      if (changes === 0) refuse(state, line, await target.conflict(values));
    } catch (error) {
      const fault = refusalOf(error);
      throw fault ? new LinesRefused([{ line, fault }]) : error;
    }
  }

  /** Neither an error nor the number of changes names the row, so the rows are sent again one by one. */
  async function insertAll(rows: readonly Row[]): Promise<void> {
    const many = rows[0]?.target.many;
    if (many) {
      await writer.run(SAVEPOINT, []);
      const json = rowsJson(rows.map(({ values }) => values));
      const { changes } = await Promise.resolve(writer.run(many, [json])).catch(() => ({ changes: 0 }));
      if (changes === rows.length) return;
      await writer.run(ROLL_BACK, []);
    }
    for (const row of rows) await insert(row);
  }

  async function send(): Promise<void> {
    const rows = batch;
    [batch, length] = [[], 0];
    await sent;
    sent = insertAll(rows);
    sent.catch(() => undefined);
  }

  return {
    add: async (row: Row): Promise<void> => {
      if (batch[0] && batch[0].target !== row.target) await send();
      batch.push(row);
      for (const value of row.values) length += typeof value === 'string' ? value.length : 8;
      if (batch.length >= MAX_BATCH_ROWS || length >= MAX_BATCH_CHARS) await send();
    },
    end: async (): Promise<void> => {
      await send();
      await sent;
    },
  };
}

const textColumn = (name: string): BulkColumn => ({ name, type: 'text' });
const KEY_COLUMNS = [
  ...['identity', 'key', 'hash', 'created'].map(textColumn),
  { name: 'status', type: 'integer' },
  textColumn('identifiers'),
];

function createRows(model: Model, dialect: Dialect, writer: Writer) {
  const { quote } = dialect;
  const tables = createTables(dialect, () => model);
  const time = new Date();
  const keyColumn = ({ column, type }: JoinTable['left']): BulkColumn => {
    return { name: column, type: columnTypeOf(type, dialect) };
  };

  function createTarget(table: string, columns: readonly BulkColumn[], conflict: Target['conflict']): Target {
    const names = columns.map(({ name }) => quote(name));
    const into = `insert into ${quote(table)} (${names.join(', ')})`;
    const one = { sql: `${into} values (${columns.map(() => '?').join(', ')}) on conflict do nothing` };
    const rows = dialect.rowsOfJson?.(columns);
    return { one, many: rows === undefined ? undefined : { sql: `${into} ${rows} on conflict do nothing` }, conflict };
  }

  const twice = (what: string) => (): Fault => ({
    pointer: '',
    code: 'taken',
    message: `This ${what} is in the file twice`,
  });
  const seeds: Target = { one: METADATA.addSeed, many: undefined, conflict: twice('seed') };
  const keys = createTarget(IDEMPOTENCY_TABLE, KEY_COLUMNS, twice('key'));
  const pairs = new Map(
    model.joinTables.map(({ name, exportName, left, right }) => [
      exportName,
      createTarget(name, [left, right].map(keyColumn), twice('pair')),
    ]),
  );
  const recordsOf = memoized((type: RecordType) => {
    const columns = columnsOf(type, dialect.name);
    const bulk = columns.map((column) => ({ name: column.name, type: columnSql(column, dialect) }));
    const target = createTarget(type.table, [keyColumn({ type, column: type.identifier.column }), ...bulk], (values) =>
      conflictOf(tables.of(type), values, dialect, writer),
    );
    return { target, columns };
  });

  return (line: Exclude<Line, SequenceLine>): Omit<Row, 'line'> => {
    if ('pair' in line) return { target: known(pairs.get(line.pair)), values: [line.left, line.right] };
    if ('key' in line) {
      const { identity, key, hash, created, status, identifiers } = line;
      return { target: keys, values: [identity, key, hash, created, status, JSON.stringify(identifiers)] };
    }
    if ('seed' in line) return { target: seeds, values: [line.identifier, line.seed] };
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

/** A field missing in the export gets its default, but stamps do not: their time and user are unknown. */
function fieldValue(field: Field, { fields, texts }: RecordLine, { name }: Dialect, time: Date): SqlValue {
  const given = fields[field.name];
  if (given === undefined && field.isNowByDefault) return encode(field, name, field.type.now?.(time) ?? null);
  if (given === undefined) return encodedDefault(field, name);
  return given === null ? null : (texts.get(field.name) ?? encode(field, name, given));
}

/** Finds the earlier line with which a refused row conflicts. `values`: the identifier, then the columns. */
async function conflictOf(table: WriteTable, values: Values, { name }: Dialect, writer: Writer): Promise<Fault> {
  const { type } = table;
  const [identifier = 0] = values;
  if ((await writer.get(table.load, [identifier])) !== undefined)
    return { pointer: '/identifier', code: 'taken', message: `${type.name} ${identifier} is in the file twice` };
  const operandOf = (member: Field | Relation): SqlValue =>
    heldOperand(member, name, values[table.position.get(columnOf(member)) ?? -1] ?? null);
  for (const index of uniqueIndexes(type)) {
    const holder = await findHolder(writer, table, index, index.members.map(operandOf));
    if (holder === undefined) continue;
    const names = index.members.map((member) => `"${member.name}"`).join(' and ');
    const message = `${type.name} ${holder} has this value of ${names} already`;
    return { pointer: pointerOf(index.members[0]), code: 'unique', message };
  }
  return { pointer: '', code: 'refused', message: 'A trigger, rule or index of the database left the record out' };
}

function pointerOf(member: Field | Relation | undefined): string {
  if (member === undefined) return '';
  if (!('link' in member)) return `/fields/${escapeStep(member.name)}`;
  return member.link.at === 'source' ? `/references/${escapeStep(member.link.reference.exportName)}` : '';
}

// Checks references after the last line, since records may refer to later records.

const MAX_DANGLING = 100_000;

type ReferenceRow = ReturnType<typeof referencesOf>[number];

/** Rereads the file for the line numbers of the rows with faults. */
async function refuseDangling(state: Import): Promise<void> {
  const found = await findDangling(state);
  if (found.size === 0) return;
  let number = 0;
  for await (const texts of state.intake.source())
    for (const text of texts) {
      number += 1;
      for (const key of keysOf(text)) {
        const fault = found.get(key);
        if (fault) refuse(state, number, fault);
      }
    }
}

/** Finds rows whose references are dangling or, if there are none, form a cycle. */
async function findDangling({ model, dialect, writer, faults, intake }: Import): Promise<ReadonlyMap<string, Fault>> {
  const { quote } = dialect;
  const found = new Map<string, Fault>();
  /** `rest`: SQL that selects rows of `r$`. */
  const find = async (reference: ReferenceRow, rest: string, code: string, messageOf: (value: string) => string) => {
    const { row, columns, table, pointer, column } = reference;
    const sql = `select ${columns.map((name) => `r$.${quote(name)}`).join(', ')} from ${quote(table)} as r$ ${rest}`;
    for (const values of await writer.all({ sql }, [])) {
      const message = messageOf(String(values[columns.indexOf(column)]));
      found.set([row, ...values].join(' '), { pointer, code, message });
    }
  };
  const references = referencesOf(model);
  const place = faults.length > 0 ? 'among the lines without errors' : 'in the file';
  const most = Math.min(MAX_DANGLING, intake.mostFaults - faults.length);
  for (const reference of references) {
    const { column, target } = reference;
    const there = `select 1 from ${quote(target.table)} as t$ where t$.${quote(target.identifier.column)} = r$.${quote(column)}`;
    const dangling = `where r$.${quote(column)} is not null and not exists (${there}) limit ${most}`;
    await find(reference, dangling, 'not-found', (missing) => `There is no ${target.name} ${missing} ${place}`);
  }
  if (found.size > 0) return found;
  for (const reference of references.filter(({ acyclic }) => acyclic)) {
    const { table, column, target } = reference;
    const { sql } = rowsInCircles({ table, identifier: target.identifier.column }, { column }, { quote });
    const circling = `join (${sql} limit ${MAX_DANGLING}) as c$ on c$.identifier = r$.${quote(target.identifier.column)}`;
    const message = `${target.name} records are above themselves: their links lead in a circle`;
    await find(reference, circling, 'cycle', () => message);
  }
  return found;
}

/** Returns the keys of a line's references; see referencesOf. */
function keysOf(text: LineText): readonly string[] {
  const line = (parsed(text) ?? {}) as Partial<RecordLine & PairLine>;
  const { type, identifier, references, pair, left, right } = line;
  if (pair !== undefined) return ['left', 'right'].map((side) => `pair ${pair} ${side} ${left} ${right}`);
  return Object.entries(references ?? {}).map(([name, value]) => `type ${type} ${name} ${identifier} ${value}`);
}

/** A row's key is `row` and the values of the columns. */
const referencesOf = ({ types, joinTables }: Model) => [
  ...[...types.values()].flatMap(({ name, table, identifier, references }) =>
    references.map(({ column, exportName, target, acyclic }) => ({
      row: `type ${name} ${exportName}`,
      columns: [identifier.column, column],
      table,
      column,
      pointer: `/references/${escapeStep(exportName)}`,
      target,
      acyclic,
    })),
  ),
  ...joinTables.flatMap((joinTable) =>
    (['left', 'right'] as const).map((side) => ({
      row: `pair ${joinTable.exportName} ${side}`,
      columns: [joinTable.left.column, joinTable.right.column],
      table: joinTable.name,
      column: joinTable[side].column,
      pointer: `/${side}`,
      target: joinTable[side].type,
      acyclic: false,
    })),
  ),
];
