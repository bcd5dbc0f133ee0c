/** The lines of an export: NDJSON that says nothing of the database that it came from. */
import { createReadStream } from 'node:fs';
import type { JsonObject } from '../../json/json.ts';
import { type Fault, reasonOf, StartError } from '../../problem.ts';

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
  /** By field: what is kept as JSON text, as the file has it. */
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
export interface SeedLine {
  readonly seed: string;
  readonly identifier: number;
}

export type Line = RecordLine | PairLine | SequenceLine | SeedLine;

/** A line that was read, or what is wrong with it. */
export type CheckLine = (text: string) => { readonly line: Line } | { readonly faults: readonly Fault[] };

/** Opens the lines again each time: a transaction may have to be repeated. */
export type LineSource = () => AsyncIterable<readonly LineText[]>;

export type Progress = (done: number, all: number) => void;

// The lines of a file of UTF-8 text, in bounded memory: a chunk at a time, and no line longer than a limit.

const CHUNK = 1024 * 1024;
const NEWLINE = 0x0a;

/** A line, or why it cannot be read. */
export type LineText = string | Fault;

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** `longest`: bytes that a line may have. Throws a StartError if the file cannot be read, or is of another kind. */
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
  let isFirst = true;
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>) {
    const bytes = isFirst ? withoutMark(chunk, file) : chunk;
    isFirst = false;
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

const MARKS: readonly (readonly [mark: Buffer, what: string])[] = [
  [Buffer.from([0x1f, 0x8b]), 'compressed (gzip); unpack it first'],
  [Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), 'compressed (zstd); unpack it first'],
  [Buffer.from('SQLite format 3\0'), 'an SQLite database; put it in place with "records restore"'],
  [Buffer.from([0xff, 0xfe]), 'UTF-16; an export is UTF-8'],
  [Buffer.from([0xfe, 0xff]), 'UTF-16; an export is UTF-8'],
];
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Some editors begin a file with a mark that says nothing. */
function withoutMark(bytes: Buffer, file: string): Buffer {
  const [, what] = MARKS.find(([mark]) => bytes.subarray(0, mark.length).equals(mark)) ?? [];
  if (what !== undefined) throw new StartError(`${file} is ${what}. Nothing was changed.`);
  return bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? bytes.subarray(BYTE_ORDER_MARK.length)
    : bytes;
}

/** Where a line is not UTF-8, each is decoded alone, so that only those are refused that have to be. */
function textsOf(bytes: Buffer): readonly LineText[] {
  const texts = decoded(bytes)?.split('\n');
  if (texts) return texts;
  const lines: LineText[] = [];
  for (let from = 0; from <= bytes.length;) {
    const found = bytes.indexOf(NEWLINE, from);
    const end = found === -1 ? bytes.length : found;
    lines.push(decoded(bytes.subarray(from, end)) ?? NOT_UTF8);
    from = end + 1;
  }
  return lines;
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}
