/** Opens the database that a URL names, brings it to the Model, and answers the store of its records. */
import type { Model } from '../model/model.ts';
import { StartError } from '../start-error.ts';
import type { Awaitable, Driver } from './driver.ts';
import { prepare } from './prepare.ts';
import { createReads } from './read/reads.ts';
import { seed } from './seed.ts';
import { openSqlite } from './sqlite/driver.ts';
import { refuseForeignFile } from './sqlite/foreign-file.ts';
import type { Store } from './store.ts';
import { createWrites } from './write/writes.ts';

// Its client is loaded where it is wanted, and nowhere else.
const openPostgres = async (place: string): Promise<Driver> =>
  (await import('./postgres/driver.ts')).openPostgres(`postgres:${place}`);

/** Each scheme of a database URL with its driver. */
const drivers: Readonly<Record<string, (place: string) => Awaitable<Driver>>> = {
  sqlite: (file) => {
    refuseForeignFile(file);
    return openSqlite(file);
  },
  postgres: openPostgres,
  postgresql: openPostgres,
};

/** Throws a StartError, with a message for the operator, where the database cannot be used; it is untouched then. */
export async function openStorage(model: Model, url: string): Promise<Store> {
  const [, scheme = '', place = ''] = /^([a-z]+):(.+)$/s.exec(url) ?? [];
  const open = drivers[scheme];
  if (!open)
    throw new StartError(
      `DATABASE_URL is "${url}"; expected sqlite:FILE or postgres://USER:PASSWORD@HOST:PORT/DATABASE`,
    );
  const driver = await open(place);
  try {
    const reads = createReads(driver);
    const writes = createWrites(driver, reads);
    await driver.exclusively(async () => {
      await prepare(model, driver);
      await seed(model, driver, writes);
    });
    return {
      get: reads.get,
      page: reads.page,
      stream: reads.stream,
      count: reads.count,
      create: writes.create,
      createOnce: writes.createOnce,
      update: writes.update,
      delete: writes.delete,
      close: () => driver.close(),
    };
  } catch (error) {
    await driver.close();
    throw error;
  }
}
