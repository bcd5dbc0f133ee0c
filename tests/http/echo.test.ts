/** What a client sends comes back in messages to 100 characters at most. */
import { connect } from 'node:net';
import { once } from 'node:events';
import { exchange } from '../support/exchange.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let books: TestServer;
beforeAll(async () => {
  server = await startTestServer({ schemaDirectory: 'tests/fixtures/http' });
  books = await startTestServer({ schemaDirectory: 'tests/fixtures/dialects' });
});
afterAll(() => Promise.all([server.close(), books.close()]));

const X = 'x'.repeat(5000);
const JSON_BODY = { 'content-type': 'application/json' };
const long = (text: string): string => text.replaceAll('LONG', X);
/** The longest run of what was sent. */
const echoed = (text: string): number => Math.max(0, ...[...text.matchAll(/x{2,}/g)].map(([run]) => run.length));

/** Requests, with their headers and bodies. */
const REQUESTS = String.raw`
POST /api/gadgets | {"LONG":1}
POST /api/gadgets | {"a.LONG":1}
POST /api/gadgets | {"LONG":1,"LONG":2}
POST /api/gadgets | {"notes":{"LONG":{"LONG":1,"LONG":2}}}
POST /api/gadgets | {"name":"LONG"}
POST /api/gadgets | {"weight":"LONG"}
POST /api/gadgets | {"name":LONG}
POST /api/gadgets | LONG
POST /api/gadgets | {"@LONG":1}
POST /api/gadgets | content-type: text/csv | LONG,name\n1,2\n
POST /api/gadgets | content-type: text/csv | name,LONG\n1,2\n
POST /api/gadgets | content-type: text/csv | LONG,LONG\n1,2\n
POST /api/gadgets | content-type: text/csv | weight\nLONG\n
POST /api/gadgets | content-type: text/csv | "LONG
POST /api/gadgets | content-type: application/x-ndjson | {"LONG":1}\n
PATCH /api/gadgets | [{"id":1,"LONG":1}]
PATCH /api/gadgets | [{"id":"LONG"}]
PATCH /api/gadgets | [{"id":1,"@etag":"LONG"}]
POST /api/gadgets | content-type: LONG/json | {}
POST /api/gadgets | content-type: application/json; charset=LONG | {}
POST /api/gadgets | content-encoding: LONG | {}
POST /api/gadgets | idempotency-key: LONG | {}
PUT /api/gadgets/1 | if-match: LONG | {}
PUT /api/locked/1 | if-match: "LONG" | {}
POST /api/gadgets | x-position: LONG | {}
PUT /api/gadgets/1?on=LONG | {}
PUT /api/gadgets?on=LONG | {}
POST /api/gadgets?dryRun=LONG | {}
DELETE /api/gadgets?_cnd[id]=1 | prefer: max-affected=LONG |
DELETE /api/gadgets?LONG=1 | prefer: max-affected=1 |
GET /openapi.json?profile=LONG
`
  .trim()
  .split('\n');

const HEADERS = `accept: LONG/json | host: LONG | host: LONG.example:80 | origin: http://LONG | sec-fetch-site: LONG
  | referer: http://LONG.example/LONG | x-request-id: LONG | prefer: count=LONG | range: LONG=0-1`;
const PATHS = `/LONG /api/LONG /api/gadgets/LONG /api/gadgets/1/LONG /json-server/LONG /simple-rest/LONG/1 /docs/LONG
  /studio/LONG /health/LONG`;
const QUERIES = `LONG=1 a=LONG _cnd[LONG]=1 _cnd[name][LONG]=1 _cnd[weight]=LONG _cnd[weight][gt]=LONG _cnd[limit]=LONG
  _cnd[limit]=1&after=LONG _cnd[orderBy]=LONG _cnd[name][null]=LONG dryRun=LONG _cnd[name.LONG]=1 _cnd[LONG.name]=1
  _cnd[$any][0][LONG]=1 _cnd[$LONG]=1 _cnd[name][like]=LONG include=LONG fields=LONG fields=name.LONG variant=LONG
  %ZZLONG=1 LONG%ZZ=1 _cnd=LONG sort=LONG _sort=LONG q=LONG LONG[gt]=1 filter[LONG]=1 page=LONG _cnd[limit][LONG]=1`;
const SUMMARIES = `by=LONG measure=LONG measure=sum(LONG) measure=LONG(weight) by=LONG(name) limit=LONG order=LONG LONG=1
  having=LONG`;
const JSON_SERVER = `_sort=LONG _order=LONG _page=LONG _limit=LONG LONG=1 id=LONG LONG_gte=1 _expand=LONG _embed=LONG
  _start=LONG _end=LONG name_LONG=1 title_like=LONG&LONG=1 q=LONG&LONG=2`;
const SIMPLE_REST = `filter={"LONG":1} filter={"id":"LONG"} filter=LONG sort=["LONG","ASC"] sort=["id","LONG"] sort=LONG
  range=LONG range=["LONG",1] LONG=1 filter={"title_LONG":1}`;
const each = (words: string, request: (word: string) => string, separator = /\s+/): readonly string[] =>
  words.split(separator).map(request);

test.each([
  ...REQUESTS,
  ...each(HEADERS, (header) => `GET /api/gadgets | ${header} |`, /\s*\|\s*/),
  ...each(PATHS, (path) => `GET ${path}`),
  ...each(QUERIES, (query) => `GET /api/gadgets?${query}`),
  ...each(SUMMARIES, (query) => `GET /api/gadgets/$summary?${query}`),
])('%s', async (row) => {
  const [title = '', header, text] = row.split(/ \| ?/);
  const [, name = '', value = ''] = /^([\w-]+): (.*)$/.exec(text === undefined ? '' : (header ?? '')) ?? [];
  const body = (text ?? header)?.replaceAll(String.raw`\n`, '\n');
  const headers = { ...(body ? JSON_BODY : {}), ...(name === '' ? {} : { [name]: long(value) }) };
  const sent = { headers, ...(body ? { body: long(body) } : {}) };
  const answer = await exchange(server.url, long(title), sent);
  if (answer.status < 300) return;
  expect(echoed(answer.text + JSON.stringify(answer.headers))).toBeLessThanOrEqual(100);
});

test.each([
  ...each(JSON_SERVER, (query) => `/json-server/books?${query}`),
  ...each(SIMPLE_REST, (query) => `/simple-rest/books?${query}`),
])('GET %s', async (path) => {
  const { text, status } = await exchange(books.url, `GET ${encodeURI(long(path))}`);
  if (status < 300) return;
  expect(echoed(text)).toBeLessThanOrEqual(100);
});

const call = (name: string, given: object): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: given },
});

test.each<readonly [object, Readonly<Record<string, string>>?]>([
  [call('LONG', {})],
  [call('list_records', { type: 'LONG' })],
  [call('list_records', { LONG: 1 })],
  [call('list_records', { type: 'Gadget', LONG: 1 })],
  [call('list_records', { type: 'Gadget', where: { LONG: 1 } })],
  [call('list_records', { type: 'Gadget', where: { name: { LONG: 1 } } })],
  [call('list_records', { type: 'Gadget', where: { 'LONG[x]': 1 } })],
  [call('list_records', { type: 'Gadget', where: { weight: 'LONG' } })],
  [call('list_records', { type: 'Gadget', where: { LONG: {} } })],
  [call('list_records', { type: 'Gadget', where: { LONG: [] } })],
  [call('list_records', { type: 'Gadget', where: { name: { LONG: [{}] } } })],
  [call('list_records', { type: 'Gadget', order: 'LONG' })],
  [call('list_records', { type: 'Gadget', order: ['name LONG'] })],
  [call('list_records', { type: 'Gadget', include: 'LONG' })],
  [call('list_records', { type: 'Gadget', fields: ['LONG'] })],
  [call('list_records', { type: 'Gadget', variant: 'LONG' })],
  [call('list_records', { type: 'Gadget', after: 'LONG' })],
  [call('list_records', { type: 'Gadget', limit: 'LONG' })],
  [call('list_records', { type: ['LONG'] })],
  [call('describe_type', { type: 'LONG' })],
  [call('get_record', { type: 'Gadget', id: 'LONG' })],
  [call('create_record', { type: 'Gadget', record: { LONG: 1 } })],
  [call('create_record', { type: 'Gadget', record: { name: 5, 'LONG/LONG': 1 } })],
  [call('create_record', { type: 'Gadget', record: 'LONG' })],
  [call('update_record', { type: 'Gadget', id: 1, changes: { LONG: 1 } })],
  [call('update_record', { type: 'Gadget', id: 1, changes: {}, etag: 'LONG' })],
  [call('summarize_records', { type: 'Gadget', by: ['LONG'], measure: ['LONG'] })],
  [{ jsonrpc: '2.0', id: 1, method: 'LONG' }],
  [{ jsonrpc: 'LONG', id: 1, method: 'tools/list' }],
  [{ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'LONG' } }],
  [{ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 'LONG' } }],
  [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'mcp-method': 'LONG' }],
  [{ jsonrpc: '2.0', id: 1, method: 'LONG' }, { 'mcp-method': 'tools/list' }],
  [call('list_records', { type: 'Gadget' }), { 'mcp-name': 'LONG', 'mcp-method': 'tools/call' }],
  [call('LONG', {}), { 'mcp-name': 'list_records', 'mcp-method': 'tools/call' }],
  [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'mcp-protocol-version': 'LONG' }],
  [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { accept: 'LONG/LONG' }],
])('agents: %j %j', async (message, headers = {}) => {
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, long(value)]));
  const { text } = await exchange(server.url, 'POST /mcp', {
    headers: { ...JSON_BODY, accept: '*/*', ...sent },
    body: long(JSON.stringify(message)),
  });
  expect(text.length).toBeGreaterThan(10);
  expect(echoed(text)).toBeLessThanOrEqual(100);
});

test.each(['LONG / HTTP/1.1\r\nHost: x\r\n\r\n', 'GET / HTTP/LONG\r\n\r\n', 'GET / HTTP/1.1\r\nHost: LONG@x\r\n\r\n'])(
  '%j',
  async (request) => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.end(long(request));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    await once(socket, 'close');
    expect(echoed(Buffer.concat(chunks).toString())).toBeLessThanOrEqual(100);
  },
);
