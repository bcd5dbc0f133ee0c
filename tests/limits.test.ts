/** What is too much is refused in words, and nothing else suffers. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { exchange, type Exchanged } from './support/exchange.ts';
import { startTestServer, type TestServer } from './support/server.ts';

const SCHEMA = 'tests/fixtures/http';
const HEADERS = { 'content-type': 'application/json' };

let server: TestServer;
beforeAll(async () => {
  const settings = { bodyKeys: 20, bodyItems: 10, urlLimit: 500, requestTimeout: 600, maxStreams: 2 };
  server = await startTestServer({ schemaDirectory: SCHEMA, settings });
});
afterAll(() => server.close());

const codeOf = ({ headers, text }: Exchanged): string =>
  headers['content-type'] === 'application/problem+json'
    ? String(JSON.parse(text).type).slice('urn:problem:'.length)
    : '';

const alive = async (): Promise<void> => expect((await exchange(server.url, 'GET /health/ready')).status).toBe(200);

const keys = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1])));

test.each([
  ['20 keys', 'POST /api/gadgets', keys(20), 422, 'invalid-body'],
  ['21 keys', 'POST /api/gadgets', keys(21), 413, 'content-too-large'],
  [
    'an array of 11',
    'POST /api/gadgets',
    JSON.stringify({ name: Array.from({ length: 11 }, () => 1) }),
    413,
    'content-too-large',
  ],
  [
    'an array of 10',
    'POST /api/gadgets',
    JSON.stringify({ name: Array.from({ length: 10 }, () => 1) }),
    422,
    'invalid-body',
  ],
  ['65 levels', 'POST /api/gadgets', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 400, 'invalid-json'],
  ['a URL of 501', `GET /api/gadgets?${'a'.repeat(501 - '/api/gadgets?'.length)}`, undefined, 414, 'uri-too-long'],
  ['a URL of 500', `GET /api/gadgets?${'a'.repeat(500 - '/api/gadgets?'.length)}`, undefined, 400, 'invalid-query'],
  [
    '51 filters',
    `GET /api/gadgets?${Array.from({ length: 51 }, (_, at) => `_cnd[${at}]`)
      .join('&')
      .slice(0, 480)}`,
    undefined,
    400,
    'invalid-query',
  ],
])('%s', async (_, title, body, status, code) => {
  const answer = await exchange(server.url, title, body === undefined ? {} : { headers: HEADERS, body });
  expect([answer.status, codeOf(answer)]).toEqual([status, code]);
  await alive();
});

/** What comes back for these bytes, until the connection is closed or a while is over. */
async function raw(bytes: string, wait = 3000): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  socket.write(bytes, 'latin1');
  await Promise.race([once(socket, 'close'), sleep(wait)]);
  socket.destroy();
  return text;
}

const POST = 'POST /api/gadgets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
const SMUGGLED = 'DELETE /api/gadgets/1 HTTP/1.1\r\nHost: x\r\n\r\n';

test.each([
  ['no HTTP', 'HELLO\r\n\r\n', 400, 'bad-request'],
  ['headers of 20 KiB', `GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`, 431, 'headers-too-large'],
  ['a head that does not end', 'GET /api/gadgets HTTP/1.1\r\nHost: x\r\n', 408, 'request-timeout'],
  ['a body that does not come', `${POST}Content-Length: 10\r\n\r\n{`, 408, 'request-timeout'],
  ['two lengths', `${POST}Content-Length: 2\r\nContent-Length: 44\r\n\r\n{}${SMUGGLED}`, 400, 'bad-request'],
  [
    'length and chunks',
    `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
    400,
    'bad-request',
  ],
  [
    'chunks that are none',
    `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n${SMUGGLED}`,
    400,
    'bad-request',
  ],
  ['chunked twice', `${POST}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`, 400, 'bad-request'],
  [
    'a chunk length with a sign',
    `${POST}Transfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n${SMUGGLED}`,
    400,
    'bad-request',
  ],
  [
    'a space before the colon',
    `POST /api/gadgets HTTP/1.1\r\nHost: x\r\nContent-Length : 2\r\n\r\n{}${SMUGGLED}`,
    400,
    'bad-request',
  ],
  [
    'a bare line feed in a header',
    `GET /api/gadgets HTTP/1.1\r\nHost: x\r\nA: b\rX: y\r\n\r\n${SMUGGLED}`,
    400,
    'bad-request',
  ],
])('on the wire: %s', async (_, bytes, status, code) => {
  const text = await raw(bytes);
  const answers = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, found]) => Number(found));
  expect(answers.at(-1)).toBe(status);
  expect(answers.length).toBeLessThanOrEqual(code === 'bad-request' ? 2 : 1);
  expect(text).toContain(`urn:problem:${code}`);
  // What was hidden in a body is never carried out.
  expect(text).not.toContain('record-not-found');
  await alive();
});

test('a thousand idle connections leave the service as it is', async () => {
  const { hostname, port } = new URL(server.url);
  const sockets = Array.from({ length: 1000 }, () => connect(Number(port), hostname).on('error', () => undefined));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await alive();
  for (const socket of sockets) socket.destroy();
});

describe('RATE_LIMIT', () => {
  test('refuses who asks too often, and says when to come again', async () => {
    const own = await startTestServer({ schemaDirectory: SCHEMA, settings: { rateLimit: 3 } });
    const answers: Exchanged[] = [];
    for (let sent = 0; sent < 4; sent += 1) answers.push(await exchange(own.url, 'GET /api/gadgets'));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers.map(({ headers }) => headers['ratelimit'])).toEqual([
      expect.stringMatching(/^"minute";r=2;t=(59|60)$/),
      expect.stringMatching(/^"minute";r=1;t=\d+$/),
      expect.stringMatching(/^"minute";r=0;t=\d+$/),
      expect.stringMatching(/^"minute";r=0;t=\d+$/),
    ]);
    const last = answers[3];
    expect([last?.headers['ratelimit-policy'], last && codeOf(last)]).toEqual(['"minute";q=3;w=60', 'rate-limited']);
    expect(Number(last?.headers['retry-after'])).toBeGreaterThan(50);
    expect((await exchange(own.url, 'GET /health/ready')).status).toBe(200);
    await own.close();
  });
});

test('more whole lists at a time than MAX_STREAMS are answered 503', async () => {
  const body = JSON.stringify({ notes: 'x'.repeat(200_000) });
  for (let made = 0; made < 60; made += 1) await exchange(server.url, 'POST /api/gadgets', { headers: HEADERS, body });
  const { hostname, port } = new URL(server.url);
  const readers = [0, 1].map(() => connect(Number(port), hostname));
  for (const socket of readers) {
    socket.on('error', () => undefined).write('GET /api/gadgets HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'readable');
  }
  await sleep(100);
  // As often as there are connections, and more: one that is refused leaves nothing open behind it.
  for (let turn = 0; turn < 12; turn += 1) {
    const refused = await exchange(server.url, 'GET /api/gadgets');
    expect([refused.status, codeOf(refused), refused.headers['retry-after']]).toEqual([503, 'storage-busy', '1']);
  }
  for (const socket of readers) socket.destroy();
  await sleep(100);
  expect((await exchange(server.url, 'GET /api/gadgets')).status).toBe(200);
});
