/**
 * The program of a reader process: reads of many rows run here, on read-only connections. SQLite cannot be interrupted
 * from JavaScript; a process can be killed at any time.
 */
import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { constants, getPriority, setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { SqlValue } from '../../field-types/field-type.ts';
import { createBoundedCache } from '../../memo.ts';
import type { Statement, Values } from '../driver.ts';
import { connect } from './connection.ts';
import { rememberingCounts } from './counts.ts';
import { LONG_LOG } from './dialect.ts';
import {
  LIFELINE,
  type Question,
  type ReaderFailure,
  type ReaderOptions,
  READY,
  type Reply,
  type Verb,
} from './reader-protocol.ts';

const BEGIN: Statement = { sql: 'begin' };
const COMMIT: Statement = { sql: 'commit' };
/** A piece of a list ends with this many rows, characters or milliseconds. */
const PIECE_ROWS = 256;
const PIECE_LENGTH = 256 * 1024;
const PIECE_TIME = 50;
/** KiB of the file that the connection keeps; a sort that needs more goes to the disk. */
const CACHE = 16_000;
/** Milliseconds that another process may take to recover the log. */
const BUSY_TIMEOUT = 1000;
const MAX_STATEMENTS = 200;

const options = JSON.parse(process.argv[2] ?? '{}') as ReaderOptions;

try {
  // Where processors are scarce, the service goes before its searches: it answers all the others.
  setPriority(Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL));
} catch {
  // A sandbox may forbid it.
}

const connection = connect(options.file, true);
connection.execute(`pragma cache_size = -${CACHE}; pragma busy_timeout = ${BUSY_TIMEOUT}`);
const counts = rememberingCounts(connection);
/** Of the list that is being read. */
let rows: IterableIterator<SqlValue> | undefined;

type RunVerb = (statement: Statement, values: Values) => unknown;

const reads: Readonly<Record<Exclude<Verb, 'end'>, RunVerb>> = {
  get: connection.get,
  all: (statement, values) => bounded(connection.rows(statement, values), rowLength),
  value: connection.value,
  column: (statement, values) => bounded(connection.iterate(statement, values), lengthOf),
  count: counts.count,
  open: (statement, values) => void (rows = connection.iterate(statement, values)),
  next: () => piece(),
};

const lengthOf = (value: SqlValue): number => (typeof value === 'string' ? value.length : 8);
const rowLength = (row: readonly SqlValue[]): number => row.reduce<number>((sum, value) => sum + lengthOf(value), 8);

/** All of them; throws if they are too long to be sent. */
function bounded<T>(found: IterableIterator<T>, length: (one: T) => number): readonly T[] {
  const all: T[] = [];
  let sum = 0;
  for (const one of found) {
    sum += length(one);
    if (sum > options.longest) throw Object.assign(new Error('the answer is too long'), { code: 'SQLITE_TOOBIG' });
    all.push(one);
  }
  return all;
}

/** undefined if there are no more rows. */
function piece(): readonly SqlValue[] | undefined {
  if (!rows) throw new Error('no list is open');
  const texts: SqlValue[] = [];
  const end = performance.now() + PIECE_TIME;
  for (let length = 0; texts.length < PIECE_ROWS && length < PIECE_LENGTH;) {
    const { value, done } = rows.next();
    if (done === true) break;
    texts.push(value);
    length += lengthOf(value);
    if (performance.now() > end) break;
  }
  return texts.length === 0 ? undefined : texts;
}

/** The same statement is the same object, so that it is prepared once. */
const statements = createBoundedCache<Statement>(MAX_STATEMENTS);

function statementOf(sql: string): Statement {
  const statement = statements.get(sql) ?? { sql };
  statements.set(sql, statement);
  return statement;
}

function result({ verb, sql, values }: Question): unknown {
  if (verb === 'end') return endList();
  if (!connection.database.inTransaction) {
    // Records may have been written since the last snapshot.
    counts.expire();
    connection.command(BEGIN);
  }
  return reads[verb](statementOf(sql), values);
}

/** A process that cannot end its snapshot would show old records to the next list. */
function endList(): void {
  try {
    rows?.return?.();
    rows = undefined;
    if (connection.database.inTransaction) connection.command(COMMIT);
  } catch {
    process.exit(1);
  }
  copyLog();
}

/** While it was read, the log could not be copied beyond this snapshot: without this, the next commit would copy all of it. */
function copyLog(): void {
  if ((statSync(`${options.file}-wal`, { throwIfNoEntry: false })?.size ?? 0) <= LONG_LOG) return;
  try {
    const database = new Database(options.file, { timeout: 0 });
    database.pragma('wal_checkpoint(passive)');
    database.close();
  } catch {
    // The next commit copies it.
  }
}

function answer(question: Question): Reply {
  const { id } = question;
  try {
    return { id, result: result(question) };
  } catch (error) {
    return { id, failure: failureOf(error) };
  }
}

/** Of SQLite's own error, before it was translated. */
function failureOf(error: unknown): ReaderFailure {
  const original: unknown = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = original instanceof Error && 'code' in original ? String(original.code) : '';
  return { message: original instanceof Error ? original.message : String(original), code };
}

/** The service may have been killed: without a callback, the error would be thrown. */
const tell = (reply: Reply): void => void process.send?.(reply, () => undefined);

// In a thread, since a statement may be running here when the service ends.
const WATCH = `new (require('node:net').Socket)({ fd: ${LIFELINE} })
  .on('error', () => undefined).on('close', () => process.kill(process.pid, 'SIGKILL')).resume()`;
new Worker(WATCH, {
  eval: true,
  execArgv: [],
  resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
}).unref();

process.title = 'records reader';
// Signals to the process group are handled by the service, which ends its readers.
process.on('SIGINT', () => undefined).on('SIGTERM', () => undefined);
process.on('message', (question: Question) => tell(answer(question)));
tell(READY);
