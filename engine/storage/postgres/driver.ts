/** The driver for PostgreSQL: one pool serves requests, another serves whole lists. */
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { type Caller, NO_CLIENT } from '../../edge/caller.ts';
import { ENGINE_PREFIX } from '../../model/model.ts';
import { StartError } from '../../problem.ts';
import {
  type Awaitable,
  type Driver,
  type DriverOptions,
  type Reader,
  type Replica,
  type Statement,
  UNLIMITED,
} from '../driver.ts';
import { literal } from '../dialect.ts';
import { parseAddress, parseAddresses, type PostgresAddress } from './address.ts';
import { postgresDialect } from './dialect.ts';
import { connectFault, isFull, isRefusing, startFault, stateOf, TRANSACTION_POOLER } from './errors.ts';
import { abandonMigration, define, finishMigration, migrate } from './migrate.ts';
import { type Connections, createConnections, NO_LIMITS, READ_SETTINGS, requireSettings } from './pool.ts';
import { IDENTITY, watchReplica } from './replicas.ts';
import { autocommit, createSingleWriter, openSnapshot, readIn, writeIn } from './transaction.ts';
import {
  ACQUIRE_TIMEOUT_MS,
  IDLE_IN_TRANSACTION_TIMEOUT_MS,
  MIGRATION_CONNECTIONS,
  POLL_INTERVAL_MS,
  POOLER_PROBES,
  READ_ONLY_SHARE,
  RETRY_INTERVAL_MS,
  SEARCH_SHARE,
  STREAM_IDLE_TIMEOUT_MS,
} from './tuning.ts';

const EXISTING_NAMES: Statement = {
  sql: `select relname::text from pg_class where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('r', 'p', 'i')`,
};
const PING: Statement = { sql: 'select 1' };
const LOCK: Statement = { sql: `select pg_try_advisory_xact_lock(hashtext('records'), hashtext(current_schema()))` };

// Writes lock the rows that they compare, and a snapshot would block index builds.
const BEGIN = 'begin isolation level read committed';

export async function openPostgres(url: string, options: DriverOptions = UNLIMITED): Promise<Driver> {
  const address = parseAddress(url);
  const { driver, unlimited } = driverOf(address, options);
  try {
    if (address.prepared) await refuseTransactionPooler(address);
    await probe(unlimited, address);
    return driver;
  } catch (error) {
    await driver.close();
    throw startFault(address, error);
  }
}

export async function openReplicas(url: string, options: DriverOptions, primary: Reader): Promise<readonly Replica[]> {
  const identity = String(await primary.value(IDENTITY, []));
  const replicas = parseAddresses(url, 'READ_URL').map((address) => {
    const { driver, pools } = driverOf(address, options, () => watch.cut());
    const watch = watchReplica(address.url, identity, () => {
      for (const pool of pools) pool.cut();
    });
    const close = async (): Promise<void> => {
      watch.close();
      await driver.close();
    };
    return { driver: { ...driver, lag: watch.lag, close }, covers: watch.covers, isOther: watch.isOther };
  });
  const others = await Promise.all(replicas.map(({ isOther }) => isOther()));
  const other = replicas[others.indexOf(true)];
  if (other === undefined) return replicas;
  await Promise.all(replicas.map(({ driver }) => driver.close()));
  throw new StartError(
    `READ_URL leads to another database than DATABASE_URL: ${other.driver.address} is no replica of it, or has another search_path`,
  );
}

function driverOf(address: PostgresAddress, options: DriverOptions, onLost?: () => void) {
  const { pool, prepared, lockTimeout } = address;
  const { statementTimeout, maxStreams = pool } = options;
  const isLimited = statementTimeout !== Infinity;
  /** A server shutting down may wait for its clients to disconnect. */
  const onRefused = (): void => {
    for (const one of pools) void one.renew();
    onLost?.();
  };
  const statement = isLimited ? statementTimeout : 0;
  const connections = createConnections(
    { ...address, ...options },
    { statement, idle: isLimited ? IDLE_IN_TRANSACTION_TIMEOUT_MS : 0, lock: lockTimeout },
    onRefused,
  );
  const streams = createConnections(
    { ...address, pool: maxStreams },
    { statement, idle: isLimited ? STREAM_IDLE_TIMEOUT_MS : 0, lock: 0 },
    onRefused,
  );
  const unlimited = createConnections({ ...address, pool: MIGRATION_CONNECTIONS }, NO_LIMITS, onRefused);
  const pools: readonly Connections[] = [connections, streams, unlimited];
  /** Work has no deadline until the tables match the descriptors. */
  let used = connections;
  const requests: Connections = {
    ...connections,
    take: (caller) => used.take(caller),
    opening: (own) => used.opening(own),
  };
  // Long writes and searches leave some connections to reads.
  const long = Math.max(1, pool - Math.max(1, Math.floor(pool * READ_ONLY_SHARE)));
  // Behind a pooler, only transactions have time limits, so each read needs a transaction.
  const read = async <T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean): Promise<T> =>
    single && prepared ? work(autocommit(requests, caller)) : readIn(requests, work, caller);
  let connecting: Promise<void> | undefined;
  const driver: Driver = {
    dialect: postgresDialect,
    address: address.shown,
    causeOf: stateOf,
    ...autocommit(requests),
    mostCounted: Infinity,
    slots: {
      limits: {
        read: pool,
        scan: Math.max(1, Math.floor(pool * SEARCH_SHARE)),
        write: Math.max(1, long - 1),
        stream: maxStreams,
      },
      shared: [
        { kinds: ['read', 'scan', 'write'], limit: pool },
        { kinds: ['scan', 'write'], limit: long },
      ],
      waitMs: (kind) => (kind === 'write' ? Math.max(ACQUIRE_TIMEOUT_MS, lockTimeout) : ACQUIRE_TIMEOUT_MS),
    },
    read,
    scan: read,
    preview: read,
    write: (work, caller, _row, revision) => writeIn(requests, BEGIN, work, caller, revision),
    writeSingle: prepared ? createSingleWriter(connections) : undefined,
    define: (statements) => define(unlimited, statements),
    migrate: (migration) => migrate(unlimited, migration),
    finishMigration: (watch) => finishMigration({ connections: unlimited, watch }),
    abandonMigration: (watch) => abandonMigration({ connections: unlimited, watch }),
    dryRun: () => undefined,
    existing: () => autocommit(requests).column(EXISTING_NAMES, []),
    ping: async () => {
      await autocommit(requests).value(PING, []);
      await (connecting ??= requireConnectable(address, onRefused).finally(
        () => void setTimeout(() => (connecting = undefined), POLL_INTERVAL_MS).unref(),
      ));
    },
    snapshot: (caller = NO_CLIENT) => openSnapshot(streams, caller),
    exclusively: async (work) => {
      used = unlimited;
      try {
        return await exclusively(unlimited, work);
      } finally {
        used = connections;
      }
    },
    usage: () => ({ requests: connections.usage(), streams: streams.usage() }),
    close: async () => void (await Promise.all(pools.map((one) => one.close()))),
  };
  return { driver, unlimited, pools };
}

/** A transaction's lock works behind poolers and ends in a crash. Waiting processes release their connection. */
async function exclusively<T>(connections: Connections, work: () => Awaitable<T>): Promise<T> {
  for (;;) {
    const connection = await connections.take();
    try {
      await connection.execute(BEGIN);
      const { rows } = await connection.query(LOCK, [], undefined, false);
      if (rows[0]?.[0] === 't') return await work();
    } finally {
      await connection.execute('commit').catch(() => connection.discard());
      connection.release();
    }
    await delay(RETRY_INTERVAL_MS);
  }
}

/** Encoding, schema of new tables, first schema in the path with the engine's tables, role, database. */
const SCHEMAS: Statement = {
  sql: `select current_setting('server_encoding'), current_schema(), (select name from unnest(current_schemas(false)) with ordinality as path (name, place)
    join pg_namespace on nspname = name join pg_class on relnamespace = pg_namespace.oid and relname = ${literal(`${ENGINE_PREFIX}model`)} order by place limit 1),
    quote_ident(session_user), quote_ident(current_database())`,
};

/** Refuses a server with settings that connections cannot change. */
async function probe(connections: Connections, { shown, prepared }: PostgresAddress): Promise<void> {
  const connection = await connections.take();
  const [settings, { rows }] = await Promise.all([
    connection.query(READ_SETTINGS, [], undefined, false),
    connection.query(SCHEMAS, [], undefined, false),
  ]).finally(() => connection.release());
  const [encoding, schema, used, role, database] = rows[0] ?? [];
  if (encoding !== 'UTF8')
    throw new StartError(`The database at ${shown} has the encoding ${String(encoding)}; expected UTF8`);
  if (schema === null || schema === undefined)
    throw new StartError(`The database at ${shown} has no schema that this user may use; see search_path`);
  requireSettings(settings.rows, shown, prepared);
  if (used === null || used === undefined || used === schema) return;
  // With an earlier schema in the path, the service would start with empty tables.
  const [before, there] = [schema, used].map((name) => postgresDialect.quote(String(name)));
  throw new StartError(
    `The database at ${shown} has the tables of the service in the schema ${there}, but its search_path leads to ${before} first, which has none. To go on with these, run: alter role ${String(role)} in database ${String(database)} set search_path = ${there}; to begin anew in ${before}, leave ${there} out of the search_path`,
  );
}

const PROBE = {
  application_name: 'records',
  connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
  query_timeout: ACQUIRE_TIMEOUT_MS,
};

/** A connection outside of the pools. */
const clientFor = (url: string): Client => new Client({ ...PROBE, connectionString: url }).on('error', () => undefined);

/** A server shutting down refuses connections but serves its open ones. A full server is not down. */
async function requireConnectable({ url }: PostgresAddress, onRefused: () => void): Promise<void> {
  const client = clientFor(url);
  try {
    await client.connect();
  } catch (error) {
    if (isRefusing(error)) onRefused();
    if (!isFull(error)) throw connectFault(error);
  } finally {
    client.connection.end();
  }
}

/** A pooler in transaction mode lets two clients share a server connection. */
async function refuseTransactionPooler({ url, shown }: PostgresAddress): Promise<void> {
  const [first, second] = [clientFor(url), clientFor(url)];
  const backendOf = async (client: Client): Promise<number | undefined> =>
    (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
  try {
    await first.connect();
    if ((await backendOf(first)) === (first as Client & { readonly processID: number | null }).processID) return;
    await second.connect();
    for (let tries = 0; tries < POOLER_PROBES; tries += 1)
      if ((await backendOf(first)) === (await backendOf(second)))
        throw new StartError(`The database at ${shown} cannot be used like this: ${TRANSACTION_POOLER}`);
  } finally {
    for (const { connection } of [first, second]) connection.stream.destroy();
  }
}
