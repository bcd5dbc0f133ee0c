/** How many bytes a page may have, on both databases: what would be too much is refused before it is in memory. */
import { hash } from 'node:crypto';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { useServer } from '../support/server.ts';

const HEADERS = { 'content-type': 'application/json' };
/** Pages have 2 MiB at most, an eighth of it. */
const MEMORY = 16 * 1024 ** 2;
const LONG = 700_000;

const server = useServer({ schemaDirectory: 'tests/fixtures/http', settings: { memoryLimit: MEMORY } });
beforeAll(async () => {
  for (let made = 0; made < 12; made += 1) {
    const body = JSON.stringify({ name: `n${made}`, notes: 'x'.repeat(LONG) });
    expect((await exchange(server.url, 'POST /api/gadgets', { headers: HEADERS, body })).status).toBe(201);
  }
});

const get = (query: string, headers = {}): Promise<Exchanged> =>
  exchange(server.url, `GET /api/gadgets?${query}`, { headers });

test.each([1, 2])('a page of %d long records is answered', async (limit) => {
  const { status, text } = await get(`_cnd[limit]=0&_cnd[limit]=${limit}`);
  expect([status, JSON.parse(text).length]).toEqual([200, limit]);
});

test('a long page has the length of its bytes, and the tag of its bytes and its headers', async () => {
  const { status, text, headers } = await get('_cnd[limit]=3&_cnd[limit]=2');
  expect([status, JSON.parse(text).map(({ name }: { name: string }) => name)]).toEqual([200, ['n3', 'n4']]);
  expect(headers).toMatchObject({ 'x-total-count': '12', 'content-length': String(Buffer.byteLength(text)) });
  expect(headers['etag']).toBe(`"${hash('sha1', `${text}\n12\n${headers['link']}`, 'base64url')}"`);
  const again = await get('_cnd[limit]=3&_cnd[limit]=2', { 'if-none-match': headers['etag'] });
  expect([again.status, again.text]).toEqual([304, '']);
  const lines = await get('_cnd[limit]=3&_cnd[limit]=2', { accept: 'application/x-ndjson' });
  expect(
    lines.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(JSON.parse(text));
});

test.each(['application/json', 'application/x-ndjson', 'text/csv'])(
  'a page with more bytes is refused, and says what helps, as %s',
  async (accept) => {
    const { status, text } = await get('_cnd[limit]=0&_cnd[limit]=10', { accept });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({
      type: 'urn:problem:invalid-query',
      detail: expect.stringMatching(/_cnd\[limit\].*fields/),
    });
  },
);
test('a whole list is streamed, however long it is', async () => {
  const { status, text } = await get('');
  expect([status, JSON.parse(text).length]).toEqual([200, 12]);
});
test('whole lists that are not read draw from the budget, and more of them are refused', async () => {
  const own = await serve({
    ...readSettings({}),
    port: 0,
    databaseUrl: server.database.url,
    schemaDirectory: 'tests/fixtures/http',
    memoryLimit: MEMORY,
  });
  const { budget } = own.engine;
  const share = budget.take((budget.limit * 7) / 8 - 1000);
  const refused = await exchange(own.url, 'GET /api/gadgets');
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  share.release();
  expect((await exchange(own.url, 'GET /api/gadgets')).status).toBe(200);
  await own.close();
});
