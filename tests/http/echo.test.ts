/** A response repeats at most 100 characters of anything that a client sends. */
import { exchange } from '../support/exchange.ts';
import { raw } from '../support/raw.ts';
import { useServer } from '../support/server.ts';

const server = useServer({ schemaDirectory: 'tests/fixtures/http' });

const X = 'x'.repeat(5000);
const JSON_BODY = { 'content-type': 'application/json' };
const long = (text: string): string => text.replaceAll('LONG', X);
const echoed = (text: string): number => Math.max(0, ...[...text.matchAll(/x{2,}/g)].map(([run]) => run.length));

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

test.each(['LONG / HTTP/1.1\r\nHost: x\r\n\r\n', 'GET / HTTP/LONG\r\n\r\n', 'GET / HTTP/1.1\r\nHost: LONG@x\r\n\r\n'])(
  '%j',
  async (request) => {
    expect(echoed(await raw(server.url, long(request)))).toBeLessThanOrEqual(100);
  },
);
