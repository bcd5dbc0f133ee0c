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
import { type Connections, createConnections } from './pool.ts';
import { READ_SETTINGS, requireSchema, requireSettings, schemasIn, useSchema } from './session.ts';
import { createFastReads } from './fast-reads.ts';
import { shareWrites } from './shared-writes.ts';
import { openSnapshot } from './stream.ts';
import { alone, readIn, writeAlone, writeIn } from './transaction.ts';
import { abandonMigration, define, expectSmallSets, finishMigration, migrate } from './migrate.ts';
import { FAST_CONNECTIONS, FAST_LIMITS, LOCK_PAUSE, MAX_IDLE, MAX_SLOW, MAX_WAIT, POOLER_TRIES } from './tuning.ts';

const EXISTING: Statement = {
  sql: `select relname::text from pg_class where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('r', 'p', 'i')`,
};
const SCHEMAS = schemasIn(`${ENGINE_PREFIX}model`);
const PING: Statement = { sql: 'select 1' };
/** Two numbers that nothing else in this database should use. */
const LOCK: Statement = { sql: `select pg_try_advisory_xact_lock(hashtext('records'), hashtext(current_schema()))` };

export async function openPostgres(url: string, options: DriverOptions = UNLIMITED): Promise<Driver> {
  const address = parseAddress(url);
  const { driver, connections, pools } = driverOf(address, options);
  try {
    if (address.prepared) await refuseTransactionPooler(address);
    await probe(connections, pools, address);
    if (options.statementTimeout !== Infinity && address.prepared)
      await requireRoom(connections, address, options.maxStreams ?? address.pool);
    return driver;
  } catch (error) {
    await driver.close();
    throw error;
  }
}

interface Opened {
  readonly driver: Driver;
  readonly connections: Connections;
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

/** Connections are opened when they are needed. `isThere`: whether the server answers, where somebody looks. */
function driverOf(address: PostgresAddress, options: DriverOptions, isThere?: () => boolean): Opened {
  const statement = options.statementTimeout === Infinity ? 0 : options.statementTimeout;
  const limits = { statement, idle: statement === 0 ? 0 : MAX_IDLE, lock: address.lockTimeout };
  const connections = createConnections({ ...address, ...options, isThere }, limits);
  const { maxStreams = address.pool } = options;
  const streams = createConnections(
    { ...address, pool: maxStreams, onLost: options.onLost, isThere },
    { statement, idle: statement === 0 ? 0 : MAX_SLOW, lock: 0 },
  );
  const { onLost } = options;
  const fastConnections = createConnections(
    { ...address, pool: FAST_CONNECTIONS, onLost, isThere, isPipelined: true },
    FAST_LIMITS,
  );
  const pools = [connections, streams, fastConnections];
  const unlimited = <T>(work: () => Promise<T>): Promise<T> => connections.unlimited(() => streams.unlimited(work));
  // Read committed: what a write compares and merges, it has locked before.
  const begin = 'begin isolation level read committed';
  const close = async (): Promise<void> => {
    fast?.close();
    await Promise.all(pools.map((pool) => pool.close()));
  };
  // Behind a pooler, each statement may get another connection anyway, and has its limits from its transaction.
  const { prepared } = address;
  const fast = prepared ? createFastReads(fastConnections) : undefined;
  const together = shareWrites(connections);
  const { pool } = address;
  // Writes wait for rows, and searches take long: together they leave some connections to reads, and writes one to searches.
  const long = Math.max(1, pool - Math.max(1, Math.floor(pool / 5)));
  const read = async <T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean): Promise<T> =>
    single && prepared ? work(alone(connections, caller)) : readIn(connections, work, caller);
  const driver: Driver = {
    dialect: postgresDialect,
    address: address.shown,
    ...alone(connections, PATIENT, fast),
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
        write: Math.max(MAX_WAIT, address.lockTimeout),
        stream: MAX_WAIT,
        slowList: MAX_WAIT,
      },
    },
    read: async (work, caller, single) =>
      single && fast ? work(alone(connections, caller, fast)) : read(work, caller, single),
    scan: read,
    write: (work, caller) => writeIn(connections, begin, work, caller),
    // Where a connection keeps no settings, only a transaction has limits.
    writeAlone: address.prepared
      ? (asked, values, caller) => {
          const single = (): Promise<Row | undefined> => writeAlone(connections, asked, values, caller);
          return asked.together ? together(asked.together, values, single, caller) : single();
        }
      : undefined,
    define: (statements) => unlimited(() => define(connections, statements)),
    migrate: (migration) => unlimited(() => migrate(connections, migration)),
    finishMigration: (watch) => unlimited(() => finishMigration(connections, watch)),
    abandonMigration: (watch) => unlimited(() => abandonMigration(connections, watch)),
    // A rehearsal would lock the tables: the catalogue tells instead.
    rehearse: () => undefined,
    expectSmallSets: (links) => expectSmallSets(connections, links),
    existing: () => alone(connections).column(EXISTING, []),
    ping: async () => void (await alone(connections).value(PING, [])),
    snapshot: (caller = PATIENT) => openSnapshot(streams, caller),
    exclusively: (work) => unlimited(() => exclusively(streams, work)),
    usage: () => ({ requests: connections.usage(), streams: streams.usage() }),
    close,
  };
  return { driver, connections, pools };
}

const ROOM: Statement = {
  sql: `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int`,
};

/** Connections are opened when they are needed: without this, the first busy hour would find out. */
async function requireRoom(connections: Connections, { pool, shown }: PostgresAddress, streams: number): Promise<void> {
  const room = Number(await alone(connections).value(ROOM, []));
  if (pool + streams + FAST_CONNECTIONS <= room) return;
  throw new StartError(
    `The database at ${shown} allows ${room} connections (max_connections), but this service may open ${pool + streams + FAST_CONNECTIONS}: ${pool} for requests (pool in the URL), ${FAST_CONNECTIONS} for records and short pages, and ${streams} for whole lists. Lower pool, or raise max_connections`,
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
