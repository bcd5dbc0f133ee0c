/** Reads of one turn share a connection, and nothing else: neither errors, nor deadlines, nor the loss of it. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import type { Reader, Statement } from '../../engine/storage/driver.ts';
import { createHosts } from '../../engine/storage/postgres/hosts.ts';
import { parsePlace } from '../../engine/storage/postgres/place.ts';
import { type Connections, createConnections } from '../../engine/storage/postgres/pool.ts';
import { shareReads } from '../../engine/storage/postgres/shared-reads.ts';
import { shared } from '../../engine/storage/postgres/transaction.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { until } from '../support/leaving.ts';
import { onServer } from '../support/postgres.ts';

let database: TestDatabase;
let connections: Connections;
let read: Reader['value'];
/** Milliseconds that a clock of the test goes on at each look. */
let tick = 0;
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
    const place = parsePlace(database.url);
    connections = createConnections(place, { statement: DEADLINE, idle: DEADLINE, lock: 0 }, createHosts(place));
    let time = 0;
    const share = shareReads(connections, () => (time += tick));
    read = shared(connections, share).value;
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
    const many = await outcomes(
      BACKEND,
      Array.from({ length: 24 }, () => 1),
    );
    expect(backends(many)).toBe(3);
  });

  it('are run side by side where they take long', async () => {
    tick = 1;
    await warm(BACKEND, 1);
    tick = 0;
    expect(backends(await outcomes(BACKEND, [1, 2, 3, 4, 6, 12]))).toBe(2);
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
