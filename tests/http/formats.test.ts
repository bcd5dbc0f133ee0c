import { createServer, get, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Budget, createSlowReaders } from '../../engine/edge/budget.ts';
import { createCors, createHead, send } from '../../engine/http/answer.ts';
import { exchange } from '../support/exchange.ts';
import { startTestServer, useServer } from '../support/server.ts';

const JSON_BODY = { 'content-type': 'application/json' };

const server = useServer({ schemaDirectory: 'tests/fixtures/http' });
beforeAll(async () => {
  const bodies = [{ name: 'one' }, { name: 'a "b", c', weight: 2 }, { name: '', notes: { x: [1, null] } }];
  for (const body of bodies)
    await exchange(server.url, 'POST /api/gadgets', { headers: JSON_BODY, body: JSON.stringify(body) });
});

describe('a list', () => {
  test('as CSV has a line of names, fields, and links as identifiers', async () => {
    const { headers, text } = await exchange(server.url, 'GET /api/gadgets', { headers: { accept: 'text/csv' } });
    expect(headers).toMatchObject({ 'content-type': 'text/csv; charset=utf-8; header=present', 'x-total-count': '3' });
    expect(text).toBe('id,name,weight,notes\r\n1,one,0,\r\n2,"a ""b"", c",2,\r\n3,"",0,"{""x"":[1,null]}"\r\n');
  });

  test.each([
    ['application/x-ndjson', '{"id":2,"name":"a \\"b\\", c"}\n'],
    ['text/csv', 'id,name\r\n2,"a ""b"", c"\r\n'],
  ])('as %s has pages and links', async (accept, page) => {
    const title = 'GET /api/gadgets?_cnd[limit]=1&_cnd[limit]=1&fields=name';
    const { headers, text } = await exchange(server.url, title, { headers: { accept } });
    expect(text).toBe(page);
    expect(String(headers['link'])).toMatch(/rel="first".*rel="next".*rel="prev"/);
    const again = await exchange(server.url, title, { headers: { accept, 'if-none-match': String(headers.etag) } });
    expect(again.status).toBe(304);
  });

  test.each([
    'text/csv; charset=utf-8; header=present',
    'text/csv;header=present',
    'text/csv; charset=utf-8',
    'text/html, text/csv; charset=utf-8; header=present; q=0.9',
  ])('of who takes %s is CSV', async (accept) => {
    const { status, headers } = await exchange(server.url, 'GET /api/gadgets', { headers: { accept } });
    expect([status, headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
  });

  test.each(['header=absent', 'charset=utf-8; HEADER="absent"'])(
    'a body of text/csv; %s is 415: its first line would be taken for names',
    async (parameters) => {
      const headers = { 'content-type': `text/csv; ${parameters}` };
      const { status, text } = await exchange(server.url, 'POST /api/gadgets', { headers, body: 'a,1\n' });
      expect([status, JSON.parse(text).detail]).toEqual([
        415,
        'Content-Type says header=absent, but the first line has to name the columns; expected application/json or application/x-ndjson or text/csv, in UTF-8',
      ]);
    },
  );

  test('of who sends an empty Accept is JSON', async () => {
    const { headers } = await exchange(server.url, 'GET /api/gadgets', { headers: { accept: '' } });
    expect(headers['content-type']).toBe('application/json');
  });

  // Of a header, the first kilobyte is read.
  test.each([
    'text/html',
    'text/csv; header=absent',
    'application/json;q=0',
    '*/*;q=0',
    `${'text/html,'.repeat(200)}text/csv`,
  ])('of who takes %s is 406, with what there is', async (accept) => {
    const { status, text } = await exchange(server.url, 'GET /api/gadgets', { headers: { accept } });
    expect(status).toBe(406);
    expect(JSON.parse(text).detail).toContain('application/json, application/x-ndjson, text/csv');
  });

  test.each(['include=zone', 'fields=zone.zone_name', 'include=zone&fields=markup_flat,zone'])(
    'as CSV refuses ?%s',
    async (query) => {
      await using shop = await startTestServer();
      const ask = (accept: string) => exchange(shop.url, `GET /api/shipping-markups?${query}`, { headers: { accept } });
      const { status, text } = await ask('text/csv');
      expect([status, JSON.parse(text).errors[0].code]).toEqual([400, 'relation-in-table']);
      expect((await ask('application/x-ndjson')).status).toBe(200);
    },
  );
});

function bytes(
  url: string,
  headers: Record<string, string>,
): Promise<{ headers: IncomingHttpHeaders; body: Buffer; complete: boolean }> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => undefined);
      response.on('close', () =>
        resolve({ headers: response.headers, body: Buffer.concat(chunks), complete: response.complete }),
      );
    }).on('error', reject);
  });
}

describe('compression', () => {
  beforeAll(async () => {
    const body = JSON.stringify({ notes: 'x'.repeat(30_000) });
    for (let made = 0; made < 10; made += 1)
      await exchange(server.url, 'POST /api/gadgets', { headers: JSON_BODY, body });
  });

  const plainly = async (path: string): Promise<string> => (await exchange(server.url, `GET ${path}`)).text;

  test.each([
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['*', 'br'],
    ['x-gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['*;q=0', undefined],
    ['deflate', undefined],
    ['identity', undefined],
    ['gzip;q=0', undefined],
    ['identity;q=1, gzip;q=0.5', undefined],
  ])('Accept-Encoding: %s brings %s', async (accepted, coding) => {
    const path = '/api/gadgets/4';
    const { headers, body } = await bytes(server.url + path, { 'accept-encoding': accepted });
    const decoded = coding === 'br' ? brotliDecompressSync(body) : coding === 'gzip' ? gunzipSync(body) : body;
    expect(headers['content-encoding']).toBe(coding);
    expect(headers['vary']).toContain('Accept-Encoding');
    expect(decoded.toString()).toBe(await plainly(path));
    expect(Number(headers['content-length'])).toBe(body.length);
    const tag = String((await exchange(server.url, `GET ${path}`)).headers.etag);
    expect(headers.etag).toBe(coding === undefined ? tag : tag.replace(/"$/, `-${coding}"`));
  });

  test.each([
    ['application/json', 'gzip'],
    ['application/x-ndjson', 'br'],
    ['text/csv', 'gzip'],
  ])('of a stream of %s by %s', async (accept, coding) => {
    const { headers, body, complete } = await bytes(`${server.url}/api/gadgets`, { accept, 'accept-encoding': coding });
    const plain = await exchange(server.url, 'GET /api/gadgets', { headers: { accept } });
    expect(headers['content-length']).toBeUndefined();
    expect((coding === 'br' ? brotliDecompressSync(body) : gunzipSync(body)).toString()).toBe(plain.text);
    expect(complete).toBe(true);
  });
});

describe('an error after the first byte', () => {
  const told = jest.fn();
  let broken: Server;
  let url: string;
  beforeAll(async () => {
    async function* pieces(): AsyncGenerator<string> {
      yield `[${'1,'.repeat(100_000)}`;
      throw new Error('the database is gone');
    }
    broken = createServer((request, response) => {
      const answer = { status: 200, headers: { 'Content-Type': 'application/json' }, body: pieces() };
      void send(request, response, answer, {
        headOf: createHead(createCors([]), false),
        isDraining: () => false,
        awaitReader: createSlowReaders(1000, new Budget(Infinity)),
        log: { debug: told, info: told, warn: told, error: told },
      });
    }).listen(0, '127.0.0.1');
    await new Promise((done) => broken.once('listening', done));
    url = `http://127.0.0.1:${(broken.address() as AddressInfo).port}/`;
  });
  afterAll(() => broken.close());

  test.each(['identity', 'gzip', 'br'])('breaks the connection (%s)', async (coding) => {
    told.mockClear();
    // Where a coding had held everything back, not even the status was sent.
    const outcome = await bytes(url, { 'accept-encoding': coding }).catch(() => ({ complete: false }));
    expect(outcome.complete).toBe(false);
    expect(told).toHaveBeenCalledWith(
      expect.objectContaining({ requestId: expect.any(String), err: expect.any(Error) }),
      'an answer broke off',
    );
  });
});
