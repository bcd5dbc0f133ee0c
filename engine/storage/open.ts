/** Opens the database that a URL names, migrates it to the Model, and returns the store of its records. */
import type { Model } from '../model/model.ts';
import { databaseAt } from './database.ts';
import type { DriverOptions } from './driver.ts';
import { fittingDriver, type OnFit } from './fitting.ts';
import { prepare } from './migrate/apply.ts';
import { createReads } from './read/reads.ts';
import { seed } from './seed.ts';
import type { Store } from './store.ts';
import { type OnStatement, timedDriver } from './timed.ts';
import { createWrites, type WriteOptions } from './write/writes.ts';

type StorageOptions = DriverOptions & Pick<WriteOptions, 'writeRows'>;

export interface Observers {
  readonly onStatement?: OnStatement | undefined;
  readonly onFit?: OnFit;
}

/** Throws a StartError with a message for the operator if the database cannot be used. Nothing is changed then. */
export async function openStorage(
  model: Model,
  url: string,
  options?: StorageOptions,
  { onStatement, onFit }: Observers = {},
): Promise<Store> {
  const opened = await databaseAt(url).open(options);
  const driver = fittingDriver(onStatement ? timedDriver(opened, onStatement) : opened, onFit);
  try {
    const reads = createReads(driver);
    const { joinTables } = model;
    const writes = createWrites(driver, reads, { joinTables, writeRows: options?.writeRows });
    await driver.exclusively(async () => {
      await prepare(model, driver);
      await seed(model, driver, writes);
    });
    await driver.hold(model);
    return {
      get: reads.get,
      page: reads.page,
      stream: reads.stream,
      count: reads.count,
      create: writes.create,
      createOnce: writes.createOnce,
      update: writes.update,
      delete: writes.delete,
      ready: async () => {
        await driver.ping();
        await driver.requireFit();
      },
      close: () => driver.close(),
    };
  } catch (error) {
    await driver.close();
    throw error;
  }
}
