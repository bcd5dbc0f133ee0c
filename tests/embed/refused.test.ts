/** Requests that an engine in a host application refuses: those of HTTP/2, and those after `close()`. */
import { createServer } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { createEngine, type RecordEngine } from '../../engine/index.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';

let database: TestDatabase;
let engine: RecordEngine;
beforeAll(async () => {
  database = await createDatabase();
  engine = await createEngine({ schemaDirectory: 'tests/fixtures/http', databaseUrl: database.url });
});
afterAll(() => database.remove());

const CALLS = [
  ['handler', 'GET', '/api/gadgets'],
  ['handler', 'POST', '/api/gadgets'],
  ['pages', 'GET', '/docs'],
  ['document', 'GET', '/openapi.json'],
  ['mcp', 'POST', '/mcp'],
] as const;

test.each(CALLS)('HTTP/2 gets 505 from engine.%s: %s %s', async (which, method, path) => {
  // The types of `node:http` and `node:http2` differ, although each can stand for the other.
  const serve = engine[which] as unknown as Parameters<typeof createHttp2Server>[0];
  const server = createHttp2Server(serve as never).listen(0);
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const request = client.request({ ':method': method, ':path': path, 'x-request-id': 'mine' });
  request.end();
  const [[headers], body] = await Promise.all([once(request, 'response'), text(request)]);
  expect([headers[':status'], headers['x-request-id'], JSON.parse(body).detail]).toEqual([
    505,
    'mine',
    'This is HTTP/2, but the service speaks HTTP/1.1; a proxy in front of it can speak HTTP/2 with clients',
  ]);
  client.close();
  server.close();
});

test('after close(), requests get 503', async () => {
  const server = createServer((request, response) => engine.handler(request, response)).listen(0);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const headers = { 'content-type': 'application/json' };
  const titles = ['GET /api/gadgets/1', 'GET /api/gadgets', 'GET /api/gadgets/$summary', 'GET /json-server/gadgets'];
  expect((await exchange(url, 'GET /api/gadgets')).status).toBe(200);
  await engine.close();
  const answers = [
    ...(await Promise.all(titles.map((title) => exchange(url, title)))),
    await exchange(url, 'POST /api/gadgets', { headers, body: '{}' }),
    await exchange(url, 'PUT /api/gadgets/1', { headers, body: '{}' }),
  ];
  expect(answers.map(({ status, text: body }) => [status, JSON.parse(body).detail])).toEqual(
    answers.map(() => [503, 'The service is stopping']),
  );
  server.close();
});
