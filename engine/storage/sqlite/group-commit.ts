/**
 * Writes that arrive together share one transaction and one fsync, and finish after the commit. Each but the first
 * has a savepoint, so that a failure undoes only its own work. Other requests get a turn after each time slice.
 */
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { type Caller, CallerGone } from '../../edge/caller.ts';
import { innermost, Problem, reasonOf } from '../../problem.ts';
import { type Around, type Awaitable, ConstraintError, type Statement, type Writer } from '../driver.ts';
import { lateStatement, outcomeUnknown, RefusedByOthers } from '../unavailable.ts';
import { COMMIT, rollBack, ROLLBACK, type SqliteConnection } from './connection.ts';
import { BUSY_RETRY_MS, BUSY_TIMEOUT_MS, MAX_GROUP_MS, MAX_GROUP_WRITES, WRITE_SLICE_MS } from './tuning.ts';

const BEGIN: Statement = { sql: 'begin immediate' };
const SAVEPOINT: Statement = { sql: 'savepoint job' };
const RELEASE: Statement = { sql: 'release job' };
const ROLLBACK_TO: Statement = { sql: 'rollback to job' };

interface QueuedWrite {
  readonly caller: Caller | undefined;
  readonly run: () => Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  failure?: { readonly error: unknown } | undefined;
}

/** Gives other requests a turn after each slice of time. */
function createSlices(connection: SqliteConnection) {
  /** The end of this slice. While statements wait for the next slice, `turn` is set. */
  let sliceEnd = performance.now() + WRITE_SLICE_MS;
  let turn: Promise<void> | undefined;

  async function pause(): Promise<void> {
    await nextTurn();
    sliceEnd = performance.now() + WRITE_SLICE_MS;
    turn = undefined;
  }

  /** Refuses statements after their work has ended: they would run in the next transaction. */
  function writerUntil(isOver: () => boolean): Writer {
    const inTime: Around =
      (ask) =>
      (...asked) => {
        const run = (): ReturnType<typeof ask> => {
          if (isOver()) throw lateStatement();
          return ask(...asked);
        };
        if (turn === undefined && performance.now() > sliceEnd) turn = pause();
        return turn === undefined ? run() : (turn.then(run) as ReturnType<typeof ask>);
      };
    const { all, get, value, column, run } = connection;
    return { all: inTime(all), get: inTime(get), value: inTime(value), column: inTime(column), run: inTime(run) };
  }

  return { pause, writerUntil, isSliceOver: (): boolean => performance.now() > sliceEnd };
}

/** Waits as long as each event-loop turn brings more writes: sharing an fsync is worth more than an early start. */
async function gather(queue: readonly QueuedWrite[], pause: () => Promise<void>): Promise<void> {
  let before: number;
  do {
    before = queue.length;
    await pause();
  } while (queue.length > before && queue.length < MAX_GROUP_WRITES);
}

/** RAISE(ROLLBACK) in a third-party trigger has undone the whole group: its earlier writes run again. */
function runAgain(queue: QueuedWrite[], group: QueuedWrite[], isFirst: boolean, error: unknown): void {
  if (isFirst) return;
  if (!(error instanceof Problem && error.code === 'refused-by-database')) throw error;
  const lost = group.filter(({ failure }) => failure === undefined);
  const failed = group.filter(({ failure }) => failure !== undefined);
  group.splice(0, group.length, ...failed);
  queue.unshift(...lost);
}

async function begin(command: SqliteConnection['command'], isWanted: () => boolean): Promise<void> {
  for (const end = performance.now() + BUSY_TIMEOUT_MS; ;) {
    try {
      command(BEGIN);
      return;
    } catch (error) {
      const isBusy = error instanceof Problem && error.code === 'storage-busy';
      if (!isBusy || performance.now() > end || !isWanted()) throw error;
      await delay(BUSY_RETRY_MS);
    }
  }
}

/** Both throw if the database's file is not in its place. */
export interface FilePlace {
  /** As far as was looked at lately. */
  readonly requirePlace: () => void;
  /** Looks now: what was committed into a file that has moved must not be acknowledged. */
  readonly checkPlace: () => void;
}

export class GroupCommit {
  readonly #connection: SqliteConnection;
  readonly #refresh: () => void;
  readonly #place: FilePlace;
  readonly #slices: ReturnType<typeof createSlices>;
  readonly #queue: QueuedWrite[] = [];
  #draining: Promise<void> | undefined;
  #closing = false;
  /** How many of the next writes share no transaction. */
  #alone = 0;

  /** `refresh` ends the read snapshot: before a transaction, for checkpoints; after it, so that reads see its writes. */
  constructor(connection: SqliteConnection, refresh: () => void, place: FilePlace) {
    [this.#connection, this.#refresh, this.#place] = [connection, refresh, place];
    this.#slices = createSlices(connection);
  }

  readonly write = <T>(work: (writer: Writer) => Awaitable<T>, caller?: Caller): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      let result: T;
      let giveBack: (() => void) | undefined;
      const run = async (): Promise<void> => {
        if (caller?.signal.aborted === true) throw new CallerGone();
        giveBack?.();
        giveBack = caller?.savepoint?.();
        let isOver = false;
        try {
          result = await work(this.#slices.writerUntil(() => isOver));
        } finally {
          isOver = true;
        }
      };
      this.#queue.push({ caller, run, resolve: () => resolve(result), reject });
      this.#draining ??= this.#drain();
    });

  /** Resolves when every write has finished; writes wait no more for another process's lock. */
  async drained(): Promise<void> {
    this.#closing = true;
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      await gather(this.#queue, this.#slices.pause);
      await this.#commitGroup();
    }
    // Never await between the last look at the queue and this: the next write must start a new drain.
    this.#draining = undefined;
  }

  async #commitGroup(): Promise<void> {
    const { database, command } = this.#connection;
    const group: QueuedWrite[] = [];
    try {
      // A transaction that failed to roll back must not be committed with these writes.
      if (database.inTransaction) command(ROLLBACK);
      this.#refresh();
      await this.#runGroup(group);
      if (this.#slices.isSliceOver()) await this.#slices.pause();
      this.#place.requirePlace();
      if (database.inTransaction) this.#commit();
    } catch (error) {
      rollBack(this.#connection);
      // A deferred foreign key of others is checked at the end, and does not say whose it is.
      const isDeferred = error instanceof ConstraintError;
      const lost = isDeferred && group.length > 1 ? group.filter(({ failure }) => failure === undefined) : [];
      this.#alone = lost.length;
      this.#queue.unshift(...lost);
      const reason = isDeferred ? new RefusedByOthers(reasonOf(innermost(error)), error) : error;
      for (const job of group.length > 0 ? group : this.#queue.splice(0))
        if (!lost.includes(job)) job.reject(job.failure?.error ?? reason);
      return;
    }
    this.#alone = Math.max(0, this.#alone - 1);
    for (const { failure, resolve, reject } of group)
      if (failure) reject(failure.error);
      else resolve();
  }

  #commit(): void {
    this.#connection.command(COMMIT);
    this.#refresh();
    try {
      this.#place.checkPlace();
    } catch (error) {
      throw outcomeUnknown(error);
    }
  }

  async #runGroup(group: QueuedWrite[]): Promise<void> {
    const { database, command } = this.#connection;
    const isWanted = (): boolean => !this.#closing && this.#queue.some(({ caller }) => caller?.signal.aborted !== true);
    const end = performance.now() + MAX_GROUP_MS;
    const most = this.#alone > 0 ? 1 : MAX_GROUP_WRITES;
    while (this.#queue.length > 0 && group.length < most && performance.now() < end) {
      const isFirst = !database.inTransaction;
      if (isFirst) await begin(command, isWanted);
      const job = this.#queue.shift();
      if (!job) return;
      group.push(job);
      try {
        if (!isFirst) command(SAVEPOINT);
        await job.run();
        if (!isFirst) command(RELEASE);
      } catch (error) {
        job.failure = { error };
        if (!database.inTransaction) runAgain(this.#queue, group, isFirst, error);
        else if (isFirst) command(ROLLBACK);
        else {
          command(ROLLBACK_TO);
          command(RELEASE);
        }
      }
    }
  }
}
