/** Ambiguous requests are refused, and nothing after them on the connection is carried out. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { exchange } from '../support/exchange.ts';
import { closed, dial, raw, statusesOf } from '../support/raw.ts';
import { useServer } from '../support/server.ts';

const SCHEMA = 'tests/fixtures/limits';

const server = useServer({ schemaDirectory: SCHEMA });

const JSON_TYPE = { 'content-type': 'application/json' };
const HOST = 'Host: localhost\r\n';
const TYPE = 'Content-Type: application/json\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const BODY = '{"name":"hidden"}';
const LENGTH = `Content-Length: ${BODY.length}\r\n`;
const CHUNKS = `11\r\n${BODY}\r\n0\r\n\r\n`;
const post = (head: string, body = CHUNKS, version = '1.1'): string =>
  `POST /api/gadgets HTTP/${version}\r\n${head}\r\n${body}`;
const get = (target: string, head = HOST): string => `GET ${target} HTTP/1.1\r\n${head}\r\n`;

async function listed(): Promise<readonly { readonly id: number; readonly name: string }[]> {
  return JSON.parse((await exchange(server.url, 'GET /api/gadgets')).text);
}

async function bait(): Promise<number> {
  const made = await exchange(server.url, 'POST /api/gadgets', { headers: JSON_TYPE, body: '{"name":"bait"}' });
  return Number(JSON.parse(made.text).id);
}

const deleting = (id: number): string => `DELETE /api/gadgets/${id} HTTP/1.1\r\n${HOST}\r\n`;

const REFUSED: readonly (readonly [what: string, request: string, detail?: string])[] = [
  ['a raw ü in the query', get('/api/gadgets?_cnd[name]=ü'), 'percent-encode all but the visible characters of ASCII'],
  ['a tab in the query', get('/api/gadgets?_cnd[name]=a\tb'), 'percent-encode all but the visible characters of ASCII'],
  ['a raw ü in the path', get('/api/gädgets'), 'as %C3%BC for'],
  ['a raw space', get('/api/gadgets?_cnd[name]=a b'), 'percent-encoded as %20'],
  // Where a body ends
  ['chunks in HTTP/1.0', post(`${HOST}${TYPE}${CHUNKED}`, CHUNKS, '1.0'), 'HTTP/1.0 has no Transfer-Encoding'],
  ['and kept alive', post(`${HOST}Connection: keep-alive\r\n${TYPE}${CHUNKED}`, CHUNKS, '1.0')],
  ['gzip, chunked', post(`${HOST}${TYPE}Transfer-Encoding: gzip, chunked\r\n`), 'chunked, and nothing else'],
  ['gzip', post(`${HOST}${TYPE}Transfer-Encoding: gzip\r\n`)],
  ['identity', post(`${HOST}${TYPE}Transfer-Encoding: identity\r\n${LENGTH}`, BODY)],
  ['an empty coding', post(`${HOST}${TYPE}Transfer-Encoding:\r\n`)],
  ['a coding in quotes', post(`${HOST}${TYPE}Transfer-Encoding: "chunked"\r\n`)],
  ['a coding with a parameter', post(`${HOST}${TYPE}Transfer-Encoding: chunked;q=1\r\n`)],
  ['a vertical tab before the coding', post(`${HOST}${TYPE}Transfer-Encoding:\x0bchunked\r\n`)],
  ['chunked, chunked', post(`${HOST}${TYPE}Transfer-Encoding: chunked, chunked\r\n`)],
  [
    'two codings in two lines',
    post(`${HOST}${TYPE}Transfer-Encoding: gzip\r\n${CHUNKED}`),
    'chunked, and nothing else',
  ],
  ['chunked in two lines', post(`${HOST}${TYPE}${CHUNKED}${CHUNKED}`)],
  ['chunked and a length', post(`${HOST}${TYPE}${CHUNKED}${LENGTH}`)],
  ['a length and chunked', post(`${HOST}${TYPE}${LENGTH}${CHUNKED}`)],
  ['two lengths', post(`${HOST}${TYPE}${LENGTH}Content-Length: 1\r\n`, BODY)],
  ['a length twice', post(`${HOST}${TYPE}${LENGTH}${LENGTH}`, BODY)],
  ['two lengths in a line', post(`${HOST}${TYPE}Content-Length: 17, 17\r\n`, BODY)],
  ['a length with a sign', post(`${HOST}${TYPE}Content-Length: +17\r\n`, BODY)],
  ['an endless length', post(`${HOST}${TYPE}Content-Length: 99999999999999999999\r\n`, BODY)],
  ['an empty length', post(`${HOST}${TYPE}Content-Length:\r\n`, BODY)],
  ['a space before the colon', post(`${HOST}${TYPE}Content-Length : 17\r\n`, BODY)],
  ['chunks that are none', post(`${HOST}${TYPE}${CHUNKED}`, `zz\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk length with a sign', post(`${HOST}${TYPE}${CHUNKED}`, `+11\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk length with a space', post(`${HOST}${TYPE}${CHUNKED}`, `11 \r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk length with 0x', post(`${HOST}${TYPE}${CHUNKED}`, `0x11\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk length of 17 digits', post(`${HOST}${TYPE}${CHUNKED}`, `10000000000000011\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk that is longer', post(`${HOST}${TYPE}${CHUNKED}`, `10\r\n${BODY}\r\n0\r\n\r\n`)],
  ['chunks with bare line feeds', post(`${HOST}${TYPE}${CHUNKED}`, `11\n${BODY}\n0\n\n`)],
  ['an extension with a bare line feed', post(`${HOST}${TYPE}${CHUNKED}`, `11;a\n${BODY}\r\n0\r\n\r\n`)],
  ['20 KB of chunk extensions', post(`${HOST}${TYPE}${CHUNKED}`, `11;a=${'b'.repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a trailer that is none', post(`${HOST}${TYPE}${CHUNKED}`, `11\r\n${BODY}\r\n0\r\nA b\r\n\r\n`)],
  // Which of two lines counts
  ['two hosts', get('/api/gadgets', `${HOST}hOST: localhost\r\n`), 'more than one Host'],
  ['two hosts, for a page', get('/', `${HOST}Host: a.example\r\n`), 'more than one Host'],
  ['two tokens', get('/api/gadgets', `${HOST}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n`)],
  ['two media types', post(`${HOST}${TYPE}Content-Type: text/plain\r\n${LENGTH}`, BODY), 'more than one Content-Type'],
  ['two keys', post(`${HOST}${TYPE}Idempotency-Key: a\r\nidempotency-key: b\r\n${LENGTH}`, BODY)],
  ['two origins', get('/api/gadgets', `${HOST}Origin: http://a\r\nOrigin: http://b\r\n`)],
  ['two expectations', post(`${HOST}${TYPE}Expect: 100-continue\r\nExpect: 100-continue\r\n${LENGTH}`, BODY)],
  // For whom, and for what
  ['another host in the URL', get('http://a.example/api/gadgets'), 'another host than'],
  ['another port in the URL', get('http://localhost:81/api/gadgets')],
  ['a user in the URL', get('http://localhost@a.example/api/gadgets')],
  ['another scheme', get('ftp://localhost/api/gadgets'), 'begin with a slash'],
  ['no host in the URL', get('http:///api/gadgets')],
  ['a fragment', get('/api/gadgets#x'), 'has a fragment'],
  ['a star', get('*')],
  ['a host with a comma', get('/api/gadgets', 'Host: localhost, a.example\r\n'), 'Host has to be'],
  ['a host with a path', get('/api/gadgets', 'Host: localhost/x\r\n')],
  ['a host with a user', get('/api/gadgets', 'Host: localhost@a.example\r\n')],
  ['no host', get('/api/gadgets', ''), 'requires the header Host'],
  ['CONNECT', `CONNECT localhost:80 HTTP/1.1\r\n${HOST}\r\n`],
  // Where a line ends, and what it is
  ['a folded line', get('/api/gadgets', `${HOST}A: b\r\n c\r\n`)],
  ['a space before the first header', get('/api/gadgets', ` A: b\r\n${HOST}`)],
  ['a bare line feed', get('/api/gadgets', `${HOST}A: b\nX: y\r\n`)],
  ['bare line feeds throughout', get('/api/gadgets').replaceAll('\r\n', '\n')],
  ['a bare carriage return', get('/api/gadgets', `${HOST}A: b\rX: y\r\n`)],
  ['NUL in a value', get('/api/gadgets', `${HOST}A: b\0c\r\n`)],
  ['NUL in a name', get('/api/gadgets', `${HOST}A\0: b\r\n`)],
  ['NUL in the URL', get('/api/gadgets\0')],
  ['no name', get('/api/gadgets', `${HOST}: b\r\n`)],
  ['a space in the URL', get('/api/gad gets')],
  ['a tab before the URL', get('/api/gadgets').replace(' ', '\t')],
  ['a space behind the version', get('/api/gadgets').replace('1.1', '1.1 ')],
  // Other protocols
  ['HTTP/0.9', 'GET /api/gadgets\r\n'],
  ['HTTP/1.2', get('/api/gadgets').replace('1.1', '1.2')],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['not HTTP', 'HELLO\r\n\r\n'],
];

test.each(REFUSED)('on the wire: %s', async (_, request, detail = '') => {
  const id = await bait();
  const before = await listed();
  const text = await raw(server.url, request + deleting(id));
  expect(statusesOf(text)).toEqual([400]);
  expect(text).toMatch(/^Connection: close\r$/m);
  expect(text).toMatch(/^X-Request-Id: [\da-f-]{36}\r$/m);
  if (text.includes('\r\n\r\n{')) expect(text).toContain('urn:problem:bad-request');
  expect(text).toContain(detail);
  expect(await listed()).toEqual(before);
});

test('nothing after such a request is carried out, even if it arrives later', async () => {
  const id = await bait();
  const socket = await dial(server.url);
  const request = post(`${HOST}${TYPE}Transfer-Encoding: gzip, chunked\r\n`) + deleting(id);
  for (const byte of request) {
    socket.write(byte);
    await new Promise(setImmediate);
  }
  socket.write(deleting(id));
  await closed(socket);
  expect((await listed()).map((gadget) => gadget.id)).toContain(id);
});

/** The answers to requests that have one reading, in whichever way they are written. */
test.each<[what: string, request: string, ...statuses: number[]]>([
  ['chunks', post(`${HOST}${TYPE}Transfer-Encoding:\tChunked \r\n`), 201, 200],
  ['chunk extensions', post(`${HOST}${TYPE}${CHUNKED}`, `11;a=b;c="d"\r\n${BODY}\r\n0;e\r\n\r\n`), 201, 200],
  ['a trailer is not a header', post(`${HOST}${CHUNKED}`, `11\r\n${BODY}\r\n0\r\n${TYPE}\r\n`), 415, 200],
  [
    'nor does it overrule one',
    post(`${HOST}${TYPE}${CHUNKED}`, `11\r\n${BODY}\r\n0\r\nContent-Type: a/b\r\n\r\n`),
    201,
    200,
  ],
  ['blank lines before a request', `\r\n\r\n${get('/api/gadgets?_cnd[limit]=1&_cnd[limit]=0')}`, 200, 200],
  ['a body of GET', get('/health/live', `${HOST}Content-Length: 2\r\n`) + '{}', 200, 200],
  ['the same host in the URL', get('http://LOCALHOST:80/health/live'), 200, 200],
  ['an absolute URL without a path', get('http://localhost?x=/api/nothing'), 200, 200],
  ['If-None-Match in two lines', get('/api/gadgets', `${HOST}If-None-Match: "a"\r\nIf-None-Match: "b"\r\n`), 200, 200],
  ['an expectation', post(`${HOST}${TYPE}Expect: 100-continue\r\n${LENGTH}`, BODY), 100, 201, 200],
  ['OPTIONS *', `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, 204, 200],
])('on the wire: %s', async (_, request, ...statuses) => {
  const last = get('/health/live', `${HOST}Connection: close\r\n`);
  expect(statusesOf(await raw(server.url, request + last))).toEqual(statuses);
});

test('a request to upgrade the protocol gets a normal response, and its connection is closed', async () => {
  const id = await bait();
  const upgrade = `${HOST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n`;
  const socket: Socket = await dial(server.url);
  let text = '';
  socket.on('data', (piece: string) => (text += piece));
  // Node's parser drops the rest of a piece, and would take the next one for a request of its own.
  const hiding = `POST /api/gadgets HTTP/1.1\r\n${HOST}Content-Length: ${deleting(id).length}\r\n\r\n`;
  socket.write(get('/health/live', upgrade) + hiding);
  await once(socket, 'data');
  socket.write(deleting(id));
  await closed(socket);
  expect(statusesOf(text)).toEqual([200]);
  expect((await listed()).map((gadget) => gadget.id)).toContain(id);
});

test('requests before such a request are answered in order', async () => {
  const first = post(`${HOST}${TYPE}${LENGTH}`, BODY);
  for (const bad of ['HELLO\r\n\r\n', get('/api/gadgets', `${HOST}${HOST}`)]) {
    const text = await raw(server.url, first + bad);
    expect(statusesOf(text)).toEqual([201, 400]);
    expect(text.slice(text.lastIndexOf('HTTP/1.1'))).toMatch(
      /Connection: close\r\n[^]*"type":"urn:problem:bad-request"/,
    );
  }
});
