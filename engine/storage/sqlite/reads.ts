/**
 * The connection that answers requests. What is read within one turn of the event loop shares one snapshot: to begin
 * and to end one costs as much as to read a record.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OnRow, Reader, Row, Snapshot, Statement, Values } from '../driver.ts';
import { unavailable } from '../unavailable.ts';
import { connect, type SqliteConnection } from './connection.ts';
import { LIGHT_CACHE, LIGHT_IDLE, LIGHT_PIECE } from './tuning.ts';

const BEGIN: Statement = { sql: 'begin' };
const COMMIT: Statement = { sql: 'commit' };
const ROLLBACK: Statement = { sql: 'rollback' };
const VERSION: Statement = { sql: 'pragma data_version' };

export interface TurnReader extends Reader {
  /** Changes with each commit of another connection, in this process or another. */
  version(): unknown;
  /** Ends the snapshot: later reads see what was committed, and checkpoints need not wait for earlier ones. */
  refresh(): void;
  close(): void;
}

export function createTurnReader(connection: SqliteConnection): TurnReader {
  let open = false;
  let version: unknown;

  function begin(): void {
    if (open) return;
    // What could not be ended before would show old records.
    if (connection.database.inTransaction) connection.command(ROLLBACK);
    connection.command(BEGIN);
    open = true;
    setImmediate(end);
  }

  /** On a damaged file, a COMMIT may fail: the reads have reported it, and the next one rolls back. */
  function end(): void {
    if (!open) return;
    [open, version] = [false, undefined];
    try {
      if (connection.database.inTransaction) connection.command(COMMIT);
    } catch {
      return;
    }
  }

  const within =
    <O, T>(ask: (statement: Statement, values: Values, onRow?: OnRow<O>) => T): typeof ask =>
    (statement, values, onRow) => {
      begin();
      return ask(statement, values, onRow);
    };
  const value = within(connection.value);
  return {
    all: within(connection.all),
    get: within(connection.get),
    value,
    column: within(connection.column),
    version: () => {
      if (!open) begin();
      return (version ??= connection.value(VERSION, []));
    },
    refresh: end,
    close: () => {
      end();
      connection.close();
    },
  };
}

// Lists whose rows an index finds one after the other: connections of their own, read in pieces between the requests.

interface LightLists {
  /** `onPiece` is called with the texts of each piece. */
  snapshot(onPiece: OnPiece): Snapshot;
  close(): void;
}

export type OnPiece = (texts: readonly string[]) => void;

interface LightConnection {
  readonly connection: SqliteConnection;
  /** Of the list that is being read. */
  rows?: IterableIterator<Row> | undefined;
}

export function createLightLists(file: string): LightLists {
  const all = new Set<LightConnection>();
  const idle: LightConnection[] = [];

  function open(): LightConnection {
    const one: LightConnection = { connection: connect(file, true) };
    one.connection.execute(`pragma cache_size = -${LIGHT_CACHE}`);
    all.add(one);
    return one;
  }

  function end(one: LightConnection): void {
    all.delete(one);
    one.rows?.return?.();
    one.connection.close();
  }

  function snapshot(onPiece: OnPiece): Snapshot {
    const one = idle.pop() ?? open();
    const { connection } = one;
    connection.command(BEGIN);
    let isOpen = true;

    async function* texts(statement: Statement, values: Values): AsyncGenerator<readonly string[]> {
      const rows = connection.iterate(statement, values);
      one.rows = rows;
      for (let some = nextPiece(rows); some.length > 0; some = nextPiece(rows)) {
        onPiece(some);
        yield some;
        await nextTurn();
        if (!all.has(one)) throw unavailable('stopping');
      }
    }

    const { all: allRows, get, value, column } = connection;
    return {
      all: allRows,
      get,
      value,
      column,
      texts,
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        if (!all.has(one)) return;
        try {
          one.rows?.return?.();
          one.rows = undefined;
          connection.command(COMMIT);
          if (idle.length < LIGHT_IDLE) return void idle.push(one);
        } catch {
          // What cannot be ended would show old records to the next list.
        }
        end(one);
      },
    };
  }

  return {
    snapshot,
    close: () => {
      idle.length = 0;
      for (const one of all) end(one);
    },
  };
}

function nextPiece(rows: IterableIterator<Row>): readonly string[] {
  const some: string[] = [];
  for (let length = 0; some.length < LIGHT_PIECE.rows && length < LIGHT_PIECE.length;) {
    const found = rows.next();
    if (found.done === true) break;
    const text = String(found.value[0]);
    some.push(text);
    length += text.length;
  }
  return some;
}
