/** Bodies in very small chunks: counted while they arrive, and refused before they cost much. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { onTooManyChunks } from '../../engine/http/chunks.ts';
import type { Problem } from '../../engine/problem.ts';
import { exchange } from '../support/exchange.ts';
import { dial, raw, statusesOf } from '../support/raw.ts';
import { closed } from '../support/closed.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const HEADERS = { 'content-type': 'application/json' };
const CHUNK = '1\r\n \r\n';
const head = (start: string, type = 'application/json'): string =>
  `${start} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`;
const POST = head('POST /api/gadgets');
/** In chunks of a byte each. */
const typed = (body: string): string => `${[...body].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`;

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ schemaDirectory: 'tests/fixtures/http' });
});
afterEach(() => server.close());

const create = (name: string): Promise<{ readonly status: number }> =>
  exchange(server.url, 'POST /api/gadgets', { headers: HEADERS, body: JSON.stringify({ name }) });

/** A request for each connection that Node has a parser for, and one more. */
const usual = async (): Promise<void> => {
  for (let sent = 0; sent < 4; sent += 1)
    expect(
      statusesOf(
        await raw(
          server.url,
          POST.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n') + typed(`{"name":"typed ${sent}"}`),
        ),
      ),
    ).toEqual([201]);
};

test('a body in too many small chunks is refused, and its connection is closed', async () => {
  const text = await raw(server.url, POST + CHUNK.repeat(10_000));
  expect(statusesOf(text)).toEqual([400]);
  expect(text).toContain(
    'The body comes in too many small chunks; send more than eight bytes in each, or Content-Length',
  );
  expect(text).toMatch(/^Connection: close\r$/m);
  await usual();
});

test('nothing behind such a body is carried out', async () => {
  await create('bait');
  const behind = `DELETE /api/gadgets/1 HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  expect(statusesOf(await raw(server.url, `${POST}${CHUNK.repeat(2000)}0\r\n\r\n${behind}`))).toEqual([400]);
  expect((await exchange(server.url, 'GET /api/gadgets/1')).status).toBe(200);
});

test.each([
  ['GET /', 200],
  ['POST /', 405],
  ['POST /api/nothing', 404],
  ['PATCH /api/gadgets/1/2', 404],
  ['DELETE /api/gadgets/1', 400],
] as const)('the rest of a body that nobody wants is not read for long either: %s', async (start, status) => {
  const socket = await dial(server.url);
  let text = '';
  socket.on('data', (piece: string) => (text += piece));
  socket.write(head(start));
  const sending = setInterval(() => socket.write(CHUNK.repeat(100)), 5);
  await closed(socket);
  clearInterval(sending);
  expect(statusesOf(text)).toEqual([status]);
  await usual();
});

const arriving = (): { readonly type: (count: number) => void; readonly code: () => string | undefined } => {
  const stream = new PassThrough();
  const request = Object.assign(stream, { headers: {}, socket: new EventEmitter() });
  let refused: Problem | undefined;
  onTooManyChunks(request as unknown as IncomingMessage, (problem) => (refused = problem));
  return {
    type: (count) => {
      for (let sent = 0; sent < count; sent += 1) stream.push(Buffer.from(' '));
    },
    code: () => refused?.code,
  };
};

test('many such bodies in one turn share a limit; each may always have a few small chunks', async () => {
  const all = Array.from({ length: 20 }, arriving);
  for (const { type } of all) type(700);
  const codes = all.map(({ code }) => code());
  expect(codes.slice(0, 6)).toEqual(Array(6).fill(undefined));
  expect(codes.slice(6)).toEqual(Array(14).fill('overloaded'));
  const few = arriving();
  few.type(70);
  expect(few.code()).toBeUndefined();
  await new Promise(setImmediate);
  const [first] = all;
  first?.type(400);
  few.type(600);
  expect([first?.code(), few.code()]).toEqual([undefined, undefined]);
  first?.type(100);
  expect(first?.code()).toBe('bad-request');
});

test('larger chunks make up for small ones', () => {
  const stream = new PassThrough();
  const request = Object.assign(stream, { headers: {}, socket: new EventEmitter() });
  const refuse = jest.fn();
  onTooManyChunks(request as unknown as IncomingMessage, refuse);
  for (let sent = 0; sent < 10_000; sent += 1) stream.push(Buffer.alloc(sent % 2 === 0 ? 15 : 1));
  expect(refuse).not.toHaveBeenCalled();
});

test('a client that keeps its side open after a malformed request does not keep the connection', async () => {
  const timers = jest.spyOn(global, 'setTimeout');
  const socket = await dial(server.url);
  socket.allowHalfOpen = true;
  socket.write('NONSENSE\r\n\r\n');
  await new Promise((ended) => socket.once('end', ended).resume());
  const lingering = timers.mock.calls.filter(([, milliseconds]) => milliseconds === 10_000);
  timers.mockRestore();
  expect(lingering).toHaveLength(1);
  lingering[0]?.[0]();
  // What is sent to a connection that is there no longer is answered with a reset.
  const writing = setInterval(() => socket.write('x'), 5);
  await closed(socket);
  clearInterval(writing);
});

test("Node's parser calls nothing more for the chunks of such a body, and works for the next connection", async () => {
  const callbacks = (request: IncomingMessage): readonly unknown[] =>
    Object.values((request.socket as { parser?: object }).parser ?? {}).filter((value) => typeof value === 'function');
  const counts: number[] = [];
  const plain = createServer((request, response) => {
    counts.push(callbacks(request).length);
    onTooManyChunks(request, () => {
      counts.push(callbacks(request).length);
      response.writeHead(400, { connection: 'close' }).end();
    });
    request.resume().on('end', () => response.writeHead(200, { connection: 'close' }).end());
  }).listen(0, '127.0.0.1');
  await once(plain, 'listening');
  const url = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`;
  const texts = [await raw(url, POST + CHUNK.repeat(2000)), await raw(url, POST + typed('{}'))];
  plain.close();
  expect(texts.map(statusesOf)).toEqual([[400], [200]]);
  const [all = 0] = counts;
  expect(counts).toEqual([all, all - 1, all]);
});
