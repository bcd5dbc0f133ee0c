/** How much of a PostgreSQL server searches and whole lists take, so that it answers reads of one record meanwhile. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { PATIENT } from '../../engine/caller.ts';
import type { Driver } from '../../engine/storage/driver.ts';
import { openPostgres } from '../../engine/storage/postgres/driver.ts';
import { createFetchTurns } from '../../engine/storage/postgres/snapshot.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { leaving, settled, until } from '../support/leaving.ts';
import { onServer, withParameters } from '../support/postgres.ts';

const LONG = 600_000;

describe('turns', () => {
  /** Work that ends when it is told to. */
  function works(count: number, take: (work: () => Promise<unknown>) => Promise<unknown>) {
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const all = Array.from({ length: count }, (_, index) =>
      take(() => {
        begun.push(index);
        return new Promise<void>((resolve) => (ends[index] = resolve));
      }),
    );
    return { begun, end: (index: number) => ends[index]?.(), all };
  }

  test('two at a time, in order', async () => {
    const { begun, end, all } = works(4, createFetchTurns(2, LONG).take);
    expect(begun).toEqual([0, 1]);
    end(1);
    await until(() => begun.length > 2);
    expect(begun).toEqual([0, 1, 2]);
    end(0);
    end(2);
    await until(() => begun.length > 3);
    end(3);
    await Promise.all(all);
  });

  test('one that fails ends its turn', async () => {
    const { take } = createFetchTurns(1, LONG);
    const failed = take(() => Promise.reject(new Error('broken')));
    const next = take(async () => 'next');
    await expect(failed).rejects.toThrow('broken');
    expect(await next).toBe('next');
  });

  test('one that takes long lets the next begin, and ends one turn only', async () => {
    const { begun, end, all } = works(4, createFetchTurns(1, 10).take);
    await until(() => begun.length === 2);
    end(0);
    await until(() => begun.length === 3);
    end(1);
    end(2);
    await until(() => begun.length === 4);
    end(3);
    await Promise.all(all);
  });
});

onServer('searches', () => {
  let database: TestDatabase;
  let driver: Driver;
  beforeAll(async () => {
    database = await createDatabase('postgres');
    const client = await connectTo(database.url);
    await client.query('create table large (i int)');
    await client.query('insert into large select generate_series(1, 100000)');
    await client.query('alter table large set (parallel_workers = 2)');
    // Each search would take two workers.
    for (const [name, value] of [
      ['min_parallel_table_scan_size', '0'],
      ['parallel_setup_cost', '0'],
      ['parallel_tuple_cost', '0'],
      ['max_parallel_workers', '8'],
      ['max_parallel_workers_per_gather', '2'],
    ])
      await client.query(
        `do $$ begin execute format('alter database %I set ${name} = ${value}', current_database()); end $$`,
      );
    await client.end();
    driver = await openPostgres(withParameters(database.url, { pool: '8' }), { statementTimeout: LONG });
  });
  afterAll(async () => {
    await driver?.close();
    await database?.remove();
  });

  /** Processes that work for searches, beside those of their connections. */
  async function counted(): Promise<{ searches: number; workers: number }> {
    const client = await connectTo(database.url);
    const { rows } = await client.query<{ searches: number; workers: number }>(
      `select count(*) filter (where leader_pid is null)::int as searches, count(leader_pid)::int as workers
        from pg_stat_activity where datname = current_database() and state = 'active' and query like '%from large where%' and pid <> pg_backend_pid()`,
    );
    await client.end();
    return rows[0] ?? { searches: 0, workers: 0 };
  }

  // A server that has no workers left for other reasons shows none at all.
  test('get no more parallel workers together than one alone', async () => {
    // A second for each row.
    const search = { sql: 'select count(*)::text from large where pg_sleep(1 + 0 * i) is null' };
    const caller = leaving();
    const searches = Array.from({ length: 4 }, () =>
      settled(Promise.resolve(driver.scan((reader) => reader.value(search, []), caller, true))),
    );
    try {
      await until(async () => (await counted()).searches === 4);
      expect((await counted()).workers).toBeLessThanOrEqual(2);
    } finally {
      caller.leave();
      await Promise.all(searches);
    }
  });

  test('that read long pages run one at a time, and keep no others from beginning', async () => {
    const search = { sql: 'select count(*)::text from large where pg_sleep(1 + 0 * i) is null' };
    const caller = leaving();
    const scan = (isLong: boolean) =>
      settled(Promise.resolve(driver.scan((reader) => reader.value(search, []), caller, true, isLong)));
    const searches = [...Array.from({ length: 4 }, () => scan(true)), scan(false)];
    try {
      await until(async () => (await counted()).searches >= 2);
      await pause(100);
      expect((await counted()).searches).toBe(2);
    } finally {
      caller.leave();
      await Promise.all(searches);
    }
  });

  test('what changes tables has the workers of the server', async () => {
    const workers = { sql: `select current_setting('max_parallel_workers')` };
    expect(await driver.read((reader) => reader.value(workers, []), PATIENT)).toBe('2');
    expect(await driver.exclusively(() => driver.write((writer) => writer.value(workers, [])))).toBe('8');
  });
});
