/**
 * What a client sends takes time in proportion to its length, whichever part of the request it is: each part at two
 * lengths, one eight times the other, measured by the CPU time of the process.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exchange } from '../../support/exchange.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

const TIMES = 8;
const ROUNDS = 3;
const NOISE = 40;
const HEAD = 60_000;
const BODY = 60_000;
const MANY = 10_000_000;
const BOOKS = 30_000;

const SHELF = `type: Shelf
fields: { name: { type: string, default: '' }, tags: { type: array }, more: { type: any }, mail: { type: string, format: email }, site: { type: string, format: uri }, at: { type: timestamp }, price: { type: decimal, scale: 2 }, code: { type: string, pattern: '^(?:[a-z0-9]+-?)+$', examples: [a1] } }
open: true
relations:
  books: { kind: hasMany, type: Book, inverse: shelf, nested: write }
  next: { kind: belongsTo, type: Shelf, nested: write }
`;
const BOOK = `type: Book
fields: { title: { type: string, required: true }, code: { type: string, unique: true } }
relations:
  shelf: { kind: belongsTo, type: Shelf, inverse: books, nested: write }
  tags: { kind: manyToMany, type: Tag, inverse: books, nested: write }
`;
const TAG = `type: Tag
fields: { word: { type: string, unique: true, caseless: true } }
relations:
  books: { kind: manyToMany, type: Book, inverse: tags, nested: write }
`;

type Write = (size: number) => string;
const repeated =
  (piece: string): Write =>
  (size) =>
    piece.repeat(Math.ceil(size / piece.length));
const listed =
  (piece: (index: number) => string, separator: string): Write =>
  (size) => {
    const length = piece(10_000).length + separator.length;
    return Array.from({ length: Math.ceil(size / length) }, (_, index) => piece(index)).join(separator);
  };

const QUERIES: Readonly<Record<string, Write>> = {
  ampersands: repeated('&'),
  'one letter': repeated('a'),
  keys: repeated('a&'),
  'different keys': listed((index) => `a${index}=1`, '&'),
  'percent signs': repeated('%'),
  escapes: (size) => `a=${repeated('%41')(size)}`,
  brackets: (size) => `_cnd${repeated('[a]')(size)}`,
  'open brackets': repeated('_cnd['),
  'a long path': (size) => `_cnd[next${repeated('.next')(size)}]=1`,
  'unknown filters': listed((index) => `_cnd[x${index}]=1`, '&'),
  'one filter again and again': repeated('_cnd[name]=1&'),
  'values of in': listed((index) => `_cnd[name][in]=${index}`, '&'),
  'indices of in': listed((index) => `_cnd[name][in][${index}]=x`, '&'),
  orders: repeated('_cnd[orderBy]=name&'),
  'pairs of orders': listed((index) => `_cnd[orderBy][${index}][0]=name`, '&'),
  limits: repeated('_cnd[limit]=1&'),
  fields: (size) => `fields=${repeated('name,')(size)}`,
  'unknown fields': (size) => `fields=${listed((index) => `f${index}`, ',')(size)}`,
  includes: (size) => `include=${repeated('books,')(size)}`,
  'a deep include': (size) => `include=${repeated('next.')(size)}`,
  wildcards: (size) => `_cnd[name][like]=${repeated('*')(size)}`,
  'a cursor': (size) => `_cnd[limit][1]=1&after=${repeated('A')(size)}`,
  'a number': (size) => `_cnd[limit]=${repeated('1')(size)}`,
};

/** Pieces that are repeated in a header. */
const HEADERS: readonly (readonly [name: string, piece: string])[] = [
  ...['a/b,', 'application/json;q=0,', ';', '*/*;a=b,', ',', 'a'].map((piece) => ['accept', piece] as const),
  ...['gzip,', 'gzip;q=0.1,', ',;'].map((piece) => ['accept-encoding', piece] as const),
  ...['a=b,', 'return=minimal,', ';', 'return="'].map((piece) => ['prefer', piece] as const),
  ...['"a",', 'W/"a-gzip",', '"', 'W/', '-gzip'].map((piece) => ['if-none-match', piece] as const),
  ...['"a",', 'W/', '"-br"'].map((piece) => ['if-match', piece] as const),
  ...['application/json;charset=utf-8;', ';charset=', 'a/'].map((piece) => ['content-type', piece] as const),
  ...['Bearer ', 'a'].map((piece) => ['authorization', piece] as const),
];

const BODIES: Readonly<Record<string, Write>> = {
  'a long text': (size) => `{"name":"${'a'.repeat(size)}"}`,
  'escapes in a text': (size) => `{"name":"${repeated('\\u0041')(size)}"}`,
  spaces: (size) => `{"name":"",${' '.repeat(size)}"tags":[]}`,
  'spaces and no end': (size) => `{"name":""${' '.repeat(size)}`,
  'a text without end': (size) => `{"name":"${'a'.repeat(size)}`,
  'a number': (size) => `{"more":${'1'.repeat(size)}}`,
  'a fraction': (size) => `{"more":0.${'1'.repeat(size)}}`,
  'lines before a fault': (size) => `{${'\n'.repeat(size)}x`,
  items: (size) => `{"tags":[${repeated('1,')(size)}1]}`,
  'open keys': (size) => `{${listed((index) => `"k${index}":1`, ',')(size)}}`,
  'one key again and again': (size) => `{${repeated('"a":1,')(size)}"b":1}`,
  'keys like numbers': (size) => `{"more":{${listed((index) => `"${index}":1`, ',')(size)}}}`,
  levels: (size) => `{"more":${'['.repeat(size)}`,
  'faulty books': (size) => `{"books":[${repeated('1,')(size)}1]}`,
  'books without a title': (size) => `{"books":[${repeated('{},')(size)}{}]}`,
  'books with an unknown key': (size) => `{"books":[${repeated('{"x":1},')(size)}{}]}`,
  'books with a faulty title': (size) => `{"books":[${repeated('{"title":1},')(size)}{}]}`,
  'one book again and again': (size) => `{"books":[${repeated('{"id":1},')(size)}{"id":1}]}`,
  'books that name other shelves': (size) =>
    `{"books":[${listed((index) => `{"title":"","shelf":{"id":${index + 1}}}`, ',')(size)}]}`,
  'shelves within books': (size) => `{"books":[${repeated('{"shelf":{"books":[{"title":1}]}},')(size)}{}]}`,
  'an email of one letter': (size) => `{"mail":"${'a'.repeat(size)}"}`,
  'an email of points': (size) => `{"mail":"x@${'a.'.repeat(size / 2)}!"}`,
  'a uri': (size) => `{"site":"http://${'a.'.repeat(size / 2)} "}`,
  'a time': (size) => `{"at":"2030-01-01T00:00:00.${'0'.repeat(size)}Z"}`,
  'a decimal': (size) => `{"price":"${'1'.repeat(size)}"}`,
  'a pattern': (size) => `{"code":"${'a'.repeat(size)}!"}`,
};

const arrayOf = (item: (index: number) => string): Write => {
  const items = listed(item, ',');
  return (size) => `[${items(size)}]`;
};

/** Arrays, upserts, deletions and summaries. Nothing is kept: the next one would find more records. */
const DRY = 'dryRun=true&include=';
const MANY_REQUESTS: Readonly<Record<string, readonly [request: string, body: Write]>> = {
  'new books': [`POST /api/books?${DRY}`, arrayOf((i) => `{"title":"${i}"}`)],
  'new books with codes': [`POST /api/books?${DRY}`, arrayOf((i) => `{"title":"","code":"${i}"}`)],
  'new books with one code': [`POST /api/books?${DRY}`, arrayOf(() => '{"title":"","code":"x"}')],
  'new books of one shelf': [`POST /api/books?${DRY}`, arrayOf(() => '{"title":"","shelf":{"id":1}}')],
  'new books of a shelf each': [`POST /api/books?${DRY}`, arrayOf(() => '{"title":"","shelf":{"name":"x"}}')],
  'new books with the same tags': [
    `POST /api/books?${DRY}`,
    arrayOf(() => '{"title":"","tags":[{"id":1},{"id":2},{"id":3}]}'),
  ],
  'new books with a new tag each': [`POST /api/books?${DRY}`, arrayOf((i) => `{"title":"","tags":[{"word":"W${i}"}]}`)],
  'new shelves with books that are answered': [
    'POST /api/shelves?dryRun=true',
    arrayOf(() => '{"books":[{"title":"x"}]}'),
  ],
  'new books with a fault each': [`POST /api/books?${DRY}`, arrayOf(() => '{"title":1}')],
  'new books with an unknown key': [`POST /api/books?${DRY}`, arrayOf((i) => `{"title":"","k${i}":1}`)],
  'books that are not there': [`PATCH /api/books?${DRY}`, arrayOf((i) => `{"id":${i + 1_000_000}}`)],
  'books that change': [`PATCH /api/books?${DRY}`, arrayOf((i) => `{"id":${i + 1},"title":"y"}`)],
  'books that pass their codes on': [`PATCH /api/books?${DRY}`, arrayOf((i) => `{"id":${i + 1},"code":"c${i + 2}"}`)],
  'books that change their shelf': [`PATCH /api/books?${DRY}`, arrayOf((i) => `{"id":${i + 1},"shelf":{"id":2}}`)],
  'books that name the next one by its shelf': [
    `PATCH /api/books?${DRY}`,
    arrayOf((i) => `{"id":${i + 1},"shelf":{"id":${i + 1},"next":{"id":${i + 2}}}}`),
  ],
  'books with outdated tags': [`PATCH /api/books?${DRY}`, arrayOf((i) => `{"id":${i + 1},"@etag":"x"}`)],
  'one book again and again': [`PATCH /api/books?${DRY}`, arrayOf(() => '{"id":1}')],
  'a book by its code': [
    `PUT /api/books?on=code&${DRY}`,
    (size) => `{"title":"","code":"c7","tags":[${listed((i) => `{"word":"w${i}"}`, ',')(size)}]}`,
  ],
  'books to delete': ['DELETE /api/books?dryRun=true&_cnd[id][lte]=SIZE', () => ''],
};

let server: TestServer;
const directory = mkdtempSync(join(tmpdir(), 'growth-'));
beforeAll(async () => {
  writeFileSync(join(directory, 'shelf.yaml'), SHELF);
  writeFileSync(join(directory, 'book.yaml'), BOOK);
  writeFileSync(join(directory, 'tag.yaml'), TAG);
  await startEmpty();
});
afterAll(() => server.close());

async function startEmpty(): Promise<void> {
  const settings = {
    urlLimit: MANY,
    headerLimit: 1024 * 1024,
    bodyLimit: MANY,
    bodyKeys: MANY,
    bodyItems: MANY,
    bodyDepth: 1000,
    batchLimit: MANY,
    writeRows: MANY,
  };
  server = await startTestServer({ schemaDirectory: directory, settings });
}

async function cost(ask: () => Promise<{ readonly status: number }>): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    const { status } = await ask();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
    expect(status).toBeLessThan(500);
  }
  return least;
}

async function grows(size: number, ask: (size: number) => Promise<{ readonly status: number }>): Promise<void> {
  await ask(size);
  const [short, long] = [await cost(() => ask(size)), await cost(() => ask(size * TIMES))];
  console.log(
    `${expect.getState().currentTestName}: ${short.toFixed(1)} ms, ${TIMES} times as long: ${long.toFixed(1)} ms`,
  );
  expect(long).toBeLessThan(2 * TIMES * short + NOISE);
}

describe('query strings', () => {
  it.each(Object.entries(QUERIES))('%s', (_, write) =>
    grows(HEAD, (size) => exchange(server.url, `GET /api/shelves?${write(size)}`)),
  );
});

describe('headers', () => {
  it.each(HEADERS)('%s: %s', (name, piece) =>
    grows(HEAD, async (size) => {
      const value = repeated(piece)(size);
      await exchange(server.url, 'GET /api/shelves', { headers: { [name]: value } });
      const headers = { 'content-type': 'application/json', [name]: value };
      return exchange(server.url, 'POST /api/shelves', { headers, body: '{}' });
    }),
  );
});

describe('bodies', () => {
  it.each(Object.entries(BODIES))('%s', (_, write) =>
    grows(BODY, (size) =>
      exchange(server.url, 'POST /api/shelves', { headers: { 'content-type': 'application/json' }, body: write(size) }),
    ),
  );
});

describe('arrays, upserts and deletions', () => {
  beforeAll(async () => {
    await server.close();
    await startEmpty();
    const rows = Array.from({ length: BOOKS }, (_, index) => index + 1);
    await made(
      'shelves',
      rows.slice(0, BOOKS).map((id) => ({ id })),
    );
    await made('tags', [{ id: 1 }, { id: 2 }, { id: 3 }]);
    await made(
      'books',
      rows.map((id) => ({ id, title: 'x', code: `c${id}`, shelf: { id } })),
    );
  });

  it.each(Object.entries(MANY_REQUESTS))('%s', (_, [request, write]) =>
    grows(BODY, (size) =>
      exchange(server.url, request.replace('SIZE', String(Math.ceil((size * BOOKS) / (BODY * TIMES)))), {
        headers: { 'content-type': 'application/json', prefer: `max-affected=${MANY}, return=minimal` },
        body: write(size),
      }),
    ),
  );
});

async function made(path: string, records: readonly object[]): Promise<void> {
  const { status } = await exchange(server.url, `POST /api/${path}?include=`, {
    headers: { 'content-type': 'application/json', prefer: 'return=minimal' },
    body: JSON.stringify(records),
  });
  expect(status).toBe(201);
}
