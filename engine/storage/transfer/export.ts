/** The lines of an export: NDJSON that is the same on both databases. */
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

/** The first line; `lines`: how many follow. */
export interface Head {
  readonly format: typeof FORMAT;
  readonly lines: number;
}

export interface RecordLine {
  readonly type: string;
  readonly identifier: number;
  readonly fields: JsonObject;
  /** The JSON texts of fields that are kept as text, by name. */
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

/** A seed that was inserted once, even if it was deleted since. */
interface SeedLine {
  readonly seed: string;
  readonly identifier: number;
}

export type Line = RecordLine | PairLine | SequenceLine | SeedLine;

/** A line that was read, or what is wrong with it. */
export type CheckLine = (text: string) => { readonly line: Line } | { readonly faults: readonly Fault[] };

/** A fault: the line cannot be read. */
export type LineText = string | Fault;

/** Opens the lines again each time: a transaction may have to be repeated. */
export type LineSource = () => AsyncIterable<readonly LineText[]>;

const PAGE = 1000;

/** Ending early frees the snapshot. */
export async function* exportLines(model: Model, driver: Driver): AsyncGenerator<Head | string> {
  const snapshot = await driver.snapshot();
  const { dialect } = driver;
  try {
    const types = referredFirst(model.types.values());
    const others = await otherLines(snapshot, types, dialect);
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

async function otherLines(reader: Reader, types: readonly RecordType[], dialect: Dialect): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const { name, table, identifier } of types) {
    const last = Number(await reader.value({ sql: dialect.sequence.read(table, identifier.column) }, []));
    if (last > 0) lines.push({ sequence: name, last });
  }
  const seeds = await reader.all({ sql: `select type, identifier from ${SEED_TABLE} order by type, identifier` }, []);
  return [...lines, ...seeds.map(([type, identifier]) => ({ seed: String(type), identifier: Number(identifier) }))];
}

// Reading a file in bounded memory: a chunk at a time, and no line longer than a limit.

const CHUNK = 1024 * 1024;
const NEWLINE = 0x0a;

/** `longest`: bytes of a line. Throws a StartError if the file cannot be read. */
export async function* readLines(file: string, longest: number): AsyncGenerator<readonly LineText[]> {
  const message = `The line is longer than ${longest} bytes, 16 times BODY_LIMIT; raise that to read it`;
  /** The line that the last chunk ended in; undefined if it was too long. */
  let begun: Buffer | undefined = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>) {
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
    if (error instanceof Error && 'syscall' in error)
      throw new StartError(`${file} cannot be read: ${reasonOf(error)}`, { cause: error });
    throw error;
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
