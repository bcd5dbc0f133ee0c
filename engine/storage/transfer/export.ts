/** The lines of an export, NDJSON that says nothing of the database that it came from: how they are written, and read from a file. */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import type { JsonObject } from '../../json/json.ts';
import { type Field, type JoinTable, type Model, type RecordType, referredFirst } from '../../model/model.ts';
import { type Fault, reasonOf, StartError } from '../../problem.ts';
import { type Column, columnsOf, readSql } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Reader, Row, Values } from '../driver.ts';
import { SEED_TABLE, tablesOf } from '../tables.ts';

export const FORMAT = 1;

/** The first line: what may be read by whom, and how many lines follow. */
export interface Head {
  readonly format: typeof FORMAT;
  readonly lines: number;
}

export interface RecordLine {
  readonly type: string;
  readonly identifier: number;
  readonly fields: JsonObject;
  /** The JSON text of fields that are kept as text, by the name of the field. */
  readonly texts: ReadonlyMap<string, string>;
  /** Identifiers by the column that refers to them. */
  readonly references: Readonly<Record<string, number | null>>;
  /** Keys that no field names, as JSON text; only of open types. */
  readonly open?: string;
}

/** Two records that a manyToMany connects. */
export interface PairLine {
  readonly pair: string;
  readonly left: number;
  readonly right: number;
}

/** Identifiers up to this one were used. */
export interface SequenceLine {
  readonly sequence: string;
  readonly last: number;
}

/** A seed that was inserted, whatever became of it. */
interface SeedLine {
  readonly seed: string;
  readonly identifier: number;
}

export type Line = RecordLine | PairLine | SequenceLine | SeedLine;

/** A line that was read, or what is wrong with it. */
export type CheckLine = (text: string) => { readonly line: Line } | { readonly faults: readonly Fault[] };

/** A line, or why it cannot be read. */
export type LineText = string | Fault;

/** Opens the lines again each time: a transaction may have to be repeated. */
export type LineSource = () => AsyncIterable<readonly LineText[]>;

const PAGE = 1000;
const SEEDS = { sql: `select type, identifier from ${SEED_TABLE} order by type, identifier` };

/** The head, and then each line as text. Ending early frees the snapshot. */
export async function* exportLines(model: Model, driver: Driver): AsyncGenerator<Head | string> {
  const snapshot = await driver.snapshot();
  const { dialect } = driver;
  try {
    const types = referredFirst(model.types.values());
    const others = [...(await sequences(snapshot, types, dialect)), ...(await seeds(snapshot))];
    let rows = 0;
    for (const table of tablesOf(model))
      rows += Number(await snapshot.value({ sql: `select count(*) from ${dialect.quote(table)}` }, []));
    yield { format: FORMAT, lines: rows + others.length };
    for (const type of types) yield* records(snapshot, type, dialect);
    for (const table of model.joinTables) yield* pairs(snapshot, table, dialect);
    for (const line of others) yield JSON.stringify(line);
  } finally {
    await snapshot.close();
  }
}

async function* records(reader: Reader, type: RecordType, dialect: Dialect): AsyncGenerator<string> {
  const { quote } = dialect;
  const columns = columnsOf(type, dialect.name, () => undefined);
  const identifier = quote(type.identifier.column);
  const all = [identifier, ...columns.map((column) => readSql(column, dialect.name, quote))].join(', ');
  const from = `select ${all} from ${quote(type.table)} where ${identifier} > ? order by ${identifier} limit ${PAGE}`;
  const text = recordText(type, columns, dialect.name);
  for await (const row of pages(reader, { sql: from }, ([last = 0]) => [last], [0])) yield text(row);
}

/** JSON that is kept as text goes out as it is. */
function recordText(type: RecordType, columns: readonly Column[], dialect: DialectName): (row: Row) => string {
  const parts = columns.map(({ field, reference }, index) => {
    const named = (place: string, name: string, json: (value: SqlValue) => string) => {
      const key = `${JSON.stringify(name)}:`;
      return { place, text: (row: Row) => key + json(row[index + 1] ?? null) };
    };
    if (field) return named('fields', field.name, fieldText(field, dialect));
    return reference ? named('references', reference.exportName, String) : named('', 'open', JSON.stringify);
  });
  const byPlace = Map.groupBy(parts, ({ place }) => place);
  const joined = (place: string, row: Row): string => (byPlace.get(place) ?? []).map(({ text }) => text(row)).join(',');
  const [head, open] = [`{"type":${JSON.stringify(type.name)},"identifier":`, type.open ? ',' : ''];
  return (row) =>
    `${head}${String(row[0])},"fields":{${joined('fields', row)}},"references":{${joined('references', row)}}${open}${joined('', row)}}`;
}

function fieldText({ type }: Field, dialect: DialectName): (value: SqlValue) => string {
  const { decode } = type.columns[dialect];
  if (type.keepsText) return String;
  return (value) => (value === null ? 'null' : JSON.stringify(decode(value)));
}

async function* pairs(reader: Reader, table: JoinTable, { quote }: Dialect): AsyncGenerator<string> {
  const { name, exportName, left, right } = table;
  const both = `${quote(left.column)}, ${quote(right.column)}`;
  const sql = `select ${both} from ${quote(name)} where (${both}) > (?, ?) order by ${both} limit ${PAGE}`;
  for await (const [one, other] of pages(reader, { sql }, ([a = 0, b = 0]) => [a, b], [0, 0]))
    yield JSON.stringify({ pair: exportName, left: Number(one), right: Number(other) });
}

async function* pages(
  reader: Reader,
  statement: { readonly sql: string },
  after: (row: Row) => Values,
  first: Values,
): AsyncGenerator<Row> {
  for (let from = first; ;) {
    const rows = await reader.all(statement, from);
    yield* rows;
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    from = after(last);
  }
}

async function sequences(reader: Reader, types: readonly RecordType[], dialect: Dialect): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const { name, table, identifier } of types) {
    const last = Number(await reader.value({ sql: dialect.sequence.read(table, identifier.column) }, []));
    if (last > 0) lines.push({ sequence: name, last });
  }
  return lines;
}

async function seeds(reader: Reader): Promise<readonly Line[]> {
  const rows = await reader.all(SEEDS, []);
  return rows.map(([type, identifier]) => ({ seed: String(type), identifier: Number(identifier) }));
}

// The lines of a file of UTF-8 text are read in bounded memory: a chunk at a time, and no line longer than a limit.

const CHUNK = 1024 * 1024;
const NEWLINE = 0x0a;

/** `longest`: bytes that a line may have. Throws a StartError if the file cannot be read. */
export async function* readLines(file: string, longest: number): AsyncGenerator<readonly LineText[]> {
  try {
    yield* linesOf(file, longest);
  } catch (error) {
    if (error instanceof Error && 'syscall' in error)
      throw new StartError(`${file} cannot be read: ${reasonOf(error)}`, { cause: error });
    throw error;
  }
}

async function* linesOf(file: string, longest: number): AsyncGenerator<readonly LineText[]> {
  let begun: Buffer[] = [];
  let length = 0;
  /** The line was refused before its end. */
  let skipping = false;
  for await (const bytes of createReadStream(file, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>) {
    const end = bytes.lastIndexOf(NEWLINE);
    if (end !== -1) {
      const whole = bytes.subarray(0, end);
      if (!skipping) yield textsOf(begun.length === 0 ? whole : Buffer.concat([...begun, whole]));
      else if (whole.includes(NEWLINE)) yield textsOf(whole.subarray(whole.indexOf(NEWLINE) + 1));
      [begun, length, skipping] = [[], 0, false];
    }
    if (skipping) continue;
    const rest = bytes.subarray(end + 1);
    begun.push(rest);
    length += rest.length;
    if (length <= longest) continue;
    yield [tooLong(longest)];
    [begun, length, skipping] = [[], 0, true];
  }
  if (length > 0) yield textsOf(Buffer.concat(begun));
}

const tooLong = (longest: number): Fault => ({
  pointer: '',
  code: 'too-long',
  message: `The line is longer than ${longest} bytes, 16 times BODY_LIMIT; raise that to read it`,
});
const NOT_UTF8: Fault = { pointer: '', code: 'invalid-json', message: 'The line is not valid UTF-8' };

/** Removes the byte order mark with which some editors begin a file. */
const decoder = new TextDecoder();

/** If the bytes are not UTF-8, each line is examined alone, so that the valid lines are read. */
function textsOf(bytes: Buffer): readonly LineText[] {
  if (isUtf8(bytes)) return decoder.decode(bytes).split('\n');
  const lines = bytes.toString('latin1').split('\n');
  return lines.map((line) => {
    const own = Buffer.from(line, 'latin1');
    return isUtf8(own) ? decoder.decode(own) : NOT_UTF8;
  });
}
