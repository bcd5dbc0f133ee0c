/** The table of Idempotency-Keys: found by an index, deleted in small steps, without a body. */
import type { Driver } from '../../engine/storage/driver.ts';
import { databaseAt } from '../../engine/storage/open.ts';
import { createEngineTables } from '../../engine/storage/migrate/apply.ts';
import { METADATA } from '../../engine/storage/tables.ts';
import { claimKey, forgetKeys } from '../../engine/storage/write/writes.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';

const TABLE = '_records_keys';

let database: TestDatabase;
let driver: Driver;
beforeEach(async () => {
  database = await createDatabase();
  driver = await databaseAt(database.url).open();
  await createEngineTables(driver);
});
afterEach(async () => {
  await driver.close();
  await database.remove();
});

const fill = (hours: number, count: number, name = 'k'): Promise<void> =>
  driver.define([
    `insert into ${TABLE} (identity, key, hash, created, status, identifiers)
          with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
          select '', '${name}' || i, 'h', ${driver.dialect.hoursAgo.replace('?', String(hours))}, 201, '[]' from n`,
  ]);

const once = (key: string, hours: number, done: string[] = [], identity = ''): Promise<unknown> =>
  driver.write(async (writer) => {
    const kept = await claimKey(writer, METADATA.claimKey(driver.dialect), { identity, key, hash: 'h', hours });
    if (kept) return { status: kept.status, again: kept.identifiers };
    done.push(key);
    await writer.run(METADATA.answerKey, ['[1, 2]', 201, identity, key]);
    return { status: 201 };
  });

const count = async (): Promise<number> => Number(await driver.value({ sql: `select count(*) from ${TABLE}` }, []));

it('all expired keys are deleted, and no others', async () => {
  await fill(3, 2500);
  await fill(1, 5, 'new');
  await forgetKeys(driver, 2);
  expect(await count()).toBe(5);
});

it('an expired key counts as new, by the clock of the database', async () => {
  await fill(3, 1);
  const done: string[] = [];
  const answers = [await once('k1', 4, done), await once('k1', 2, done), await once('k1', 2, done)];
  expect(done).toEqual(['k1']);
  expect(answers).toEqual([{ status: 201, again: [] }, { status: 201 }, { status: 201, again: [1, 2] }]);
});

it('keys of different identities are independent', async () => {
  const done: string[] = [];
  for (const identity of ['ann', 'ben', 'ann']) await once('same', 1, done, identity);
  expect(done).toEqual(['same', 'same']);
});
