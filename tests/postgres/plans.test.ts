/** How PostgreSQL finds the rows that a write locks: by their index, however many others there are. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { postgresDialect } from '../../engine/storage/postgres/dialect.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { onServer } from '../support/postgres.ts';

const ROWS = 20_000;

onServer('a table of many rows', () => {
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createDatabase('postgres');
    client = await connectTo(database.url);
    await client.query(`create table t (id bigint primary key, name text)`);
    await client.query(`insert into t select i, 'name ' || i from generate_series(1, ${ROWS}) i`);
  });
  afterAll(async () => {
    await client?.end();
    await database?.remove();
  });

  it.each(['before it was analyzed', 'and afterwards'])(
    'is not read for the rows that are locked, %s',
    async (when) => {
      if (when === 'and afterwards') await client.query('analyze t');
      const locked = `select * from t where ${postgresDialect.oneOf('id')} order by id for update`.replace(
        '?',
        `'[7,8]'`,
      );
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `explain (analyze, costs off, timing off) ${locked}`,
      );
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toMatch(/Index/);
      expect(plan).not.toMatch(/Seq Scan on t|loops=\d{3}/);
    },
  );
});
