/**
 * Writes that arrive together share one transaction and one fsync; all are answered after the commit. Under a savepoint,
 * SQLite copies each page before it changes it, so they have none: if a write fails halfway, all are begun again, each
 * with a savepoint of its own. Long work leaves the event loop to other requests after each slice of time: they read what
 * was committed before.
 */
import { append } from '../../append.ts';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { type Caller, CallerGone } from '../../caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { Problem } from '../../problem.ts';
import type { Awaitable, Statement, Writer } from '../driver.ts';
import { lateStatement } from '../unavailable.ts';
import { rollBack, type SqliteConnection } from './connection.ts';
import { BUSY_STEP, BUSY_TIMEOUT, GROUP_JOBS, GROUP_TIME, MOST_WARY, SLICE } from './tuning.ts';

type Work<T> = (writer: Writer) => Awaitable<T>;

interface QueuedWrite {
  readonly caller: Caller | undefined;
  readonly run: () => Awaitable<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  error?: unknown;
  failed?: boolean;
}

const BEGIN: Statement = { sql: 'begin immediate' };
const COMMIT: Statement = { sql: 'commit' };
const ROLLBACK: Statement = { sql: 'rollback' };
const SAVEPOINT: Statement = { sql: 'savepoint job' };
const RELEASE: Statement = { sql: 'release job' };
const ROLLBACK_TO: Statement = { sql: 'rollback to job' };
const CHANGES: Statement = { sql: 'select total_changes()' };

/** A write without a savepoint has failed after others, and has changed something. */
class FailedHalfway extends Error {}

interface GroupCommit {
  write<T>(work: Work<T>, caller?: Caller): Promise<T>;
  /** Resolves when every write is answered. From now on, writes do not wait for other processes. */
  drained(): Promise<void>;
}

interface CommitOptions {
  /** Ends this process's read snapshot: before a transaction, for checkpoints; after it, so that reads see what was written. */
  refresh(): void;
  /** Tells the time in milliseconds. */
  now?(): number;
}

export function createGroupCommit(
  connection: SqliteConnection,
  { refresh, now = () => performance.now() }: CommitOptions,
): GroupCommit {
  const queue: QueuedWrite[] = [];
  let draining: Promise<void> | undefined;
  let closing = false;
  /** What SQLite had counted as changed when the transaction began. */
  let unchanged: SqlValue | undefined;
  /** Groups that are to have savepoints, and how many will have them after the next write that fails halfway. */
  const wary = { groups: 0, next: 1 };
  /** When this turn of the event loop has done enough, and the next one, if statements wait for it. */
  let sliceEnd = now() + SLICE;
  let turn: Promise<void> | undefined;

  async function pause(): Promise<void> {
    await nextTurn();
    sliceEnd = now() + SLICE;
    turn = undefined;
  }

  /** Statements run in the order in which they are asked for. */
  const inTurns: InTurns = (run) => {
    if (turn === undefined && now() > sliceEnd) turn = pause();
    return turn === undefined ? run() : turn.then(run);
  };

  function write<T>(work: Work<T>, caller?: Caller): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let result: T;
      let giveBack: (() => void) | undefined;
      const run = async (): Promise<void> => {
        if (caller?.isGone === true) throw new CallerGone();
        giveBack?.();
        giveBack = caller?.drawing?.();
        let isOver = false;
        try {
          result = await work(writerOf(connection, () => isOver, inTurns));
        } finally {
          isOver = true;
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
      await pause();
      if (queue.length >= GROUP_JOBS) return;
    }
  }

  async function commitGroup(): Promise<void> {
    const group: QueuedWrite[] = [];
    try {
      // Where an earlier one could not be rolled back, its changes must not be committed with these.
      if (connection.database.inTransaction) connection.command(ROLLBACK);
      refresh();
      await runGroup(group);
      // What was undone, such as dry runs, would go to the disk like any change.
      const isKept = group.some(({ failed }) => !failed);
      if (now() > sliceEnd) await pause();
      if (connection.database.inTransaction) connection.command(isKept ? COMMIT : ROLLBACK);
      refresh();
    } catch (error) {
      rollBack(connection);
      if (error instanceof FailedHalfway) beginAgain(group);
      else if (error instanceof Problem && error.code === 'refused-by-database') {
        // A trigger's RAISE(ROLLBACK) in the last one has undone the others too.
        group.pop()?.reject(error);
        beginAgain(group);
      } else for (const job of group.length > 0 ? group : queue.splice(0)) job.reject(job.error ?? error);
      return;
    }
    for (const job of group) {
      if (job.failed) job.reject(job.error);
      else job.resolve();
    }
  }

  function beginAgain(group: readonly QueuedWrite[]): void {
    for (const job of group) [job.failed, job.error] = [false, undefined];
    append(queue, [...group, ...queue.splice(0)]);
    wary.groups = wary.next;
    wary.next = Math.min(2 * wary.next, MOST_WARY);
  }

  async function runGroup(group: QueuedWrite[]): Promise<void> {
    const end = now() + GROUP_TIME;
    const isWary = wary.groups > 0;
    while (queue.length > 0 && group.length < GROUP_JOBS && now() < end) {
      if (!connection.database.inTransaction) await begin();
      const job = queue.shift();
      if (!job) break;
      group.push(job);
      const before = changes();
      // With nothing changed before it, the transaction is its savepoint.
      if (before !== unchanged && isWary) await isolated(job);
      else await bare(job, before);
    }
    if (isWary) wary.groups -= 1;
    else if (group.length > 1) wary.next = Math.max(wary.next / 2, 1);
  }

  const changes = (): SqlValue | undefined => connection.value(CHANGES, []) as SqlValue | undefined;

  /** Most writes that fail have changed nothing: they need not be undone. */
  async function bare(job: QueuedWrite, before: SqlValue | undefined): Promise<void> {
    try {
      await job.run();
    } catch (error) {
      [job.failed, job.error] = [true, error];
      const isFirst = before === unchanged;
      if (!connection.database.inTransaction) {
        if (!isFirst) throw error;
      } else if (changes() !== before) {
        if (!isFirst) throw new FailedHalfway();
        connection.command(ROLLBACK);
      }
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
        connection.command(BEGIN);
        unchanged = changes();
        return;
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

/** Runs a statement in this turn of the event loop, or in the next one. */
type InTurns = <T>(run: () => Awaitable<T>) => Awaitable<T>;

/** The writer of one piece of work: what it asks for later must not run in the next transaction. */
function writerOf(connection: SqliteConnection, isOver: () => boolean, inTurns: InTurns): Writer {
  const inTime =
    <A extends readonly unknown[], T>(ask: (...asked: A) => T): ((...asked: A) => T) =>
    (...asked) => {
      if (isOver()) throw lateStatement();
      return ask(...asked);
    };
  const paced =
    <A extends readonly unknown[], T>(ask: (...asked: A) => Awaitable<T>): ((...asked: A) => Awaitable<T>) =>
    (...asked) =>
      inTurns(() => inTime(ask)(...asked));
  const { all, get, value, column, run } = connection;
  return {
    all: paced(all),
    get: paced(get),
    value: paced(value),
    column: paced(column),
    run: paced(run),
  };
}
