/** Opens the database that a URL names, migrates it to the Model, and returns the store of its records. */
import { existsSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Model } from '../model/model.ts';
import { withoutPassword } from '../settings/settings.ts';
import { NotYetThere, StartError } from '../problem.ts';
import type { Dialect } from './dialect.ts';
import type { Awaitable, Driver, DriverOptions, Replica } from './driver.ts';
import { createDatabase, type DatabaseObserver, lostConnections } from './database.ts';
import { prepare, type PreparedTables, type PrepareOptions } from './migrate/apply.ts';
import { currentNumber } from './migrate/applied.ts';
import type { Log } from '../log.ts';
import { createReads } from './read/reads.ts';
import { createReplicaReads } from './replicas.ts';
import { seed } from './seed.ts';
import { refuseUnusableFile } from './sqlite/backup.ts';
import { sqliteDialect } from './sqlite/dialect.ts';
import { claimFile, openSqlite } from './sqlite/driver.ts';
import type { Store } from './store.ts';
import { createWrites, type WriteOptions } from './write/writes.ts';

type StorageOptions = DriverOptions &
  PrepareOptions &
  Pick<WriteOptions, 'writeRows' | 'clock'> & {
    /** Whether a database that cannot be reached, or is still starting, is waited for. */
    readonly waits?: boolean | undefined;
    /** Replicas that answer reads; the empty text if there are none. */
    readonly readUrl?: string;
  };

interface Storage {
  readonly store: Store;
  readonly prepared: PreparedTables;
}

/** Throws a StartError with a message for the operator if the database cannot be used. Nothing is changed then. */
export async function openStorage(
  model: Model,
  url: string,
  options?: StorageOptions,
  observer: DatabaseObserver = {},
): Promise<Storage> {
  const { log } = observer;
  const readUrl = options?.readUrl ?? '';
  const database = databaseAt(url);
  if (options?.migrate === false && database.newDialect)
    throw new StartError(
      'There is no database yet, and this start must not create its tables (--no-migrate, or MIGRATE=off): "records apply" does. Nothing was changed.',
    );
  const lost = (address: string): DriverOptions['onLost'] => log && lostConnections(withoutPassword(address), log);
  const open = (): Awaitable<Driver> =>
    database.open(options && { ...options, onLost: lost(url), positions: readUrl !== '' });
  const opened = await (options?.waits === true ? insisting(open, url, log) : open());
  let current = model;
  const onServed = (served: Model): void => {
    current = served;
    observer.onServed?.(served);
  };
  const driver = createDatabase(opened, { ...observer, onServed });
  try {
    const reads = createReads(driver);
    const { writeRows, clock } = options ?? {};
    const writes = createWrites(driver, reads, { served: () => current, writeRows, clock });
    const prepared = await driver.exclusively(async () => {
      const done = await prepare(model, driver, options);
      if (done.standing.state !== 'current') return done;
      current = done.model;
      await seed(done.model, driver, writes);
      return done;
    });
    await driver.hold(prepared.placed);
    const serves = prepared.standing.own?.number ?? 0;
    const replicas =
      options && readUrl !== ''
        ? createReplicaReads(
            reads,
            await databaseAt(readUrl).replicas({ ...options, onLost: lost(readUrl) }),
            prepared.placed,
            observer,
          )
        : undefined;
    const { get, page, stream, summary } = replicas ?? reads;
    const store: Store = {
      ...writes,
      get,
      page,
      stream,
      summary,
      count: reads.count,
      ready: async () => {
        await driver.ping();
        await driver.requireFit();
        return { database: await currentNumber(driver), serves };
      },
      usage: () => [...driver.usageOf('primary'), ...(replicas?.usage() ?? [])],
      close: async () => {
        await Promise.all([driver.close(), replicas?.close()]);
      },
    };
    return { prepared, store };
  } catch (error) {
    await driver.close();
    throw error;
  }
}

/** Milliseconds between two attempts to reach the database. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 10_000;

async function insisting(open: () => Awaitable<Driver>, url: string, log: Log | undefined): Promise<Driver> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof NotYetThere)) throw error;
      const again = { database: withoutPassword(url), cause: error.message, milliseconds: pause };
      log?.warn(again, 'the start waits for the database');
    }
    await delay(pause);
  }
}

/** Inserts the seed records that are missing, into tables that are as the model wants them. */
export const insertSeeds = (served: Model, driver: Driver): Promise<void> =>
  seed(served, driver, createWrites(driver, createReads(driver), { served: () => served }));

export interface Location {
  /** For a service: says in the log if another one uses the same file. Returns what ends the claim. */
  claim(log: Log): () => void;
  /** Throws a StartError with a message for the operator if the database cannot be used. Nothing is changed then. */
  open(options?: DriverOptions): Awaitable<Driver>;
  /** The servers that the URL names, each on its own. They need not answer yet. */
  replicas(options: DriverOptions): Awaitable<readonly Replica[]>;
  /** The dialect, if there is no database yet and `open` would create it. */
  readonly newDialect: Dialect | undefined;
}

// Its client is loaded only if it is used.
const postgres = (place: string): Location => ({
  claim: () => () => undefined,
  open: async (options) => (await import('./postgres/driver.ts')).openPostgres(`postgres:${place}`, options),
  replicas: async (options) => (await import('./postgres/driver.ts')).openReplicas(`postgres:${place}`, options),
  newDialect: undefined,
});

const sqlite = (file: string): Location => ({
  claim: (log) => claimFile(file, log),
  open: (options) => {
    refuseUnusableFile(file);
    return openSqlite(file, options);
  },
  replicas: () => {
    throw new StartError('READ_URL names replicas of a PostgreSQL database; an SQLite file has none');
  },
  newDialect: existsSync(file) && statSync(file).size > 0 ? undefined : sqliteDialect,
});

const schemes: Readonly<Record<string, (place: string) => Location>> = { sqlite, postgres, postgresql: postgres };

export function databaseAt(url: string): Location {
  const [, scheme = '', place = ''] = /^([a-z]+):(.+)$/s.exec(url) ?? [];
  const database = schemes[scheme];
  if (database) return database(place);
  throw new StartError(
    `DATABASE_URL is "${withoutPassword(url)}"; expected sqlite:FILE or postgres://USER:PASSWORD@HOST:PORT/DATABASE`,
  );
}
