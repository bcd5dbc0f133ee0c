/** A list that is streamed: a cursor in a transaction of its own, on a connection that nothing else uses. */
import type { Caller } from '../../caller.ts';
import type { Snapshot, Statement, Values } from '../driver.ts';
import type { PostgresConnection } from './connection.ts';
import { isConnectionLost, translate } from './errors.ts';
import type { Connections } from './pool.ts';
import { readerOf } from './reader.ts';
import { READ_ONLY, taken } from './transaction.ts';

/** Rows that are fetched together: few, until it is known how long they are. */
const FIRST_ROWS = 4;
const MOST_ROWS = 256;
/** Characters that rows fetched together should have. */
const PIECE_LENGTH = 256 * 1024;

/** Rows that the server puts together for lists, at a time: more would only keep single reads waiting for a processor. */
const FETCHES = 2;
/** Milliseconds after which one that has to look for its rows no longer keeps others waiting. */
const LONG_FETCH = 100;

type OpenSnapshot = (caller: Caller) => Promise<Snapshot>;

/** Lists that are read at the same time take turns. */
export function createSnapshots(connections: Connections): OpenSnapshot {
  const turns = createFetchTurns(FETCHES, LONG_FETCH);
  return (caller) => openSnapshot(connections, turns, caller);
}

async function openSnapshot(connections: Connections, turns: FetchTurns, caller: Caller): Promise<Snapshot> {
  const connection = await begun(connections, caller);
  let open = true;
  const close = async (): Promise<void> => {
    if (!open) return;
    open = false;
    await connection.execute('commit').catch(() => connection.spoil());
    connection.release();
  };
  const ask = translated(connection);
  return {
    ...readerOf(ask),
    texts: (statement, values) => texts(ask, turns, statement, values),
    close,
  };
}

async function begun(connections: Connections, caller: Caller): Promise<PostgresConnection> {
  for (let attempt = 0; ; attempt += 1) {
    const connection = await taken(connections, caller);
    try {
      await connection.execute(connections.opening(READ_ONLY));
      return connection;
    } catch (error) {
      connection.spoil();
      connection.release();
      if (attempt > 0) throw translate(error);
    }
  }
}

const translated =
  (connection: PostgresConnection): PostgresConnection['query'] =>
  async (statement, values, named) => {
    try {
      return await connection.query(statement, values, named);
    } catch (error) {
      if (isConnectionLost(error)) connection.spoil();
      throw translate(error);
    }
  };

async function* texts(
  ask: PostgresConnection['query'],
  turns: FetchTurns,
  { sql }: Statement,
  values: Values,
): AsyncGenerator<readonly string[]> {
  await ask({ sql: `declare records no scroll cursor for ${sql}` }, values, false);
  for (let wanted = FIRST_ROWS; ;) {
    const statement = { sql: `fetch ${wanted} from records` };
    const { rows } = await turns.take(() => ask(statement, [], false));
    const some = rows.map(([text]) => String(text));
    if (some.length > 0) yield some;
    if (some.length < wanted) return;
    const length = some.reduce((sum, text) => sum + text.length, 0);
    wanted = Math.max(1, Math.min(MOST_ROWS, Math.floor((PIECE_LENGTH * some.length) / length)));
  }
}

interface FetchTurns {
  /** Runs the work when its turn has come. */
  take<T>(work: () => Promise<T>): Promise<T>;
}

/** At most so many at a time; one that has run for `long` milliseconds lets the next begin beside it. */
export function createFetchTurns(most: number, long: number): FetchTurns {
  const waiting: (() => void)[] = [];
  let running = 0;

  /** The end of a turn, which may be told twice. */
  function ending(): () => void {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    };
  }

  return {
    take: async (work) => {
      if (running < most) running += 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      const end = ending();
      const timer = setTimeout(end, long);
      try {
        return await work();
      } finally {
        clearTimeout(timer);
        end();
      }
    },
  };
}
