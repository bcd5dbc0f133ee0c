/** `$history` and `$deleted`: what clients read of the log. */
import { ask } from '../support/ask.ts';
import { runSql } from '../support/databases.ts';
import { createProject, useProjects } from '../support/project.ts';
import { testAtNight } from '../support/whole.ts';

const newProject = useProjects();

const FILES = {
  'product.yaml': `type: Product
history: true
open: true
fields:
  name: { type: string, required: true }
  price: { type: decimal, precision: 8, scale: 2 }
  secret: { type: string, sensitive: true }
relations:
  category: { kind: belongsTo, type: Category, onDelete: setNull }
  parts: { kind: hasMany, type: Part, owned: true, nested: write }
  tags: { kind: manyToMany, type: Tag }
`,
  'part.yaml':
    'type: Part\nfields: { size: { type: integer } }\nrelations: { bolts: { kind: hasMany, type: Bolt, owned: true }, labels: { kind: manyToMany, type: Tag } }\n',
  'bolt.yaml': 'type: Bolt\nfields: { length: { type: number } }\n',
  'category.yaml': 'type: Category\nfields: { name: { type: string } }\n',
  'tag.yaml': 'type: Tag\nidentifier: { type: string, name: key }\nhistory: true\nfields: { word: { type: string } }\n',
};

interface Shown {
  readonly cursor: string;
  readonly at: string;
  readonly request: string | null;
  readonly type: string;
  readonly identifier: number | string;
  readonly operation: string;
}

const read = async (url: string, path: string) => {
  const { status, headers, body } = await ask(url, `GET /api/${path}`);
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
  return { link: headers.get('link'), entries: body as readonly Shown[] };
};

/** `Type/identifier operation`, and the rest of the entry. */
const shown = ({ cursor, at, request, type, identifier, operation, ...rest }: Shown): unknown => {
  expect(at).toMatch(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(cursor).toMatch(/^\d+-\d+$/);
  expect(request).toMatch(/./);
  return [`${type}/${identifier} ${operation}`, { ...rest }];
};

const BY = { by: null };

const send = async (url: string, requests: readonly (readonly [string, unknown?])[]): Promise<void> => {
  for (const [title, body] of requests) {
    const { status, body: answer } = await ask(url, title, body);
    expect([title, status, status < 300 ? '' : answer]).toEqual([title, status < 300 ? status : 200, '']);
  }
};

test('a record with its parts, and their links', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    await send(url, [
      ['POST /api/categories', { name: 'All' }],
      ['POST /api/tags', { key: 'a/b', word: 'x' }],
      [
        'POST /api/products',
        { name: 'A', price: '1.50', secret: 's', more: [1], parts: [{ size: 1, bolts: [{ length: 2 }] }] },
      ],
      ['PATCH /api/parts/1', { labels: [{ key: 'a/b' }] }],
      ['PATCH /api/products/1', { price: '2.00', category: { id: 1 }, tags: [{ key: 'a/b' }], secret: 't' }],
      ['PATCH /api/products/1', { price: '2.00' }],
      ['PATCH /api/bolts/1', { length: 3 }],
      ['POST /api/products', { name: 'B', parts: [{ size: 9 }] }],
    ]);
    const { entries, link } = await read(url, 'products/1/$history');
    expect(link).toBeNull();
    expect(entries.map(shown)).toEqual([
      ['Bolt/1 update', { ...BY, old: { length: 2 }, new: { length: 3 } }],
      ['Product/1 link', { ...BY, relation: 'tags', related: 'a/b' }],
      [
        'Product/1 update',
        {
          ...BY,
          unrecorded: ['secret'],
          old: { price: '1.50', category: null },
          new: { price: '2.00', category: { id: 1 } },
        },
      ],
      ['Part/1 link', { ...BY, relation: 'labels', related: 'a/b' }],
      ['Bolt/1 create', { ...BY, new: { length: 2 } }],
      ['Part/1 create', { ...BY, new: { size: 1 } }],
      ['Product/1 create', { ...BY, unrecorded: ['secret'], new: { name: 'A', price: '1.50', more: [1] } }],
    ]);
  });
});

test('a link is cleared in the same entry as other values', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    await send(url, [
      ['POST /api/categories', { name: 'All' }],
      ['POST /api/products', { name: 'A', category: { id: 1 } }],
      ['PATCH /api/products/1', { name: 'B', price: '1.00', category: null }],
    ]);
    const { entries } = await read(url, 'products/1/$history?limit=1');
    const old = { name: 'A', price: null, category: { id: 1 } };
    const change = { ...BY, old, new: { name: 'B', price: '1.00', category: null } };
    expect(entries.map(shown)).toEqual([['Product/1 update', change]]);
    await send(url, [['PATCH /api/products/1', old]]);
    expect((await ask(url, 'GET /api/products/1?fields=name,price,category.id')).body).toEqual({ id: 1, ...old });
  });
});

test('pages, formats and the records that are not there any more', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    await send(url, [
      ['POST /api/products', [{ name: 'A' }, { name: 'B', more: 1 }, { name: 'C', parts: [{ size: 1 }] }]],
      ['PATCH /api/products/2', { price: '5' }],
      ['DELETE /api/products/2'],
      ['DELETE /api/products/3'],
      ['DELETE /api/products/1'],
      ['POST /api/products', { id: 1, name: 'D' }],
    ]);
    const whole = await read(url, 'products/2/$history');
    expect(whole.entries.map(({ operation }) => operation)).toEqual(['delete', 'update', 'create']);
    const first = await read(url, 'products/2/$history?limit=2');
    const [, second = ''] = /^<(.*)>; rel="next"$/.exec(first.link ?? '') ?? [];
    expect(second).toContain('/api/products/2/$history?limit=2&after=');
    const rest = await read(url, second.slice('/api/'.length));
    expect(rest.link).toBeNull();
    expect([...first.entries, ...rest.entries]).toEqual(whole.entries);
    const [delete2, update] = whole.entries;
    expect((await read(url, `products/2/$history?after=${delete2?.cursor}&limit=1`)).entries).toEqual([update]);

    const deleted = (await read(url, 'products/$deleted')).entries;
    expect(deleted).toMatchObject([
      { by: null, identifier: 3, record: { name: 'C' } },
      { by: null, identifier: 2, record: { name: 'B', price: '5', more: 1 } },
    ]);
    const page = await read(url, 'products/$deleted?limit=1');
    expect(page.link).toContain(`</api/products/$deleted?limit=1&after=${page.entries[0]?.cursor}>`);
    expect((await read(url, 'products/3/$history?limit=1')).entries[0]).toMatchObject({ type: 'Product' });

    const lines = await fetch(`${url}/api/products/$deleted`, { headers: { accept: 'application/x-ndjson' } });
    expect(
      (await lines.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(deleted);
    expect((await ask(url, 'HEAD /api/products/2/%24history')).status).toBe(200);
    const { headers } = await ask(url, 'GET /api/products/2/$history');
    const again = { 'if-none-match': headers.get('etag') ?? '' };
    expect((await ask(url, 'GET /api/products/2/$history', undefined, again)).status).toBe(304);
    expect((await ask(url, 'OPTIONS /api/products/2/$history')).headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });
});

test('a record without entries, and one of other programs', async () => {
  const project = await newProject({ ...FILES, 'product.yaml': FILES['product.yaml'].replace('history: true\n', '') });
  const { database } = project;
  await project.serving((url) =>
    send(url, [['POST /api/products', { name: 'A', parts: [{ bolts: [{ length: 1 }] }] }]]),
  );
  project.write(FILES);
  await project.serving(async (url) => {
    expect((await read(url, 'products/1/$history')).entries).toEqual([]);
    await runSql(database, 'update bolts set length = 2');
    const [entry] = (await read(url, 'products/1/$history')).entries;
    expect(entry).toMatchObject({ type: 'Bolt', by: null, request: null, old: { length: 1 }, new: { length: 2 } });
    expect((await read(url, 'products/$deleted')).entries).toEqual([]);
  });
});

testAtNight('a record with more parts than a call has arguments', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    await send(url, [['POST /api/products', { name: 'A' }]]);
    const counted = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 150000)';
    await runSql(project.database, `insert into parts (product_parts_id) ${counted} select 1 from n`);
    const { entries } = await read(url, 'products/1/$history?limit=1');
    expect(entries).toMatchObject([{ type: 'Part', identifier: 150_000 }]);
  });
});

test('keys of type string', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    for (const key of ['$history', '$deleted', 'a/b']) await send(url, [['POST /api/tags', { key }]]);
    for (const segment of ['%24history', '%24deleted', 'a%2Fb']) {
      expect((await read(url, `tags/${segment}/$history`)).entries).toHaveLength(1);
      await send(url, [[`DELETE /api/tags/${segment}`]]);
    }
    const { entries } = await read(url, 'tags/$deleted');
    expect(entries.map(({ identifier }) => identifier)).toEqual(['a/b', '$deleted', '$history']);
  });
});

test('a type whose fields are called like columns of the log', async () => {
  const names = ['record', 'source', 'position', 'operation', 'owner', 'tx', 'old', 'new'];
  const fields = names.map((name) => `  ${name}: { type: string }\n`).join('');
  const project = await newProject({ 'disc.yaml': `type: Disc\nhistory: true\nfields:\n${fields}` });
  await project.serving(async (url) => {
    const record = Object.fromEntries(names.map((name) => [name, '1']));
    await send(url, [
      ['POST /api/discs', record],
      ['POST /api/discs', { ...record, record: '2' }],
      ['DELETE /api/discs/1'],
    ]);
    expect((await read(url, 'discs/$deleted')).entries).toMatchObject([{ identifier: 1, record }]);
    expect((await read(url, 'discs/1/$history')).entries).toMatchObject([{ old: record }, { new: record }]);
    expect(await ask(url, 'POST /api/discs/1/$restore')).toMatchObject({ status: 200, body: { id: 1, ...record } });
    expect((await read(url, 'discs/$deleted')).entries).toEqual([]);
  });
});

test('names and values of today', async () => {
  const project = await newProject(FILES);
  await project.serving((url) =>
    send(url, [
      ['POST /api/tags', { key: 'x' }],
      ['POST /api/products', { name: 'A', price: '1.50', tags: [{ key: 'x' }] }],
    ]),
  );
  project.write({
    'product.yaml': FILES['product.yaml']
      .replace('type: Product', 'type: Item\nrenamedFrom: Product')
      .replace('  tags: {', '  labels: { renamedFrom: tags,')
      .replace('price: {', 'cost: { renamedFrom: price,')
      .replace('  secret: { type: string, sensitive: true }\n', ''),
  });
  await project.serving(async (url) => {
    await send(url, [['PATCH /api/items/1', { cost: '3', name: 'B' }]]);
    expect((await read(url, 'items/1/$history')).entries).toMatchObject([
      { type: 'Item', old: { name: 'A', cost: '1.50' }, new: { name: 'B', cost: '3' } },
      { type: 'Item', operation: 'link', relation: 'labels', related: 'x' },
      { type: 'Item', new: { name: 'A', cost: '1.50' } },
    ]);
  });
});

test.each(['decimal', 'string'])('integers of a field that is of type %s today', async (today) => {
  const of = (type: string): string =>
    `type: Shelf\nhistory: true\nfields: { size: { type: ${type}, required: true } }\n`;
  const project = await newProject({ 'shelf.yaml': of('integer') });
  await project.serving((url) =>
    send(url, [['POST /api/shelves', { size: -5 }], ['PATCH /api/shelves/1', { size: 70 }], ['DELETE /api/shelves/1']]),
  );
  project.write({ 'shelf.yaml': of(today) });
  await project.serving(async (url) => {
    expect((await read(url, 'shelves/1/$history')).entries).toMatchObject([
      { old: { size: '70' } },
      { old: { size: '-5' }, new: { size: '70' } },
      { new: { size: '-5' } },
    ]);
    expect((await ask(url, 'POST /api/shelves/1/$restore')).body).toEqual({ id: 1, size: '70' });
  });
});

describe('bad requests', () => {
  let faulty = '';
  let end = (): void => undefined;
  let served: Promise<void>;
  beforeAll(async () => {
    const project = await createProject(FILES);
    await new Promise<void>((ready) => {
      served = project
        .serving(async (url) => {
          await send(url, [['POST /api/products', { name: 'A' }]]);
          faulty = url;
          const ended = new Promise<void>((resolve) => (end = resolve));
          ready();
          await ended;
        })
        .then(() => project.remove());
    });
  });
  afterAll(async () => {
    end();
    await served;
  });

  const CURSOR_OF_ANOTHER_LOG = '1-1';

  test.each([
    ['GET /api/products/99/$history', 404, 'record-not-found', 'There is no Product 99'],
    ['GET /api/products/x/$history', 400, 'invalid-identifier', 'expected an integer'],
    ['GET /api/products/1/$histroy', 404, 'path-not-found', 'did you mean "/api/products/{id}/$history"?'],
    ['GET /api/products/$deletd', 404, 'path-not-found', 'did you mean "/api/products/$deleted"?'],
    ['GET /api/products/1/$history/1', 404, 'path-not-found', ''],
    ['GET /api/products/$deleted/$history', 404, 'path-not-found', ''],
    ['GET /api/products/1/parts', 404, 'path-not-found', 'did you mean "/api/products/{id}"?'],
    ['GET /api/categories/1/$history', 404, 'path-not-found', 'did you mean "/api/categories/{id}"?'],
    ['GET /api/categories/$deleted', 404, 'path-not-found', ''],
    ['POST /api/products/$deleted', 405, 'method-not-allowed', 'GET, HEAD, OPTIONS are'],
    [
      'GET /api/products/1/$history?limit=0',
      400,
      'invalid-query',
      '"limit" must be an integer from 1 to 1000, not "0"',
    ],
    ['GET /api/products/1/$history?limit=1001', 400, 'invalid-query', 'from 1 to 1000'],
    ['GET /api/products/1/$history?limit=x&limt=1', 400, 'invalid-query', 'did you mean "limit"?'],
    ['GET /api/products/1/$history?after=x', 400, 'invalid-query', 'after is not a cursor'],
    ['GET /api/products/1/$history?_cnd[name]=A', 400, 'invalid-query', 'can only be used with lists'],
    [`GET /api/products/1/$history?after=${CURSOR_OF_ANOTHER_LOG}`, 410, 'cursor-expired', ''],
    [`GET /api/products/$deleted?after=${CURSOR_OF_ANOTHER_LOG}`, 410, 'cursor-expired', ''],
    ['GET /json-server/products/1/$history', 404, 'path-not-found', ''],
  ])('%s is %i %s', async (title, status, code, text) => {
    const { status: answered, body } = await ask(faulty, title);
    expect([answered, (body as { type: string }).type]).toEqual([status, `urn:problem:${code}`]);
    expect(JSON.stringify(body).replaceAll('\\"', '"')).toContain(text);
  });
});
