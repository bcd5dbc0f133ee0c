/** Opens the database that a URL names, brings it to the Model, and answers the store of its records. */
import type { Model } from '../model/model.ts';
import { databaseAt } from './database.ts';
import { prepare } from './prepare.ts';
import { createReads } from './read/reads.ts';
import { seed } from './seed.ts';
import type { Store } from './store.ts';
import { createWrites } from './write/writes.ts';

/** Throws a StartError, with a message for the operator, where the database cannot be used; it is untouched then. */
export async function openStorage(model: Model, url: string): Promise<Store> {
  const driver = await databaseAt(url).open();
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
