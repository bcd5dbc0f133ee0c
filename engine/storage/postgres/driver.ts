/** PostgreSQL behind the driver's interface: one pool serves requests, another the lists that are streamed. */
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { type Caller, PATIENT } from '../../edge/caller.ts';
import { ENGINE_PREFIX } from '../../model/model.ts';
import { StartError } from '../../problem.ts';
import {
  type Awaitable,
  type Driver,
  type DriverOptions,
  type Reader,
  type Replica,
  type Row,
  type Statement,
  UNLIMITED,
} from '../driver.ts';
import type { PostgresConnection } from './connection.ts';
import { postgresDialect } from './dialect.ts';
import { TRANSACTION_POOLER, startFault, translate } from './errors.ts';
import { parseAddress, parseAddresses, type PostgresAddress } from './address.ts';
import { watchReplica } from './replicas.ts';
import { type Connections, createConnections, NO_LIMITS } from './pool.ts';
import { READ_SETTINGS, requireSchema, requireSettings, schemasIn, useSchema } from './session.ts';
import { shareWrites } from './shared-writes.ts';
import { alone, openSnapshot, readIn, writeAlone, writeIn } from './transaction.ts';
import { abandonMigration, define, finishMigration, migrate } from './migrate.ts';
import { LOCK_PAUSE, MAX_IDLE, MAX_SLOW, MAX_WAIT, POOLER_TRIES, UNLIMITED_CONNECTIONS } from './tuning.ts';

const EXISTING: Statement = {
  sql: `select relname::text from pg_class where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('r', 'p', 'i')`,
};
const SCHEMAS = schemasIn(`${ENGINE_PREFIX}model`);
const PING: Statement = { sql: 'select 1' };
/** Two numbers that nothing else in this database should use. */
const LOCK: Statement = { sql: `select pg_try_advisory_xact_lock(hashtext('records'), hashtext(current_schema()))` };

export async function openPostgres(url: string, options: DriverOptions = UNLIMITED): Promise<Driver> {
  const address = parseAddress(url);
  const { driver, unlimited, pools } = driverOf(address, options);
  try {
    if (address.prepared) await refuseTransactionPooler(address);
    await probe(unlimited, pools, address);
    if (options.statementTimeout !== Infinity && address.prepared)
      await requireRoom(unlimited, address, options.maxStreams ?? address.pool);
    return driver;
  } catch (error) {
    await driver.close();
    throw error;
  }
}

interface Opened {
  readonly driver: Driver;
  readonly unlimited: Connections;
  readonly pools: readonly Connections[];
}

/** Servers that follow the primary, each with connections of its own. */
export function openReplicas(url: string, options: DriverOptions): readonly Replica[] {
  return parseAddresses(url, 'READ_URL').map((address) => {
    const watch = watchReplica(address.url, () => {
      for (const pool of pools) pool.cut();
    });
    const { driver, pools } = driverOf(address, options, () => watch.covers());
    const close = async (): Promise<void> => {
      watch.close();
      await driver.close();
    };
    return { driver: { ...driver, close }, covers: watch.covers, look: watch.look };
  });
}

/** Connections are opened when they are needed. `isThere`: whether the server answers, if that is watched. */
function driverOf(address: PostgresAddress, options: DriverOptions, isThere?: () => boolean): Opened {
  const { pool, prepared, lockTimeout } = address;
  const { statementTimeout, maxStreams = pool, onLost } = options;
  const isLimited = statementTimeout !== Infinity;
  const statement = isLimited ? statementTimeout : 0;
  const connections = createConnections(
    { ...address, ...options, isThere },
    { statement, idle: isLimited ? MAX_IDLE : 0, lock: lockTimeout },
  );
  const streams = createConnections(
    { ...address, pool: maxStreams, onLost, isThere },
    { statement, idle: isLimited ? MAX_SLOW : 0, lock: 0 },
  );
  const unlimited = createConnections({ ...address, pool: UNLIMITED_CONNECTIONS, onLost }, NO_LIMITS);
  const pools = [connections, streams, unlimited];
  /** Until the tables are those of the descriptors, work takes as long as it needs. */
  let used = connections;
  const requests: Connections = {
    ...connections,
    take: (caller) => used.take(caller),
    opening: (own) => used.opening(own),
  };
  // Read committed: what a write compares and merges, it has locked before.
  const begin = 'begin isolation level read committed';
  const together = shareWrites(connections);
  // Writes wait for rows, and searches take long: together they leave some connections to reads, and writes one to searches.
  const long = Math.max(1, pool - Math.max(1, Math.floor(pool / 5)));
  // Behind a pooler, only a transaction has limits.
  const read = async <T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean): Promise<T> =>
    single && prepared ? work(alone(requests, caller)) : readIn(requests, work, caller);
  const driver: Driver = {
    dialect: postgresDialect,
    address: address.shown,
    ...alone(requests),
    mostCounted: Infinity,
    slots: {
      most: { read: pool, scan: Math.max(1, Math.floor(pool / 2)), write: Math.max(1, long - 1), stream: maxStreams },
      shared: [
        { kinds: ['read', 'scan', 'write'], most: pool },
        { kinds: ['scan', 'write'], most: long },
      ],
      patience: {
        read: MAX_WAIT,
        scan: MAX_WAIT,
        write: Math.max(MAX_WAIT, lockTimeout),
        stream: MAX_WAIT,
        slowList: MAX_WAIT,
      },
    },
    read,
    scan: read,
    write: (work, caller, _row, revision) => writeIn(requests, begin, work, caller, revision),
    writeAlone: prepared
      ? (asked, values, caller) => {
          const single = (): Promise<Row | undefined> => writeAlone(connections, asked, values, caller);
          return asked.together ? together(asked.together, values, single, caller) : single();
        }
      : undefined,
    define: (statements) => define(unlimited, statements),
    migrate: (migration) => migrate(unlimited, migration),
    finishMigration: (watch) => finishMigration(unlimited, watch),
    abandonMigration: (watch) => abandonMigration(unlimited, watch),
    // A rehearsal would lock the tables: the catalogue tells instead.
    rehearse: () => undefined,
    existing: () => alone(requests).column(EXISTING, []),
    ping: async () => void (await alone(requests).value(PING, [])),
    snapshot: (caller = PATIENT) => openSnapshot(streams, caller),
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

const ROOM: Statement = {
  sql: `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int`,
};

/** Connections are opened when they are needed: without this, the first busy hour would find out. */
async function requireRoom(connections: Connections, { pool, shown }: PostgresAddress, streams: number): Promise<void> {
  const room = Number(await alone(connections).value(ROOM, []));
  if (pool + streams + UNLIMITED_CONNECTIONS <= room) return;
  throw new StartError(
    `The database at ${shown} allows ${room} connections (max_connections), but this service may open ${pool + streams + UNLIMITED_CONNECTIONS}: ${pool} for requests (pool in the URL), ${UNLIMITED_CONNECTIONS} for changes of the tables, and ${streams} for whole lists. Lower pool, or raise max_connections`,
  );
}

/** Reads what connections cannot change, and remembers the schema for those that are opened later. */
async function probe(connections: Connections, pools: readonly Connections[], address: PostgresAddress): Promise<void> {
  const { shown, prepared } = address;
  const { settings, found } = await usable(connections, address);
  const [encoding, schema] = found;
  if (encoding !== 'UTF8')
    throw new StartError(`The database at ${shown} has the encoding ${String(encoding)}; expected UTF8`);
  if (schema === null || schema === undefined)
    throw new StartError(`The database at ${shown} has no schema that this user may use; see search_path`);
  requireSettings(settings, shown, prepared);
  requireSchema(found, shown);
  for (const pool of pools) pool.useSchema(String(schema));
}

const BACKEND = 'select pg_backend_pid()';
const PROBE = { application_name: 'records', connectionTimeoutMillis: 5000, query_timeout: 5000 };

/** A pooler in transaction mode gives two clients that are connected at the same time one connection of the server. */
async function refuseTransactionPooler(address: PostgresAddress): Promise<void> {
  const { url, shown } = address;
  const clients = [1, 2].map(() => new Client({ ...PROBE, connectionString: url }));
  const backendOf = async (client: Client): Promise<number | undefined> =>
    (await client.query<{ pg_backend_pid: number }>(BACKEND)).rows[0]?.pg_backend_pid;
  try {
    const [first, second] = clients;
    if (first === undefined || second === undefined) return;
    first.on('error', () => undefined);
    await first.connect();
    // Without a pooler, the server has told the client which process it has.
    if ((await backendOf(first)) === (first as Client & { readonly processID: number | null }).processID) return;
    second.on('error', () => undefined);
    await second.connect();
    for (let tries = 0; tries < POOLER_TRIES; tries += 1)
      if ((await backendOf(first)) === (await backendOf(second)))
        throw new StartError(`The database at ${shown} cannot be used like this: ${TRANSACTION_POOLER}`);
  } catch (error) {
    throw startFault(address, error);
  } finally {
    for (const client of clients) client.connection.stream.destroy();
  }
}

interface Probed {
  readonly settings: readonly Row[];
  readonly found: Row;
}

async function usable(connections: Connections, address: PostgresAddress): Promise<Probed> {
  try {
    const connection = await connections.take();
    try {
      const { rows: settings } = await connection.query(READ_SETTINGS, [], undefined, false);
      const [found = []] = (await connection.query(SCHEMAS, [], undefined, false)).rows;
      const [, schema] = found;
      if (address.prepared && typeof schema === 'string') await connection.execute(useSchema(schema));
      return { settings, found };
    } finally {
      connection.release();
    }
  } catch (error) {
    throw startFault(address, error);
  }
}

/** Instances that start together wait for each other; a lock that a transaction holds survives a pooler, and no crash. */
async function exclusively<T>(connections: Connections, work: () => Awaitable<T>): Promise<T> {
  const connection = await locked(connections);
  try {
    return await work();
  } catch (error) {
    throw translate(error);
  } finally {
    await connection.execute('commit').catch(() => connection.spoil());
    connection.release();
  }
}

/** A process that waits keeps no connection: behind a pooler, the one that holds the lock may need it. */
async function locked(connections: Connections): Promise<PostgresConnection> {
  for (;;) {
    const connection = await connections.take();
    if (await tryLock(connection)) return connection;
    connection.release();
    await delay(LOCK_PAUSE);
  }
}

async function tryLock(connection: PostgresConnection): Promise<boolean> {
  try {
    // A snapshot that is held would keep indexes from being built beside it.
    await connection.execute('begin isolation level read committed');
    const { rows } = await connection.query(LOCK, [], undefined, false);
    const isMine = rows[0]?.[0] === 't';
    if (!isMine) await connection.execute('rollback');
    return isMine;
  } catch (error) {
    connection.spoil();
    connection.release();
    throw translate(error);
  }
}
