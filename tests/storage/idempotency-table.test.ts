/** The table of Idempotency-Keys: found by an index, cleared in small steps, and given its index where an older version made it. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Driver, Row } from '../../engine/storage/driver.ts';
import { databaseAt } from '../../engine/storage/database.ts';
import { createEngineTables } from '../../engine/storage/migrate/apply.ts';
import { createOnce, forgetStatement } from '../../engine/storage/write/locks.ts';
import { createDatabase, databaseKinds, type TestDatabase } from '../support/databases.ts';

const KEYS = 20_000;
const TABLE = '_records_idempotency';
const at = (day: number): Date => new Date(Date.UTC(2026, 0, day));
const KEPT = { status: 201, headers: {}, body: '{}' };

describe.each(databaseKinds)('on %s', (kind) => {
  let database: TestDatabase;
  let driver: Driver;
  beforeEach(async () => {
    database = await createDatabase(kind);
    driver = await databaseAt(database.url).open();
    await createEngineTables(driver);
  });
  afterEach(async () => {
    await driver.close();
    await database.remove();
  });

  /** Keys `k1`, `k2`… of one day. */
  const fill = (day: number, count: number): Promise<void> =>
    driver.define([
      `insert into ${TABLE} (key, hash, created, status, headers, body)
          with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
          select 'k' || i, 'h', '${at(day).toISOString()}', 201, '{}', '{}' from n`,
    ]);

  const once = (key: string, day: number, done: string[] = []): Promise<unknown> =>
    driver.write((writer) =>
      createOnce(driver.dialect)(writer, { key, hash: 'h', now: at(day), keptSince: at(day - 1) }, async () => {
        done.push(key);
        return KEPT;
      }),
    );

  const count = (): Promise<number> => Promise.resolve(driver.count({ sql: `select count(*) from ${TABLE}` }, []));

  it('the index is made at start, in an older database too', async () => {
    await driver.define([`drop index ${TABLE}_created`]);
    await createEngineTables(driver);
    expect(await driver.existing()).toContain(`${TABLE}_created`);
  });

  it('expired keys are found by the index', async () => {
    await fill(9, KEYS);
    const explain = kind === 'sqlite' ? 'explain query plan ' : 'explain ';
    const { sql } = forgetStatement(driver.dialect);
    const rows = await driver.write((writer) => writer.all({ sql: explain + sql }, [at(8).toISOString(), 100]));
    const plan = rows.map((row: Row) => row.join(' ')).join('\n');
    expect(plan).toContain(`${TABLE}_created`);
    expect(plan).not.toMatch(/SCAN _records|Seq Scan|TEMP B-TREE/);
  });

  it('a request removes at most a hundred of them, oldest first', async () => {
    await fill(3, 150);
    await once('new', 9);
    expect(await count()).toBe(51);
    await once('new', 9);
    expect(await count()).toBe(1);
  });

  it('an expired key that is still there counts as a new one, and only then', async () => {
    await fill(3, 150);
    const done: string[] = [];
    for (const day of [9, 9]) await once('k150', day, done);
    for (const day of [11, 11]) await once('k150', day, done);
    expect(done).toEqual(['k150', 'k150']);
  });
});
