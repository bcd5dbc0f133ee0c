/** Writes the lines of an export: NDJSON, equal on both databases. */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import { isOfSystem } from '../../files.ts';
import type { JsonObject } from '../../json/json.ts';
import type { Identifier } from '../../model/identifier.ts';
import { type Field, type JoinTable, type Model, type RecordType, referredFirst } from '../../model/model.ts';
import { type Fault, reasonOf, StartError } from '../../problem.ts';
import { type Column, columnsOf, readSql } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Reader, Row, Values } from '../driver.ts';
import type { Once, Retried } from '../store.ts';
import { IDEMPOTENCY_TABLE, METADATA, tablesOf } from '../tables.ts';

export const FORMAT = 1;

/** The first line; `lines`: number of lines after it. */
export interface Head {
  readonly format: typeof FORMAT;
  readonly lines: number;
}

export interface RecordLine {
  readonly type: string;
  readonly identifier: Identifier;
  readonly fields: JsonObject;
  readonly texts: ReadonlyMap<string, string>;
  readonly references: Readonly<Record<string, Identifier | null>>;
  readonly open?: string;
}

export interface PairLine {
  readonly pair: string;
  readonly left: Identifier;
  readonly right: Identifier;
}

export interface SequenceLine {
  readonly sequence: string;
  readonly last: number;
}

/** A seed inserted once, even if deleted since, by the number that stands for it. */
interface SeedLine {
  readonly seed: string;
  readonly identifier: number;
}

/** An idempotency key, with the answer to its request. */
export interface KeyLine extends Omit<Once, 'hours'>, Omit<Retried, 'bodies'> {
  /** In UTC, with milliseconds. */
  readonly created: string;
}

export type Line = RecordLine | PairLine | SequenceLine | SeedLine | KeyLine;

export type CheckLine = (text: string) => { readonly line: Line } | { readonly faults: readonly Fault[] };

export type LineText = string | Fault;

/** Reopens the lines each time, as a transaction may have to be repeated. */
export type LineSource = () => AsyncIterable<readonly LineText[]>;

const PAGE_ROWS = 1000;

/** Closing the generator frees the snapshot. */
export async function* exportLines(model: Model, driver: Driver): AsyncGenerator<Head | string> {
  const snapshot = await driver.snapshot();
  const { dialect } = driver;
  try {
    const types = referredFirst(model.types.values());
    const others = await otherLines(snapshot, types, dialect);
    let rows = 0;
    for (const table of [...tablesOf(model), IDEMPOTENCY_TABLE])
      rows += Number(await snapshot.value({ sql: `select count(*) from ${dialect.quote(table)}` }, []));
    yield { format: FORMAT, lines: rows + others.length };
    for (const type of types) yield* records(snapshot, type, dialect);
    for (const table of model.joinTables) yield* pairs(snapshot, table, dialect);
    yield* keyLines(snapshot, dialect);
    for (const line of others) yield JSON.stringify(line);
  } finally {
    await snapshot.close();
  }
}

async function* records(reader: Reader, type: RecordType, dialect: Dialect): AsyncGenerator<string> {
  const columns = columnsOf(type, dialect.name, () => undefined);
  const others = columns.map((column) => readSql(column, dialect.name, dialect.quote));
  const text = recordText(type, columns, dialect.name);
  for await (const row of rowsOf(reader, type.table, [type.identifier.column], others, dialect)) yield text(row);
}

function recordText(type: RecordType, columns: readonly Column[], dialect: DialectName): (row: Row) => string {
  const members = (textOf: (column: Column) => readonly [string, (value: SqlValue) => string] | undefined) => {
    const texts = columns.flatMap((column, index) => {
      const [name, text] = textOf(column) ?? [];
      const key = `${JSON.stringify(name)}:`;
      return text ? (row: Row) => key + text(row[index + 1] ?? null) : [];
    });
    return (row: Row) => texts.map((text) => text(row)).join(',');
  };
  const fields = members(({ field }) => field && [field.name, fieldText(field, dialect)]);
  const references = members(({ reference }) => reference && [reference.exportName, JSON.stringify]);
  const open = (row: Row): string => (type.open ? `,"open":${JSON.stringify(row.at(-1))}` : '');
  const head = `{"type":${JSON.stringify(type.name)},"identifier":`;
  return (row) =>
    `${head}${JSON.stringify(row[0])},"fields":{${fields(row)}},"references":{${references(row)}}${open(row)}}`;
}

function fieldText({ type }: Field, dialect: DialectName): (value: SqlValue) => string {
  const { decode } = type.columns[dialect];
  if (type.keepsText) return String;
  return (value) => (value === null ? 'null' : JSON.stringify(decode(value)));
}

async function* pairs(reader: Reader, table: JoinTable, dialect: Dialect): AsyncGenerator<string> {
  const { name, exportName, left, right } = table;
  for await (const [one, other] of rowsOf(reader, name, [left.column, right.column], [], dialect))
    yield JSON.stringify({ pair: exportName, left: one, right: other });
}

async function* keyLines(reader: Reader, dialect: Dialect): AsyncGenerator<string> {
  const others = ['hash', 'created', 'status', 'identifiers'];
  for await (const row of rowsOf(reader, IDEMPOTENCY_TABLE, ['identity', 'key'], others, dialect)) {
    const [identity, key, hash, created, status, identifiers] = row.map(String);
    const line = { key, identity, hash, created, status: Number(status) };
    yield `${JSON.stringify(line).slice(0, -1)},"identifiers":${identifiers}}`;
  }
}

/** `others`: SQL of the values after the keys. */
async function* rowsOf(
  reader: Reader,
  table: string,
  keys: readonly string[],
  others: readonly string[],
  { quote }: Dialect,
): AsyncGenerator<Row> {
  const key = keys.map(quote).join(', ');
  const beyond = `(${key}) > (${keys.map(() => '?').join(', ')})`;
  const page = (where: string) => ({
    sql: `select ${[key, ...others].join(', ')} from ${quote(table)}${where} order by ${key} limit ${PAGE_ROWS}`,
  });
  const next = page(` where ${beyond}`);
  for (let from: Values | undefined; ;) {
    const rows = await (from ? reader.all(next, from) : reader.all(page(''), []));
    yield* rows;
    const last = rows.at(-1);
    if (rows.length < PAGE_ROWS || !last) return;
    from = last.slice(0, keys.length);
  }
}

async function otherLines(reader: Reader, types: readonly RecordType[], dialect: Dialect): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const { name, table, identifier } of types) {
    if (!identifier.kind.isCounted) continue;
    const last = Number(await reader.value({ sql: dialect.sequence.read(table, identifier.column) }, []));
    if (last > 0) lines.push({ sequence: name, last });
  }
  const seeds = await reader.all(METADATA.seeds, []);
  return [...lines, ...seeds.map(([identifier, type]) => ({ seed: String(type), identifier: Number(identifier) }))];
}

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/** Reads a file in bounded memory. `longest`: bytes of a line. Throws a StartError if it cannot read the file. */
export async function* readLines(file: string, longest: number): AsyncGenerator<readonly LineText[]> {
  const message = `The line is longer than ${longest} bytes, 16 times BODY_LIMIT; raise that to read it`;
  /** The line cut by the end of the last chunk; undefined if too long. */
  let begun: Buffer | undefined = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
      const end = chunk.lastIndexOf(NEWLINE);
      if (end >= 0) {
        const first = chunk.indexOf(NEWLINE);
        if (begun) yield textsOf(Buffer.concat([begun, chunk.subarray(0, end)]));
        else if (first < end) yield textsOf(chunk.subarray(first + 1, end));
        begun = Buffer.alloc(0);
      }
      begun &&= Buffer.concat([begun, chunk.subarray(end + 1)]);
      if (begun === undefined || begun.length <= longest) continue;
      yield [{ pointer: '', code: 'too-long', message }];
      begun = undefined;
    }
    if (begun?.length) yield textsOf(begun);
  } catch (error) {
    throw isOfSystem(error) ? new StartError(`${file} cannot be read: ${reasonOf(error)}`, { cause: error }) : error;
  }
}

const NOT_UTF8: Fault = { pointer: '', code: 'invalid-json', message: 'The line is not valid UTF-8' };

/** Removes the byte order mark that some editors add. */
const decoder = new TextDecoder();

function textsOf(bytes: Buffer): readonly LineText[] {
  if (isUtf8(bytes)) return decoder.decode(bytes).split('\n');
  const lines = bytes.toString('latin1').split('\n');
  return lines.map((line) => {
    const own = Buffer.from(line, 'latin1');
    return isUtf8(own) ? decoder.decode(own) : NOT_UTF8;
  });
}
