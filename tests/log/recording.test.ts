/** What triggers write to the log of changes, and what becomes of it when descriptors change. */
import { ask } from '../support/ask.ts';
import { databaseKind, runSql, type TestDatabase } from '../support/databases.ts';
import { type Files, type Project, useProjects } from '../support/project.ts';
import { readModel } from '../support/random-schema.ts';
import { expectFold, LOG, rowsOf } from './fold.ts';

const newProject = useProjects();

const FILES = {
  'product.yaml': `type: Product
history: true
open: true
fields:
  name: { type: string, required: true, caseless: true }
  price: { type: decimal, precision: 8, scale: 2 }
  secret: { type: string, sensitive: true }
relations:
  category: { kind: belongsTo, type: Category, onDelete: setNull }
  parts: { kind: hasMany, type: Part, owned: true }
  tags: { kind: manyToMany, type: Tag, nested: write }
`,
  'part.yaml':
    'type: Part\nfields: { size: { type: integer } }\nrelations: { bolts: { kind: hasOne, type: Bolt, owned: true } }\n',
  'bolt.yaml': 'type: Bolt\nfields: { length: { type: number } }\n',
  'category.yaml': 'type: Category\nidentifier: { type: uuid }\nfields: { name: { type: string } }\n',
  'tag.yaml': 'type: Tag\nfields: { word: { type: string } }\n',
};

/** `source/record operation old new unrecorded`, with the owner in brackets. */
const entriesOf = async (database: TestDatabase): Promise<readonly string[]> =>
  (await rowsOf(database, LOG)).map((row) => {
    const place = `${String(row['source'])}/${String(row['record'])}`;
    const owner = row['owner'] === null ? [] : [`(${String(row['owner'])})`];
    const values = ['old', 'new', 'unrecorded'].flatMap((name) => (row[name] === null ? [] : [String(row[name])]));
    return [place, ...owner, String(row['operation']), ...values].join(' ');
  });

const latest = async (database: TestDatabase, after: number): Promise<readonly string[]> =>
  (await entriesOf(database)).slice(after).toSorted();

const fold = async ({ database, directory }: Project): Promise<number> => {
  const model = readModel(directory);
  if (!model) throw new Error('the schema is faulty');
  return expectFold(database, model);
};

const ID = '00000000-0000-4000-8000-000000000001';

const WRITES = [
  ['POST /api/categories', { id: ID, name: 'All' }],
  [
    'POST /api/products',
    {
      name: 'A "b"',
      price: '1.50',
      secret: 'x',
      extra: [1.0],
      category: { id: ID },
      parts: [{ size: 3, bolts: { length: 0.5 } }],
      tags: [{ word: 'x' }],
    },
  ],
] as const;

const MADE = [
  `products/1 create {"name":"A \\"b\\"","price":"1.50","category_id":"${ID}","_open":{"extra":[1]}} ["secret"]`,
  'parts/1 (products/1) create {"size":3,"product_parts_id":1}',
  'bolts/1 (parts/1) create {"length":0.5,"part_bolts_id":1}',
  'products_tags/1 link {"tag_id":1}',
];

async function productProject(files: Files = FILES): Promise<Project> {
  const project = await newProject(files);
  await project.serving(async (url) => {
    for (const [title, body] of WRITES) expect((await ask(url, title, body)).status).toBe(201);
  });
  return project;
}

test('requests: values that changed, owned records, links; nothing where nothing changes', async () => {
  const project = await productProject();
  const { database } = project;
  expect((await entriesOf(database)).toSorted()).toEqual(MADE.toSorted());
  await project.serving(async (url) => {
    const changed = { price: '1.5', secret: 'y', extra: null, parts: [{ id: 1, size: 4 }], tags: [] };
    expect((await ask(url, 'PATCH /api/products/1', changed)).status).toBe(200);
  });
  expect(await latest(database, 4)).toEqual([
    'parts/1 (products/1) update {"size":3} {"size":4}',
    'products/1 update {"price":"1.50","_open":{"extra":[1]}} {"price":"1.5","_open":{}} ["secret"]',
    'products_tags/1 unlink {"tag_id":1}',
  ]);
  await project.serving(async (url) => {
    for (const [title, body, status] of [
      ['PATCH /api/products/1', { price: '1.5' }, 200],
      ['PATCH /api/products/1?dryRun=true', { price: '2' }, 200],
      ['POST /api/products', {}, 422],
      ['POST /api/products', [{ name: 'B' }, { name: 'C', id: 1 }], 409],
      ['PATCH /api/tags/1', { word: 'y' }, 200],
    ] as const)
      expect((await ask(url, title, body)).status).toBe(status);
  });
  expect(await latest(database, 7)).toEqual([]);
  await project.serving(async (url) => {
    expect((await ask(url, `DELETE /api/categories/${ID}`)).status).toBe(200);
    expect((await ask(url, 'DELETE /api/products/1')).status).toBe(200);
  });
  expect(await latest(database, 7)).toEqual([
    'bolts/1 (parts/1) delete {"length":0.5,"part_bolts_id":1}',
    'parts/1 (products/1) delete {"size":4,"product_parts_id":1}',
    'products/1 delete {"name":"A \\"b\\"","price":"1.5","_open":{}} ["secret"]',
    `products/1 update {"category_id":"${ID}"} {"category_id":null}`,
  ]);
  expect(await fold(project)).toBe(11);
});

test('a record has an owner only where it is owned', async () => {
  const child = (type: string): string =>
    `type: ${type}\nhistory: true\nrelations: { product: { kind: belongsTo, type: Product } }\n`;
  const project = await productProject({
    ...FILES,
    'product.yaml': `${FILES['product.yaml']}  notes: { kind: hasMany, type: Note, inverse: product }
  labels: { kind: hasMany, type: Label, inverse: product, owned: true }\n`,
    'note.yaml': child('Note'),
    'label.yaml': child('Label'),
  });
  await project.serving(async (url) => {
    for (const path of ['notes', 'labels']) await ask(url, `POST /api/${path}`, { product: { id: 1 } });
  });
  expect(await latest(project.database, 4)).toEqual([
    'labels/1 (products/1) create {"product_id":1}',
    'notes/1 create {"product_id":1}',
  ]);
});

test('SQL beside the service, and an import', async () => {
  const project = await productProject();
  const { database } = project;
  const foreignKeys = databaseKind === 'sqlite' ? ['pragma foreign_keys = on'] : [];
  await runSql(
    database,
    ...foreignKeys,
    'update products set price = null where id = 1',
    'update products set price = null where id = 1',
    "insert into products (id, name) values (8, 'C')",
    'update products set id = 9 where id = 8',
    'insert into products_tags (product_id, tag_id) values (9, 1)',
    "delete from tags where word = 'x'",
    'delete from parts',
  );
  const sql = await latest(database, 4);
  expect(sql.filter((one) => one.startsWith('products/'))).toEqual([
    'products/1 update {"price":"1.50"} {"price":null}',
    'products/8 create {"name":"C","_open":{}}',
    'products/8 delete {"name":"C","_open":{}}',
    'products/9 create {"name":"C","_open":{}}',
  ]);
  expect(sql).toHaveLength(9);
  const records = await project.run('export', `${project.directory}/records.ndjson`);
  expect(records).toMatchObject({ code: 0 });
  const other = await newProject(FILES);
  expect(await other.run('import', `${project.directory}/records.ndjson`)).toMatchObject({ code: 0 });
  expect((await entriesOf(other.database)).filter((one) => one.includes('create'))).toHaveLength(2);
  await Promise.all([project, other].map(fold));
});

const objects = async (database: TestDatabase): Promise<readonly unknown[]> =>
  (
    await rowsOf(
      database,
      database.kind === 'sqlite'
        ? `select name from sqlite_schema where type = 'trigger'`
        : `select tgname as name from pg_trigger join pg_class on pg_class.oid = tgrelid
           where not tgisinternal and relnamespace = current_schema()::regnamespace
           union all select proname from pg_proc where pronamespace = current_schema()::regnamespace`,
    )
  ).map(({ name }) => name);

const plain = (text: string): string => text.replace('history: true\n', '');

test('a type gets the word, and loses it again', async () => {
  const project = await productProject({ ...FILES, 'product.yaml': plain(FILES['product.yaml']) });
  const { database } = project;
  expect(await objects(database)).toEqual([]);
  project.write(FILES);
  const { out } = await project.run('plan');
  for (const line of ['of Product', 'of Part', 'of Bolt', 'of the links "tags" of Product'])
    expect(out).toContain(`  Keep a history ${line}\n`);
  await project.serving((url) => ask(url, 'PATCH /api/products/1', { price: '3' }));
  expect(await entriesOf(database)).toEqual(['products/1 update {"price":"1.50"} {"price":"3"}']);
  expect((await project.run('plan')).code).toBe(0);
  // Descriptors that were applied before would only be served again.
  project.write({
    'product.yaml': plain(FILES['product.yaml']).replace('fields:', 'fields:\n  more: { type: integer }'),
  });
  expect((await project.run('plan')).out).toContain('  Keep no history of Product any more\n');
  await project.serving((url) => ask(url, 'PATCH /api/products/1', { price: '4' }));
  expect(await entriesOf(database)).toHaveLength(1);
  expect(await objects(database)).toEqual([]);
});

test('a start makes the triggers anew that somebody has dropped', async () => {
  const project = await productProject();
  const { database } = project;
  const made = await objects(database);
  const drops =
    databaseKind === 'sqlite'
      ? ['drop trigger _records_log_parts_update', 'drop trigger _records_log_products_tags_insert']
      : [
          'drop trigger _records_log_parts on parts',
          'drop trigger "~_records_log_products_tags" on products_tags',
          'drop function _records_log_products cascade',
        ];
  await runSql(database, ...drops);
  const { code, out } = await project.run('plan');
  expect(out).toContain('  Make the triggers anew that record Part\n');
  expect(out).toContain('  Make the triggers anew that record the links "tags" of Product\n');
  expect(code).not.toBe(0);
  await project.starts();
  expect((await objects(database)).toSorted()).toEqual(made.toSorted());
  await runSql(database, 'update parts set size = 4');
  expect(await latest(database, 4)).toEqual(['parts/1 (products/1) update {"size":3} {"size":4}']);
  expect((await project.run('plan')).code).toBe(0);
});

test('the links of a deleted record end before it, whoever deletes it and for whatever reason', async () => {
  const project = await newProject({
    'book.yaml': `type: Book
history: true
relations:
  tags: { kind: manyToMany, type: Tag, inverse: books }
  sequels: { kind: manyToMany, type: Book, inverse: prequels }
  prequels: { kind: manyToMany, type: Book, inverse: sequels }
  pages: { kind: hasMany, type: Page, owned: true }
`,
    'page.yaml': 'type: Page\nrelations: { words: { kind: manyToMany, type: Tag } }\n',
    'tag.yaml': 'type: Tag\nhistory: true\nrelations: { books: { kind: manyToMany, type: Book, inverse: tags } }\n',
  });
  const { database, serving } = project;
  await serving(async (url) => {
    for (let id = 1; id <= 4; id += 1) await ask(url, 'POST /api/tags', {});
    for (let id = 1; id <= 4; id += 1) {
      const tags = [{ id: 1 }, { id }].slice(id === 1 ? 1 : 0);
      await ask(url, 'POST /api/books', { tags, pages: [{ words: [{ id }] }], sequels: id === 1 ? [] : [{ id: 1 }] });
    }
    await ask(url, 'DELETE /api/books/1');
    await ask(url, 'DELETE /api/books?_cnd[id]=2&affected=1');
    await ask(url, 'DELETE /api/tags/2');
    await runSql(
      database,
      'delete from books where id = 3',
      'delete from tags where id in (1, 3)',
      'delete from pages',
    );
  });
  expect((await entriesOf(database)).filter((one) => one.includes(' unlink '))).toHaveLength(26);
  await fold(project);
});

const RULES = {
  sqlite: [
    `create trigger product_begins after insert on products begin update products set price = '1' where id = new.id; end`,
    `create trigger product_rounds after update of price on products when new.price = '1.5' begin update products set price = '2' where id = new.id; end`,
  ],
  postgres: [
    `create function rules() returns trigger language plpgsql as $$ begin
       update products set price = case tg_op when 'INSERT' then 1 else 2 end where id = new.id and (tg_op = 'INSERT' or new.price = 1.5); return null; end $$`,
    'create trigger rules after insert or update of price on products for each row when (pg_trigger_depth() = 0) execute function rules()',
  ],
};

test('what rules of others change in their turn is recorded after what they follow', async () => {
  const project = await productProject();
  const { database } = project;
  await runSql(database, ...RULES[database.kind]);
  await project.serving(async (url) => {
    await ask(url, 'POST /api/products', { name: 'B' });
    await ask(url, 'PATCH /api/products/2', { price: '1.5' });
  });
  expect((await entriesOf(database)).slice(4)).toEqual([
    'products/2 create {"name":"B","_open":{}}',
    'products/2 update {"price":null} {"price":"1"}',
    'products/2 update {"price":"1"} {"price":"1.5"}',
    'products/2 update {"price":"1.5"} {"price":"2"}',
  ]);
  await fold(project);
  expect((await project.run('plan')).code).toBe(0);
});

test('renamed, new, converted, dropped and required fields', async () => {
  const project = await productProject();
  const { database } = project;
  const text = FILES['product.yaml']
    .replace('price: { type: decimal, precision: 8, scale: 2 }', 'cost: { type: string, renamedFrom: price }')
    .replace('  secret: { type: string, sensitive: true }\n', '  stock: { type: integer, default: 0 }\n')
    .replace('open: true\n', 'open: true\nindexes: [[stock]]\n');
  project.write({ 'product.yaml': text });
  await project.serving((url) => ask(url, 'PATCH /api/products/1', { cost: 'much', stock: 2 }));
  expect(await latest(database, 4)).toEqual([
    'products/1 update {"price":"1.50","stock":0} {"price":"much","stock":2}',
  ]);
  project.write({ 'product.yaml': text.replace('renamedFrom: price', 'renamedFrom: price, required: true') });
  const allowed = ['--allow', 'drop-field:Product.secret', '--allow', 'require-field:Product.cost'];
  expect(await project.run('apply', ...allowed)).toMatchObject({ code: 0 });
  await project.serving((url) => ask(url, 'PATCH /api/products/1', { cost: 'less' }));
  expect(await latest(database, 5)).toEqual(['products/1 update {"price":"much"} {"price":"less"}']);
  expect((await project.run('plan')).code).toBe(0);
});

test('numbers of other programs that JSON does not have are strings, and other values stay', async () => {
  const { database, serving } = await newProject({
    'scale.yaml': 'type: Scale\nhistory: true\nfields: { most: { type: number }, name: { type: string } }\n',
  });
  const infinite = database.kind === 'sqlite' ? '-9e999' : `'-Infinity'`;
  const shown = database.kind === 'sqlite' ? '-Inf' : '-Infinity';
  await serving(async (url) => {
    await ask(url, 'POST /api/scales', { most: 1e300, name: 'A' });
    await runSql(database, `update scales set most = ${infinite}, name = 'B'`);
    expect((await ask(url, 'GET /api/scales/1')).body).toEqual({ id: 1, most: shown, name: 'B' });
    const { body } = await ask(url, 'GET /api/scales/1/$history?limit=1');
    expect(body).toMatchObject([{ old: { most: 1e300, name: 'A' }, new: { name: 'B' } }]);
  });
  expect(await entriesOf(database)).toEqual([
    'scales/1 create {"most":1e+300,"name":"A"}',
    `scales/1 update {"most":1e+300,"name":"A"} {"most":"${shown}","name":"B"}`,
  ]);
});

test('the entries of a dropped table go with it', async () => {
  const project = await productProject();
  const { database } = project;
  const text = FILES['product.yaml'].replace(/ {2}tags: .*\n/, '').replace(/ {2}parts: .*\n/, '');
  project.write({ 'product.yaml': text, 'part.yaml': null, 'bolt.yaml': null });
  await project.starts();
  expect(await entriesOf(database)).toHaveLength(4);
  expect((await objects(database)).filter((name) => !/^~?_records_log_products/.test(String(name)))).toEqual([]);
  const drops = ['drop-relation:Product.tags', 'drop-type:Part', 'drop-type:Bolt'];
  expect((await project.run('apply', ...drops.flatMap((id) => ['--allow', id]))).code).toBe(0);
  expect((await entriesOf(database)).map((one) => one.split(' ')[0])).toEqual(['products/1']);
});

test('what is erased leaves entries without content', async () => {
  const project = await productProject();
  const { database } = project;
  await project.serving(async (url) => {
    await ask(url, 'POST /api/products', { name: 'B', parts: [{ size: 5 }] });
    await ask(url, 'PATCH /api/products/1', { price: '2', tags: [{ id: 1 }, { word: 'y' }] });
  });
  const others = (await entriesOf(database)).filter((one) => /"B"|"size":5/.test(one));
  expect(others).toHaveLength(2);
  expect((await project.run('erase', 'Product', '1')).out).toBe(
    'Erased Product 1: 11 entries of the history are empty\n',
  );
  const rows = await rowsOf(database, LOG);
  const kept = rows.filter((row) =>
    [row['old'], row['new'], row['unrecorded'], row['actor']].some((one) => one !== null),
  );
  expect(kept).toHaveLength(others.length);
  const operations = rows.filter(({ source }) => source === 'products').map(({ operation }) => operation);
  expect(operations).toEqual(['create', 'create', 'update', 'delete']);
  await project.serving(async (url) => {
    expect((await ask(url, 'GET /api/products/1')).status).toBe(404);
    expect((await ask(url, 'GET /api/products/2')).status).toBe(200);
  });
  const again = await project.run('erase', 'Product', '1');
  expect(again.out).toBe('Erased Product 1: 7 entries of the history are empty\n');
  const stop =
    databaseKind === 'sqlite'
      ? [`create trigger stop before update on _records_log begin select raise(abort, 'Not now'); end`]
      : [
          `create function stop() returns trigger language plpgsql as $$ begin raise exception 'Not now'; end $$`,
          'create trigger stop before update on _records_log for each row execute function stop()',
        ];
  await runSql(database, ...stop);
  await expect(project.run('erase', 'Product', '2')).rejects.toThrow('Not now');
  await project.serving(async (url) => expect((await ask(url, 'GET /api/products/2')).status).toBe(200));
  for (const [words, message] of [
    [['Product', '7'], 'There is no Product 7'],
    [['Product', 'x'], '"x" is not an identifier; expected'],
    [['Produkt', '1'], 'There is no record type "Produkt"; did you mean "Product"?'],
  ] as const)
    expect(await project.run('erase', ...words)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
});
