/**
 * Clients that try to use up the memory of a service: `attackers.ts NAME URL SCALE`. Each ends by itself. Those that read
 * how they were answered print it, as JSON: how often with each status.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , name = '', url = '', scaleText = '1'] = process.argv;
const { hostname, port } = new URL(url);
const scale = Number(scaleText);

const HOST = 'Host: localhost\r\n';
const JSON_TYPE = 'Content-Type: application/json\r\n';
const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\n${HOST}${more}\r\n`;
const GZIP = 'Accept-Encoding: gzip\r\n';

/** A connection that reads nothing until it is told to. */
function open(): Socket {
  return connect(Number(port), hostname)
    .on('error', () => undefined)
    .pause();
}

const times = (count: number): readonly number[] => Array.from({ length: Math.ceil(count) }, (_, index) => index);

/** The same request as often as the scale says. */
const many = (count: number, request: string): readonly string[] => times(count * scale).map(() => request);

type Leave = (socket: Socket, index: number) => void;

const destroy: Leave = (socket) => socket.destroy();

/** All that is asked is written, nothing is read for so many seconds. */
async function unread(requests: readonly string[], seconds: number, leave = destroy): Promise<void> {
  const sockets = requests.map((request) => {
    const socket = open();
    socket.write(request);
    return socket;
  });
  await sleep(seconds * 1000);
  for (const [index, socket] of sockets.entries()) leave(socket, index);
}

/** Each connection asks, reads to the end, and asks again, for so many seconds. */
async function reading(connections: number, request: string, seconds: number): Promise<void> {
  const end = Date.now() + seconds * 1000;
  const one = async (): Promise<void> => {
    while (Date.now() < end) {
      const socket = open();
      // Its side stays open: a search for a client that may have left is put off.
      socket.write(request);
      socket.resume();
      const late = setTimeout(() => socket.destroy(), Math.max(1, end - Date.now()));
      await new Promise((closed) => socket.once('close', closed));
      clearTimeout(late);
      await sleep(1);
    }
  };
  await Promise.all(times(connections).map(one));
}

const answered: Record<string, number> = {};

/** Counts the answers that begin in a piece. What fails without saying when to try again is counted by itself. */
function read(piece: Buffer): void {
  for (const [head] of piece.toString('latin1').matchAll(/HTTP\/1\.1 \d{3} [^]*?\r\n\r\n/g)) {
    const status = head.slice(9, 12);
    const isFault = status >= '500' && !(status === '503' && /^retry-after: \d/im.test(head));
    const key = isFault ? `${status} without Retry-After` : status;
    answered[key] = (answered[key] ?? 0) + 1;
  }
}

/** Each connection sends its request in pieces, as slowly as it takes so many seconds, and reads the answer. */
async function slowly(requests: readonly string[], seconds: number): Promise<void> {
  const one = async (request: string): Promise<void> => {
    const socket = open().on('data', read).resume();
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    const step = Math.ceil(request.length / (seconds * 4));
    for (let sent = 0; sent < request.length && !socket.destroyed; sent += step) {
      socket.write(request.slice(sent, sent + step));
      await Promise.race([sleep(250), closed]);
    }
    // On a busy machine, the answers take longer than the bodies.
    await Promise.race([sleep(3 * seconds * 1000), closed]);
    socket.destroy();
  };
  await Promise.all(requests.map(one));
}

/** All requests of a connection are written at once, and their answers read for so many seconds. */
async function pipelined(connections: readonly string[], seconds: number): Promise<void> {
  const sockets = connections.map((requests) => {
    const socket = open().on('data', read).resume();
    socket.write(requests);
    return socket;
  });
  await sleep(seconds * 1000);
  for (const socket of sockets) socket.destroy();
}

const post = (path: string, body: string, method = 'POST', more = ''): string =>
  `${method} ${path} HTTP/1.1\r\n${HOST}${JSON_TYPE}${more}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;

const tool = (called: string, given: object): string =>
  post(
    '/mcp',
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: called, arguments: given } }),
    'POST',
    'Accept: application/json, text/event-stream\r\n',
  );
const lines = (type: string, body: string): string =>
  post('/api/notes', body).replace(JSON_TYPE, `Content-Type: ${type}\r\n`);
/** As many columns as a body can hold, known and not, and cells that are long or made of quotes. */
const WIDE_LINES = [
  lines('text/csv', `title,${times(90_000).map((column) => `c${column}`)}\r\nx${','.repeat(90_000)}\r\n`),
  lines('text/csv', `title,text\r\nx,"${'""'.repeat(250_000)}"\r\n`),
  lines('text/csv', `title${',title'.repeat(80_000)}\r\n${','.repeat(80_000)}\r\n`),
  lines('text/csv', `title,text\r\n${`y${',z'.repeat(400)}\r\n`.repeat(1000)}`),
  lines(
    'application/x-ndjson',
    `${JSON.stringify(Object.fromEntries(times(400).map((key) => [`k${key}`, key])))}\n`.repeat(49),
  ),
  lines('application/x-ndjson', `{"title":"x","text":"${'\\"'.repeat(300_000)}"}\n`),
];

const BIG_BODY = JSON.stringify({ title: 'big', text: 'ü'.repeat(500_000) });
const MANY_KEYS = JSON.stringify(Object.fromEntries(times(19_000).map((key) => [`key${key}`, 'x'.repeat(40)])));
const NESTED = JSON.stringify({ name: 'nested', items: times(10).map((item) => ({ text: `${item}`.repeat(95_000) })) });
const ITEMS = 1000;
const newItems = (count: number): string =>
  JSON.stringify(
    times(count).map((item) => ({ name: `s${item}`, items: times(8).map((text) => ({ text: `${text}` })) })),
  );
const NEW_ITEMS = newItems(ITEMS);
const CHANGED_ITEMS = (title: number): string =>
  JSON.stringify(
    times(ITEMS).map((item) => ({ id: 101 + ((item * 7 + title) % ITEMS), title: `t${title}`, rank: item })),
  );
const FAULTY_ITEMS = JSON.stringify(
  times(ITEMS).map(() => ({ name: 1, code: {}, memos: [{}, { id: 0 }], items: [{ text: 1 }], k: 1 })),
);
const FROM_NOTES = (most: number, query: string): string =>
  get(`/api/notes?${query}`, `Prefer: max-affected=${most}\r\nConnection: close\r\n`).replace('GET', 'DELETE');
const UPSERT = post(
  '/api/shelves?on=code',
  JSON.stringify({ code: 'the same', items: times(100).map(() => ({ text: 'x' })) }),
  'PUT',
);
const DRY_DELETION = FROM_NOTES(10_000, 'dryRun=true&_cnd[id][gt]=1000&_cnd[id][lte]=11000');
const ONE_SUMMARY = get('/api/notes/$summary?by=title&measure=count,max(rank)&_cnd[id][lte]=20000');
const BY_SET = get('/api/shelves?_cnd[memos][$some][0][text]=q&include=&_cnd[limit]=0&_cnd[limit]=10');
const LONG_BODIES = [
  post('/api/shelves?include=', newItems(300)),
  post('/api/shelves?dryRun=true', newItems(300)),
  post('/api/notes?fields=title', CHANGED_ITEMS(0), 'PATCH'),
  UPSERT,
  lines('text/csv', `title,text\r\n${'y,zzzzzzzz\r\n'.repeat(900)}`),
  lines('application/x-ndjson', '{"title":"x","text":"zzzzzzzz"}\n'.repeat(900)),
  tool('create_record', { type: 'Shelf', records: JSON.parse(newItems(300)) }),
];
/** Requests that take the service or its database a while, for many records each. */
const LONG_REQUESTS = [
  ...LONG_BODIES,
  DRY_DELETION,
  ONE_SUMMARY,
  BY_SET,
  tool('list_records', { type: 'Note', where: { rank: 7 }, limit: 10 }),
  tool('summarize_records', { type: 'Note', by: ['title'], measure: ['max(rank)'] }),
];
const kept = (request: string): string => request.replace('Connection: close\r\n', '');

const BIG_PAGE = '/api/notes?_cnd[limit]=0&_cnd[limit]=450';

async function chunks(start: string): Promise<void> {
  const head = `${start} HTTP/1.1\r\n${HOST}${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`;
  const sockets = times(24 * scale).map(() => open());
  for (const socket of sockets) socket.write(head);
  const piece = '1\r\n \r\n'.repeat(10_000);
  for (let sent = 0; sent < 100; sent += 1) {
    for (const socket of sockets) if (!socket.writableNeedDrain && !socket.destroyed) socket.write(piece);
    await sleep(50);
  }
  for (const socket of sockets) socket.destroy();
}

const SECONDS = 10;

async function leaving(request: string, leave?: Leave): Promise<void> {
  await unread(many(400, request), SECONDS / 2, leave);
  await sleep(200);
}

const attacks: Readonly<Record<string, () => Promise<void>>> = {
  pipelined: () => unread(many(1, get('/docs/swagger-ui-bundle.js').repeat(1200)), SECONDS * 2),

  chunks: () => chunks('POST /api/notes'),

  'big pages': () => reading(3 * scale, get(BIG_PAGE, 'Connection: close\r\n'), SECONDS),
  'big pages, unread': () => unread(many(3, get(BIG_PAGE)), SECONDS),

  'zipped pages': () =>
    reading(10 * scale, get('/api/notes?_cnd[limit]=0&_cnd[limit]=12', `Connection: close\r\n${GZIP}`), SECONDS),
  'whole lists, unread': () => unread(many(20, get('/api/notes')), SECONDS),
  'whole lists, zipped': () => reading(20 * scale, get('/api/notes', `Connection: close\r\n${GZIP}`), SECONDS),
  orders: () =>
    reading(
      40 * scale,
      get('/api/notes?_cnd[orderBy]=text&_cnd[limit]=0&_cnd[limit]=10', 'Connection: close\r\n'),
      SECONDS,
    ),
  /** All at once, and all leave: half of them without a reset. */
  'orders, left': () =>
    leaving(get('/api/notes?_cnd[orderBy]=text&_cnd[limit]=0&_cnd[limit]=10'), (socket, index) =>
      index % 2 === 0 ? socket.resetAndDestroy() : socket.destroy(),
    ),
  'likes, left': () => leaving(get('/api/notes?_cnd[text][like]=*a*b*c*d*e*f*q*&_cnd[limit]=0&_cnd[limit]=10')),
  'big bodies': () => reading(20 * scale, post('/api/notes', BIG_BODY), SECONDS),
  'many keys': () => reading(20 * scale, post('/api/notes', MANY_KEYS), SECONDS),
  'nested writes': () => reading(20 * scale, post('/api/shelves', NESTED), SECONDS),
  arrays: () => reading(20 * scale, post('/api/shelves?include=', NEW_ITEMS), SECONDS),

  'dry arrays': () => reading(20 * scale, post('/api/shelves?dryRun=true', NEW_ITEMS), SECONDS),
  'faulty arrays': () => reading(20 * scale, post('/api/shelves', FAULTY_ITEMS), SECONDS),
  /** They change the same records, in another order each. */
  'arrays of changes': async () => {
    const each = times(4).map((title) => post('/api/notes?fields=title', CHANGED_ITEMS(title), 'PATCH'));
    await Promise.all(each.map((request) => reading(5 * scale, request, SECONDS)));
  },
  upserts: () => reading(20 * scale, UPSERT, SECONDS),
  'wide lines': async () => {
    await Promise.all(WIDE_LINES.map((request) => reading(10 * scale, request, SECONDS)));
  },
  'deletions, dry': () => reading(20 * scale, DRY_DELETION, SECONDS),

  'deletions of too many': () =>
    reading(20 * scale, FROM_NOTES(10_000, '_cnd[text][like]=*a*&_cnd[rank][gt]=5'), SECONDS),
  deletions: async () => {
    const each = times(10).map((step) =>
      FROM_NOTES(10_000, `_cnd[id][gt]=${11_000 + step * 900}&_cnd[id][lte]=${11_900 + step * 900}`),
    );
    await Promise.all(each.map((request) => reading(2 * scale, request, SECONDS)));
  },
  summaries: () => reading(20 * scale, get('/api/notes/$summary?by=text', 'Connection: close\r\n'), SECONDS),

  'summaries, left': () => leaving(get('/api/notes/$summary?by=rank&measure=max(text)&_cnd[limit]=0&_cnd[limit]=10')),

  'agents reading': () => reading(10 * scale, tool('list_records', { type: 'Note', limit: 12 }), SECONDS),

  'agents, left': () => leaving(tool('list_records', { type: 'Note', order: ['text'], limit: 10 })),
  'slow bodies': () =>
    slowly(
      times(10 * scale).flatMap(() => LONG_BODIES),
      SECONDS,
    ),
  'pipelined requests': () =>
    pipelined(
      times(2 * scale).flatMap(() => LONG_REQUESTS.map((request) => kept(request).repeat(20))),
      SECONDS,
    ),
  /** All at once, and all leave, half of them without a reset. */
  'requests, left': async () => {
    await unread(
      times(30 * scale).flatMap(() => LONG_REQUESTS),
      SECONDS / 2,
      (socket, index) => (index % 2 === 0 ? socket.resetAndDestroy() : socket.destroy()),
    );
    await sleep(200);
  },
  'unfinished bodies': () => unread(many(100, post('/api/notes', BIG_BODY).slice(0, -1)), SECONDS),
  'half a head': async () => {
    const half = `GET /api/notes/1 HTTP/1.1\r\n${HOST}${times(120)
      .map((line) => `X-${line}: ${'a'.repeat(110)}\r\n`)
      .join('')}`;
    for (let opened = 0; opened < 10; opened += 1) void unread(many(100, half), SECONDS);
    await sleep(SECONDS * 1000);
  },
  'header floods': () =>
    reading(
      20 * scale,
      get(
        '/api/notes/1',
        `${times(1000)
          .map((line) => `X-${line}: a\r\n`)
          .join('')}Connection: close\r\n`,
      ),
      SECONDS,
    ),
};

async function mix(): Promise<void> {
  await Promise.all(Object.values(attacks).map((attack) => attack()));
}

const chosen = name === 'mix' ? mix : attacks[name];
if (chosen === undefined)
  throw new Error(`no attack is called "${name}"; there are ${Object.keys(attacks).join(', ')}`);
async function run(): Promise<never> {
  await chosen?.();
  if (Object.keys(answered).length > 0)
    await new Promise((written) => process.stdout.write(JSON.stringify(answered), written));
  process.exit();
}

void run();
