/** `GET /api/$changes`: pages, NDJSON, and streams of events. */
import { once } from 'node:events';
import Database from 'better-sqlite3';
import { ask } from '../support/ask.ts';
import { fileOf, runSql } from '../support/databases.ts';
import { openStream } from '../support/events.ts';
import { exchange } from '../support/exchange.ts';
import { onSqlite } from '../support/only.ts';
import { useProjects } from '../support/project.ts';

const newProject = useProjects();

const FILES = {
  'product.yaml': `type: Product
history: true
fields:
  name: { type: string, required: true }
  price: { type: decimal, precision: 8, scale: 2 }
  secret: { type: string, sensitive: true }
relations:
  parts: { kind: hasMany, type: Part, owned: true }
  tags: { kind: manyToMany, type: Tag, nested: write }
`,
  'part.yaml': 'type: Part\nfields: { size: { type: integer } }\n',
  'tag.yaml': 'type: Tag\nfields: { word: { type: string } }\n',
};

interface Page {
  readonly changes: readonly { readonly cursor: string; readonly [name: string]: unknown }[];
  readonly next: string;
}

const pageAt = async (url: string, search = ''): Promise<Page> => {
  const { status, body } = await ask(url, `GET /api/$changes${search}`);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body as Page;
};

const shown = ({ changes }: Page): readonly string[] =>
  changes.map(({ type, identifier, operation, keys, relation, related }) =>
    [type, identifier, operation, keys, relation, related].filter((one) => one !== undefined).join(' '),
  );

const write = async (url: string): Promise<void> => {
  for (const [title, body] of [
    ['POST /api/products', { name: 'A', price: '1.50', parts: [{ size: 1 }], tags: [{ word: 'x' }] }],
    ['PATCH /api/products/1', { price: '2', secret: 'y' }],
    ['DELETE /api/products/1', undefined],
  ] as const)
    expect((await ask(url, title, body)).status).toBeLessThan(300);
};

test('pages from the oldest entry to the end, and from there', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    const { next: start } = await pageAt(url, '?after=now');
    await write(url);
    const all = await pageAt(url);
    expect(shown(all).toSorted()).toEqual(
      [
        'Product 1 create',
        'Part 1 create',
        'Product 1 link tags 1',
        'Product 1 update price,secret',
        'Product 1 unlink tags 1',
        'Part 1 delete',
        'Product 1 delete',
      ].toSorted(),
    );
    expect(await pageAt(url, `?after=${start}`)).toEqual(all);
    expect(await pageAt(url, `?after=${all.next}`)).toEqual({ changes: [], next: all.next });
    const paged: Page['changes'][number][] = [];
    for (let next = start; ;) {
      const page = await pageAt(url, `?limit=2&after=${next}`);
      if (page.changes.length === 0) break;
      paged.push(...page.changes);
      next = page.next;
    }
    expect(paged).toEqual(all.changes);
    expect(shown(await pageAt(url, '?type=Part'))).toEqual(['Part 1 create', 'Part 1 delete']);
    expect(await pageAt(url, '?type=Part,Product')).toEqual(all);
    const { changes } = await pageAt(url, `?values=true&type=Product`);
    expect(changes.find(({ operation }) => operation === 'update')).toEqual({
      cursor: expect.any(String),
      at: expect.any(String),
      by: null,
      request: expect.any(String),
      type: 'Product',
      identifier: 1,
      operation: 'update',
      keys: ['price', 'secret'],
      old: { price: '1.50' },
      new: { price: '2' },
      unrecorded: ['secret'],
    });
  });
});

test('NDJSON has the same entries as lines; Link names what follows', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    await write(url);
    const { changes } = await pageAt(url);
    const { text, headers } = await exchange(url, 'GET /api/$changes?limit=5&type=Product,Part', {
      headers: { accept: 'application/x-ndjson' },
    });
    const lines = text.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(changes.slice(0, 5));
    const [, path = ''] = /^<([^>]*)>; rel="next"$/.exec(String(headers.link)) ?? [];
    expect(((await ask(url, `GET ${path}`)).body as Page).changes).toEqual(changes.slice(5));
  });
});

test('bad input', async () => {
  const project = await newProject({ ...FILES, 'plain.yaml': 'type: Plain\nfields: { name: { type: string } }\n' });
  await project.serving(async (url) => {
    await write(url);
    const { next } = await pageAt(url);
    for (const [search, status, message] of [
      ['?after=x', 400, 'after is not a cursor'],
      ['?after=', 400, 'after is not a cursor'],
      [`?after=${next}9`, 410, 'it is beyond the end of the log'],
      [`?after=1${next}`, 410, 'the database was replaced'],
      ['?type=Produkt', 400, 'There is no type "Produkt" with a history; did you mean "Product"?'],
      ['?type=Plain', 400, 'There is no type "Plain" with a history'],
      ['?type=', 400, 'There is no type "" with a history'],
      ['?limit=1001', 400, '"limit" must be an integer from 1 to 1000'],
      ['?limit=0', 400, '"limit" must be an integer from 1 to 1000'],
      ['?values=yes', 400, '"values" must be true or false'],
      ['?typ=Product', 400, 'Unknown parameter "typ"; did you mean "type"?'],
      ['?type=Product&type=Part', 400, '"type" is given twice'],
    ] as const) {
      const { body, ...answer } = await ask(url, `GET /api/$changes${search}`);
      expect([search, answer.status, String((body as { message: string }).message)]).toEqual([
        search,
        status,
        expect.stringContaining(message),
      ]);
    }
    for (const path of ['$change', '$changes/', '$chnages/1']) {
      const message = expect.stringContaining('did you mean "/api/$changes"?');
      expect(await ask(url, `GET /api/${path}`)).toMatchObject({ status: 404, body: { message } });
    }
    expect((await ask(url, 'POST /api/$changes', {})).status).toBe(405);
    const stream = { accept: 'text/event-stream' };
    expect((await ask(url, 'GET /api/$changes?limit=2', undefined, stream)).status).toBe(400);
    expect(await ask(url, 'GET /api/$changes', undefined, { ...stream, 'last-event-id': 'x' })).toMatchObject({
      status: 400,
      body: { type: 'urn:problem:invalid-header', errors: [{ header: 'Last-Event-ID', code: 'malformed' }] },
    });
    expect((await ask(url, 'GET /api/$changes', undefined, { accept: 'text/csv' })).status).toBe(406);
  });
});

test('without a type that has a history there is no such path', async () => {
  const project = await newProject({ 'plain.yaml': 'type: Plain\nfields: { name: { type: string } }\n' });
  await project.serving(async (url) => expect((await ask(url, 'GET /api/$changes')).status).toBe(404));
});

test('a stream has what is there, what comes, and goes on where it was', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    await write(url);
    const { changes, next } = await pageAt(url);
    const stream = await openStream(url);
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    expect(stream.response.headers).not.toHaveProperty('content-encoding');
    expect(await stream.data(changes.length)).toEqual(changes);
    expect(stream.events.filter(({ data }) => data).map(({ id }) => id)).toEqual(changes.map(({ cursor }) => cursor));
    const now = await openStream(url, '/api/$changes?after=now&type=Part,Product');
    await once(now.response, 'data');
    expect(now.events).toEqual([{ id: next, data: undefined }]);
    now.close();
  });
});

test('streams hear of writes of the service, of other programs, and after a break of all of them', async () => {
  const project = await newProject(FILES);
  const { database } = project;
  let cursor = '';
  await project.serving(async (url) => {
    const stream = await openStream(url, '/api/$changes?values=true');
    await ask(url, 'POST /api/products', { name: 'A' });
    expect(await stream.data(1)).toMatchObject([{ operation: 'create', new: { name: 'A' } }]);
    await runSql(database, `update products set name = 'B' where id = 1`);
    const [, update] = await stream.data(2);
    expect(update).toMatchObject({ by: null, keys: ['name'], old: { name: 'A' }, new: { name: 'B' } });
    cursor = String(update?.['cursor']);
  });
  await runSql(database, `update products set name = 'C' where id = 1`);
  await project.serving(async (url) => {
    const stream = await openStream(url, '/api/$changes?values=true&after=now', { 'last-event-id': cursor });
    await ask(url, 'DELETE /api/products/1');
    expect(await stream.data(2)).toMatchObject([{ new: { name: 'C' } }, { operation: 'delete', old: { name: 'C' } }]);
  });
});

test('long values: pages are shorter, and nothing is missing', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    const names = ['a', 'b', 'c', 'd', 'e'].map((letter) => letter.repeat(600_000));
    for (const name of names) expect((await ask(url, 'POST /api/products', { name })).status).toBe(201);
    const heard: unknown[] = [];
    for (let after = ''; ;) {
      const { changes, next } = await pageAt(url, `?values=true${after}`);
      if (changes.length === 0) break;
      expect(changes.length).toBeLessThanOrEqual(2);
      heard.push(...changes.map((change) => (change['new'] as { readonly name: string }).name));
      after = `&after=${next}`;
    }
    expect(heard).toEqual(names);
    const stream = await openStream(url, '/api/$changes?values=true');
    expect((await stream.data(5)).map((change) => (change['new'] as { readonly name: string }).name)).toEqual(names);
  });
});

test('a type that few entries are of is found behind many others', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    await write(url);
    const { next } = await pageAt(url);
    for (let times = 0; times < 12; times += 1)
      await ask(
        url,
        'POST /api/products',
        Array.from({ length: 1000 }, () => ({ name: 'A' })),
      );
    await ask(url, 'POST /api/products', { name: 'B', parts: [{ size: 2 }] });
    const page = await pageAt(url, `?type=Part&after=${next}`);
    expect(shown(page)).toEqual(['Part 2 create']);
    expect(await pageAt(url, `?type=Part&after=${page.next}`)).toMatchObject({ changes: [] });
  });
});

onSqlite('a page is read from its place on, however many entries there are', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    await write(url);
    const prepare = jest.spyOn(Database.prototype, 'prepare');
    await pageAt(url);
    const file = new Database(fileOf(project.database));
    const statements = prepare.mock.calls.map(([sql]) => sql).filter((sql) => / from _records_log where /.test(sql));
    prepare.mockRestore();
    expect(statements).toHaveLength(1);
    const steps = statements.flatMap((sql) =>
      file.prepare<unknown[], { readonly detail: string }>(`explain query plan ${sql}`).all(0, 9, '[]', 5),
    );
    file.close();
    expect(steps.map(({ detail }) => detail)).toContainEqual(expect.stringContaining('INTEGER PRIMARY KEY (rowid>?'));
  });
});
