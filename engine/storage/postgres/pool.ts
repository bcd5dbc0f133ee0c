/** A pool of connections, as many as the setting allows. */
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig, Pool, type PoolClient } from 'pg';
import { type Caller, CallerGone, PATIENT } from '../../edge/caller.ts';
import { connectionOf, type PostgresConnection } from './connection.ts';
import type { DriverOptions, PoolUsage } from '../driver.ts';
import { isFull } from './errors.ts';
import type { PostgresAddress } from './address.ts';
import { type Parsers, types } from './pipeline.ts';
import { APPLY_SETTINGS, CHECK_CLIENT_LOCALLY, useSchema } from './session.ts';
import {
  END_TIMEOUT,
  FULL_FOR,
  FULL_PAUSE,
  IDLE_TIMEOUT,
  KEEP_ALIVE_DELAY,
  MAX_LIFETIME,
  WAIT_TIMEOUT,
} from './tuning.ts';

export interface Connections {
  take(caller?: Caller): Promise<PostgresConnection>;
  /** Connections that are open are not taken again: they may lead to a server that takes no writes any more. */
  renew(): void;
  /** Breaks connections that are open, so that what waits for an answer goes on elsewhere. */
  cut(): void;
  /** BEGIN, with the limits of the transaction where the connection does not keep them. */
  opening(begin: string): string;
  /** Connections that are opened from now on find tables in this schema first, if they keep settings. */
  useSchema(schema: string): void;
  /** Connections that are taken meanwhile have no limits. */
  unlimited<T>(work: () => Promise<T>): Promise<T>;
  usage(): PoolUsage;
  close(): Promise<void>;
}

interface TimeLimits {
  /** Milliseconds that a statement may take; 0 is for ever. */
  readonly statement: number;
  /** Milliseconds that a transaction may wait for its next statement. */
  readonly idle: number;
  /** Milliseconds that a statement may wait for a lock. */
  readonly lock: number;
}

const NO_LIMITS: TimeLimits = { statement: 0, idle: 0, lock: 0 };

interface ConnectionOptions
  extends Pick<PostgresAddress, 'url' | 'pool' | 'prepared'>, Pick<DriverOptions, 'positions' | 'onLost'> {
  /** Statements end in the server alone: giving up one here would break the others on its connection. */
  readonly isPipelined?: boolean;
  /** Whether the server answers, where somebody looks. */
  readonly isThere?: (() => boolean) | undefined;
}

export function createConnections(
  { url, pool: max, prepared, positions = false, onLost, isPipelined = false, isThere = () => true }: ConnectionOptions,
  limits: TimeLimits,
): Connections {
  const open = new Set<KnownClient>();
  const outdated = new WeakSet<Client>();
  /** Registered before it is connected. */
  class KnownClient extends Client {
    constructor(config?: ClientConfig) {
      super({ ...config, connectionString: url });
      open.add(this);
      this.once('end', () => open.delete(this)).on('error', () => undefined);
      // Before it is ready, who has asked for it is told.
      this.once('error', (error) => isClosed || onLost?.(error));
    }
  }
  const pool = new Pool({
    Client: KnownClient,
    max,
    types,
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY,
    connectionTimeoutMillis: WAIT_TIMEOUT,
    idleTimeoutMillis: IDLE_TIMEOUT,
    maxLifetimeSeconds: MAX_LIFETIME,
    application_name: 'records',
  });
  // The pool forgets a connection that breaks; a running statement reports it.
  pool.on('error', () => undefined);
  let isClosed = false;
  /** Until then, no further connections are asked for. */
  let growing: NodeJS.Timeout | undefined;
  const parsers = new WeakMap<PoolClient, Parsers>();
  /** As the server was told last. */
  const told = new WeakMap<PoolClient, TimeLimits>();
  let unlimited = 0;
  let schema: string | undefined;
  function cut(): void {
    for (const client of open) client.connection.stream.destroy();
  }
  const now = (): TimeLimits => (unlimited > 0 ? NO_LIMITS : limits);

  function parsersOf(client: PoolClient): Parsers | undefined {
    if (!prepared) return undefined;
    const known = parsers.get(client) ?? (new Map() as Parsers);
    parsers.set(client, known);
    return known;
  }

  /** Where the server takes no further connection, one that is open will come free. */
  async function connected(caller: Caller): Promise<PoolClient> {
    for (const end = performance.now() + WAIT_TIMEOUT; ;) {
      try {
        return await unlessGone(pool.connect(), caller);
      } catch (error) {
        if (!isFull(error) || performance.now() > end) throw error;
      }
      pool.options.max = Math.max(1, pool.totalCount);
      growing ??= setTimeout(grow, FULL_FOR).unref();
      if (pool.totalCount === 0) await delay(FULL_PAUSE);
    }
  }

  function grow(): void {
    growing = undefined;
    pool.options.max = max;
  }

  async function upToDate(caller: Caller): Promise<PoolClient> {
    for (;;) {
      if (!isThere()) throw Object.assign(new Error(`${new URL(url).host} does not answer`), { code: 'EHOSTUNREACH' });
      const client = await connected(caller);
      if (!outdated.has(client)) return client;
      client.release(true);
    }
  }

  /** Not awaited: it is sent together with the first statement. A connection that was not told is not taken again. */
  function tell(client: PoolClient, wanted: TimeLimits): void {
    if (!prepared || told.get(client) === wanted) return;
    const workers = wanted === NO_LIMITS ? 'reset max_parallel_workers' : PARALLEL;
    const once = [APPLY_SETTINGS, ...(schema === undefined ? [] : [useSchema(schema)])];
    const all = [settingsOf(wanted, 'session'), ISOLATION, workers, ...(told.has(client) ? [] : once)];
    client.query(all.join('; ')).catch(() => outdated.add(client));
    told.set(client, wanted);
  }

  return {
    take: async (caller = PATIENT) => {
      const client = await upToDate(caller);
      const wanted = now();
      tell(client, wanted);
      return connectionOf({
        client,
        parsers: parsersOf(client),
        timeout: isPipelined ? 0 : wanted.statement,
        caller,
        positions,
      });
    },
    renew: () => {
      for (const client of open) outdated.add(client);
    },
    cut,
    opening: (begin) => {
      if (prepared) return begin;
      const watched = unlimited > 0 ? `; ${CHECK_CLIENT_LOCALLY}` : '';
      // What the transaction sets itself comes last.
      const [first = begin, ...own] = begin.split('; ');
      return [first, `${settingsOf(now(), 'local')}${watched}`, ...own].join('; ');
    },
    useSchema: (name) => void (schema = name),
    unlimited: async (work) => {
      unlimited += 1;
      try {
        return await work();
      } finally {
        unlimited -= 1;
      }
    },
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
    const settle = async (): Promise<void> => {
      try {
        const client = await connecting;
        if (left) client.release();
        else resolve(client);
      } catch (error) {
        reject(error);
      } finally {
        stop();
      }
    };
    void settle();
  });
}
