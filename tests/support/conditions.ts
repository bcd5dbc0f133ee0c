/** Brings about what the cases of suites need besides requests, for real. */
import Database from 'better-sqlite3';
import type { Share } from '../../engine/budget.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Arrange, ReplayOptions } from '../oracle/replay.ts';
import { connectTo, type DatabaseKind, fileOf, type TestDatabase } from './databases.ts';
import type { TestServer } from './server.ts';
import type { SmallDisk } from './small-disk.ts';

/** Of the last eighth of the budget, a request may have no more bytes. */
const SMALL_SHARE = 64 * 1024;

/** Another program writes, and takes its time. */
const holders: Readonly<Record<DatabaseKind, (database: TestDatabase, model: Model) => Arrange>> = {
  sqlite: (database) => async () => {
    const other = new Database(fileOf(database));
    other.exec('begin immediate');
    return async () => void other.close();
  },
  postgres: (database, model) => async () => {
    const other = await connectTo(database.url);
    const tables = [...model.types.values()].map(({ table }) => `"${table}"`);
    await other.query(`begin; lock table ${tables.join(', ')} in exclusive mode`);
    return () => other.end();
  },
};

/** Nothing that the database still has on its disk is left to be written over. */
const filler =
  (database: TestDatabase, disk: SmallDisk): Arrange =>
  async () => {
    const other = new Database(fileOf(database));
    other.pragma('wal_checkpoint(TRUNCATE)');
    other.close();
    const empty = disk.fill();
    return async () => empty();
  };

/** `disk` is the one that the database lies on, where it can be filled. */
export const conditionsFor = (
  { database, budget, drain }: TestServer,
  model: Model,
  disk?: SmallDisk,
): NonNullable<ReplayOptions['conditions']> => ({
  'database held': holders[database.kind](database, model),
  ...(disk === undefined ? {} : { 'database full': filler(database, disk) }),
  'memory used up': async () => {
    const shares: Share[] = [];
    while (budget.used < budget.limit) shares.push(budget.take(Math.min(SMALL_SHARE, budget.limit - budget.used)));
    return async () => {
      for (const share of shares) share.release();
    };
  },
  'service stopping': async () => {
    drain();
    return async () => undefined;
  },
});
