import { useTool } from '../mcp/agent.ts';
import { exchange } from '../support/exchange.ts';
import { useServer } from '../support/server.ts';

const FILES = {
  'book.yaml': `type: Book
list: { maxLimit: 1000 }
fields:
  title: { type: string }
  blurb: { type: string }
  word: { type: string, caseless: true }
  at: { type: timestamp }
  pages: { type: integer }
relations:
  author: { kind: belongsTo, type: Author }
`,
  'author.yaml': 'type: Author\nfields: { name: { type: string } }\n',
};

const server = useServer({ files: FILES, settings: { tokens: '' } });

interface Book {
  readonly id: number;
}

const LONG = 'x'.repeat(3000);
/** Long texts that begin alike or not, short ones, none, and signs of two, three and four bytes. */
const TEXTS = [
  ...['a', 'b', 'c'].map((end) => LONG + end),
  ...['a', 'b', 'c'].map((end) => 'Ä'.repeat(1500) + end),
  ...['a', 'b'].map((start) => start + '\u{1F600}'.repeat(700)),
  `${'\u{10FFFF}'.repeat(900)}`,
  'short',
  '',
  null,
  'X'.repeat(3000),
  `"\\${'\u0001'.repeat(900)}`,
];

async function send(call: string, body?: object) {
  const { status, text } = await exchange(server.url, call, {
    headers: { 'content-type': 'application/json', prefer: 'max-affected=100' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (status >= 300) throw new Error(text);
  return JSON.parse(text);
}

async function read(path: string): Promise<{ readonly ids: readonly number[]; readonly links: Map<string, string> }> {
  const { status, text, headers } = await exchange(server.url, `GET ${path}`);
  if (status !== 200) throw new Error(text);
  const links = String(headers['link']).matchAll(/<([^>]+)>; rel="(\w+)"/g);
  return {
    ids: JSON.parse(text).map(({ id }: Book) => id),
    links: new Map([...links].map(([, url = '', rel = '']) => [rel, url])),
  };
}

type Between = (seen: readonly number[]) => Promise<void>;

async function walk(path: string, relation: 'next' | 'prev', between: Between = async () => undefined) {
  const pages: (readonly number[])[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const { ids, links } = await read(next);
    pages.push(ids);
    if (pages.length > 100) throw new Error('the links lead nowhere');
    next = links.get(relation);
    if (next !== undefined) await between(ids);
  }
  return (relation === 'next' ? pages : pages.toReversed()).flat();
}

const terms = (...words: readonly string[]): string => words.map((word) => `&_cnd[orderBy]=${word}`).join('');
const ORDERS = [
  ['title'],
  ['title', 'desc'],
  ['word', 'desc', 'blurb'],
  ['pages', 'blurb', 'desc'],
  ['blurb', 'title', 'desc', 'pages'],
  ['author.name'],
  ['author.name', 'desc', 'pages', 'title', 'desc'],
  ['at', 'author.name', 'pages'],
].map((words) => terms(...words));

const listOf = (order: string, limit: number, more = ''): string =>
  `/api/books?_cnd[limit]=0&_cnd[limit]=${limit}${order}${more}`;
const all = async (order: string): Promise<readonly number[]> => (await read(listOf(order, 1000))).ids;

let authors: readonly object[];
beforeAll(async () => {
  authors = await send(
    'POST /api/authors',
    TEXTS.slice(0, 4).map((name) => ({ name })),
  );
});

beforeEach(async () => {
  if ((await all('')).length > 0) await send('DELETE /api/books?_cnd[id][gte]=1');
  const books = TEXTS.map((title, index) => ({
    title,
    blurb: TEXTS.at(index % 5),
    word: TEXTS.at(-index),
    pages: index % 3,
    at: '2024-01-01T00:00:00.123456Z',
    author: index % 4 === 3 ? null : authors[index % 4],
  }));
  await send('POST /api/books', books);
});

test.each(ORDERS)(
  'the links of a list in the order of long values lead to each record once, back and forth: %s',
  async (order) => {
    const expected = await all(order);
    expect(expected).toHaveLength(TEXTS.length);
    for (const more of ['', '&fields=id'])
      for (const limit of [1, 2, 5]) {
        expect(await walk(listOf(order, limit, more), 'next')).toEqual(expected);
        const last = await read(
          `/api/books?_cnd[limit]=${expected.length - limit}&_cnd[limit]=${limit}${order}${more}`,
        );
        expect([...(await walk(last.links.get('prev') ?? '', 'prev')), ...last.ids]).toEqual(expected);
      }
  },
);

test.each(ORDERS)('no record is left out where the last one of each page changes or goes: %s', async (order) => {
  const kept = new Set(await all(order));
  const vanish =
    (change: (id: number) => Promise<unknown>): Between =>
    async (ids) => {
      const id = ids.at(-1);
      if (id === undefined || kept.size < 4) return;
      await change(id);
      kept.delete(id);
    };
  const moved = { title: LONG.repeat(2), blurb: '\u{10FFFF}'.repeat(2000), word: '', author: null, pages: 9, at: null };
  const read1 = await walk(
    listOf(order, 3),
    'next',
    vanish((id) => send(`PATCH /api/books/${id}`, moved)),
  );
  expect([...kept].filter((id) => !read1.includes(id))).toEqual([]);
  const read2 = await walk(
    listOf(order, 2),
    'next',
    vanish((id) => send(`DELETE /api/books/${id}`)),
  );
  expect([...kept].filter((id) => !read2.includes(id))).toEqual([]);
});

test.each(ORDERS)('a list whose pages are deleted as they are read ends with no record left: %s', async (order) => {
  const remove: Between = async (ids) => {
    for (const id of ids) await send(`DELETE /api/books/${id}`);
  };
  const read1 = await walk(listOf(order, 3), 'next', remove);
  expect(new Set(read1).size).toBe(TEXTS.length);
});

test('an agent reads a list in the order of long values to its end', async () => {
  const seen: unknown[] = [];
  for (let given: object = {}, isLast = false; !isLast;) {
    const { says } = await useTool(server.url, 'list_records', { type: 'Book', order: ['title'], limit: 5, ...given });
    seen.push(...(says['records'] as readonly unknown[]).map((record) => (record as Book).id));
    given = { after: says['next'] };
    isLast = says['next'] === undefined;
  }
  expect(seen).toEqual(await all(terms('title')));
});
