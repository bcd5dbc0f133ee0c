/** The pages without a browser: media types, headers, caching, and what becomes of faults. */
import { once } from 'node:events';
import { statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parse } from 'yaml';
import { buildStudio } from '../../deploy/studio.ts';
import { exchange } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { closed, dial } from '../support/raw.ts';
import { manyTypes } from '../support/schemas.ts';
import { startTestServer, useServer } from '../support/server.ts';
import { some } from '../support/whole.ts';

beforeAll(async () => void (await buildStudio()));
const server = useServer({ settings: { title: '<b>Shop</b> & more' } });

const HTML = 'text/html; charset=utf-8';
const PAGES = [
  ['/', HTML],
  ['/docs', HTML],
  ['/docs/clients', HTML],
  ['/docs/style.css', 'text/css; charset=utf-8'],
  ['/docs/reference.css', 'text/css; charset=utf-8'],
  ['/docs/reference.js', 'text/javascript; charset=utf-8'],
  ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
  ['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['/llms.txt', 'text/plain; charset=utf-8'],
  ['/openapi.json', 'application/json'],
  ['/openapi.yaml', 'application/yaml'],
] as const;

describe.each(PAGES)('%s', (path, type) => {
  test('is served with headers that keep it safe, and a tag', async () => {
    const { status, headers, text } = await exchange(server.url, `GET ${path}`);
    expect([status, headers['content-type']]).toEqual([200, type]);
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringMatching(/^default-src 'none'; script-src 'self'; style-src 'self'; /),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
      'content-length': String(Buffer.byteLength(text)),
    });
    const again = await exchange(server.url, `GET ${path}`, { headers: { 'if-none-match': String(headers.etag) } });
    expect([again.status, again.text]).toEqual([304, '']);
    const head = await exchange(server.url, `HEAD ${path}`);
    expect([head.status, head.headers['content-length'], head.text]).toEqual([200, headers['content-length'], '']);
  });

  test('is compressed for a client that accepts it', async () => {
    const plain = await exchange(server.url, `GET ${path}`);
    const small = await fetch(server.url + path, { headers: { 'accept-encoding': 'gzip' } });
    const coding = plain.text.length < 2048 ? null : 'gzip';
    expect([small.headers.get('content-encoding'), await small.text()]).toEqual([coding, plain.text]);
  });

  test.each(['POST', 'PUT', 'DELETE'])('refuses %s', async (method) => {
    const { status, headers, text } = await exchange(server.url, `${method} ${path}`);
    expect([status, headers['allow'], JSON.parse(text).type]).toEqual([
      405,
      'GET, HEAD',
      'urn:problem:method-not-allowed',
    ]);
  });
});

test('pages have no inline scripts or styles, and escape text from settings', async () => {
  for (const path of ['/', '/docs', '/docs/clients']) {
    const { text } = await exchange(server.url, `GET ${path}`);
    expect(text).not.toMatch(
      /<script(?![^>]* src=)|<style|\sstyle=|\son\w+=|(?<!<a href=")https?:\/\/(?!127\.0\.0\.1:\d|www\.w3\.org)/,
    );
    expect(text).toContain('&lt;b&gt;Shop&lt;/b&gt; &amp; more');
  }
});

test('the two spellings of the document say the same', async () => {
  const json = JSON.parse((await exchange(server.url, 'GET /openapi.json')).text);
  expect(parse((await exchange(server.url, 'GET /openapi.yaml')).text)).toEqual(json);
  expect(json.info).toMatchObject({ title: '<b>Shop</b> & more', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
});

test.each([
  ['/docs/', '/docs'],
  ['/docs/clients/', '/docs/clients'],
  ['/docs/?a=/b/', '/docs?a=/b/'],
])('GET %s leads to %s, where its links are right', async (path, page) => {
  const { status, headers } = await exchange(server.url, `GET ${path}`);
  expect([status, new URL(headers.location ?? '', server.url + path).href]).toEqual([308, server.url + page]);
  expect((await fetch(server.url + path)).status).toBe(200);
});

test.each(
  '/doc // /docs// /docs/nothing/ /docs/nothing /docs/../package.json /docs/%2e%2e/package.json /openapi'.split(' '),
)('GET %s is 404', async (path) => {
  const { status, headers } = await exchange(server.url, `GET ${path}`);
  expect([status, headers['content-type']]).toEqual([404, 'application/problem+json']);
});

test('GET / shows a request with its response, and the relations', async () => {
  const { text } = await exchange(server.url, 'GET /');
  expect(text).toContain(`curl ${server.url}/api/`);
  expect(text).toContain('<td><code>zone</code>, one</td>');
  expect(text).toContain('erDiagram');
});

test.each(['reading', 'writing', 'problems'])('GET /docs/clients has the part "%s" of docs/reference', async (part) => {
  const { text } = await exchange(server.url, 'GET /docs/clients');
  expect(text).toContain(`<h1 id="${part}">`);
  expect(text).not.toContain('127.0.0.1:3000');
  expect(text).not.toContain('.md');
});

const LONG = [
  '/docs/swagger-ui-bundle.js',
  '/openapi.json',
  '/docs/swagger-ui.css',
  '/openapi.yaml',
  '/studio/model.json',
];
test.each(some(LONG, 2))('a client that never reads %s is counted, and cut off', async (path) => {
  await using own = await startTestServer({ settings: { slowReaderTimeout: 1000 } });
  const socket = await dial(own.url);
  const length = Number((await exchange(own.url, `HEAD ${path}`)).headers['content-length']);
  // More than the operating system keeps of a connection.
  const count = Math.ceil(40_000_000 / length);
  socket.pause().write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(count));
  // Requests that wait count little.
  await until(() => own.budget.used > 0 && own.budget.kept.size > 0);
  await until(() => own.budget.used === 0);
  socket.resume();
  await closed(socket);
});

test.each(some(['/openapi.yaml', '/openapi.json', '/openapi.json?profile=simple', '/studio/model.json']))(
  'others are served while %s of many types is made',
  async (path) => {
    await using own = await startTestServer({ schemaDirectory: manyTypes(200) });
    const answered: string[] = [];
    // Open connections, as making one may take longer than the document.
    const get = async (what: string, socket: Socket): Promise<void> => {
      socket.write(`GET ${what} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      const [head] = (await once(socket, 'data')) as [string];
      expect(head.slice(0, 12)).toBe('HTTP/1.1 200');
      answered.push(what);
    };
    const sockets = [await dial(own.url), await dial(own.url)] as const;
    const document = get(path, sockets[0]);
    // The service, in this process, begins with it.
    await nextTurn();
    await nextTurn();
    await Promise.all([get('/health/live', sockets[1]), document]);
    for (const socket of sockets) socket.destroy();
    expect(answered).toEqual(['/health/live', path]);
  },
);

test('files are compressed by the build, and all readers share one copy', async () => {
  const file = '/docs/swagger-ui-bundle.js';
  for (const [coding, extension] of [
    ['br', '.br'],
    ['gzip', '.gz'],
  ] as const) {
    const headers = { 'accept-encoding': coding };
    const { status, headers: sent } = await exchange(server.url, `HEAD ${file}`, { headers });
    const { size } = statSync(`dist/studio/pages/swagger-ui-bundle.js${extension}`);
    expect([status, sent['content-encoding'], sent['content-length']]).toEqual([200, coding, String(size)]);
    const again = await exchange(server.url, `GET ${file}`, {
      headers: { ...headers, 'if-none-match': `${sent.etag}` },
    });
    expect([again.status, again.headers.etag]).toEqual([304, sent.etag]);
  }
});
