/** The engine as a guest: what it answers behind somebody's middleware has to be what it answers alone. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as send, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { createEngine, type RecordEngine } from '../../engine/index.ts';
import { createDatabase } from './databases.ts';

interface Asked {
  readonly request: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const JSON_BODY = { 'content-type': 'application/json' };
const CSV_BODY = { 'content-type': 'text/csv' };
const AGENT = { ...JSON_BODY, accept: 'application/json, text/event-stream' };
const GZIP = { 'accept-encoding': 'gzip' };
const asked = (request: string, headers: Asked['headers'] = {}, body?: string): Asked =>
  body === undefined ? { request, headers } : { request, headers, body };

/** Every way in which the engine writes a response, in an order in which each finds what it needs. */
const ASKED: readonly Asked[] = [
  asked('POST /api/gadgets', JSON_BODY, '{"name":"one","notes":{"b":1,"a":[1.50]}}'),
  asked(
    'POST /api/gadgets',
    CSV_BODY,
    `name,weight\n${Array.from({ length: 900 }, (_, at) => `n${at},${at}\n`).join('')}`,
  ),
  asked('POST /api/gadgets', { ...JSON_BODY, prefer: 'return=minimal' }, '{"name":"two"}'),
  asked('POST /api/gadgets', JSON_BODY, '{"name":5,"size":1}'),
  asked('POST /api/gadgets', JSON_BODY, '{"name":'),
  asked('POST /api/gadgets', { 'content-type': 'application/x-www-form-urlencoded' }, 'name=one'),
  asked('PUT /api/gadgets/1', JSON_BODY, '{"weight":3}'),
  asked('PATCH /api/gadgets/1', { 'content-type': 'application/merge-patch+json' }, '{"notes":{"b":null}}'),
  asked('PATCH /api/gadgets/1', { ...JSON_BODY, prefer: 'return=minimal' }, '{"weight":4}'),
  asked('PATCH /api/gadgets/1', { ...JSON_BODY, 'if-match': '"other"' }, '{"weight":5}'),
  asked('POST /api/gadgets?dryRun=true', JSON_BODY, '{"name":"three"}'),
  asked('DELETE /api/gadgets/2'),
  asked('DELETE /api/gadgets/2'),
  asked('GET /api/gadgets/1'),
  asked('GET /api/gadgets/1', GZIP),
  asked('HEAD /api/gadgets/1', GZIP),
  asked('OPTIONS /api/gadgets/1'),
  asked('DELETE /api/gadgets'),
  asked('GET /api/gadgets'),
  asked('GET /api/gadgets', GZIP),
  asked('HEAD /api/gadgets', GZIP),
  asked('GET /api/gadgets?_cnd[limit]=2'),
  asked('GET /api/gadgets?_cnd[limit]=30', GZIP),
  asked('GET /api/gadgets', { ...GZIP, accept: 'text/csv' }),
  asked('HEAD /api/gadgets', { accept: 'text/csv' }),
  asked('GET /api/gadgets', { accept: 'application/x-ndjson' }),
  asked('GET /api/gadgets/$summary?by=weight&measure=count&limit=3'),
  asked('GET /api/gadgets?nothing=1', GZIP),
  asked('HEAD /api/gadgets/9999', GZIP),
  asked('GET /api/gadgets/9999', GZIP),
  asked('GET /json-server/gadgets?_start=0&_end=2'),
  asked('GET /simple-rest/gadgets?range=[0,1]'),
  asked('GET /', GZIP),
  asked('GET /docs', GZIP),
  asked('HEAD /docs/style.css'),
  asked('POST /docs', JSON_BODY, '{}'),
  asked('GET /openapi.json', GZIP),
  asked('GET /openapi.json?profile=none'),
  asked('GET /mcp'),
  asked('OPTIONS /mcp'),
  asked('POST /mcp', AGENT, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
  asked(
    'POST /mcp',
    { ...AGENT, ...GZIP },
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_record","arguments":{"type":"Gadget","id":1}}}',
  ),
];

/** Headers that the engine alone decides. */
const KEPT = (
  'content-type location link allow accept-patch x-total-count content-range preference-applied ' +
  'cache-control x-content-type-options'
).split(' ');

interface Received {
  readonly request: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

export const alone =
  ({ pages, mcp, handler }: RecordEngine): RequestListener =>
  (request, response) =>
    pages(request, response, () => mcp(request, response, () => handler(request, response)));

/** The responses of an engine with an empty database to all these requests, the last of which repeats an entity tag. */
export async function answersOf(host: (engine: RecordEngine) => RequestListener): Promise<readonly Received[]> {
  const database = await createDatabase('sqlite');
  const settings = { schemaDirectory: 'tests/fixtures/http', databaseUrl: database.url, studio: false };
  const engine = await createEngine({ ...settings, logLevel: 'error' });
  const server = createServer(host(engine)).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const received: Received[] = [];
    let tag = '';
    for (const one of ASKED) {
      const answer = await ask(port, one);
      received.push(answer.received);
      if (one.request === 'GET /api/gadgets/1') tag = answer.tag;
    }
    return [...received, (await ask(port, asked('GET /api/gadgets/1', { 'if-none-match': tag }))).received];
  } finally {
    server.closeAllConnections();
    server.close();
    await engine.close();
    await database.remove();
  }
}

/** A difference between long bodies would fill the screen. */
const shortened = (text: string): string =>
  text.length < 300 ? text : `${text.slice(0, 200)}… ${createHash('sha256').update(text).digest('hex')}`;

interface Answer {
  readonly received: Received;
  readonly tag: string;
}

async function ask(port: number, { request, headers = {}, body }: Asked): Promise<Answer> {
  const [method, path] = request.split(' ', 2);
  // Pages show the address that they were asked at, and ports differ.
  const own = { host: 'localhost', ...headers };
  const sent = send({ port, host: '127.0.0.1', method, path, headers: own, agent: false }).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(Buffer.from(chunk));
  const bytes = Buffer.concat(chunks);
  const isPacked = response.headers['content-encoding'] === 'gzip' && bytes.length > 0;
  const received: Received = {
    request,
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(KEPT.map((name) => [name, response.headers[name]])),
    body: shortened((isPacked ? gunzipSync(bytes) : bytes).toString()),
  };
  return { received, tag: String(response.headers.etag) };
}
