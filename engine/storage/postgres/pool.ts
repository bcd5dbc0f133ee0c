/** Connections that are kept open, as many as the setting allows. */
import { Pool, type PoolClient } from 'pg';
import { type Connection, connectionOf } from './connection.ts';
import type { Place } from './url.ts';
import { types } from './values.ts';

/** A request waits this long for a connection to come free, in milliseconds. */
const WAIT_TIMEOUT = 5_000;
const KEEP_ALIVE_DELAY = 10_000;
const IDLE_TIMEOUT = 30_000;

export interface Connections {
  /** `patient`: for statements that may take as long as they need. */
  take(patient?: boolean): Promise<Connection>;
  close(): Promise<void>;
}

export function createConnections({ url, pool: max, prepared, answerTimeout }: Place): Connections {
  const pool = new Pool({
    connectionString: url,
    max,
    types,
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
    connectionTimeoutMillis: WAIT_TIMEOUT,
    idleTimeoutMillis: IDLE_TIMEOUT,
    application_name: 'records',
  });
  // A connection that breaks is forgotten by the pool; a statement that was under way says so itself.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const names = new WeakMap<PoolClient, Set<string>>();

  function namesOf(client: PoolClient): Set<string> | undefined {
    if (!prepared) return undefined;
    const known = names.get(client) ?? new Set<string>();
    names.set(client, known);
    return known;
  }

  return {
    take: async (patient = true) => {
      const client = await pool.connect();
      return connectionOf(client, namesOf(client), patient ? 0 : answerTimeout);
    },
    close: () => pool.end(),
  };
}
