/** What PostgreSQL does for a statement: it finds rows by their index, and puts together no JSON that is not answered. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { PATIENT } from '../../engine/caller.ts';
import { compileList } from '../../engine/storage/read/lists.ts';
import { openPostgres } from '../../engine/storage/postgres/driver.ts';
import { postgresDialect } from '../../engine/storage/postgres/dialect.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { list, typeOf } from '../support/library.ts';
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

onServer('a page', () => {
  let database: TestDatabase;
  beforeAll(async () => void (database = await createDatabase('postgres')));
  afterAll(() => database?.remove());

  it('that an offset begins is put together behind the offset', async () => {
    const client = await connectTo(database.url);
    await client.query('create table shelves (id bigint primary key, label text, room text, height bigint)');
    const query = list('include=&_cnd[limit]=500&_cnd[limit]=10', typeOf('Shelf'));
    const { page } = compileList(query, postgresDialect);
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain (verbose, costs off) ${page.sql.replace('$1', '11').replace('$2', '500')}`,
    );
    await client.end();
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(/^ *(?:-> +)?Limit\n +Output: (.*)$/m.exec(plan)?.[1]).not.toMatch(/concat|undefined/);
  });

  it('with too many bytes is put together up to there', async () => {
    const driver = await openPostgres(database.url);
    const sql = `select case when i > 40 then (1 / (i - i))::text else repeat('x', 1000) end from generate_series(1, 100) i limit ? offset ?`;
    const read = (most: number) =>
      driver.read(
        (reader) => reader.page({ statement: { sql }, values: [100, 0], most, isShort: false }, PATIENT),
        PATIENT,
      );
    await expect(read(20_000)).rejects.toThrow('The page has more than 20000 bytes');
    await expect(read(200_000)).rejects.toThrow('division by zero');
    await driver.close();
  });
});
