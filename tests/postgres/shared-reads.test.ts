/** Reads of one turn share a connection, and nothing else: neither errors, nor deadlines, nor the loss of it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { PATIENT } from '../../engine/caller.ts';
import type { PageRows, Reader, Statement } from '../../engine/storage/driver.ts';
import { createHosts } from '../../engine/storage/postgres/hosts.ts';
import { parseAddress } from '../../engine/storage/postgres/address.ts';
import { type Connections, createConnections } from '../../engine/storage/postgres/pool.ts';
import { shareReads } from '../../engine/storage/postgres/shared-reads.ts';
import { shared } from '../../engine/storage/postgres/transaction.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { until } from '../support/leaving.ts';
import { onServer } from '../support/postgres.ts';

let database: TestDatabase;
let connections: Connections;
let read: Reader['value'];
let client: Client;

/** Which backend answers, and what the value makes of it. */
const BACKEND: Statement = { sql: `select pg_backend_pid() || ' ' || 12 / $1::int` };
const SLEEP: Statement = { sql: `select pg_sleep($1::float8)::text || 'slept'` };
/** Where the number is not 0, waits as long as the test holds the lock. */
const WAIT: Statement = {
  sql: `select case when $1::int = 0 then '' else pg_advisory_xact_lock_shared($1)::text end || 'waited'`,
};
/** Milliseconds; much longer than a statement that does nothing may take on a busy machine. */
const DEADLINE = 5000;
/** Milliseconds; longer than any of these tests takes. */
const PATIENCE = 60_000;

const outcomes = async (statement: Statement, values: readonly number[]): Promise<readonly string[]> =>
  (await Promise.allSettled(values.map((value) => read(statement, [value])))).map((settled) =>
    settled.status === 'fulfilled' ? String(settled.value) : String(settled.reason.message),
  );

const backends = (answers: readonly string[]): number => new Set(answers.map((text) => text.split(' ')[0])).size;

/** From then on it is known to be fast. */
const warm = (statement: Statement, value: number): Promise<unknown> => outcomes(statement, [value]);

onServer('reads of one turn', () => {
  beforeAll(async () => {
    database = await createDatabase('postgres');
    const place = parseAddress(database.url);
    connections = createConnections(place, { statement: DEADLINE, idle: DEADLINE, lock: 0 }, createHosts(place));
    read = shared(
      connections,
      shareReads(connections, () => 0, PATIENCE),
    ).value;
    client = await connectTo(database.url);
  });
  afterAll(async () => {
    await connections.close();
    await client.end();
    await database.remove();
  });

  it('have a connection of their own until they are known to be fast', async () => {
    expect(backends(await outcomes(BACKEND, [1, 2, 3]))).toBe(3);
  });

  it('share a connection, as many as it may take', async () => {
    await warm(BACKEND, 1);
    const eight = await outcomes(BACKEND, [1, 2, 3, 4, 6, 12, 1, 2]);
    expect(eight.map((text) => text.split(' ')[1])).toEqual(['12', '6', '4', '3', '2', '1', '12', '6']);
    expect(backends(eight)).toBe(1);
    const many = Array.from({ length: 80 }, (_, index) => index + 1);
    const answers = await outcomes(BACKEND, many);
    expect(answers.map((text) => text.split(' ')[1])).toEqual(many.map((value) => String(Math.floor(12 / value))));
    expect(backends(answers)).toBe(2);
  });

  it('that ask for the same are read once', async () => {
    const clock: Statement = { sql: 'select clock_timestamp()::text || $1::int' };
    await warm(clock, 1);
    for (const _ of ['learns the statement', 'knows it']) {
      const [first, second, other, third] = await outcomes(clock, [1, 1, 2, 1]);
      expect([second, third]).toEqual([first, first]);
      expect(other).not.toBe(first);
    }
  });

  describe('of which two connections wait', () => {
    const waits: Statement = {
      sql: `select pg_backend_pid() || case when $1::int = 0 then '' else pg_advisory_xact_lock_shared($1)::text end`,
    };
    const readers = async (patience: number): Promise<Reader['value']> => {
      const { value } = shared(
        connections,
        shareReads(connections, () => 0, patience),
      );
      for (const _ of ['learns the pace', 'learns the statement']) await value(waits, [0]);
      return value;
    };
    const waiting = async (): Promise<readonly unknown[]> =>
      (
        await client.query(
          `select pid from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`,
        )
      ).rows;
    /** Two connections wait for the locks, asked in two turns. */
    async function held(value: Reader['value']): Promise<readonly Promise<unknown>[]> {
      await client.query('select pg_advisory_lock(2), pg_advisory_lock(3)');
      const asked: Promise<unknown>[] = [];
      for (const lock of [2, 3]) {
        asked.push(Promise.resolve(value(waits, [lock])));
        await until(async () => (await waiting()).length === asked.length);
      }
      return asked;
    }

    it('others that arrive are read together next', async () => {
      const value = await readers(PATIENCE);
      const before = await held(value);
      const behind: unknown[] = [];
      for (const ignored of [0, 0, 0]) {
        behind.push(value(waits, [ignored]));
        await nextTurn();
      }
      await client.query('select pg_advisory_unlock(2)');
      expect(new Set(await Promise.all(behind)).size).toBe(1);
      await client.query('select pg_advisory_unlock(3)');
      await Promise.all(before);
    });

    it('others that arrive do not wait for long', async () => {
      const value = await readers(1);
      const before = await held(value);
      expect(await value(waits, [0])).toMatch(/^\d+$/);
      await client.query('select pg_advisory_unlock(2), pg_advisory_unlock(3)');
      await Promise.all(before);
    });
  });

  it('that ask for pages with the same total count it once, on one snapshot', async () => {
    const statement: Statement = {
      sql: `select current_setting('transaction_isolation') from generate_series(1, $1::int) limit $2 offset $3`,
    };
    const count: Statement = { sql: `select $1::int * 0 + (extract(epoch from clock_timestamp()) * 1000000)::bigint` };
    const { page } = shared(
      connections,
      shareReads(connections, () => 0),
    );
    const pages = async (
      ...wanted: readonly (readonly [rows: number, filter: number])[]
    ): Promise<readonly PageRows[]> =>
      Promise.all(
        wanted.map(([rows, filter]) =>
          page(
            {
              statement,
              values: [rows, 2, 0],
              most: Infinity,
              isShort: true,
              count: { statement: count, values: [filter], range: { limit: 1, offset: 0 } },
            },
            PATIENT,
          ),
        ),
      );
    await pages([9, 1]);
    for (const _ of ['learns the statements', 'knows them']) {
      const [first, second, other, same] = await pages([9, 1], [8, 1], [9, 2], [8, 1]);
      expect(first).toEqual({ texts: ['repeatable read', 'repeatable read'], counted: expect.any(Number) });
      expect([second, same]).toEqual([first, first]);
      expect(other?.counted).not.toBe(first?.counted);
      expect((await pages([9, 1], [9, 2]))[0]?.texts).toEqual(['read committed', 'read committed']);
    }
  });

  it('are run side by side where they take long', async () => {
    let [time, tick] = [0, 1];
    const { value } = shared(
      connections,
      shareReads(connections, () => (time += tick), PATIENCE),
    );
    await value(BACKEND, [1]);
    tick = 0;
    const answers = await Promise.all(
      [1, 2, 3, 4, 6, 12, 5, 7].map(async (one) => String(await value(BACKEND, [one]))),
    );
    expect(backends(answers)).toBe(2);
  });

  it('an error is told to the one that caused it', async () => {
    const answers = await outcomes(BACKEND, [1, 0, 3, 0, 12]);
    expect(answers.map((text) => text.replace(/^\d+ /, ''))).toEqual([
      '12',
      'division by zero',
      '4',
      'division by zero',
      '1',
    ]);
    // The connection is still good.
    expect(backends([...answers, ...(await outcomes(BACKEND, [1, 2]))].filter((text) => /^\d+ /.test(text)))).toBe(1);
  });

  it('the deadline is that of each statement', async () => {
    await warm(SLEEP, 0);
    const answers = await outcomes(SLEEP, [0, 3600, 0]);
    expect(answers).toEqual(['slept', expect.stringContaining('did not finish within 5 seconds'), 'slept']);
  });

  it('a connection that is lost is lost to none of them', async () => {
    await warm(WAIT, 0);
    await client.query('select pg_advisory_lock(1)');
    const asked = outcomes(WAIT, [0, 1, 0]);
    await until(async () => (await end(`wait_event = 'advisory'`)) > 0);
    await client.query('select pg_advisory_unlock(1)');
    expect(await asked).toEqual(['waited', 'waited', 'waited']);
  });

  it('a table that was changed is asked again', async () => {
    await client.query(
      'create table changing (id int primary key, value int); insert into changing values (1, 1), (2, 2)',
    );
    const row: Statement = { sql: 'select value from changing where id = $1' };
    expect(await outcomes(row, [1, 2])).toEqual(['1', '2']);
    await client.query(`alter table changing alter value type text using 'text ' || value`);
    expect(await outcomes(row, [1, 2, 1])).toEqual(['text 1', 'text 2', 'text 1']);
  });
});

/** Ends the backends that the condition names; answers how many there were. */
async function end(condition: string): Promise<number> {
  const { rowCount } = await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and ${condition}`,
  );
  return rowCount ?? 0;
}
