/**
 * The connection that answers requests. What is read within one turn of the event loop shares one snapshot: to begin
 * and to end one costs as much as to read a record. Where lists have taken their share of a turn, further ones wait for
 * the next, and whoever asks for a single record need not wait for all of them.
 */
import type { Awaitable } from '../../awaitable.ts';
import { type Caller, CallerGone } from '../../caller.ts';
import type { Reader, Statement, Values } from '../driver.ts';
import type { SqliteConnection } from './connection.ts';
import { rememberingCounts } from './counts.ts';

const BEGIN: Statement = { sql: 'begin' };
const COMMIT: Statement = { sql: 'commit' };
const ROLLBACK: Statement = { sql: 'rollback' };

/** Milliseconds of one turn that lists and what is answered with them may take: the last one may be above. */
const LISTS_SHARE = 2;
/** Turns without lists after one that was spent on them: Node takes one new connection in each. */
const TURNS_BETWEEN = 8;

export interface TurnReader extends Reader {
  /** Does the work in this turn or in one of the next, as it comes; all of it within one snapshot. */
  inTurn<T>(work: () => Awaitable<T>, caller: Caller): Awaitable<T>;
  count(statement: Statement, values: Values): number;
  isCounted(statement: Statement, values: Values): boolean;
  /** Answers how to take over what another connection counts from now on: it holds where nothing is committed meanwhile. */
  watch(): (statement: Statement, values: Values, count: number) => void;
  /** Ends the snapshot: whoever reads from now on sees what was committed, and no checkpoint waits for those who have read. */
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

  /** On a damaged file even this may fail; whoever has read, was told. Nothing would catch it here. */
  function leave(): void {
    try {
      connection.command(COMMIT);
    } catch {
      if (connection.database.inTransaction) connection.command(ROLLBACK);
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
