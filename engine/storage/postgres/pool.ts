/** Connection pools, and the session settings that the engine's SQL relies on. */
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientBase, type ClientConfig, Pool } from 'pg';
import { type Caller, NO_CLIENT } from '../../edge/caller.ts';
import { StartError } from '../../problem.ts';
import { literal } from '../dialect.ts';
import type { DriverOptions, PoolUsage, Row, Statement } from '../driver.ts';
import type { PostgresAddress } from './address.ts';
import { endWhenSilent, outdated, PostgresConnection } from './connection.ts';
import { connectFault, isFull, isRefusing } from './errors.ts';
import {
  ACQUIRE_TIMEOUT_MS,
  CLIENT_CHECK_INTERVAL_MS,
  IDLE_TIMEOUT_MS,
  MAX_CONNECTION_LIFETIME_S,
  POOL_END_TIMEOUT_MS,
  RETRY_INTERVAL_MS,
} from './tuning.ts';

/** Limits in milliseconds, 0 for none: statement, idle in transaction, lock wait. */
interface TimeLimits {
  readonly statement: number;
  readonly idle: number;
  readonly lock: number;
}

export const NO_LIMITS: TimeLimits = { statement: 0, idle: 0, lock: 0 };

export type Connections = ReturnType<typeof createConnections>;

export function createConnections(
  {
    url,
    pool: max,
    prepared,
    positions = false,
  }: Pick<PostgresAddress, 'url' | 'pool' | 'prepared'> & Pick<DriverOptions, 'positions'>,
  limits: TimeLimits,
  onRefused: () => void,
) {
  const open = new Set<Client>();
  const options = { prepared, positions, timeout: limits.statement };

  class KnownClient extends Client {
    constructor(config?: ClientConfig) {
      super({ ...config, connectionString: url });
      open.add(this);
      this.once('end', () => open.delete(this)).on('error', () => undefined);
    }
  }

  async function prepare(client: ClientBase): Promise<void> {
    if (limits.statement > 0) endWhenSilent(client, limits.statement);
    if (!prepared) return;
    const all = [settingsOf(limits, 'session'), APPLY_SETTINGS, ...(limits === NO_LIMITS ? [] : [PARALLEL])];
    const settings = { text: all.join('; '), query_timeout: ACQUIRE_TIMEOUT_MS };
    await client.query(settings);
  }

  const pool = new Pool({
    Client: KnownClient,
    max,
    onConnect: prepare,
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: IDLE_TIMEOUT_MS,
    connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
    idleTimeoutMillis: limits === NO_LIMITS ? RETRY_INTERVAL_MS : IDLE_TIMEOUT_MS,
    maxLifetimeSeconds: MAX_CONNECTION_LIFETIME_S,
    application_name: 'records',
  });
  pool.on('error', () => undefined);

  /** Breaks the open connections, so that their requests continue on another server. */
  function cut(): void {
    for (const client of open) client.connection.stream.destroy();
  }

  return {
    // If the server is full, an open connection will become free.
    take: async (caller: Caller = NO_CLIENT): Promise<PostgresConnection> => {
      for (let end = 0; ;) {
        try {
          const client = await pool.connect();
          if (!outdated.has(client.connection)) return new PostgresConnection(client, caller, options);
          client.release(true);
        } catch (error) {
          if (isRefusing(error)) onRefused();
          end ||= performance.now() + ACQUIRE_TIMEOUT_MS;
          if (!isFull(error) || performance.now() > end) throw connectFault(error);
          await delay(RETRY_INTERVAL_MS);
        }
      }
    },
    /** Replaces the open connections, whose server accepts no more writes or shuts down. */
    renew: async (): Promise<void> => {
      for (const { connection } of open) outdated.add(connection);
      while (pool.idleCount > 0)
        await pool.connect().then(
          (client) => client.release(true),
          () => undefined,
        );
    },
    cut,
    /** Adds time limits to BEGIN if connections keep no settings. */
    opening: (begin: string): string => {
      if (prepared) return begin;
      // The transaction's own settings override the limits.
      const [first = begin, ...own] = begin.split('; ');
      return [first, settingsOf(limits, 'local'), ...own].join('; ');
    },
    usage: (): PoolUsage => ({ most: max, used: pool.totalCount - pool.idleCount, idle: pool.idleCount }),
    close: async (): Promise<void> => {
      await Promise.race([pool.end(), delay(POOL_END_TIMEOUT_MS)]);
      // `pool.end` cannot end connections to a silent server.
      cut();
    },
  };
}

/** Without `jit`, as compiling a statement of many subqueries takes seconds, each time that it runs. */
const settingsOf = ({ statement, idle, lock }: TimeLimits, scope: 'session' | 'local'): string =>
  `set ${scope} jit = off; set ${scope} statement_timeout = ${statement}; set ${scope} idle_in_transaction_session_timeout = ${idle}; set ${scope} lock_timeout = ${lock}`;

/** Settings of each connection; they override server, database and role. `accepted`: values that need no override. */
const SETTINGS: Readonly<Record<string, { readonly value: string; readonly accepted?: RegExp }>> = {
  // Lower values print numbers with 15 digits.
  extra_float_digits: { value: '3', accepted: /^[123]$/ },
  DateStyle: { value: 'ISO, YMD', accepted: /^ISO\b/i },
  TimeZone: { value: 'UTC' },
  standard_conforming_strings: { value: 'on', accepted: /^on$/ },
  transform_null_equals: { value: 'off', accepted: /^off$/ },
  quote_all_identifiers: { value: 'off' },
  row_security: { value: 'on' },
  exit_on_error: { value: 'off', accepted: /^off$/ },
  default_transaction_isolation: { value: 'read committed' },
  transaction_timeout: { value: '0' },
  client_connection_check_interval: { value: String(CLIENT_CHECK_INTERVAL_MS) },
};

/** Skips settings that this version of the server does not know. */
const APPLY_SETTINGS = `select set_config(name, value, false) from (values ${Object.entries(SETTINGS)
  .map(([name, { value }]) => `(${literal(name)}, ${literal(value)})`)
  .join(', ')}) as wanted (name, value) where current_setting(name, true) <> value`;

/** Searches share the parallel workers that the server would give to each; otherwise, reads wait for a CPU. */
const PARALLEL = `select set_config('max_parallel_workers', least(current_setting('max_parallel_workers')::int, current_setting('max_parallel_workers_per_gather')::int)::text, false)`;

/** The value `replica`, which only superusers can set, disables reference checks. */
const ROLE = 'session_replication_role';

const required = new Map([
  ...Object.entries(SETTINGS).flatMap(([name, { accepted }]) => (accepted ? [[name, accepted] as const] : [])),
  [ROLE, /^(origin|local)$/] as const,
]);

export const READ_SETTINGS: Statement = {
  sql: `select name, current_setting(name, true), quote_ident(session_user), quote_ident(current_database())
    from (values ${[...required.keys()].map((name) => `(${literal(name)})`).join(', ')}) as wanted (name)`,
};

/** `applied`: connections have applied SETTINGS. */
export function requireSettings(rows: readonly Row[], shown: string, applied: boolean): void {
  for (const [setting, value, role, database] of rows) {
    const name = String(setting);
    if (value === null || required.get(name)?.test(String(value)) !== false || (applied && name !== ROLE)) continue;
    const wanted = SETTINGS[name]?.value ?? 'origin';
    const why = name === ROLE ? '' : '; behind a pooler (prepared=off), connections cannot set it themselves';
    throw new StartError(
      `The database at ${shown} has ${name} = ${String(value)}, which the service cannot work with${why}. Run: alter role ${String(role)} in database ${String(database)} set ${name} = ${literal(wanted)}`,
    );
  }
}
