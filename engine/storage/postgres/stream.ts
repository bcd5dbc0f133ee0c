/** A list that is streamed: a cursor in a transaction of its own, on a connection that nothing else uses. */
import type { Caller } from '../../edge/caller.ts';
import type { Snapshot, Statement, Values } from '../driver.ts';
import type { PostgresConnection } from './connection.ts';
import { isConnectionLost, translate } from './errors.ts';
import type { Connections } from './pool.ts';
import { READ_ONLY, readerThrough, taken } from './transaction.ts';
import { FIRST_ROWS, MOST_ROWS, PIECE_LENGTH } from './tuning.ts';

export async function openSnapshot(connections: Connections, caller: Caller): Promise<Snapshot> {
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
    ...readerThrough(ask),
    texts: (statement, values) => texts(ask, statement, values),
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
  async (...asked) => {
    try {
      return await connection.query(...asked);
    } catch (error) {
      if (isConnectionLost(error)) connection.spoil();
      throw translate(error);
    }
  };

async function* texts(
  ask: PostgresConnection['query'],
  { sql }: Statement,
  values: Values,
): AsyncGenerator<readonly string[]> {
  await ask({ sql: `declare records no scroll cursor for ${sql}` }, values, undefined, false);
  for (let wanted = FIRST_ROWS; ;) {
    const statement = { sql: `fetch ${wanted} from records` };
    const { rows } = await ask(statement, [], undefined, false);
    const some = rows.map(([text]) => String(text));
    if (some.length > 0) yield some;
    if (some.length < wanted) return;
    const length = some.reduce((sum, text) => sum + text.length, 0);
    wanted = Math.max(1, Math.min(MOST_ROWS, Math.floor((PIECE_LENGTH * some.length) / length)));
  }
}
