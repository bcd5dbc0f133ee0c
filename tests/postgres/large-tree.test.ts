/** `delete --chunked` of a tree with several large parents reads each row a few times, however many steps it takes. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { openPostgres } from '../../engine/storage/postgres/driver.ts';
import { deleteTree } from '../../engine/storage/write/delete-tree.ts';
import { connectTo } from '../support/databases.ts';
import { loadModel } from '../support/model.ts';
import { administer, onServer, pause, withParameters } from '../support/postgres.ts';
import { createProject, type Project } from '../support/project.ts';

const FILES = {
  'shop.yaml': `type: Shop
relations:
  labels: { kind: hasMany, type: Label, inverse: shop, owned: true, shown: false }
  departments: { kind: hasMany, type: Department, inverse: shop, owned: true, shown: false }
`,
  'department.yaml': `type: Department
relations:
  shop: { kind: belongsTo, type: Shop, inverse: departments, required: true }
  items: { kind: hasMany, type: Item, inverse: department, owned: true, shown: false }
  notes: { kind: hasMany, type: Note, inverse: department, nested: write, shown: false }
  words: { kind: manyToMany, type: Word, shown: false }
`,
  'item.yaml': `type: Item
relations:
  department: { kind: belongsTo, type: Department, inverse: items, required: true }
  labels: { kind: manyToMany, type: Label, shown: false }
`,
  'note.yaml': `type: Note
relations: { department: { kind: belongsTo, type: Department, inverse: notes, onDelete: setNull } }
`,
  'label.yaml': `type: Label
relations: { shop: { kind: belongsTo, type: Shop, inverse: labels, required: true } }
`,
  'word.yaml': `type: Word
fields: { text: { type: string } }
`,
};

const DEPARTMENTS = 20;
const EACH = 2500;
const ALL = DEPARTMENTS * EACH;
const TABLES = ['items', 'notes', 'departments_words', 'items_labels'];
/** Rows, and entries of indexes, that are read for each row. */
const MOST = 15;
const NAME = 'large tree';

onServer('several large parents, each with several steps of children,', () => {
  let project: Project;
  let client: Client;
  beforeAll(async () => {
    project = await createProject(FILES);
    await project.starts();
    client = await connectTo(project.database.url);
    const spread = `1 + i % ${DEPARTMENTS} from generate_series(1, ${ALL}) i`;
    await client.query(`insert into shops select from generate_series(1, 1)`);
    await client.query(`insert into departments (shop_id) select 1 from generate_series(1, ${DEPARTMENTS})`);
    await client.query(`insert into items (department_id) select ${spread}`);
    await client.query(`insert into notes (department_id) select ${spread}`);
    await client.query(`insert into labels (shop_id) select 1 from generate_series(1, 2)`);
    await client.query(`insert into items_labels select id, 1 + id % 2 from items`);
    await client.query(`insert into words (text) select '' from generate_series(1, ${EACH})`);
    await client.query(
      `insert into departments_words select d, w from generate_series(1, ${DEPARTMENTS}) d, generate_series(1, ${EACH}) w`,
    );
    // Nothing else reads them, or changes what the planner knows, whenever that would be.
    for (const table of TABLES) await client.query(`alter table ${table} set (autovacuum_enabled = off)`);
    await client.query('analyze');
  });
  afterAll(async () => {
    await client?.end();
    await project?.remove();
  });

  /** Rows and entries of indexes that were read so far, by table. */
  async function readOf(tables: readonly string[]): Promise<readonly number[]> {
    const { rows } = await client.query<{ readonly name: string; readonly read: string }>(
      `select relname as name, seq_tup_read + idx_tup_fetch + (select sum(idx_tup_read) from pg_stat_user_indexes as i
         where i.relid = t.relid) as read from pg_stat_user_tables as t where schemaname = current_schema()`,
    );
    return tables.map((table) => Number(rows.find(({ name }) => name === table)?.read));
  }

  it('are deleted, and each row is read a few times', async () => {
    const model = loadModel(project.directory);
    const shop = model.types.get('Shop');
    if (!shop) throw new Error('there is no type Shop');
    const before = await readOf(TABLES);
    const driver = await openPostgres(withParameters(project.database.url, { application_name: NAME }));
    // Another client still sees what was there: no index forgets a row that is deleted meanwhile.
    await administer(project.database.url, 'begin isolation level repeatable read; select from shops', () =>
      deleteTree(model, driver, shop, 1, () => undefined),
    );
    await driver.close();
    // What a connection has read is told at its end.
    while ((await client.query('select from pg_stat_activity where application_name = $1', [NAME])).rowCount !== 0)
      await pause(10);
    const after = await readOf(TABLES);
    const often = TABLES.filter((_, index) => (after[index] ?? 0) - (before[index] ?? 0) > MOST * ALL);
    expect({ often, before, after }).toMatchObject({ often: [] });
    const { rows } = await client.query(
      'select count(*)::int as notes, count(department_id)::int as linked from notes',
    );
    expect(rows).toEqual([{ notes: ALL, linked: 0 }]);
  });
});
