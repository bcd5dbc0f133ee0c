/** The indexes of the log on SQLite, which begin with ranges of positions, and what is found by them. */
import Database from 'better-sqlite3';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { LOG_TABLE as LOG } from '../../engine/storage/log/recording.ts';
import { ask } from '../support/ask.ts';
import { fileOf, runSql } from '../support/databases.ts';
import { onSqlite } from '../support/only.ts';
import { type Project, useProjects } from '../support/project.ts';

const newProject = useProjects();

const FILES = {
  'product.yaml': `type: Product
history: true
fields: { size: { type: integer } }
relations: { parts: { kind: hasMany, type: Part, owned: true, nested: write } }
`,
  'part.yaml': `type: Part
fields: { size: { type: integer } }
relations: { bolts: { kind: hasMany, type: Bolt, owned: true, nested: write } }
`,
  'bolt.yaml': 'type: Bolt\nfields: { size: { type: integer } }\n',
};

const PARTS = 40;

/** A product whose entries are far apart, and whose parts have parts. */
async function fill({ database }: Project, url: string): Promise<void> {
  const parts = Array.from({ length: PARTS }, (_, size) => ({ size, bolts: [{ size }] }));
  expect((await ask(url, 'POST /api/products', [{ size: 0 }, { parts }])).status).toBe(201);
  const numbers = (count: number) =>
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n`;
  for (const size of [1, 2]) {
    await runSql(database, `insert into products (size) ${numbers(3000)}`);
    expect((await ask(url, 'PATCH /api/products/1', { size })).status).toBe(200);
  }
}

const historyOf = async (url: string, path: string) =>
  (await ask(url, `GET ${path}/$history?limit=1000`)).body as readonly { readonly new: object }[];

test('entries are found that are far apart, of few records and of many', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    await fill(project, url);
    expect((await historyOf(url, '/api/products/1')).map((one) => one.new)).toEqual(
      [2, 1, 0].map((size) => ({ size })),
    );
    expect(await historyOf(url, '/api/products/2')).toHaveLength(1 + 2 * PARTS);
    await ask(url, 'DELETE /api/products/2');
    expect(await historyOf(url, '/api/products/2')).toHaveLength(2 + 4 * PARTS);
    expect((await ask(url, 'POST /api/products/2/$restore')).status).toBe(200);
    expect(await historyOf(url, '/api/products/2')).toHaveLength(3 + 6 * PARTS);
  });
  const { out } = await project.run('erase', 'Product', '2');
  expect(out).toBe(`Erased Product 2: ${4 + 8 * PARTS} entries of the history are empty\n`);
  expect((await project.run('erase', 'Product', '1')).out).toBe(
    'Erased Product 1: 4 entries of the history are empty\n',
  );
});

onSqlite('updates of records that lie far apart change few pages of the indexes of the log', async () => {
  const project = await newProject(FILES);
  await project.serving((url) => fill(project, url));
  const file = new Database(fileOf(project.database));
  const pages = (sql: string): number => {
    file.pragma('wal_checkpoint(truncate)');
    file.exec(sql);
    const [log] = file.pragma('wal_checkpoint(passive)') as readonly { readonly log: number }[];
    return log?.log ?? 0;
  };
  const update = 'update products set size = size + 1 where id % 190 = 3';
  const recorded = pages(update);
  file.exec('drop trigger _records_log_products_update');
  expect(recorded - pages(update)).toBeLessThan(20);
  file.close();
});

onSqlite('a start makes the indexes of the log that older versions made by record and owner', async () => {
  const project = await newProject(FILES);
  const { database } = project;
  await project.starts();
  const file = new Database(fileOf(database));
  const made = () =>
    file
      .prepare(`select name from sqlite_schema where type = 'index' and tbl_name = '${LOG}' order by name`)
      .pluck()
      .all();
  const before = made();
  file.exec(`drop index ${LOG}_records; drop index ${LOG}_owners; drop index ${LOG}_deletions;
    create index ${LOG}_record on ${LOG} (source, record); create index ${LOG}_owner on ${LOG} (owner) where owner is not null;
    update _records_model set applied = json_set(applied, '$.types.Product.history', 'older')`);
  expect((await project.run('plan')).out).toContain('  Make the triggers anew that record Product\n');
  const former = await serve(readSettings({ ...project.environment, MIGRATE: 'off', LOG_LEVEL: 'silent' }));
  await ask(former.url, 'POST /api/products', { size: 1 });
  expect(await historyOf(former.url, '/api/products/1')).toMatchObject([{ new: { size: 1 } }]);
  await former.close();
  await project.serving((url) => ask(url, 'POST /api/products', {}));
  expect(made()).toEqual(before);
  expect(before).toEqual([`${LOG}_deleted`, `${LOG}_deletions`, `${LOG}_owners`, `${LOG}_records`]);
  file.close();
  expect((await project.run('plan')).code).toBe(0);
});
