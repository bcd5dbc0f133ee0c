/** The database that a URL names, not opened yet. */
import { existsSync, statSync } from 'node:fs';
import { withoutPassword } from '../settings.ts';
import { StartError } from '../start-error.ts';
import type { Awaitable, Dialect, Driver, DriverOptions, Replica } from './driver.ts';
import { sqliteDialect } from './sqlite/dialect.ts';
import { openSqlite } from './sqlite/driver.ts';
import { refuseUnusableFile } from './sqlite/backup.ts';

export interface Database {
  /** Throws a StartError with a message for the operator if the database cannot be used. Nothing is changed then. */
  open(options?: DriverOptions): Awaitable<Driver>;
  /** The servers that the URL names, each on its own. They need not answer yet. */
  replicas(options: DriverOptions): Awaitable<readonly Replica[]>;
  /** The dialect, if there is no database yet and `open` would create it. */
  readonly newDialect: Dialect | undefined;
}

// Its client is loaded only if it is used.
const postgres = (place: string): Database => ({
  open: async (options) => (await import('./postgres/driver.ts')).openPostgres(`postgres:${place}`, options),
  replicas: async (options) => (await import('./postgres/driver.ts')).openReplicas(`postgres:${place}`, options),
  newDialect: undefined,
});

const sqlite = (file: string): Database => ({
  open: (options) => {
    refuseUnusableFile(file);
    return openSqlite(file, options);
  },
  replicas: () => {
    throw new StartError('READ_URL names replicas of a PostgreSQL database; an SQLite file has none');
  },
  newDialect: existsSync(file) && statSync(file).size > 0 ? undefined : sqliteDialect,
});

const schemes: Readonly<Record<string, (place: string) => Database>> = { sqlite, postgres, postgresql: postgres };

export function databaseAt(url: string): Database {
  const [, scheme = '', place = ''] = /^([a-z]+):(.+)$/s.exec(url) ?? [];
  const database = schemes[scheme];
  if (database) return database(place);
  throw new StartError(
    `DATABASE_URL is "${withoutPassword(url)}"; expected sqlite:FILE or postgres://USER:PASSWORD@HOST:PORT/DATABASE`,
  );
}
