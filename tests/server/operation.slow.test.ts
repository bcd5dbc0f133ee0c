/** Health checks, metrics, the log, and restarts that clients do not notice. */
import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeError } from '../../engine/log.ts';
import { type Environment, type Running, urlOf, useCompiled } from '../support/compiled.ts';
import { fileOf } from '../support/databases.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { promtoolIsSilent } from '../support/promtool.ts';
import { onSqlite } from '../support/only.ts';
import { raw } from '../support/raw.ts';
import { startTestServer, useServer } from '../support/server.ts';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';

const SCHEMA = 'tests/fixtures/access';
const HEADERS = { 'content-type': 'application/json' };

const directory = mkdtempSync(join(tmpdir(), 'operation-'));
const compiled = useCompiled();

const start = (environment: Environment = {}): Running =>
  compiled.run('server.js', [], {
    PORT: '0',
    SCHEMA_DIR: SCHEMA,
    DATABASE_URL: `sqlite:${join(directory, 'records.db')}`,
    ...environment,
  });

afterEach(() => void jest.restoreAllMocks());

const READY = 'ready\nThe database has model 1, this instance serves model 1\n';

onSqlite('a service whose database file is moved away, removed or replaced is not ready until it is back', async () => {
  await using server = await startTestServer({ schemaDirectory: SCHEMA });
  const file = fileOf(server.database);
  const ready = async (): Promise<readonly [number, string]> => {
    const { status, text } = await exchange(server.url, 'GET /health/ready');
    return [status, text];
  };
  const gone = [503, 'The file of the database was moved, removed, replaced or cut off\n'];
  // No time passes: a probe does not rely on what was seen a moment ago.
  jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  expect(await ready()).toEqual([200, READY]);
  renameSync(file, `${file}.away`);
  expect(await ready()).toEqual(gone);
  writeFileSync(file, 'another');
  expect(await ready()).toEqual(gone);
  renameSync(`${file}.away`, file);
  expect(await ready()).toEqual([200, READY]);
});

describe('a service with figures', () => {
  const server = useServer({ schemaDirectory: SCHEMA, settings: { metrics: true } });

  test.each([
    ['GET /health/live', 200, 'live\n'],
    ['GET /health/ready', 200, READY],
    ['HEAD /health/ready', 200, ''],
  ])('%s', async (title, status, text) => {
    expect(await exchange(server.url, title)).toMatchObject({ status, text });
  });

  test('counts the problems of pages and of ambiguous requests under their codes', async () => {
    await exchange(server.url, 'POST /docs');
    await raw(server.url, 'GET /api/memos HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n');
    const counted = (status: number, problem: string): string =>
      `records_http_requests_total{type="",operation="",status="${status}",problem="${problem}"} 1`;
    await until(async () => {
      const { text } = await exchange(server.url, 'GET /metrics');
      return text.includes(counted(405, 'method-not-allowed')) && text.includes(counted(400, 'bad-request'));
    });
  });

  test('counts requests by type, operation and status, and times them and their statements', async () => {
    await exchange(server.url, 'POST /api/memos', { headers: HEADERS, body: '{}' });
    await exchange(server.url, 'GET /api/memos/1');
    await exchange(server.url, 'GET /api/memos/2');
    await exchange(server.url, 'GET /api/nothing');
    // A request is counted once its connection has taken the answer.
    await until(async () =>
      (await exchange(server.url, 'GET /metrics')).text.includes(
        'operation="",status="404",problem="path-not-found"} 1',
      ),
    );
    const { text, headers } = await exchange(server.url, 'GET /metrics');
    expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toContain('records_http_requests_total{type="Memo",operation="create",status="201",problem=""} 1');
    expect(text).toContain('records_http_requests_total{type="Memo",operation="get",status="200",problem=""} 1');
    expect(text).toContain(
      'records_http_requests_total{type="Memo",operation="get",status="404",problem="record-not-found"} 1',
    );
    expect(text).toContain('records_http_requests_total{type="",operation="",status="404",problem="path-not-found"} 1');
    expect(text).toContain('records_http_request_duration_seconds_count{type="Memo",operation="get"} 2');
    expect(text).toMatch(/records_database_statement_duration_seconds_count [1-9]/);
    expect(text).toMatch(/^records_database_reachable 1$/m);
    expect(text).toMatch(/^records_ready 1$/m);
    expect(text).toMatch(/nodejs_eventloop_lag_seconds/);
  });

  promtoolIsSilent(async () => (await exchange(server.url, 'GET /metrics')).text);
});

test('figures name every type: they need a token that reads every type; health needs none', async () => {
  const tokens = { all: createToken(), some: createToken() };
  const lines = [
    tokenLine({ name: 'all', read: 'all', write: new Set() }, tokens.all),
    tokenLine({ name: 'some', read: new Set(['Memo']), write: new Set() }, tokens.some),
  ];
  await using server = await startTestServer({
    schemaDirectory: SCHEMA,
    settings: { metrics: true, tokens: lines.join(';') },
  });
  const ask = (title: string, token?: string): Promise<Exchanged> =>
    exchange(server.url, title, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
  const status = async (title: string, token?: string): Promise<number> => (await ask(title, token)).status;
  expect([
    await status('GET /metrics'),
    await status('GET /metrics', tokens.some),
    await status('GET /metrics', tokens.all),
    await status('GET /health/ready'),
  ]).toEqual([401, 403, 200, 200]);
  for (const [token, challenge] of [
    [undefined, 'Bearer'],
    [tokens.some, 'Bearer error="insufficient_scope"'],
  ] as const) {
    const { headers, text } = await ask('GET /metrics', token);
    expect(headers).toMatchObject({ 'content-type': 'application/problem+json', 'www-authenticate': challenge });
    expect(JSON.parse(text)).toMatchObject({ instance: '/metrics' });
  }
});

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

test('the log has a line for each request and each slow statement, without values, queries and tokens', async () => {
  const token = createToken();
  const reader = createToken();
  const service = start({
    ACCESS_LOG: 'on',
    SLOW_STATEMENT_MS: '1',
    METRICS: 'on',
    TOKENS: [
      tokenLine({ name: 'client', read: 'all', write: 'all' }, token),
      tokenLine({ name: 'reader', read: new Set(['Purchase']), write: new Set() }, reader),
    ].join(';'),
  });
  const url = await urlOf(service);
  const headers = { ...HEADERS, authorization: `Bearer ${token}`, 'x-request-id': 'mine', traceparent: TRACE };
  const words = Array.from({ length: 300 }, () => ({ word: 'value-of-a-record' }));
  const body = JSON.stringify({ code: 'value-of-a-record', stickers: words });
  expect((await exchange(url, 'POST /api/purchases', { headers, body })).status).toBe(201);
  await exchange(url, 'GET /api/purchases?_cnd[code]=value-of-a-record', { headers });
  await exchange(url, 'GET /api/purchases', { headers: { authorization: 'Bearer wrong-token' } });
  await exchange(url, 'GET /metrics', { headers: { authorization: `Bearer ${reader}` } });
  await exchange(url, 'POST /api/purchases', { headers: { ...HEADERS, authorization: `Bearer ${reader}` }, body });
  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(0);
  const lines = service
    .err()
    .trim()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line));
  expect(lines.filter(({ msg }) => msg === 'request')).toEqual([
    expect.objectContaining({
      level: 'info',
      method: 'POST',
      path: '/api/purchases',
      status: 201,
      requestId: 'mine',
      type: 'Purchase',
      operation: 'create',
      token: 'client',
      address: '127.0.0.1',
      traceparent: TRACE,
    }),
    expect.objectContaining({ method: 'GET', path: '/api/purchases', status: 200, operation: 'list' }),
    expect.objectContaining({ path: '/api/purchases', status: 401, problem: 'unauthorized', address: '127.0.0.1' }),
    expect.objectContaining({
      path: '/metrics',
      status: 403,
      problem: 'forbidden',
      token: 'reader',
      address: '127.0.0.1',
    }),
    expect.objectContaining({ path: '/api/purchases', status: 403, problem: 'forbidden', token: 'reader' }),
  ]);
  expect(service.err() + service.out()).not.toMatch(new RegExp(`value-of-a-record|wrong-token|${token}`));
});

test.each([
  ['an error of the engine', new Error('said'), 'said'],
  [
    'a refusal of PostgreSQL',
    Object.assign(new Error('Key (email)=(ada@example.com)'), { code: '23505', detail: 'ada@example.com' }),
    'the database rejected a statement',
  ],
  ['a cause', new Error('said', { cause: Object.assign(new Error('ada@example.com'), { code: '22P02' }) }), 'said'],
])('%s is logged without values', (_, error, message) => {
  const described = describeError(error);
  expect(described).toMatchObject({ message, stack: expect.stringContaining('operation.slow.test') });
  expect(JSON.stringify(described)).not.toContain('ada@example.com');
});
