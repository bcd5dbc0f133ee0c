/** The table of Idempotency-Keys: found by an index, cleared in small steps, and given its index where an older version made it. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Awaitable, Driver, Row, Statement, Values, Writer } from '../../engine/storage/driver.ts';
import { databaseAt } from '../../engine/storage/open.ts';
import { createEngineTables } from '../../engine/storage/migrate/apply.ts';
import { createOnce, forgetStatement } from '../../engine/storage/write/locks.ts';
import { createDatabase, databaseKinds, type TestDatabase } from '../support/databases.ts';

const KEYS = 20_000;
const TABLE = '_records_idempotency';
const at = (day: number): Date => new Date(Date.UTC(2026, 0, day));
/** How the plans of the databases name what reads a whole table, or sorts. */
const SCANS = /SCAN _records|Seq Scan on _records|TEMP B-TREE/;
const EXPLAIN = { sqlite: 'explain query plan ', postgres: 'explain ' };
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
  const fill = (day: number, count: number, name = 'k'): Promise<void> =>
    driver.define([
      `insert into ${TABLE} (key, hash, created, status, headers, body)
          with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
          select '${name}' || i, 'h', '${at(day).toISOString()}', 201, '{}', '{}' from n`,
    ]);

  async function planOf(writer: Writer, { sql }: Statement, values: Values): Promise<string> {
    const rows = await writer.all({ sql: EXPLAIN[kind] + sql }, values);
    return rows.map((row: Row) => row.join(' ')).join('\n');
  }

  /** Explains each statement before it runs. `sent`: the explanations of those that are not waited for. */
  const explaining =
    (plans: Map<string, string>, sent: Promise<unknown>[]) =>
    (writer: Writer): Writer => {
      const explained =
        <T>(ask: (statement: Statement, values: Values) => Awaitable<T>) =>
        async (statement: Statement, values: Values): Promise<T> => {
          plans.set(statement.sql, await planOf(writer, statement, values));
          return ask(statement, values);
        };
      const send: Writer['send'] = (statement, values) => {
        sent.push(planOf(writer, statement, values).then((plan) => plans.set(statement.sql, plan)));
        writer.send(statement, values);
      };
      return { ...writer, get: explained(writer.get), run: explained(writer.run), send };
    };

  const once = (
    key: string,
    day: number,
    done: string[] = [],
    wrap = (writer: Writer): Writer => writer,
    sent: readonly Promise<unknown>[] = [],
  ): Promise<unknown> =>
    driver.write(async (writer) => {
      const request = { key, hash: 'h', now: at(day), keptSince: at(day - 1) };
      const answer = await createOnce(driver.dialect)(wrap(writer), request, async () => {
        done.push(key);
        return KEPT;
      });
      await Promise.all(sent);
      return answer;
    });

  const count = (): Promise<number> => Promise.resolve(driver.count({ sql: `select count(*) from ${TABLE}` }, []));

  it('the index is made at start, in an older database too', async () => {
    await driver.define([`drop index ${TABLE}_created`]);
    await createEngineTables(driver);
    expect(await driver.existing()).toContain(`${TABLE}_created`);
  });

  it('expired keys are found by the index', async () => {
    await fill(9, KEYS);
    const values = [at(8).toISOString(), 100];
    const plan = await driver.write((writer) => planOf(writer, forgetStatement(driver.dialect), values));
    expect(plan).toContain(`${TABLE}_created`);
    expect(plan).not.toMatch(SCANS);
  });

  it('no statement of a keyed request reads all keys, be the key new, kept or expired', async () => {
    await fill(9, KEYS);
    await fill(3, 150, 'old ');
    const plans = new Map<string, string>();
    const sent: Promise<unknown>[] = [];
    for (const [key, day] of [
      ['new', 9],
      ['k7', 9],
      ['old 7', 9],
    ] as const)
      await once(key, day, [], explaining(plans, sent), sent);
    expect(plans.size).toBe(4);
    for (const [sql, plan] of plans) expect([sql, plan]).not.toEqual([sql, expect.stringMatching(SCANS)]);
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
