/**
 * Writes that arrive together share one transaction and one fsync, each with a savepoint of its own; all are answered
 * after the commit. Long work leaves the event loop to other requests after each slice of time: they read what was
 * committed before.
 */
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { type Caller, CallerGone } from '../../caller.ts';
import { Problem } from '../../problem.ts';
import type { Awaitable, Statement, Writer } from '../driver.ts';
import { type AroundMethod, writerThrough } from '../methods.ts';
import { lateStatement } from '../unavailable.ts';
import type { SqliteConnection } from './connection.ts';

type Work<T> = (writer: Writer) => Awaitable<T>;

interface QueuedWrite {
  readonly caller: Caller | undefined;
  readonly run: () => Awaitable<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  error?: unknown;
  failed?: boolean;
}

/** A group ends at this many writes or milliseconds, so that the first of them do not wait long for their answers. */
const MAX_JOBS = 128;
const MAX_TIME = 20;
/** Milliseconds of one write before other requests have a turn. A single statement may exceed them. */
const SLICE = 10;
/** Milliseconds that another process may hold the write lock before a write is given up. */
const BUSY_TIMEOUT = 5_000;
const BUSY_STEP = 10;

const BEGIN: Statement = { sql: 'begin immediate' };
const COMMIT: Statement = { sql: 'commit' };
const ROLLBACK: Statement = { sql: 'rollback' };
const SAVEPOINT: Statement = { sql: 'savepoint job' };
const RELEASE: Statement = { sql: 'release job' };
const ROLLBACK_TO: Statement = { sql: 'rollback to job' };

interface GroupCommit {
  write<T>(work: Work<T>, caller?: Caller): Promise<T>;
  /** Resolves when every write is answered. From now on, writes do not wait for other processes. */
  drained(): Promise<void>;
}

interface CommitOptions {
  /** Ends this process's read snapshot: before a transaction, for checkpoints; after it, so that reads see what was written. */
  refresh(): void;
  onCommit(): void;
  /** Tells the time in milliseconds. */
  now?(): number;
}

export function createGroupCommit(
  connection: SqliteConnection,
  { refresh, onCommit, now = () => performance.now() }: CommitOptions,
): GroupCommit {
  const queue: QueuedWrite[] = [];
  let draining: Promise<void> | undefined;
  let closing = false;

  function write<T>(work: Work<T>, caller?: Caller): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let result: T;
      const run = async (): Promise<void> => {
        if (caller?.isGone === true) throw new CallerGone();
        const { writer, end } = takingTurns(connection, now);
        try {
          result = await work(writer);
        } finally {
          end();
        }
      };
      queue.push({ caller, run, resolve: () => resolve(result), reject });
      draining ??= drain();
    });
  }

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      await gather();
      await commitGroup();
    }
    // In the same turn as the last check of the queue: a write that comes now begins a new drain.
    draining = undefined;
  }

  /**
   * The check phase comes after every socket that was ready has been read: their writes are in the queue by then. As long
   * as each turn brings more writes, the next one may, too: sharing an fsync is worth more than beginning at once.
   */
  async function gather(): Promise<void> {
    for (let before = -1; queue.length > before;) {
      before = queue.length;
      await nextTurn();
      if (queue.length >= MAX_JOBS) return;
    }
  }

  async function commitGroup(): Promise<void> {
    const group: QueuedWrite[] = [];
    try {
      refresh();
      await runGroup(group);
      // What was undone, such as dry runs, would go to the disk like any change.
      if (group.some(({ failed }) => !failed)) connection.command(COMMIT);
      else if (connection.database.inTransaction) connection.command(ROLLBACK);
      refresh();
    } catch (error) {
      if (connection.database.inTransaction) connection.command(ROLLBACK);
      for (const job of group.length > 0 ? group : queue.splice(0)) job.reject(job.error ?? error);
      return;
    }
    onCommit();
    for (const job of group) {
      if (job.failed) job.reject(job.error);
      else job.resolve();
    }
  }

  async function runGroup(group: QueuedWrite[]): Promise<void> {
    const end = now() + MAX_TIME;
    while (queue.length > 0 && group.length < MAX_JOBS && now() < end) {
      if (!connection.database.inTransaction) await begin();
      const job = queue.shift();
      if (!job) break;
      group.push(job);
      await (group.length === 1 ? first(job) : isolated(job));
    }
  }

  /** With nothing before it, the transaction is its savepoint: SQLite then copies no page before it changes it. */
  async function first(job: QueuedWrite): Promise<void> {
    try {
      await job.run();
    } catch (error) {
      [job.failed, job.error] = [true, error];
      if (connection.database.inTransaction) connection.command(ROLLBACK);
    }
  }

  /** A write that fails is rolled back; the others continue, unless SQLite has given up the whole transaction. */
  async function isolated(job: QueuedWrite): Promise<void> {
    connection.command(SAVEPOINT);
    try {
      await job.run();
      connection.command(RELEASE);
    } catch (error) {
      [job.failed, job.error] = [true, error];
      if (!connection.database.inTransaction) throw error;
      connection.command(ROLLBACK_TO);
      connection.command(RELEASE);
    }
  }

  const isWanted = (): boolean => queue.some(({ caller }) => caller?.isGone !== true);

  async function begin(): Promise<void> {
    for (const end = now() + BUSY_TIMEOUT; ;) {
      try {
        return connection.command(BEGIN);
      } catch (error) {
        const isBusy = error instanceof Problem && error.code === 'storage-busy';
        if (!isBusy || closing || now() > end || !isWanted()) throw error;
        await delay(BUSY_STEP);
      }
    }
  }

  return {
    write,
    drained: async () => {
      closing = true;
      await draining;
    },
  };
}

interface WriterInTurns {
  readonly writer: Writer;
  /** Statements that come later must not run in the next transaction. */
  end(): void;
}

/** Statements run one after the other, in the order in which they are asked for. */
function takingTurns(inner: Writer, now: () => number): WriterInTurns {
  let since = now();
  let turn: Promise<void> | undefined;
  let ended = false;

  async function pause(): Promise<void> {
    await nextTurn();
    since = now();
    turn = undefined;
  }

  const during: AroundMethod = (ask) => (first, second) => {
    if (turn === undefined && now() - since > SLICE) turn = pause();
    if (turn !== undefined) return turn.then(() => inTime(ask, first, second));
    return inTime(ask, first, second);
  };

  function inTime<First, Second, T>(ask: (first: First, second: Second) => T, first: First, second: Second): T {
    if (ended) throw lateStatement();
    return ask(first, second);
  }

  return {
    // Comes when nothing else waits for its turn.
    writer: { ...writerThrough(during, inner), send: (statement, values) => inTime(inner.send, statement, values) },
    end: () => void (ended = true),
  };
}
