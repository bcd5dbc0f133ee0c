/**
 * Writes that arrive together share one transaction and one fsync; all are answered after the commit. Each but the first
 * has a savepoint, so that one that fails takes back what it did, and nothing else. Long work leaves the event loop to
 * other requests after each slice of time: they read what was committed before.
 */
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { type Caller, CallerGone } from '../../edge/caller.ts';
import { Problem } from '../../problem.ts';
import type { Awaitable, Statement, Writer } from '../driver.ts';
import { lateStatement } from '../unavailable.ts';
import { rollBack, type SqliteConnection } from './connection.ts';
import { BUSY_STEP, BUSY_TIMEOUT, GROUP_JOBS, GROUP_TIME, SLICE } from './tuning.ts';

interface QueuedWrite {
  readonly caller: Caller | undefined;
  readonly run: () => Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  failure?: { readonly error: unknown } | undefined;
}

const BEGIN: Statement = { sql: 'begin immediate' };
const COMMIT: Statement = { sql: 'commit' };
const ROLLBACK: Statement = { sql: 'rollback' };
const SAVEPOINT: Statement = { sql: 'savepoint job' };
const RELEASE: Statement = { sql: 'release job' };
const ROLLBACK_TO: Statement = { sql: 'rollback to job' };

interface GroupCommit {
  write<T>(work: (writer: Writer) => Awaitable<T>, caller?: Caller): Promise<T>;
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

  function write<T>(work: (writer: Writer) => Awaitable<T>, caller?: Caller): Promise<T> {
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
      if (now() > sliceEnd) await pause();
      if (connection.database.inTransaction) connection.command(COMMIT);
      refresh();
    } catch (error) {
      rollBack(connection);
      for (const job of group.length > 0 ? group : queue.splice(0)) job.reject(job.failure?.error ?? error);
      return;
    }
    for (const { failure, resolve, reject } of group) {
      if (failure) reject(failure.error);
      else resolve();
    }
  }

  async function runGroup(group: QueuedWrite[]): Promise<void> {
    const end = now() + GROUP_TIME;
    while (queue.length > 0 && group.length < GROUP_JOBS && now() < end) {
      const isFirst = !connection.database.inTransaction;
      if (isFirst) await begin();
      const job = queue.shift();
      if (!job) return;
      group.push(job);
      try {
        if (!isFirst) connection.command(SAVEPOINT);
        await job.run();
        if (!isFirst) connection.command(RELEASE);
      } catch (error) {
        job.failure = { error };
        if (isFirst) undo();
        else if (connection.database.inTransaction) undoTo();
        else if (error instanceof Problem && error.code === 'refused-by-database') beginAgain(group);
        else throw error;
      }
    }
  }

  function undo(): void {
    if (connection.database.inTransaction) connection.command(ROLLBACK);
  }

  function undoTo(): void {
    connection.command(ROLLBACK_TO);
    connection.command(RELEASE);
  }

  /** A trigger's RAISE(ROLLBACK) in the last one has undone the others, too. */
  function beginAgain(group: QueuedWrite[]): void {
    const lost = group.filter(({ failure }) => failure === undefined);
    const failed = group.filter(({ failure }) => failure !== undefined);
    group.splice(0, group.length, ...failed);
    for (const one of [...lost, ...queue.splice(0)]) queue.push(one);
  }

  const isWanted = (): boolean => queue.some(({ caller }) => caller?.isGone !== true);

  async function begin(): Promise<void> {
    for (const end = now() + BUSY_TIMEOUT; ;) {
      try {
        connection.command(BEGIN);
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
    <A extends readonly unknown[], T>(ask: (...asked: A) => Awaitable<T>): ((...asked: A) => Awaitable<T>) =>
    (...asked) =>
      inTurns(() => {
        if (isOver()) throw lateStatement();
        return ask(...asked);
      });
  const { all, get, value, column, run } = connection;
  return { all: inTime(all), get: inTime(get), value: inTime(value), column: inTime(column), run: inTime(run) };
}
