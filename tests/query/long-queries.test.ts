import { randomBytes } from 'node:crypto';
import { exchange } from '../support/exchange.ts';
import { useServer } from '../support/server.ts';

const FILES = {
  'note.yaml': `type: Note
list: { maxLimit: 100 }
fields:
  text: { type: string }
  other: { type: string }
`,
};

const server = useServer({ files: FILES });

/** nginx takes 4 KB of headers by default (proxy_buffer_size). */
const PROXY = 4096;
const NODE = 16_384;

const LONG = 'x'.repeat(2000);
beforeAll(async () => {
  const body = JSON.stringify(Array.from({ length: 7 }, (_, at) => ({ text: `${LONG}${at}` })));
  const sent = await fetch(`${server.url}/api/notes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect(sent.status).toBe(201);
});

interface Page {
  readonly ids: readonly unknown[];
  readonly bytes: number;
  readonly links: ReadonlyMap<string, string>;
}

async function read(path: string): Promise<Page> {
  const { status, headers, text } = await exchange(server.url, `GET ${path}`);
  if (status !== 200) throw new Error(text.slice(0, 300));
  const links = String(headers['link']).matchAll(/<([^>]+)>; rel="(\w+)"/g);
  const items = JSON.parse(text) as readonly { readonly id?: number; readonly by?: object }[];
  return {
    ids: items.map(({ id, by }) => id ?? JSON.stringify(by)),
    bytes: Object.entries(headers).reduce((sum, [name, value]) => sum + `${name}: ${value}\r\n`.length, 20),
    links: new Map([...links].map(([, link = '', name = '']) => [name, link])),
  };
}

const word = (length: number): string => randomBytes(length).toString('base64url').slice(0, length);
const repeated = (length: number, piece: () => string): string =>
  Array.from({ length: Math.floor(length / piece().length) }, piece).join('');

/** Conditions of this length that all records meet. */
const QUERIES: Readonly<Record<string, (length: number) => string>> = {
  'one long value': (length) => `_cnd[other][ne]=${word(length - 50)}`,
  'many values': (length) =>
    `_cnd[$none][0][other][null]=false${repeated(length - 150, () => `&_cnd[$none][1][text][in]=${word(70)}`)}`,
  'what is not ASCII': (length) => `_cnd[other][ne]=${repeated(length - 70, () => '%C3%A4%E4%B8%AD')}`,
};
const PATHS: Readonly<Record<string, readonly [path: string, limit: string]>> = {
  list: ['/api/notes', '_cnd[limit]=0,2&_cnd[orderBy]=text'],
  summary: ['/api/notes/$summary', '_cnd[limit]=0,2&by=text'],
};

describe.each(Object.entries(PATHS))('page by page: a %s', (_what, [path, limit]) => {
  describe.each(Object.entries(QUERIES))('by a query of %s', (_kind, queryOf) => {
    test.each([
      [1000, PROXY],
      [7000, NODE],
    ])('of %i characters stays below %i bytes of headers', async (length, most) => {
      const seen: unknown[] = [];
      const forth: (readonly unknown[])[] = [];
      let last: Page | undefined;
      for (let next: string | undefined = `${path}?${limit}&${queryOf(length)}`; next !== undefined;) {
        last = await read(next);
        expect(last.bytes).toBeLessThan(most);
        forth.push(last.ids);
        seen.push(...last.ids);
        next = last.links.get('next');
      }
      expect(new Set(seen).size).toBe(7);
      expect(seen).toHaveLength(7);
      const back = [last?.ids ?? []];
      for (let prev = last?.links.get('prev'); prev !== undefined;) {
        const page = await read(prev);
        back.unshift(page.ids);
        prev = page.links.get('prev');
      }
      expect(back).toEqual(forth);
    });
  });
});

test.each(['$query=', '$query=x', '$query=AAAA&_cnd[limit]=0,2', `$query=${word(300)}`])(
  '?%s is refused',
  async (search) => {
    const { status, text } = await exchange(server.url, `GET /api/notes?${search}`);
    expect([status, JSON.parse(text).errors[0].code]).toEqual([400, 'unknown-parameter']);
  },
);

test('json-server links the nearest pages of a long query, and others those at the ends as well', async () => {
  const short = await read('/json-server/notes?_page=2&_limit=2');
  expect([...short.links.keys()]).toEqual(['first', 'prev', 'next', 'last']);
  const long = await read(`/json-server/notes?_page=2&_limit=2&other_ne=${word(900)}`);
  expect(long.bytes).toBeLessThan(PROXY);
  expect([...long.links.keys()]).toEqual(['next', 'prev']);
  const third = await read(long.links.get('next') ?? '');
  expect(third.ids).toEqual((await read('/json-server/notes?_page=3&_limit=2')).ids);
  expect((await read(third.links.get('prev') ?? '')).ids).toEqual(long.ids);
});
