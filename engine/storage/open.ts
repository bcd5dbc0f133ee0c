/** Opens the database at a URL, and its replicas; migrates it to the Model, and returns its Store. */
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, CallerGone, NO_CLIENT } from '../edge/caller.ts';
import type { Log } from '../log.ts';
import type { Model } from '../model/model.ts';
import { NotYetThere, Problem, StartError } from '../problem.ts';
import { withoutPassword } from '../settings/settings.ts';
import { createDatabase, type DatabaseObserver } from './database.ts';
import type { Dialect } from './dialect.ts';
import { type Awaitable, type Driver, type DriverOptions, type Reader, type Replica, UNLIMITED } from './driver.ts';
import { createLogReads } from './log/history.ts';
import { prepare, type PreparedTables } from './migrate/apply.ts';
import { createReads, type Reads } from './read/reads.ts';
import { connect } from './sqlite/connection.ts';
import { sqliteDialect } from './sqlite/dialect.ts';
import { openSqlite } from './sqlite/driver.ts';
import { createFeed, type Feed } from './log/feed.ts';
import type { Store } from './store.ts';
import { METADATA } from './tables.ts';
import { createWrites, type WriteOptions } from './write/writes.ts';

type StorageOptions = DriverOptions &
  Pick<WriteOptions, 'writeRows' | 'clock'> & {
    /** Whether a service starts: it waits for its database, and alone serves an SQLite file. */
    readonly waits?: boolean | undefined;
    readonly migrate?: boolean | undefined;
    /** Replicas for reads; empty if there are none. */
    readonly readUrl?: string;
  };

/** Throws a StartError with a message for the operator if the database cannot be used. */
export async function openStorage(
  model: Model,
  url: string,
  options: StorageOptions = UNLIMITED,
  observer: DatabaseObserver = {},
): Promise<{ readonly store: Store; readonly feed: Feed; readonly prepared: PreparedTables }> {
  const { readUrl = '', writeRows, clock, waits, migrate } = options;
  const { log } = observer;
  const database = databaseAt(url);
  if (readUrl !== '' && !database.replicas)
    throw new StartError('READ_URL names replicas of a PostgreSQL database; an SQLite file has none');
  if (migrate === false && database.empty)
    throw new StartError(
      'There is no database yet, and this start must not create its tables (--no-migrate, or MIGRATE=off): "records apply" does. Nothing was changed.',
    );
  const open = (): Awaitable<Driver> => database.open({ ...options, positions: readUrl !== '', serves: waits });
  const driver = createDatabase(await (waits ? insisting(open, url, log) : open()), observer);
  try {
    const prepared = await driver.exclusively(() => prepare(model, driver, { migrate, clock }));
    const { mapped, history } = prepared;
    await driver.watch(mapped);
    const reads = createReads(driver);
    const feed = createFeed(driver, log);
    if ([...model.types.values()].some(({ history: isRecorded }) => isRecorded)) driver.onWrite(feed.hear);
    const replicas = readUrl === '' ? [] : ((await databaseAt(readUrl).replicas?.(options, driver)) ?? []);
    const { answers, drivers } = createReplicaReads(reads, replicas, mapped, observer);
    const store: Store = {
      ...(readUrl === '' ? reads : answers),
      ...createLogReads(driver, reads),
      ...createWrites(driver, reads, { served: driver.served, writeRows, clock }),
      ready: async () => {
        await driver.ping();
        await driver.requireUsable();
        return { database: Number(await driver.value(METADATA.lastNumber, [])), serves: history.own?.number ?? 0 };
      },
      usage: () => [
        ...driver.usageOf('primary'),
        ...drivers.flatMap((replica, index) => replica.usageOf(`replica-${index + 1}`)),
      ],
      close: async () => {
        await Promise.all([driver, ...drivers].map((one) => one.close()));
      },
    };
    return { prepared, store, feed };
  } catch (error) {
    await driver.close();
    throw error;
  }
}

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 10_000;

async function insisting(open: () => Awaitable<Driver>, url: string, log: Log | undefined): Promise<Driver> {
  for (let pause = FIRST_BACKOFF_MS; ; pause = Math.min(2 * pause, MAX_BACKOFF_MS)) {
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

export interface Location {
  open(options?: DriverOptions): Awaitable<Driver>;
  /** Missing for SQLite, whose file has none. */
  readonly replicas?: (options: DriverOptions, primary: Reader) => Promise<readonly Replica[]>;
  /** For a database not yet created. */
  readonly empty: { readonly dialect: Dialect; reader(): Reader } | undefined;
}

export function databaseAt(url: string): Location {
  const [, scheme = '', location = ''] = /^([a-z]+):(.+)$/s.exec(url) ?? [];
  if (scheme === 'sqlite') {
    const found = statSync(location, { throwIfNoEntry: false });
    const isNew = found === undefined || (found.isFile() && found.size === 0);
    return {
      open: (options) => openSqlite(location, options),
      empty: isNew ? { dialect: sqliteDialect, reader: () => connect(':memory:', false) } : undefined,
    };
  }
  return {
    open: async (options) => (await import('./postgres/driver.ts')).openPostgres(`postgres:${location}`, options),
    replicas: async (...asked) => (await import('./postgres/driver.ts')).openReplicas(`postgres:${location}`, ...asked),
    empty: undefined,
  };
}

/** Reads go to a replica that has the client's last position, else to the primary. `mapped`: see Database.watch. */
function createReplicaReads(
  primary: Reads,
  replicas: readonly Replica[],
  mapped: Model,
  { onStatement, onWait, log }: DatabaseObserver,
) {
  const all = replicas.map(({ driver: inner, covers }) => {
    const driver = createDatabase(inner, { onStatement, onWait, log });
    driver.watch(mapped).catch(() => undefined);
    return { driver, covers, reads: createReads(driver) };
  });
  let turn = 0;

  /** If a replica fails, or lacks the tables yet, tries the next replica, and finally the primary. */
  async function read<T>(caller: Caller, ask: (reads: Reads) => Awaitable<T>): Promise<T> {
    turn = (turn + 1) % all.length;
    for (const { covers, reads } of [...all.slice(turn), ...all.slice(0, turn)]) {
      if (!covers(caller.position)) continue;
      try {
        return await ask(reads);
      } catch (error) {
        if (isOfRequest(error)) throw error;
      }
    }
    return ask(primary);
  }

  const answers: Pick<Reads, 'get' | 'page' | 'stream' | 'summary'> = {
    get: (view, identifier, caller = NO_CLIENT) => read(caller, (reads) => reads.get(view, identifier, caller)),
    page: (query, count, caller = NO_CLIENT) => read(caller, (reads) => reads.page(query, count, caller)),
    summary: (query, count, caller = NO_CLIENT) => read(caller, (reads) => reads.summary(query, count, caller)),
    stream: (query, count, caller = NO_CLIENT) => read(caller, (reads) => reads.stream(query, count, caller)),
  };
  const drivers = all.map(({ driver }) => driver);
  return { answers, drivers };
}

const isOfRequest = (error: unknown): boolean =>
  error instanceof CallerGone ||
  (error instanceof Problem &&
    (error.status < 500 || error.code === 'overloaded' || error.code === 'statement-timeout'));
