/** Opens the database that a URL names, migrates it to the Model, and returns the store of its records. */
import type { Model } from '../model/model.ts';
import { databaseAt } from './database.ts';
import { linksOf } from './define.ts';
import type { DriverOptions, OnWait } from './driver.ts';
import { fittingDriver, type OnFit } from './fitting.ts';
import { prepare } from './migrate/apply.ts';
import { createReads } from './read/reads.ts';
import { seed } from './seed.ts';
import type { Store, Stream } from './store.ts';
import { unavailable } from './unavailable.ts';
import { type OnStatement, timedDriver } from './timed.ts';
import { createWrites, type WriteOptions } from './write/writes.ts';

type StorageOptions = DriverOptions & Pick<WriteOptions, 'writeRows'>;

interface Observers {
  readonly onStatement?: OnStatement | undefined;
  readonly onFit?: OnFit;
  readonly onWait?: OnWait | undefined;
}

/** Throws a StartError with a message for the operator if the database cannot be used. Nothing is changed then. */
export async function openStorage(
  model: Model,
  url: string,
  options?: StorageOptions,
  { onStatement, onFit, onWait }: Observers = {},
): Promise<Store> {
  const opened = await databaseAt(url).open(options && { ...options, onWait });
  const driver = fittingDriver(onStatement ? timedDriver(opened, onStatement) : opened, onFit);
  try {
    const reads = createReads(driver);
    const { joinTables } = model;
    const writes = createWrites(driver, reads, { joinTables, writeRows: options?.writeRows });
    await driver.exclusively(async () => {
      await prepare(model, driver);
      await driver.expectSmallSets(linksOf(model));
      await seed(model, driver, writes);
    });
    await driver.hold(model);
    const store: Store = {
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
      usage: () => driver.usage?.(),
      close: () => driver.close(),
    };
    const { maxStreams = Infinity } = options ?? {};
    return limitStreams(store, options && maxStreams === Infinity ? driver.maxStreams : maxStreams);
  } catch (error) {
    await driver.close();
    throw error;
  }
}

/** Each whole list holds a snapshot, and with it a connection, for as long as it is read. */
function limitStreams(store: Store, most: number): Store {
  let open = 0;
  async function* untilTheirEnd(records: Stream['records']): AsyncGenerator<readonly string[]> {
    try {
      yield* records;
    } finally {
      open -= 1;
    }
  }
  const stream: Store['stream'] = async (query, count, caller): Promise<Stream> => {
    // Before it is opened: a list that is never read is never closed.
    if (open >= most) throw unavailable('streaming');
    open += 1;
    try {
      const { total, records } = await store.stream(query, count, caller);
      return { total, records: untilTheirEnd(records) };
    } catch (error) {
      open -= 1;
      throw error;
    }
  };
  return { ...store, stream };
}
