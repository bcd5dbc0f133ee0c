/**
 * The connection that answers requests. What is read within one turn of the event loop shares one snapshot: to begin
 * and to end one costs as much as to read a record.
 */
import type { Reader, Statement } from '../driver.ts';
import type { Connection } from './connection.ts';
import { rememberingCounts } from './counts.ts';

const BEGIN: Statement = { sql: 'begin' };
const COMMIT: Statement = { sql: 'commit' };

export interface TurnReader extends Reader {
  /** Ends the snapshot: whoever reads from now on sees what was committed, and no checkpoint waits for those who have read. */
  refresh(): void;
  close(): void;
}

export function createTurnReader(connection: Connection): TurnReader {
  const count = rememberingCounts(connection);
  let open = false;

  function begin(): void {
    if (open) return;
    connection.command(BEGIN);
    open = true;
    setImmediate(end);
  }

  function end(): void {
    if (!open) return;
    open = false;
    // An error may have ended it.
    if (connection.database.inTransaction) connection.command(COMMIT);
  }

  const within =
    <A extends readonly unknown[], T>(ask: (...args: A) => T): ((...args: A) => T) =>
    (...args) => {
      begin();
      return ask(...args);
    };
  const reader: Reader = {
    get: within(connection.get),
    all: within(connection.all),
    value: within(connection.value),
    column: within(connection.column),
    count: within(count),
  };

  const close = (): void => {
    end();
    connection.close();
  };
  return { ...reader, refresh: end, close };
}
