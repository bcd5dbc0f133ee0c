/**
 * The program of a reader process: reads of many rows run here, on read-only connections. SQLite cannot be interrupted
 * from JavaScript; a process can be killed at any time.
 */
import Database from 'better-sqlite3';
import { constants, getPriority, setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { SqlValue } from '../../field-types/field-type.ts';
import { createBoundedCache } from '../../memo.ts';
import type { Statement, Values } from '../driver.ts';
import { connect, type SqliteConnection } from './connection.ts';
import { type RememberedCounts, rememberingCounts } from './counts.ts';
import {
  LIFELINE,
  type LogState,
  type Question,
  type ReaderFailure,
  type ReaderOptions,
  READY,
  type Reply,
  type Verb,
} from './reader-protocol.ts';

interface ReaderSession {
  readonly connection: SqliteConnection;
  readonly counts: RememberedCounts;
  /** Of a list that is being streamed. */
  rows?: IterableIterator<SqlValue>;
}

const BEGIN: Statement = { sql: 'begin' };
const COMMIT: Statement = { sql: 'commit' };
/** A piece of a list ends with this many rows, characters or milliseconds. */
const PIECE_ROWS = 256;
const PIECE_LENGTH = 256 * 1024;
const PIECE_TIME = 50;
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

type RunVerb = (session: ReaderSession, statement: Statement, values: Values) => unknown;

const reads: Readonly<Record<Exclude<Verb, 'end' | 'close' | 'checkpoint'>, RunVerb>> = {
  get: ({ connection }, statement, values) => connection.get(statement, values),
  all: ({ connection }, statement, values) => bounded(connection.rows(statement, values), rowLength),
  value: ({ connection }, statement, values) => connection.value(statement, values),
  column: ({ connection }, statement, values) => bounded(connection.iterate(statement, values), lengthOf),
  count: ({ counts }, statement, values) => counts.count(statement, values),
  open: (session, statement, values) => void (session.rows = session.connection.iterate(statement, values)),
  next: ({ rows }) => piece(rows),
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
function piece(rows: IterableIterator<SqlValue> | undefined): readonly SqlValue[] | undefined {
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

const sessions = new Map<number, ReaderSession>();

function sessionOf(id: number): ReaderSession {
  const known = sessions.get(id);
  if (known) return known;
  const connection = connect(options.file, true);
  connection.execute(`pragma cache_size = -${options.cache}; pragma busy_timeout = ${BUSY_TIMEOUT}`);
  const session = { connection, counts: rememberingCounts(connection) };
  sessions.set(id, session);
  return session;
}

/** The same statement is the same object, so that it is prepared once. */
const statements = createBoundedCache<Statement>(MAX_STATEMENTS);

function statementOf(sql: string): Statement {
  const statement = statements.get(sql) ?? { sql };
  statements.set(sql, statement);
  return statement;
}

function result({ session: id, verb, sql, values }: Question): unknown {
  if (verb === 'checkpoint') return checkpoint();
  if (verb === 'end' || verb === 'close') return endSession(id, verb === 'close');
  const session = sessionOf(id);
  if (!session.connection.database.inTransaction) {
    // Records may have been written since the session was last used.
    session.counts.expire();
    session.connection.command(BEGIN);
  }
  return reads[verb](session, statementOf(sql), values);
}

/** Pages that may be copied while writes wait. */
const MAX_BEHIND = 1000;
/** Milliseconds that writes may wait until no reader uses the log, so that it can be cut. */
const CUT_TIMEOUT = 20;

/** Copies beside the writes. To cut the file keeps writes waiting, but only for what was written meanwhile. */
function checkpoint(): LogState {
  const database = new Database(options.file, { timeout: CUT_TIMEOUT });
  try {
    const behind = copyBeside(database);
    const [busy] = behind > MAX_BEHIND ? [1] : checkpointed(database, 'truncate');
    return { behind, isCut: busy === 0 };
  } finally {
    database.close();
  }
}

/** Again, as long as less is left each time. A reader keeps the rest of the log, or writes are faster. */
function copyBeside(database: Database.Database): number {
  for (let before = Infinity; ;) {
    const [, length, copied] = checkpointed(database, 'passive');
    const behind = length - copied;
    if (behind <= MAX_BEHIND || behind >= before) return behind;
    before = behind;
  }
}

type Checkpointed = readonly [busy: number, length: number, copied: number];

function checkpointed(database: Database.Database, mode: 'passive' | 'truncate'): Checkpointed {
  const [row] = database.prepare<[], Checkpointed>(`pragma wal_checkpoint(${mode})`).raw().all();
  return row ?? [1, 0, 0];
}

function endSession(id: number, closing: boolean): void {
  const session = sessions.get(id);
  if (session === undefined) return;
  let isOver = false;
  try {
    session.rows?.return?.();
    if (session.connection.database.inTransaction) session.connection.command(COMMIT);
    isOver = !closing;
  } finally {
    // One that could not be ended would show old records to the next list.
    if (!isOver) {
      sessions.delete(id);
      session.connection.close();
    }
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
