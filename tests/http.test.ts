/** What HTTP asks of every answer, whatever the records: on the real listener, mounted in Express, and as a process. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import supertest from 'supertest';
import { createEngine, type Engine } from '../engine/index.ts';
import { exchange, type Exchanged } from './support/exchange.ts';
import { startTestServer, type TestServer } from './support/server.ts';

const SCHEMA = 'tests/fixtures/http';
const JSON_BODY = { 'content-type': 'application/json' };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ schemaDirectory: SCHEMA, settings: { bodyLimit: 1000, slowReaderTimeout: 300 } });
  await send('POST /api/gadgets', JSON_BODY, '{"name":"first"}');
  await send('POST /api/locked', JSON_BODY, '{"name":"first"}');
  await send('POST /api/loose', JSON_BODY, '{"name":"first"}');
});
afterAll(() => server.close());

type Headers = Readonly<Record<string, string>>;

const send = (title: string, headers: Headers = {}, body?: string | Buffer): Promise<Exchanged> =>
  exchange(server.url, title, { headers, ...(body === undefined ? {} : { body }) });

/** The code of a problem, or nothing where the answer is none. */
function codeOf({ headers, text }: Exchanged): string {
  return headers['content-type'] === 'application/problem+json'
    ? String(JSON.parse(text).type).slice('urn:problem:'.length)
    : '';
}

const LARGE = 'x'.repeat(1001);

/** Request, headers, body; then the status, the problem code and headers of the answer. */
type Row = [
  title: string,
  headers: Headers,
  body: string | undefined,
  status: number,
  code: string,
  answered?: Headers,
];

const ITEM_METHODS = 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS';
const PATCHES = 'application/merge-patch+json, application/json';

const ROWS: Row[] = [
  // Paths
  ['GET /nowhere', {}, undefined, 404, 'path-not-found'],
  ['GET /api', {}, undefined, 404, 'path-not-found'],
  ['GET /api/', {}, undefined, 404, 'path-not-found'],
  ['GET /apis/gadgets', {}, undefined, 404, 'path-not-found'],
  ['GET /api/gadget', {}, undefined, 404, 'path-not-found'],
  ['GET /api/gadgets/', {}, undefined, 404, 'path-not-found'],
  ['GET /api/gadgets/1/', {}, undefined, 404, 'path-not-found'],
  ['GET /api/gadgets/1/name', {}, undefined, 404, 'path-not-found'],
  ['GET /api/%67adgets/%31', {}, undefined, 200, ''],
  ['GET /api/%gadgets', {}, undefined, 404, 'path-not-found'],
  ['GET http://elsewhere/api/gadgets/1', {}, undefined, 200, ''],
  ['GET /api/constructor', {}, undefined, 404, 'path-not-found'],
  // Methods
  ['OPTIONS /api/gadgets', {}, undefined, 204, '', { allow: 'GET, HEAD, POST, OPTIONS' }],
  ['OPTIONS /api/gadgets/1', {}, undefined, 204, '', { allow: ITEM_METHODS, 'accept-patch': PATCHES }],
  ['OPTIONS /api/fixed', {}, undefined, 204, '', { allow: 'GET, HEAD, OPTIONS' }],
  ['POST /api/fixed', JSON_BODY, '{}', 405, 'method-not-allowed', { allow: 'GET, HEAD, OPTIONS' }],
  ['PUT /api/gadgets', JSON_BODY, '{}', 405, 'method-not-allowed', { allow: 'GET, HEAD, POST, OPTIONS' }],
  ['POST /api/gadgets/1', JSON_BODY, '{}', 405, 'method-not-allowed', { allow: ITEM_METHODS }],
  ['TRACE /api/gadgets/1', {}, undefined, 405, 'method-not-allowed', { allow: ITEM_METHODS }],
  // Identifiers
  ['GET /api/gadgets/0', {}, undefined, 400, 'invalid-identifier'],
  ['GET /api/gadgets/01', {}, undefined, 400, 'invalid-identifier'],
  ['GET /api/gadgets/-1', {}, undefined, 400, 'invalid-identifier'],
  ['GET /api/gadgets/1.0', {}, undefined, 400, 'invalid-identifier'],
  ['GET /api/gadgets/1e0', {}, undefined, 400, 'invalid-identifier'],
  ['GET /api/gadgets/one', {}, undefined, 400, 'invalid-identifier'],
  ['GET /api/gadgets/9007199254740992', {}, undefined, 400, 'invalid-identifier'],
  ['GET /api/gadgets/9007199254740991', {}, undefined, 404, 'record-not-found'],
  ['PUT /api/gadgets/999', JSON_BODY, '{}', 404, 'record-not-found'],
  ['DELETE /api/gadgets/999', {}, undefined, 404, 'record-not-found'],
  // What the client takes
  ['GET /api/gadgets/1', { accept: '*/*' }, undefined, 200, '', { 'content-type': 'application/json' }],
  ['GET /api/gadgets/1', { accept: 'application/json; charset=utf-8' }, undefined, 200, ''],
  ['GET /api/gadgets/1', { accept: 'text/html, application/*;q=0.1' }, undefined, 200, ''],
  ['GET /api/gadgets/1', { accept: 'APPLICATION/JSON' }, undefined, 200, ''],
  ['GET /api/gadgets/1', { accept: 'text/html' }, undefined, 406, 'not-acceptable'],
  ['GET /api/gadgets/1', { accept: 'application/json;q=0, */*' }, undefined, 406, 'not-acceptable'],
  ['GET /api/gadgets/1', { accept: '*/*;q=0' }, undefined, 406, 'not-acceptable'],
  ['GET /api/gadgets/999', { accept: 'application/json' }, undefined, 404, 'record-not-found'],
  // What the body is
  ['POST /api/gadgets', { 'content-type': 'application/json; charset="UTF-8"' }, '{}', 201, ''],
  ['POST /api/gadgets', { 'content-type': 'application/json;profile=x' }, '{}', 201, ''],
  ['POST /api/gadgets', { ...JSON_BODY, 'content-encoding': 'identity' }, '{}', 201, ''],
  ['POST /api/gadgets', {}, '{}', 415, 'unsupported-media-type', { accept: 'application/json' }],
  [
    'POST /api/gadgets',
    { 'content-type': 'text/plain' },
    '{}',
    415,
    'unsupported-media-type',
    { accept: 'application/json' },
  ],
  ['POST /api/gadgets', { 'content-type': 'application/json; charset=latin1' }, '{}', 415, 'unsupported-media-type'],
  [
    'POST /api/gadgets',
    { ...JSON_BODY, 'content-encoding': 'gzip' },
    '{}',
    415,
    'unsupported-media-type',
    { 'accept-encoding': 'identity' },
  ],
  [
    'PUT /api/gadgets/1',
    { 'content-type': 'application/merge-patch+json' },
    '{}',
    415,
    'unsupported-media-type',
    { accept: 'application/json' },
  ],
  ['PATCH /api/gadgets/1', { 'content-type': 'application/merge-patch+json' }, '{}', 200, ''],
  ['PATCH /api/gadgets/1', JSON_BODY, '{}', 200, ''],
  [
    'PATCH /api/gadgets/1',
    { 'content-type': 'application/json-patch+json' },
    '[]',
    415,
    'unsupported-media-type',
    { 'accept-patch': PATCHES },
  ],
  ['POST /api/gadgets', JSON_BODY, LARGE, 413, 'content-too-large'],
  ['POST /api/gadgets', { ...JSON_BODY, 'transfer-encoding': 'chunked' }, LARGE, 413, 'content-too-large'],
  [
    'POST /api/gadgets',
    { ...JSON_BODY, expect: '100-continue' },
    LARGE,
    413,
    'content-too-large',
    { connection: 'close' },
  ],
  ['POST /api/gadgets', { ...JSON_BODY, expect: '100-continue' }, '{}', 201, ''],
  ['POST /api/gadgets', JSON_BODY, undefined, 400, 'invalid-json'],
  ['POST /api/gadgets', JSON_BODY, '{"name":', 400, 'invalid-json'],
  ['POST /api/gadgets', JSON_BODY, '[]', 422, 'invalid-body'],
  ['POST /api/gadgets', JSON_BODY, '{"nme":""}', 422, 'invalid-body'],
  // Which fault comes first
  ['PUT /api/gadget/x?y', { accept: 'text/html' }, LARGE, 404, 'path-not-found'],
  ['PUT /api/gadgets?y', { accept: 'text/html' }, LARGE, 405, 'method-not-allowed'],
  ['PUT /api/gadgets/x?y', { accept: 'text/html' }, LARGE, 406, 'not-acceptable'],
  ['PUT /api/gadgets/x?y', {}, LARGE, 415, 'unsupported-media-type'],
  ['PUT /api/gadgets/x?y', JSON_BODY, LARGE, 413, 'content-too-large'],
  ['PUT /api/gadgets/999?y', JSON_BODY, '{"nme":1}', 400, 'invalid-query'],
  ['PUT /api/gadgets/999', JSON_BODY, '{"nme":1', 400, 'invalid-json'],
  ['PUT /api/locked/999', JSON_BODY, '{"nme":1}', 422, 'invalid-body'],
  ['PUT /api/locked/999', JSON_BODY, '{}', 404, 'record-not-found'],
  // Conditions
  ['PUT /api/locked/1', JSON_BODY, '{}', 428, 'precondition-required'],
  ['PATCH /api/locked/1', { ...JSON_BODY, 'if-none-match': '"x"' }, '{}', 428, 'precondition-required'],
  ['DELETE /api/locked/1', {}, undefined, 428, 'precondition-required'],
  ['PUT /api/locked/1', { ...JSON_BODY, 'if-match': '*' }, '{}', 200, ''],
  ['PUT /api/gadgets/1', { ...JSON_BODY, 'if-match': '*' }, '{}', 200, ''],
  ['PUT /api/gadgets/1', { ...JSON_BODY, 'if-match': '"x"' }, '{}', 412, 'precondition-failed'],
  ['PUT /api/gadgets/1', { ...JSON_BODY, 'if-match': 'x' }, '{}', 412, 'precondition-failed'],
  ['PUT /api/gadgets/1', { ...JSON_BODY, 'if-none-match': '*' }, '{}', 412, 'precondition-failed'],
  ['PUT /api/gadgets/1', { ...JSON_BODY, 'if-none-match': '"x"' }, '{}', 200, ''],
  ['PUT /api/gadgets/999', { ...JSON_BODY, 'if-match': '*' }, '{}', 404, 'record-not-found'],
  ['DELETE /api/gadgets/1', { 'if-match': '"x"' }, undefined, 412, 'precondition-failed'],
  ['POST /api/gadgets', { ...JSON_BODY, 'if-match': '"x"' }, '{}', 412, 'precondition-failed'],
  ['GET /api/gadgets/1', { 'if-none-match': '*' }, undefined, 304, ''],
  ['GET /api/gadgets/1', { 'if-match': '"x"' }, undefined, 412, 'precondition-failed'],
  ['PUT /api/loose/1', { ...JSON_BODY, 'if-match': '"x"' }, '{}', 412, 'precondition-failed'],
  ['PUT /api/loose/1', JSON_BODY, '{}', 200, ''],
  // Preferences
  [
    'POST /api/gadgets',
    { ...JSON_BODY, prefer: 'return=minimal' },
    '{}',
    204,
    '',
    { 'preference-applied': 'return=minimal' },
  ],
  [
    'PUT /api/gadgets/1',
    { ...JSON_BODY, prefer: 'wait=5, return="minimal"' },
    '{}',
    204,
    '',
    { 'preference-applied': 'return=minimal' },
  ],
  [
    'PUT /api/gadgets/1',
    { ...JSON_BODY, prefer: 'return=representation' },
    '{}',
    200,
    '',
    { 'preference-applied': 'return=representation' },
  ],
  ['GET /api/gadgets', { prefer: 'count=none' }, undefined, 200, '', { 'preference-applied': 'count=none' }],
];

const titled = ROWS.map((row): [string, Row] => {
  const [title, headers, body] = row;
  const shown = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [[title, ...shown, body === LARGE ? '(1001 bytes)' : body].filter(Boolean).join(' · '), row];
});

describe('every answer', () => {
  test.each(titled)('%s', async (_, [title, headers, body, status, code, answered = {}]) => {
    const answer = await send(title, headers, body);
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'Accept, Prefer', ...answered });
    if (status === 204 || status === 304)
      expect(answer).toMatchObject({ text: '', headers: { date: expect.any(String) } });
    else expect(Number(answer.headers['content-length'])).toBe(Buffer.byteLength(answer.text));
  });
});

describe('a problem', () => {
  test('says all that it knows, under the path that was asked', async () => {
    const { text } = await send('PUT /api/gadgets/1?fields=name', JSON_BODY, '{"nme":"x"}');
    expect(JSON.parse(text)).toEqual({
      type: 'urn:problem:invalid-body',
      title: 'The body does not fit the record type',
      status: 422,
      detail: expect.stringContaining('"name"'),
      instance: '/api/gadgets/1',
      message: JSON.parse(text).detail,
      errors: [{ pointer: '/nme', code: expect.any(String), message: expect.stringContaining('"name"') }],
    });
  });

  test('lists a hundred faults, and counts the others', async () => {
    const keys = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`k${index}`, 1]));
    const { text } = await send('POST /api/gadgets', JSON_BODY, JSON.stringify(keys));
    expect(JSON.parse(text)).toMatchObject({ status: 422, errorCount: 120 });
    expect(JSON.parse(text).errors).toHaveLength(100);
  });

  test.each([
    ['/api/gadget', '/api/gadgets'],
    ['/api/GADGETS/7', '/api/gadgets/{id}'],
    ['/api/gadgets/', '/api/gadgets'],
    ['/api/nothing-like-it', '/api/fixed, /api/gadgets, /api/locked, /api/loose'],
  ])('at %s names %s', async (path, named) => {
    expect(JSON.parse((await send(`GET ${path}`)).text).detail).toContain(named);
  });
});

describe('HEAD', () => {
  test.each([
    '/api/gadgets/1',
    '/api/gadgets',
    '/api/gadgets?_cnd[limit]=0&_cnd[limit]=1',
    '/api/gadgets/999',
    '/nothing',
  ])('%s answers what GET answers, without the body', async (path) => {
    const [head, get] = [await send(`HEAD ${path}`), await send(`GET ${path}`)];
    const { date: _, ...headers } = get.headers;
    expect(head).toMatchObject({ status: get.status, headers, text: '' });
  });
});

describe('entity tags', () => {
  const tagOf = async (path: string): Promise<string> => String((await send(`GET ${path}`)).headers.etag);

  test('a write answers the tag that GET answers then', async () => {
    const created = await send('POST /api/gadgets', JSON_BODY, '{"name":"tagged"}');
    const path = String(created.headers.location);
    expect(created.headers.etag).toBe(await tagOf(path));
    const updated = await send(`PATCH ${path}`, JSON_BODY, '{"weight":2}');
    expect(updated.headers.etag).toBe(await tagOf(path));
    expect(updated.headers.etag).not.toBe(created.headers.etag);
    const minimal = await send(`PUT ${path}`, { ...JSON_BODY, prefer: 'return=minimal' }, '{"weight":3}');
    expect(minimal.headers.etag).toBe(await tagOf(path));
  });

  test.each([
    '/api/gadgets/1',
    '/api/gadgets/1?fields=name',
    '/api/gadgets',
    '/api/gadgets?_cnd[limit]=0&_cnd[limit]=1',
  ])('GET %s is answered 304 to who has it, under any spelling of the tag', async (path) => {
    const tag = await tagOf(path);
    for (const known of [tag, `W/${tag}`, `"x", W/"y,z",${tag}`]) {
      const answer = await send(`GET ${path}`, { 'if-none-match': known });
      expect(answer).toMatchObject({ status: 304, text: '', headers: { etag: tag } });
    }
    expect(await send(`HEAD ${path}`, { 'if-none-match': tag })).toMatchObject({ status: 304 });
    expect(await send(`GET ${path}`, { 'if-none-match': '"x"' })).toMatchObject({ status: 200 });
  });

  test('a page has another tag where only the total has changed', async () => {
    const page = '/api/gadgets?_cnd[limit]=0&_cnd[limit]=1&_cnd[orderBy]=id';
    const [before, text] = [await tagOf(page), (await send(`GET ${page}`)).text];
    await send('POST /api/gadgets', JSON_BODY, '{"name":"one more"}');
    expect((await send(`GET ${page}`)).text).toBe(text);
    expect(await tagOf(page)).not.toBe(before);
  });

  test('a write with the tag of the view that it names is done once', async () => {
    const path = '/api/locked/1?fields=name';
    const [tag, otherView] = [await tagOf(path), await tagOf('/api/locked/1')];
    const put = (expected: string): Promise<Exchanged> =>
      send(`PUT ${path}`, { ...JSON_BODY, 'if-match': expected }, `{"name":"after ${tag.slice(1, 9)}"}`);
    expect(await put('"x", "y"')).toMatchObject({ status: 412 });
    expect(await put(`W/${tag}`)).toMatchObject({ status: 412 });
    expect(await put(`"x", ${tag}`)).toMatchObject({ status: 200 });
    expect(await put(tag)).toMatchObject({ status: 412 });
    expect(otherView).toMatch(/^"[\w-]+"$/);
  });

  test('a record is deleted under its tag, and the answer has none', async () => {
    const { headers } = await send('POST /api/locked', JSON_BODY, '{"name":"gone"}');
    const gone = await send(`DELETE ${headers.location}`, { 'if-match': String(headers.etag) });
    expect([gone.status, gone.headers.etag]).toEqual([200, undefined]);
  });

  test('a type that goes without has none', async () => {
    for (const path of ['/api/loose', '/api/loose/1', '/api/loose?_cnd[limit]=0&_cnd[limit]=1']) {
      expect((await send(`GET ${path}`)).headers.etag).toBeUndefined();
    }
  });
});

describe('pages', () => {
  const linksOf = ({ headers }: Exchanged): Readonly<Record<string, string>> =>
    Object.fromEntries(
      [...String(headers.link).matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, url, relation]) => [relation, url]),
    );

  test('are led through by links, which keep what was asked', async () => {
    for (const name of ['p1', 'p2', 'p3']) await send('POST /api/gadgets', JSON_BODY, `{"name":"${name}","weight":77}`);
    const first = await send('GET /api/gadgets?_cnd[weight]=77&fields=name&_cnd[limit][1]=2&_cnd[orderBy]=name');
    expect(Object.keys(linksOf(first))).toEqual(['first', 'next']);
    const second = await send(`GET ${linksOf(first)['next']}`);
    expect(JSON.parse(second.text)).toMatchObject([{ name: 'p3' }]);
    expect(second.headers['x-total-count']).toBe('3');
    const back = await send(`GET ${linksOf(second)['prev']}`);
    expect(back.text).toBe(first.text);
    expect((await send(`GET ${linksOf(second)['first']}`)).text).toBe(first.text);
  });

  test('are not counted for who does not want it', async () => {
    const { headers } = await send('GET /api/gadgets?_cnd[limit]=0&_cnd[limit]=1', { prefer: 'count=none' });
    expect([headers['x-total-count'], headers.etag]).toEqual([undefined, expect.any(String)]);
  });
});

describe("app.use('/elsewhere', express.json(), engine.handler)", () => {
  let engine: Engine;
  let app: express.Express;
  beforeAll(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'records-'));
    engine = await createEngine({ schemaDirectory: SCHEMA, databaseUrl: `sqlite:${join(directory, 'records.db')}` });
    app = express().use(express.json()).use('/elsewhere', engine.handler);
    app.use((_, response) => void response.status(418).end());
  });
  afterAll(() => engine.close());

  test('serves records under its prefix, links included', async () => {
    const created = await supertest(app).post('/elsewhere/api/gadgets').send({ name: 'mounted' }).expect(201);
    expect(created.headers['location']).toBe('/elsewhere/api/gadgets/1');
    const page = await supertest(app)
      .get('/elsewhere/api/gadgets?_cnd[limit]=0&_cnd[limit]=5')
      .expect(200, [created.body]);
    expect(page.headers['link']).toMatch(/^<\/elsewhere\/api\/gadgets\?/);
    const patch = supertest(app).patch('/elsewhere/api/gadgets/1').type('application/merge-patch+json');
    await patch.send('{"weight":3}').expect(200, { ...created.body, weight: 3 });
    await supertest(app).put('/elsewhere/api/gadgets/1').send({ name: '\u0000' }).expect(422);
    await supertest(app).put('/elsewhere/api/gadgets/1').send([]).expect(422);
    await supertest(app).put('/elsewhere/api/gadgets/1').type('json').expect(400);
    const problem = await supertest(app).get('/elsewhere/api/gadgets/999').expect(404);
    expect(problem.body.instance).toBe('/elsewhere/api/gadgets/999');
  });

  test.each(['/elsewhere', '/elsewhere/other', '/api/gadgets'])('leaves %s to the host', async (path) => {
    await supertest(app).get(path).expect(418);
  });

  test('answers what it lacks within its own paths', async () => {
    await supertest(app).get('/elsewhere/api/gadget').expect(404).expect('content-type', 'application/problem+json');
  });
});
