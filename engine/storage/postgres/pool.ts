/** A pool of connections, as many as the setting allows. */
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient } from 'pg';
import { type Caller, CallerGone, PATIENT } from '../../edge/caller.ts';
import type { DriverOptions, PoolUsage } from '../driver.ts';
import type { PostgresAddress } from './address.ts';
import { connectionOf, type PostgresConnection, types } from './connection.ts';
import { isFull } from './errors.ts';
import { APPLY_SETTINGS, CHECK_CLIENT_LOCALLY, useSchema } from './session.ts';
import {
  END_TIMEOUT,
  FULL_PAUSE,
  IDLE_TIMEOUT,
  KEEP_ALIVE_DELAY,
  MAX_LIFETIME,
  MAX_USES,
  WAIT_TIMEOUT,
} from './tuning.ts';

export interface Connections {
  take(caller?: Caller): Promise<PostgresConnection>;
  /** Replaces the open connections: they may lead to a server that takes no writes any more. */
  renew(): void;
  /** Breaks the open connections, so that requests that wait for an answer continue on another server. */
  cut(): void;
  /** BEGIN, with the limits of the transaction where connections keep no settings. */
  opening(begin: string): string;
  /** Connections that are opened from now on find tables in this schema first, if they keep settings. */
  useSchema(schema: string): void;
  usage(): PoolUsage;
  close(): Promise<void>;
}

/** Milliseconds; 0 is for ever. */
interface TimeLimits {
  readonly statement: number;
  /** How long a transaction may wait for its next statement. */
  readonly idle: number;
  /** How long a statement may wait for a lock. */
  readonly lock: number;
}

export const NO_LIMITS: TimeLimits = { statement: 0, idle: 0, lock: 0 };

interface ConnectionOptions
  extends Pick<PostgresAddress, 'url' | 'pool' | 'prepared'>, Pick<DriverOptions, 'positions' | 'onLost'> {
  /** Whether the server answers, if that is watched. */
  readonly isThere?: (() => boolean) | undefined;
}

export function createConnections(
  { url, pool: max, prepared, positions = false, onLost, isThere = () => true }: ConnectionOptions,
  limits: TimeLimits,
): Connections {
  const open = new Set<Client>();
  const outdated = new WeakSet<Client>();
  let isClosed = false;
  let schema: string | undefined;

  /** Registered before it is connected. */
  class KnownClient extends Client {
    constructor(config?: ClientConfig) {
      super({ ...config, connectionString: url });
      open.add(this);
      this.once('end', () => open.delete(this)).on('error', () => undefined);
    }
  }

  async function prepare(client: ClientBase): Promise<void> {
    client.once('error', (error) => isClosed || onLost?.(error));
    if (!prepared) return;
    const all = [settingsOf(limits, 'session'), ISOLATION, APPLY_SETTINGS];
    if (limits !== NO_LIMITS) all.push(PARALLEL);
    if (schema !== undefined) all.push(useSchema(schema));
    await client.query({ text: all.join('; '), ...inTime });
  }

  const inTime = { query_timeout: WAIT_TIMEOUT };
  const pool = new Pool({
    Client: KnownClient,
    max,
    types,
    onConnect: prepare,
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
    connectionTimeoutMillis: WAIT_TIMEOUT,
    idleTimeoutMillis: limits === NO_LIMITS ? FULL_PAUSE : IDLE_TIMEOUT,
    maxLifetimeSeconds: MAX_LIFETIME,
    maxUses: MAX_USES,
    application_name: 'records',
  });
  // The pool forgets a connection that breaks; a running statement reports it.
  pool.on('error', () => undefined);

  function cut(): void {
    for (const client of open) client.connection.stream.destroy();
  }

  /** If the server takes no further connection, one of the open ones will come free. */
  async function connected(caller: Caller): Promise<PoolClient> {
    for (const end = performance.now() + WAIT_TIMEOUT; ;) {
      if (!isThere()) throw Object.assign(new Error(`${new URL(url).host} does not answer`), { code: 'EHOSTUNREACH' });
      try {
        const client = await unlessGone(pool.connect(), caller);
        if (!outdated.has(client)) return client;
        client.release(true);
      } catch (error) {
        if (!isFull(error) || performance.now() > end) throw error;
        await delay(FULL_PAUSE);
      }
    }
  }

  return {
    take: async (caller = PATIENT) =>
      connectionOf(await connected(caller), { prepared, timeout: limits.statement, caller, positions }),
    renew: () => {
      for (const client of open) outdated.add(client);
    },
    cut,
    opening: (begin) => {
      if (prepared) return begin;
      const watched = limits === NO_LIMITS ? `; ${CHECK_CLIENT_LOCALLY}` : '';
      // The settings of the transaction itself come last.
      const [first = begin, ...own] = begin.split('; ');
      return [first, `${settingsOf(limits, 'local')}${watched}`, ...own].join('; ');
    },
    useSchema: (name) => void (schema = name),
    usage: () => ({ most: max, used: pool.totalCount - pool.idleCount, idle: pool.idleCount }),
    close: async () => {
      isClosed = true;
      await Promise.race([pool.end(), delay(END_TIMEOUT)]);
      // A server that does not answer does not end connections either.
      cut();
    },
  };
}

const settingsOf = ({ statement, idle, lock }: TimeLimits, scope: 'session' | 'local'): string =>
  `set ${scope} statement_timeout = ${statement}; set ${scope} idle_in_transaction_session_timeout = ${idle}; set ${scope} lock_timeout = ${lock}`;

/** Of statements without a transaction around them, whatever the server's default is. */
const ISOLATION = 'set session characteristics as transaction isolation level read committed';

/**
 * All searches together get as many parallel workers as the server would give to each: with three processes for each of
 * them, a read of one record had to wait too long for a processor.
 */
const PARALLEL = `select set_config('max_parallel_workers', least(current_setting('max_parallel_workers')::int, current_setting('max_parallel_workers_per_gather')::int)::text, false)`;

/** A caller that leaves while it waits is rejected at once; its connection goes back to the pool. */
function unlessGone(connecting: Promise<PoolClient>, caller: Caller): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    let left = false;
    const stop = caller.onGone(() => {
      left = true;
      reject(new CallerGone());
    });
    connecting.then((client) => (left ? client.release() : resolve(client)), reject).finally(stop);
  });
}
