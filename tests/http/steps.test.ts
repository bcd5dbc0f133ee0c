/** The steps around every operation: request ids, CORS, and requests that are sent again. */
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { startTestServer, useServer } from '../support/server.ts';

const SCHEMA = 'tests/fixtures/http';
const JSON_BODY = { 'content-type': 'application/json' };

const server = useServer({ schemaDirectory: SCHEMA });

const create = (key: string, body: unknown, path = '/api/gadgets', url = server.url): Promise<Exchanged> =>
  exchange(url, `POST ${path}`, { headers: { ...JSON_BODY, 'idempotency-key': key }, body: JSON.stringify(body) });

const count = async (url = server.url): Promise<number> =>
  JSON.parse((await exchange(url, 'GET /api/gadgets')).text).length;

describe('a request id', () => {
  test.each(
    (
      'GET /api/gadgets | GET /api/gadgets/999 | GET /nowhere | OPTIONS /api/gadgets | POST /api/gadgets | GET / | ' +
      'GET /docs/ | HEAD /docs/style.css | GET /openapi.yaml | POST /openapi.json | GET /health/live | GET /health/ready | ' +
      'GET /metrics | GET /mcp | OPTIONS *'
    ).split(' | '),
  )('is made for %s', async (title) => {
    const [one, other] = [await exchange(server.url, title), await exchange(server.url, title)];
    expect(one.headers['x-request-id']).toMatch(/^[\w-]{8,}$/);
    expect(one.headers['x-request-id']).not.toBe(other.headers['x-request-id']);
  });

  test.each([
    ['abc-123', true],
    ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', true],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    ['a b', false],
    ['a\tb', false],
    ['"quoted"', false],
  ])('%j is taken over: %s', async (sent, taken) => {
    const { headers } = await exchange(server.url, 'GET /api/gadgets', { headers: { 'x-request-id': sent } });
    expect(headers['x-request-id'] === sent).toBe(taken);
  });
});

describe('CORS', () => {
  const TOKENS = tokenLine({ name: 'root', read: 'all', write: 'all' }, createToken());
  const origin = 'https://shop.example.com';
  const ask = async (corsOrigins: readonly string[], title: string, headers: Record<string, string>) => {
    // A service for pages of every site needs tokens.
    const tokens = corsOrigins.includes('*') ? TOKENS : '';
    const open = await startTestServer({ schemaDirectory: SCHEMA, settings: { corsOrigins, tokens } });
    const answer = await exchange(open.url, title, { headers });
    await open.close();
    const own = Object.entries(answer.headers).filter(([name]) => name.startsWith('access-control'));
    return { status: answer.status, vary: answer.headers['vary'], own: Object.fromEntries(own) };
  };
  const EXPOSED =
    'X-Total-Count, Content-Range, Link, ETag, Location, Preference-Applied, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id, X-Position';

  test('is off by default', async () => {
    const { own, vary } = await ask([], 'GET /api/gadgets', { origin });
    expect([own, vary]).toEqual([{}, 'Accept, Accept-Encoding, Prefer']);
  });

  test.each(['GET /api/gadgets', 'GET /api/gadgets/999', 'GET /api/none', 'DELETE /api/gadgets'])(
    'lets a named origin see %s',
    async (title) => {
      const { own, vary } = await ask(['http://localhost:8080', origin], title, { origin });
      expect(own).toEqual({ 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED });
      expect(vary).toBe('Accept, Accept-Encoding, Prefer, Origin');
    },
  );

  test.each(['https://other.example.com', 'null', `${origin}.evil.example`, 'http://shop.example.com'])(
    'shows %s nothing',
    async (other) => {
      const { own, vary } = await ask([origin], 'GET /api/gadgets', { origin: other });
      expect([own, vary]).toEqual([{}, 'Accept, Accept-Encoding, Prefer, Origin']);
    },
  );

  test('of every origin does not vary by it', async () => {
    const { own, vary } = await ask(['*'], 'GET /api/gadgets', { origin });
    expect(own).toEqual({ 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED });
    expect(vary).toBe('Accept, Accept-Encoding, Prefer, Authorization');
  });

  test('answers preflights', async () => {
    const { status, own } = await ask([origin], 'OPTIONS /api/gadgets/1', {
      origin,
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'content-type, if-match',
    });
    expect(status).toBe(204);
    expect(own).toEqual({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        'Content-Type, Authorization, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, Prefer, Range, X-Request-Id, X-Position, MCP-Protocol-Version, Mcp-Method, Mcp-Name, traceparent, tracestate, baggage',
      'access-control-max-age': '7200',
    });
  });
});

describe('Idempotency-Key', () => {
  test('a repeated request gets the same answer and creates nothing', async () => {
    const before = await count();
    const answers = [await create('a', { name: 'once' }), await create('a', { name: 'once' })];
    const seen = answers.map(({ status, text, headers: { location, etag } }) => ({ status, text, location, etag }));
    expect(seen[0]).toMatchObject({ status: 201, location: expect.stringMatching(/^\/api\/gadgets\/\d+$/) });
    expect(seen[1]).toEqual(seen[0]);
    expect(await count()).toBe(before + 1);
  });

  test('a retry gets the same status and Location, with the record as it is now, and without a body once it is gone', async () => {
    const first = await create('b', { name: 'first' });
    const path = String(first.headers.location);
    const again = async (): Promise<unknown> => {
      const { status, text, headers } = await create('b', { name: 'first' });
      return [status, text, headers.location, headers.etag];
    };
    await exchange(server.url, `PUT ${path}`, { headers: JSON_BODY, body: '{"name":"second"}' });
    const { text, headers } = await exchange(server.url, `GET ${path}`);
    expect(text).toContain('second');
    expect(await again()).toEqual([201, text, path, headers.etag]);
    await exchange(server.url, `DELETE ${path}`);
    expect(await again()).toEqual([201, '', path, undefined]);
    expect((await exchange(server.url, `GET ${path}`)).status).toBe(404);
  });

  test('a retry of an array gets the records that are left, and no body where there are none', async () => {
    const send = (body: string): Promise<Exchanged> =>
      exchange(server.url, 'POST /api/gadgets', { headers: { ...JSON_BODY, 'idempotency-key': `n${body}` }, body });
    const body = '[{"name":"one"},{"name":"two"}]';
    const [one, two] = JSON.parse((await send(body)).text);
    for (const [gone, left] of [
      [one, [two]],
      [two, undefined],
    ]) {
      await exchange(server.url, `DELETE /api/gadgets/${gone.id}`);
      const { status, text } = await send(body);
      expect([status, text]).toEqual([201, left === undefined ? '' : JSON.stringify(left)]);
    }
    expect([(await send('[]')).text, (await send('[]')).text]).toEqual(['[]', '[]']);
  });

  test.each([
    ['a space', '{"name": "x","weight":1}'],
    ['another order of keys', '{"weight":1,"name":"x"}'],
    ['a number written differently', '{"name":"x","weight":1.0}'],
  ])('what says the same in other bytes, with %s, is another request', async (what, other) => {
    const key = `bytes-${what.replaceAll(' ', '-')}`;
    const headers = { ...JSON_BODY, 'idempotency-key': key };
    const post = (body: string): Promise<Exchanged> => exchange(server.url, 'POST /api/gadgets', { headers, body });
    const given = '{"name":"x","weight":1}';
    expect([(await post(given)).status, (await post(given)).status]).toEqual([201, 201]);
    const { status, text } = await post(other);
    expect([status, JSON.parse(text).type]).toEqual([422, 'urn:problem:idempotency-conflict']);
  });

  test('a request that was refused can be corrected under its key', async () => {
    expect((await create('d', { nme: 'x' })).status).toBe(422);
    expect((await create('d', { weight: -1 })).status).toBe(422);
    expect((await create('d', { name: 'x' })).status).toBe(201);
  });

  test('of many simultaneous requests, one creates the record', async () => {
    const before = await count();
    const answers = await Promise.all(Array.from({ length: 20 }, () => create('e', { name: 'race' })));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(await count()).toBe(before + 1);
  });

  test.each(['', 'a b', 'é', 'x'.repeat(256)])('%j is no key', async (key) => {
    const { status, text } = await create(Buffer.from(key).toString('latin1'), { name: 'x' });
    expect([status, JSON.parse(text).type]).toEqual([400, 'urn:problem:invalid-header']);
  });

  test('IDEMPOTENCY_HOURS are those of the database: the clock of the service does not matter', async () => {
    const clock = jest.spyOn(Date.prototype, 'getTime').mockReturnValue(Date.now() + 1000 * 3_600_000);
    const ahead = await create('f', { name: 'x' });
    clock.mockRestore();
    const other = await create('f', { name: 'x' });
    expect([ahead.status, other.text, other.headers.location]).toEqual([201, ahead.text, ahead.headers.location]);
  });
});
