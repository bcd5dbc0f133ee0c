/** The program of a reader process. JavaScript cannot interrupt SQLite, but can kill a process at any time. */
import { statSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { codeOf } from '../../files.ts';
import { createCache } from '../../memo.ts';
import { attempted, reasonOf } from '../../problem.ts';
import { ignoreSignals, STOP_SIGNALS } from '../../process.ts';
import type { Row, Statement, Values } from '../driver.ts';
import { BEGIN, COMMIT, connect, type SqliteConnection } from './connection.ts';
import {
  BUSY_TIMEOUT_MS,
  BATCH_CHARS,
  MESSAGE_MS,
  BATCH_ROWS,
  READER_CACHE_KIB,
  READER_STATEMENTS,
  WAL_LIMIT_BYTES,
} from './tuning.ts';

/** Starts a statement, or continues it. The first statement starts a snapshot, until the message `end`. */
export type Question = { readonly sql: string; readonly values: Values } | 'more';

export interface Piece {
  readonly rows: readonly Row[];
  readonly isLast: boolean;
}

/** After a first message, one reply to each question. An error loses its class on the way, but keeps its code. */
export type Reply = Piece | { readonly failure: { readonly message: string; readonly code: string } };

const [, , file = ''] = process.argv;

// If processors are scarce, the service comes first: it serves all other requests. A sandbox may forbid this.
attempted(() => setPriority(Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL)));

let opened: SqliteConnection | undefined;

/** Opens the file for the first question, whose reply tells a failure. */
function connection(): SqliteConnection {
  if (opened) return opened;
  opened = connect(file, true);
  opened.execute(`pragma cache_size = -${READER_CACHE_KIB}; pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  return opened;
}

const statements = createCache<Statement>(READER_STATEMENTS);
let rows: IterableIterator<Row> | undefined;

function piece(): Piece {
  const some: Row[] = [];
  const end = performance.now() + MESSAGE_MS;
  for (let length = 0; some.length < BATCH_ROWS && length < BATCH_CHARS && performance.now() < end;) {
    const found = rows?.next();
    if (found === undefined || found.done === true) {
      rows = undefined;
      return { rows: some, isLast: true };
    }
    some.push(found.value);
    length += found.value.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 8);
  }
  return { rows: some, isLast: false };
}

function answerTo(question: Question): Piece {
  if (question === 'more') return piece();
  endRows();
  const { database, command, iterate } = connection();
  if (!database.inTransaction) command(BEGIN);
  const { sql, values } = question;
  rows = iterate(
    statements(sql, () => ({ sql })),
    values,
  );
  return piece();
}

function endRows(): void {
  rows?.return?.();
  rows = undefined;
}

function endSnapshot(): void {
  endRows();
  try {
    if (opened?.database.inTransaction === true) opened.command(COMMIT);
  } catch {
    // The next search would read old records.
    process.exit(1);
  }
  copyLog();
}

/** Copies a log that this snapshot has held back, so that the next commit need not copy it all. */
function copyLog(): void {
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) <= WAL_LIMIT_BYTES) return;
  // If this fails, the next commit copies the log.
  attempted(() => {
    const database = new Database(file, { timeout: 0 });
    database.pragma('wal_checkpoint(passive)');
    database.close();
  });
}

function reply(question: Question): Reply {
  try {
    return answerTo(question);
  } catch (error) {
    const original: unknown = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { failure: { message: reasonOf(original), code: codeOf(original) } };
  }
}

/** Without a callback, `send` would throw if the service was killed. */
const send = (message: Reply | 'ready'): void => void process.send?.(message, () => undefined);

// However the service ends, the pipe closes. A thread watches it while a statement runs here.
const WATCH = `new (require('node:net').Socket)({ fd: 4 })
  .on('error', () => undefined).on('close', () => process.kill(process.pid, 'SIGKILL')).resume()`;
new Worker(WATCH, { eval: true, execArgv: [] }).unref();

process.title = 'records reader';
// Signals to the process group: the service ends its readers.
ignoreSignals([...STOP_SIGNALS, 'SIGUSR1']);
process.on('message', (message: Question | 'end') => (message === 'end' ? endSnapshot() : send(reply(message))));
send('ready');
