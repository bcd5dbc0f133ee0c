/**
 * The connection that answers requests. What is read within one turn of the event loop shares one snapshot: to begin
 * and to end one costs as much as to read a record.
 */
import type { Reader, Statement, Values } from '../driver.ts';
import type { SqliteConnection } from './connection.ts';
import { rememberingCounts } from './counts.ts';

const BEGIN: Statement = { sql: 'begin' };
const COMMIT: Statement = { sql: 'commit' };
const ROLLBACK: Statement = { sql: 'rollback' };

export interface TurnReader extends Reader {
  count(statement: Statement, values: Values): number;
  isCounted(statement: Statement, values: Values): boolean;
  /** Returns a function that takes over what another connection counts; ignored if something is committed meanwhile. */
  watch(): (statement: Statement, values: Values, count: number) => void;
  /** Ends the snapshot: later reads see what was committed, and checkpoints need not wait for earlier ones. */
  refresh(): void;
  close(): void;
}

export function createTurnReader(connection: SqliteConnection): TurnReader {
  const counts = rememberingCounts(connection);
  let open = false;

  function begin(): void {
    if (open) return;
    // What could not be ended before would show old records.
    if (connection.database.inTransaction) connection.command(ROLLBACK);
    connection.command(BEGIN);
    open = true;
    setImmediate(end);
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
    watch,
    refresh: end,
    close,
  };
}
