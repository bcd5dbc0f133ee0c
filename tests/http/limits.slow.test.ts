import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { IncomingMessage, RequestListener } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Budget } from '../../engine/edge/budget.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { createAddressOf } from '../../engine/edge/admission.ts';
import { listen } from '../../engine/server/serve.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { dial, raw, statusesOf } from '../support/raw.ts';
import { startTestServer, type TestServer, useServer } from '../support/server.ts';
import { rowsOf } from '../support/table.ts';

const SCHEMA = 'tests/fixtures/limits';
/** Milliseconds: nobody is cut off for reading slowly. */
const HOURS = 36_000_000;
const HEADERS = { 'content-type': 'application/json' };

/** Its timeout is so short that on a busy machine it may hit any client: only for tests that expect it. */
const impatient = useServer({ schemaDirectory: SCHEMA, settings: { requestTimeout: 600 } });
const OF_BODIES = { bodyLimit: 250_000, bodyKeys: 20, bodyItems: 10, bodyDepth: 5 };
const OF_QUERIES = { urlLimit: 500, headerLimit: 4096, maxFilters: 3, maxIncludes: 2 };
const LIMITS = { ...OF_BODIES, ...OF_QUERIES, maxStreams: 2, slowReaderTimeout: HOURS };
const server = useServer({ schemaDirectory: SCHEMA, settings: LIMITS });

const codeOf = ({ headers, text }: Exchanged): string =>
  headers['content-type'] === 'application/problem+json'
    ? String(JSON.parse(text).type).slice('urn:problem:'.length)
    : '';

const alive = async (url = server.url): Promise<void> =>
  expect((await exchange(url, 'GET /health/ready')).status).toBe(200);

const list = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const keys = (count: number): string => JSON.stringify(Object.fromEntries(list(count).map((key) => [`k${key}`, 1])));
const items = (count: number): string => JSON.stringify({ name: list(count) });
const levels = (count: number): string => `${'{"a":'.repeat(count)}1${'}'.repeat(count)}`;
const weighing = (count: number): string => JSON.stringify({ a: 'x'.repeat(count - '{"a":""}'.length) });
const ofLength = (length: number): string => `/api/gadgets?${'a'.repeat(length - '/api/gadgets?'.length)}`;
const FILTERS = ['[name]=a', '[name][ne]=b', '[name][like]=*', '[weight]=1'];
const filters = (count: number): string =>
  `/api/gadgets?${FILTERS.slice(0, count)
    .map((filter) => `_cnd${filter}`)
    .join('&')}`;

test.each([
  ['bodyLimit', 'POST /api/gadgets', weighing(250_000), 422, weighing(250_001), 413, 'content-too-large'],
  ['bodyKeys', 'POST /api/gadgets', keys(20), 422, keys(21), 413, 'content-too-large'],
  ['bodyItems', 'POST /api/gadgets', items(10), 422, items(11), 413, 'content-too-large'],
  ['bodyDepth', 'POST /api/gadgets', levels(5), 422, levels(6), 400, 'invalid-json'],
] as const)('%s, at it and beyond', async (_, title, at, taken, beyond, refused, code) => {
  const most = await exchange(server.url, title, { headers: HEADERS, body: at });
  expect([most.status, codeOf(most)]).toEqual([taken, 'invalid-body']);
  const more = await exchange(server.url, title, { headers: HEADERS, body: beyond });
  expect([more.status, codeOf(more)]).toEqual([refused, code]);
  await alive();
});

test.each([
  ['urlLimit', ofLength(500), 400, ofLength(501), 414, 'uri-too-long'],
  ['maxFilters', filters(3), 200, filters(4), 400, 'invalid-query'],
  [
    'maxIncludes',
    '/api/parcels?include=sender,labels',
    200,
    '/api/parcels?include=sender.parcels,labels',
    400,
    'invalid-query',
  ],
] as const)('%s, at it and beyond', async (_, at, taken, beyond, refused, code) => {
  expect((await exchange(server.url, `GET ${at}`)).status).toBe(taken);
  const more = await exchange(server.url, `GET ${beyond}`);
  expect([more.status, codeOf(more)]).toEqual([refused, code]);
  if (code === 'invalid-query') expect(more.text).toContain('too-many');
  await alive();
});

test('headerLimit, at it and beyond', async () => {
  const head = { host: 'localhost', connection: 'close' };
  const own = '/health/live' + Object.entries(head).join('').replaceAll(',', '');
  const get = (bytes: number): Promise<Exchanged> =>
    exchange(server.url, 'GET /health/live', { headers: { ...head, a: 'a'.repeat(bytes - own.length - 1) } });
  expect((await get(4096)).status).toBe(200);
  const more = await get(4097);
  expect([more.status, codeOf(more)]).toEqual([431, 'headers-too-large']);
});

const POST = 'POST /api/gadgets HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';

test.each([
  ['no HTTP', 'HELLO\r\n\r\n', 400, 'bad-request'],
  [
    'headers of 40 KiB',
    `GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(40_000)}\r\n\r\n`,
    431,
    'headers-too-large',
  ],
])('on the wire: %s', async (_, bytes, status, code) => {
  const text = await raw(server.url, bytes);
  expect(statusesOf(text)).toEqual([status]);
  expect(text).toContain(`urn:problem:${code}`);
  await alive();
});

const pieces = (count: number, piece: string): string =>
  `${POST}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n${`${piece.length.toString(16)}\r\n${piece}\r\n`.repeat(count)}0\r\n\r\n`;

test.each([
  ['990 bytes', pieces(990, ' '), 400, 'invalid-json'],
  ['2,000 bytes', pieces(2000, ' '), 400, 'bad-request'],
  ['1,500 times 150 bytes', pieces(1500, ' '.repeat(150)), 400, 'invalid-json'],
])('a body in pieces: %s', async (_, bytes, status, code) => {
  const text = await raw(server.url, bytes);
  expect(statusesOf(text)).toEqual([status]);
  expect(text).toContain(`urn:problem:${code}`);
  await alive();
});

test('bodies in many pieces that come together are read in turns of the event loop of their own', async () => {
  const sockets = await Promise.all(list(5).map(() => dial(server.url)));
  // The server accepts one of them in a turn.
  for (const _ of sockets) await nextTurn();
  let turn = 0;
  const answered = sockets.map(async (socket) => {
    await once(socket, 'data');
    return turn;
  });
  for (const socket of sockets) socket.write(pieces(10_000, ' '));
  const turns = Promise.all(answered);
  while ((await Promise.race([turns, nextTurn()])) === undefined) turn += 1;
  expect(new Set(await turns).size).toBe(5);
});

test.each([
  ['a head that does not end', 'GET /api/gadgets HTTP/1.1\r\nHost: localhost\r\n'],
  ['a body that does not come', `${POST}Content-Length: 10\r\n\r\n{`],
  ['nothing', ''],
])('REQUEST_TIMEOUT: a client that sends %s is cut off', async (_, bytes) => {
  const text = await raw(impatient.url, bytes);
  expect(statusesOf(text)).toEqual([408]);
  expect(text).toContain('urn:problem:request-timeout');
});

describe('RATE_LIMIT', () => {
  test('refuses a client beyond its rate, with Retry-After', async () => {
    await using own = await startTestServer({ schemaDirectory: SCHEMA, settings: { rateLimit: 3 } });
    const answers: Exchanged[] = [];
    for (let sent = 0; sent < 4; sent += 1) answers.push(await exchange(own.url, 'GET /api/gadgets'));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers.map(({ headers }) => headers['ratelimit'])).toEqual([
      expect.stringMatching(/^"minute";r=2;t=\d+$/),
      expect.stringMatching(/^"minute";r=1;t=\d+$/),
      expect.stringMatching(/^"minute";r=0;t=\d+$/),
      expect.stringMatching(/^"minute";r=0;t=\d+$/),
    ]);
    const last = answers[3];
    expect([last?.headers['ratelimit-policy'], last && codeOf(last)]).toEqual(['"minute";q=3;w=60', 'rate-limited']);
    expect(Number(last?.headers['retry-after'])).toBeGreaterThan(0);
    expect((await exchange(own.url, 'GET /health/ready')).status).toBe(200);
  });

  test.each([
    ['/openapi.json', 200],
    ['/', 200],
    ['/metrics', 200],
    ['/nothing', 404],
    ['/health/nothing', 404],
  ] as const)('counts %s as well', async (path, status) => {
    await using own = await startTestServer({ schemaDirectory: SCHEMA, settings: { rateLimit: 2, metrics: true } });
    const get = (): Promise<Exchanged> => exchange(own.url, `GET ${path}`);
    const answers = [await get(), await get(), await get()];
    expect(answers.map((answer) => [answer.status, answer.headers['ratelimit']?.slice(0, 12)])).toEqual([
      [status, '"minute";r=1'],
      [status, '"minute";r=0'],
      [429, '"minute";r=0'],
    ]);
    const [, , last] = answers;
    expect(last && [codeOf(last), last.headers['x-content-type-options']]).toEqual(['rate-limited', 'nosniff']);
    expect(Number(last?.headers['retry-after'])).toBeGreaterThan(0);
    for (let sent = 0; sent < 4; sent += 1) await alive(own.url);
  });

  test('knows a trusted IPv4 proxy on a socket of IPv6, and a network of IPv6', () => {
    for (const remoteAddress of ['::ffff:192.0.2.1', '2001:db8::5']) {
      const request = { socket: { remoteAddress }, headers: { 'x-forwarded-for': '198.51.100.7' } };
      const addressOf = createAddressOf(['192.0.2.1', '2001:db8::/32']);
      expect(addressOf(request as unknown as IncomingMessage)).toBe('198.51.100.7');
    }
  });

  test('counts clients of a trusted proxy separately, and those of any other proxy together', async () => {
    const clients = rowsOf(`
      192.0.2.1 => 200
      9.9.9.9, 192.0.2.1 => 429
      192.0.2.1:4711 => 429
      192.0.2.2, 10.1.2.3,10.3.2.1 => 200
      10.9.9.9, 10.1.2.3 => 200
      2001:db8::1 => 200
      [2001:db8::1]:4711 => 429
      2001:db8::2 => 429
      unknown => 200
      [] => 429
    `);
    for (const [trustedProxies, isTrusted] of [
      [['127.0.0.1', '10.0.0.0/8'], true],
      [[], false],
      [['192.0.2.1'], false],
    ] as const) {
      await using own = await startTestServer({ schemaDirectory: SCHEMA, settings: { rateLimit: 1, trustedProxies } });
      const seen: number[] = [];
      for (const [client] of clients)
        seen.push((await exchange(own.url, 'GET /api/gadgets', { headers: { 'x-forwarded-for': client } })).status);
      const expected = clients.map(([, status], index) => (isTrusted ? Number(status) : index === 0 ? 200 : 429));
      expect(seen).toEqual(expected);
    }
  });
});

describe('beyond the connections that MEMORY_LIMIT allows, the longest idle one is closed', () => {
  const LIVE = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const UNFINISHED =
    'POST /api/gadgets HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\nExpect: 100-continue\r\n\r\n';
  const MOST = 4;
  let own: TestServer;
  let sockets: Socket[];
  beforeEach(async () => {
    const settings = { memoryLimit: MOST * 16 * 1024, bodyLimit: 1000 };
    own = await startTestServer({ schemaDirectory: SCHEMA, settings });
    sockets = [];
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await own.close();
  });
  const live = async (socket: Socket): Promise<void> => {
    socket.write(LIVE);
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 200 /);
  };
  const open = async (first: string): Promise<Socket> => {
    const { hostname, port } = new URL(own.url);
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    if (first === LIVE) await live(socket);
    else socket.write(first);
    if (first === UNFINISHED) expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 100 /);
    return socket.resume();
  };

  test.each<readonly [string, string, number]>([
    ['the first of those that were answered', LIVE, 0],
    ['the first of those that have sent nothing', '', 0],
    ['the first of those that have sent half of their headers', 'GET / HTTP/1.1\r\nHost:', 0],
  ])('%s', async (_, first, index) => {
    for (let opened = 0; opened < MOST; opened += 1) await open(first);
    const isClosed = once(sockets[index] as Socket, 'close');
    await live(await open(LIVE));
    await isClosed;
    expect(sockets.filter((socket) => socket.closed)).toHaveLength(1);
  });

  test('never closes a connection in use', async () => {
    const again = await open(LIVE);
    const unanswered = await open(UNFINISHED);
    const longest = await open(LIVE);
    await live(again);
    await open(LIVE);
    const isClosed = once(longest, 'close');
    await live(await open(LIVE));
    await isClosed;
    expect([again.closed, unanswered.closed]).toEqual([false, false]);
  });

  test.each([
    ['the one whose body has been arriving longest', UNFINISHED],
    ['the same where it has been refused', UNFINISHED.replace('POST', 'PUT').replace('Expect: 100-continue\r\n', '')],
  ])('if none waits, %s', async (_, unfinished) => {
    for (let opened = 0; opened < MOST; opened += 1) {
      const socket = await open(unfinished);
      if (unfinished !== UNFINISHED) await once(socket, 'data');
    }
    const isClosed = once(sockets[0] as Socket, 'close');
    await live(await open(LIVE));
    await isClosed;
    expect(sockets.map((socket) => socket.closed)).toEqual([true, false, false, false, false]);
  });
});

test('bodies that arrive slowly make room for others, the one that has been arriving longest first', async () => {
  const settings = { memoryLimit: 2 * 1024 ** 2, bodyLimit: 250_000 };
  await using own = await startTestServer({ schemaDirectory: SCHEMA, settings });
  const answered: number[] = [];
  const sockets: Socket[] = [];
  for (const index of list(12)) {
    const socket = await dial(own.url);
    sockets.push(socket);
    socket.once('data', (text: string) => {
      expect([statusesOf(text), text]).toEqual([[503], expect.stringContaining('urn:problem:overloaded')]);
      answered.push(index);
    });
    socket.write(`${POST}Content-Length: 240000\r\n\r\n{"name":"${'x'.repeat(200_000)}`);
    const [before, refused] = [own.budget.used, answered.length];
    await until(() => own.budget.used !== before || answered.length > refused);
  }
  for (const _ of list(10)) {
    const body = JSON.stringify({ name: 'x'.repeat(20_000) });
    expect((await exchange(own.url, 'POST /api/gadgets', { headers: HEADERS, body })).status).not.toBe(503);
  }
  expect(answered.length).toBeGreaterThan(0);
  expect(answered).toEqual(list(answered.length));
  for (const socket of sockets) socket.destroy();
  await until(() => own.budget.used === 0);
});

test('of 3,000 pipelined requests, one is served at a time, in order, and nothing behind a response that closes', async () => {
  const served: string[] = [];
  let open = 0;
  let most = 0;
  const answer: RequestListener = async ({ url = '' }, response) => {
    served.push(url);
    most = Math.max(most, (open += 1));
    await new Promise(setImmediate);
    open -= 1;
    if (url === '/2999') response.shouldKeepAlive = false;
    response.end(url);
  };
  const settings = readSettings({ PORT: '0' });
  const budget = new Budget(settings.memoryLimit);
  const listener = await listen(answer, settings, budget);
  const port = Number(new URL(listener.url).port);
  const requests = list(3001).map((at) => `GET /${at} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const text = await raw(`http://127.0.0.1:${port}`, requests.join(''));
  await listener.drain(1000);
  expect(statusesOf(text)).toHaveLength(3000);
  expect(served).toEqual(list(3000).map((at) => `/${at}`));
  expect([most, budget.used]).toEqual([1, 0]);
});

describe('the limit on keys grows with the records that a body may have', () => {
  const FIELDS = list(40).map((index) => `field_${index}`);
  const wide = useServer({
    files: { 'wide.yaml': `type: Wide\nfields:\n${FIELDS.map((name) => `  ${name}: { type: integer }\n`).join('')}` },
  });
  const record = JSON.stringify(Object.fromEntries(FIELDS.map((name, index) => [name, index])));
  const cells = FIELDS.map((_, index) => index).join();
  const records = (between: string, text = record): string => Array<string>(1000).fill(text).join(between);

  test.each([
    ['application/json', `[${records(',')}]`],
    ['application/json', ` \n[${records(',\n')}]`],
    ['application/x-ndjson', records('\n')],
    ['text/csv', `${FIELDS.join()}\n${records('\n', cells)}`],
  ])('%s, %#', async (type, body) => {
    const headers = { 'content-type': type, prefer: 'return=minimal' };
    expect((await exchange(wide.url, 'POST /api/wides', { headers, body })).status).toBe(201);
  });

  const LINKS = list(25).map((index) => `link_${index}`);
  const linked = useServer({
    files: {
      'node.yaml': `type: Node\nrelations:\n${LINKS.map((name) => `  ${name}: { kind: belongsTo, type: Node }\n`).join('')}`,
    },
  });

  test('also where each record has many links', async () => {
    const headers = { ...HEADERS, prefer: 'return=minimal' };
    const send = (body: string) => exchange(linked.url, 'POST /api/nodes', { headers, body });
    expect((await send('{}')).status).toBe(201);
    const links = JSON.stringify(Object.fromEntries(LINKS.map((name) => [name, { id: 1 }])));
    expect((await send(`[${records(',', links)}]`)).status).toBe(201);
  });

  test('but not for one record', async () => {
    const body = JSON.stringify(Object.fromEntries(list(20_001).map((index) => [index, 1])));
    const { status, text } = await exchange(wide.url, 'POST /api/wides', { headers: HEADERS, body });
    expect([status, text]).toEqual([413, expect.stringContaining('more than 20000 keys')]);
  });
});
