/**
 * The connection that answers requests. What is read within one turn of the event loop shares one snapshot: to begin
 * and to end one costs as much as to read a record. Once lists have used their share of a turn, further ones wait for
 * the next, so that a client that reads a single record does not wait for all of them.
 */
import type { Awaitable } from '../../awaitable.ts';
import { type Caller, CallerGone } from '../../caller.ts';
import type { Reader, Statement, Values } from '../driver.ts';
import type { SqliteConnection } from './connection.ts';
import { rememberingCounts } from './counts.ts';

const BEGIN: Statement = { sql: 'begin' };
const COMMIT: Statement = { sql: 'commit' };
const ROLLBACK: Statement = { sql: 'rollback' };

/** Milliseconds of one turn that lists may take; the last list may exceed it. */
const LISTS_SHARE = 2;
/** Turns without lists after one that was spent on them: Node takes one new connection in each. */
const TURNS_BETWEEN = 8;

export interface TurnReader extends Reader {
  /** Runs the work in this turn or a later one, in order; all of it within one snapshot. */
  inTurn<T>(work: () => Awaitable<T>, caller: Caller): Awaitable<T>;
  count(statement: Statement, values: Values): number;
  isCounted(statement: Statement, values: Values): boolean;
  /** Returns a function that takes over what another connection counts; ignored if something is committed meanwhile. */
  watch(): (statement: Statement, values: Values, count: number) => void;
  /** Ends the snapshot: later reads see what was committed, and checkpoints need not wait for earlier ones. */
  refresh(): void;
  close(): void;
}

/** `now` tells the time in milliseconds. */
export function createTurnReader(connection: SqliteConnection, now = (): number => performance.now()): TurnReader {
  const counts = rememberingCounts(connection);
  const waiting: (() => void)[] = [];
  let open = false;
  /** When the first list of this turn began. */
  let since: number | undefined;
  /** Turns for which lists wait. */
  let pause = 0;

  function begin(): void {
    if (open) return;
    // What could not be ended before would show old records.
    if (connection.database.inTransaction) connection.command(ROLLBACK);
    connection.command(BEGIN);
    open = true;
    setImmediate(end);
  }

  const isSpent = (): boolean => since !== undefined && now() - since > LISTS_SHARE;

  function inTurn<T>(work: () => Awaitable<T>, caller: Caller): Awaitable<T> {
    if (pause > 0 || waiting.length > 0 || isSpent()) return later(work, caller);
    if (since === undefined) {
      since = now();
      setImmediate(nextTurn);
    }
    return work();
  }

  const later = <T>(work: () => Awaitable<T>, caller: Caller): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.push(() => {
        if (caller.isGone) return reject(new CallerGone());
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
    });

  function nextTurn(): void {
    end();
    if (pause > 0) pause -= 1;
    else if (isSpent()) pause = TURNS_BETWEEN;
    since = undefined;
    if (pause === 0 && waiting.length === 0) return;
    setImmediate(nextTurn);
    if (pause > 0) return;
    since = now();
    while (waiting.length > 0 && !isSpent()) waiting.shift()?.();
  }

  function end(): void {
    if (!open) return;
    open = false;
    counts.expire();
    // An error may have ended it.
    if (connection.database.inTransaction) leave();
  }

  /** On a damaged file this may fail, too. The reads have reported it already, and nothing would catch it here. */
  function leave(): void {
    try {
      connection.command(COMMIT);
    } catch {
      // The next read ends it.
    }
  }

  const within =
    <A extends readonly unknown[], T>(ask: (...args: A) => T): ((...args: A) => T) =>
    (...args) => {
      begin();
      return ask(...args);
    };
  const version = within(counts.version);

  function watch(): (statement: Statement, values: Values, count: number) => void {
    const before = version();
    return (statement, values, count) => {
      end();
      if (version() === before) counts.remember(statement, values, count);
    };
  }

  const close = (): void => {
    end();
    connection.close();
  };
  return {
    get: within(connection.get),
    all: within(connection.all),
    value: within(connection.value),
    page: within(connection.page),
    column: within(connection.column),
    count: within(counts.count),
    isCounted: within(counts.has),
    inTurn,
    watch,
    refresh: end,
    close,
  };
}
