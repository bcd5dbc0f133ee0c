import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import supertest from 'supertest';
import { createEngine, type RecordEngine } from '../../engine/index.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { useServer } from '../support/server.ts';

const SCHEMA = 'tests/fixtures/http';
const JSON_BODY = { 'content-type': 'application/json' };

const server = useServer({ schemaDirectory: SCHEMA, settings: { bodyLimit: 1000 } });
beforeAll(async () => {
  await send('POST /api/gadgets', JSON_BODY, '{"name":"first"}');
  await send('POST /api/locked', JSON_BODY, '{"name":"first"}');
  await send('POST /api/loose', JSON_BODY, '{"name":"first"}');
});

type Headers = Readonly<Record<string, string>>;

const send = (title: string, headers: Headers = {}, body?: string | Buffer): Promise<Exchanged> =>
  exchange(server.url, title, { headers, ...(body === undefined ? {} : { body }) });

describe('a problem', () => {
  test('has all details and the path of the request', async () => {
    const { text } = await send('PUT /api/gadgets/1?fields=name', JSON_BODY, '{"nme":"x"}');
    expect(JSON.parse(text)).toEqual({
      type: 'urn:problem:invalid-body',
      title: 'The body does not match the record type',
      status: 422,
      detail: expect.stringContaining('"name"'),
      instance: '/api/gadgets/1',
      message: JSON.parse(text).detail,
      errors: [{ pointer: '/nme', code: expect.any(String), message: expect.stringContaining('"name"') }],
    });
  });

  test('lists the first hundred faults of a body, and counts the others', async () => {
    const keys = Array.from({ length: 120 }, (_, index) => (index === 60 ? 'name' : `k${index}`));
    const body = Object.fromEntries(keys.map((key) => [key, 1]));
    const { text } = await send('POST /api/gadgets', JSON_BODY, JSON.stringify(body));
    expect(JSON.parse(text)).toMatchObject({ status: 422, errorCount: 120 });
    const told: readonly { readonly pointer: string }[] = JSON.parse(text).errors;
    expect(told.map(({ pointer }) => pointer)).toEqual(keys.slice(0, 100).map((key) => `/${key}`));
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

test.each([
  ['9007199254740991', 404],
  ...['9007199254740992', '0', '01', '-1', '1.0', '1e1', '%201', 'x'].map((id) => [id, 400] as const),
] as const)('GET /api/gadgets/%s is %i', async (id, status) => {
  expect((await send(`GET /api/gadgets/${id}`)).status).toBe(status);
});

describe('Prefer: return=minimal', () => {
  const MINIMAL = { ...JSON_BODY, prefer: 'return=minimal' };
  test.each([
    ['POST /api/gadgets', '{"name":"a"}', 201, true],
    ['POST /api/gadgets', '[{"name":"a"},{"name":"b"}]', 201, false],
    ['PUT /api/gadgets/1', '{"name":"a"}', 204, false],
    ['PATCH /api/gadgets', '[{"id":1,"name":"a"}]', 204, false],
  ])('%s %s: %i without a body', async (title, body, status, isNamed) => {
    const key = { 'idempotency-key': `minimal ${title} ${body}`.replaceAll(' ', '_') };
    const answers = [await send(title, MINIMAL, body), await send(title, { ...MINIMAL, ...key }, body)];
    answers.push(await send(title, { ...MINIMAL, ...key }, body));
    for (const { status: given, text, headers } of answers) {
      expect([given, text, headers['preference-applied'], headers['content-type']]).toEqual([
        status,
        '',
        'return=minimal',
        undefined,
      ]);
      expect(/^\/api\/gadgets\/\d+$/.test(headers.location ?? '')).toBe(isNamed);
      if (isNamed) expect((await send(`GET ${headers.location}`)).headers.etag).toBe(headers.etag);
    }
  });

  test.each([
    ['return="minimal"', true],
    ['RETURN = minimal', true],
    ['foo="a, b";x=",", return=minimal', true],
    ['wait=1; "return=minimal", return=minimal; q=1', true],
    ['"return=minimal"', false],
    ['foo="return=minimal"', false],
    ['foo=",return=minimal,"', false],
    ['foo; return=minimal', false],
    ['foo="\\",return=minimal,"', false],
    ['"return"=minimal', false],
    ['"return=minimal', false],
    ['foo="a\\",return=minimal', false],
    ['return="min\\imal"', true],
  ])('Prefer: %s (RFC 7240, 2)', async (prefer, isMinimal) => {
    const { status } = await send('PUT /api/gadgets/1', { ...JSON_BODY, prefer }, '{"name":"a"}');
    expect(status).toBe(isMinimal ? 204 : 200);
  });

  test('is overridden by an earlier preference', async () => {
    const headers = { ...JSON_BODY, prefer: 'return=representation, return=minimal' };
    const { text, headers: told } = await send('PUT /api/gadgets/1', headers, '{"name":"a"}');
    expect([JSON.parse(text).name, told['preference-applied']]).toEqual(['a', 'return=representation']);
  });

  test('of a dry run leaves the record out of the report', async () => {
    const { text } = await send('POST /api/gadgets?dryRun=true', MINIMAL, '{"name":"a"}');
    expect(JSON.parse(text).answer).toMatchObject({ status: 201, body: null });
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
    const { date: _, 'x-request-id': __, ...headers } = get.headers;
    expect(head).toMatchObject({ status: get.status, headers, text: '' });
  });
});

describe('entity tags', () => {
  const tagOf = async (path: string): Promise<string> => String((await send(`GET ${path}`)).headers.etag);

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

  test('a record is deleted with its tag, and the response has none', async () => {
    const { headers } = await send('POST /api/locked', JSON_BODY, '{"name":"gone"}');
    const gone = await send(`DELETE ${headers.location}`, { 'if-match': String(headers.etag) });
    expect([gone.status, gone.headers.etag]).toEqual([200, undefined]);
  });
});

describe("app.use('/elsewhere', express.json(), engine.handler)", () => {
  let engine: RecordEngine;
  let app: express.Express;
  beforeAll(async () => {
    const directory = mkdtempSync(join(tmpdir(), 'records-'));
    engine = await createEngine({ schemaDirectory: SCHEMA, databaseUrl: `sqlite:${join(directory, 'records.db')}` });
    app = express().use(express.json());
    app.use((_, response, next) => void next(void response.vary('Cookie')));
    app.use('/elsewhere', engine.handler);
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
    const problem = await supertest(app)
      .get('/elsewhere/api/gadgets/999')
      .expect(404)
      .expect('vary', /^Cookie, Accept/);
    expect(problem.body.instance).toBe('/elsewhere/api/gadgets/999');
  });

  test.each(['/elsewhere', '/elsewhere/other', '/api/gadgets'])('leaves %s to the host', async (path) => {
    await supertest(app).get(path).expect(418);
  });

  test.each(['get', 'post'] as const)('leaves the answer to a %s to a host that has begun it', async (method) => {
    const hasty = express().use((_, response, next) => {
      response.status(408).write('too ');
      next();
      setTimeout(() => response.end('late'), 20);
    }, engine.handler);
    await supertest(hasty)[method]('/api/gadgets').send({ name: 'hasty' }).expect(408, 'too late');
  });

  test('answers 404 within its own paths', async () => {
    const { body } = await supertest(app).get('/elsewhere/api/gadget').expect(404);
    expect(body.detail).toBe('There is nothing at "/elsewhere/api/gadget"; did you mean "/elsewhere/api/gadgets"?');
    const { body: other } = await supertest(app).get('/elsewhere/api/x').expect(404);
    expect(other.detail).toMatch(
      /^There is nothing at "\/elsewhere\/api\/x"; records are at \/elsewhere\/api\/\w+, \/elsewhere/,
    );
  });

  test.each(['post', 'put'] as const)('says that a body was read in front: %s', async (method) => {
    const reads = express().use((request, _, next) => void request.resume().once('end', next), engine.handler);
    const path = method === 'post' ? '/api/gadgets' : '/api/gadgets/1';
    const { body } = await supertest(reads)[method](path).send({ name: 'x' });
    expect([body.status, body.detail]).toEqual([400, expect.stringMatching(/^Other middleware has read the body/)]);
  });
});
