/** Where nearly all rows of a table belong to one record, those of another one are found by their index. */
import { expect, it } from '@jest/globals';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings.ts';
import { ask } from '../support/ask.ts';
import { connectTo, createDatabase } from '../support/databases.ts';
import { onServer } from '../support/postgres.ts';

const ROWS = 100_000;
const REQUESTS: readonly (readonly [request: string, body?: unknown])[] = [
  ['GET /api/shelves/2'],
  ['GET /api/shelves/3'],
  ['GET /api/shelves?_cnd[id]=2'],
  ['GET /api/shelves/2?include=memos.shelf'],
  ['PATCH /api/shelves/2', { name: 'renamed' }],
  ['PUT /api/shelves/2', { items: [{ text: 'one' }], memos: [{ text: 'one' }] }],
  ['DELETE /api/shelves/3'],
];

onServer('a table whose rows belong to one record, nearly all', () => {
  it('is not read for the few rows of another one', async () => {
    const database = await createDatabase('postgres');
    const client = await connectTo(database.url);
    const settings = {
      ...readSettings({}),
      port: 0,
      databaseUrl: database.url,
      schemaDirectory: 'tests/fixtures/attack',
    };
    const first = await serve(settings);
    await first.close();
    const many = (table: string, column: string): string =>
      `insert into ${table} (text, ${column}) select 'text', case when i % 5000 = 0 then 2 else 1 end from generate_series(1, ${ROWS}) i`;
    await client.query(`insert into shelves (name) values ('large'), ('small'), ('empty')`);
    await client.query(many('items', 'shelf_items_id'));
    await client.query(many('memos', 'shelf_id'));
    // As tables are that were made by an earlier version.
    await client.query(`alter table memos alter column shelf_id reset (n_distinct)`);
    await client.query('analyze');
    const serving = await serve(settings);
    const scanned = async (): Promise<number> => {
      const { rows } = await client.query<{ readonly read: string }>(
        `select sum(seq_tup_read) as read from pg_stat_user_tables 
          where schemaname = current_schema() and relname in ('items', 'memos')`,
      );
      return Number(rows[0]?.read);
    };
    const before = await scanned();
    // Often enough that the server plans for any value.
    for (let turn = 0; turn < 12; turn += 1)
      for (const [request, body] of REQUESTS) expect((await ask(serving.url, request, body)).status).toBeLessThan(500);
    // What a connection has counted is told at its end.
    await serving.close();
    const read = (await scanned()) - before;
    await client.end();
    await database.remove();
    expect(read).toBeLessThan(ROWS);
  });
});
