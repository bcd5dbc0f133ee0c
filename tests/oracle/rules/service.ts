/** How a service is set up and how it is doing: tokens, origins, rates, bytes that are not HTTP, health, a database that refuses. */
import type { ProblemCode } from '../../../engine/problem.ts';
import { type Call, collectionPath, endpoints, MISSING_ID } from '../call.ts';
import type { Deployment, Expectation, Step } from '../case.ts';
import { fullest, obtain } from '../samples.ts';
import { post, puts, send } from '../scene.ts';
import { breadth } from './reads.ts';
import { each, offers, type Rule, rule, single, table } from './rule.ts';

const reads = ({ method }: Call): boolean => method === 'GET';

/** A service that needs tokens, and a replay that has one which may only read. */
const isReadable = (_: unknown, { guarded, hasReader }: Deployment): boolean => guarded === true && hasReader === true;

const access = table(
  'access',
  // Not even whether there is something.
  each(
    'every request as {}',
    (_, { guarded }) => guarded === true,
    () => ['nobody', 'stranger'] as const,
    (scene, as) => {
      const path = `${collectionPath(scene.type)}-none`;
      const others = [{ method: 'OPTIONS' }, { method: 'GET', path }, { method: 'HEAD' }];
      for (const call of [...endpoints(scene.type), ...others]) send(scene, { ...call, as });
    },
  ),
  single(isReadable, (type) => endpoints(type).flatMap((call) => (reads(call) ? [] : { ...call, as: 'reader' }))),
  rule('with a token that may only read: reads, and what is offered', isReadable, (scene) => {
    if (offers('list')(scene.type)) send(scene, { method: 'GET', list: { limit: 0 }, as: 'reader' });
    for (const id of [undefined, MISSING_ID]) send(scene, { method: 'OPTIONS', id, as: 'reader' });
  }),
);

const STRANGER = 'https://elsewhere.example';

/** Pages of other origins (Fetch standard, CORS protocol): those that are named may ask and see, others may not. */
const cors = table(
  'cors',
  each(
    'from {}',
    (_, { corsOrigins }) => corsOrigins !== undefined,
    ({ deployment: { corsOrigins = [], guarded } }) => [
      ...corsOrigins.filter((origin) => origin !== '*'),
      // Without tokens it is refused.
      ...(guarded === true ? [STRANGER] : []),
    ],
    (scene, origin) => {
      const { type } = scene;
      for (const { method, id } of endpoints(type)) {
        const asked = { 'access-control-request-method': method, 'access-control-request-headers': 'content-type' };
        send(scene, { method: 'OPTIONS', id, as: 'nobody', headers: { origin, ...asked } });
      }
      if (offers('list')(type)) send(scene, { method: 'GET', list: { limit: 0 }, headers: { origin } });
      for (const call of endpoints(type).filter(reads).slice(0, 1))
        send(scene, { ...call, wrong: ['noSuchParameter=1'], headers: { origin } });
    },
  ),
);

const closed = { 'cache-control': 'no-cache', connection: 'close' } as const;
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
const SHORT = 'Connection: close\r\nContent-Length: 2\r\n\r\n{}';

/** No case takes longer than this to be answered, in milliseconds. */
const PATIENCE = 5_000;

/** What the oracle cannot read: bytes that are not an HTTP request, never become one, or are for another service. */
function rawRequests(path: string, { headerLimit = Infinity, requestTimeout = Infinity, refusesHosts }: Deployment) {
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  const elsewhere = head.replace('localhost', 'rebound.invalid');
  const smuggled = 'DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const both = 'Content-Length: 2\r\nTransfer-Encoding: chunked';
  const never = `${head}Content-Length: 10\r\n\r\n{`;
  const all: readonly (readonly [isKnown: boolean, name: string, raw: string, status?: number, code?: ProblemCode])[] =
    [
      [true, 'that are not HTTP', 'HELLO\r\n\r\n'],
      [true, 'with a length and chunks', `${head}${both}\r\n\r\n0\r\n\r\n${smuggled}`],
      [true, 'with two hosts', `${head}Host: localhost\r\nContent-Length: 2\r\n\r\n{}`],
      [true, 'with two codings', `${head}Transfer-Encoding: gzip, chunked\r\n\r\n${smuggled}`],
      [true, 'with chunks in HTTP/1.0', `${head.replace('/1.1', '/1.0')}${CHUNKED}`],
      [headerLimit < Infinity, 'with too large headers', filled(head, headerLimit), 431, 'headers-too-large'],
      [refusesHosts === true, 'for another host', `${elsewhere}${SHORT}`, 421, 'misdirected-request'],
      [requestTimeout <= PATIENCE, 'whose body never ends', never, 408, 'request-timeout'],
    ];
  return all.flatMap(([isKnown, name, raw, status = 400, code = 'bad-request']) =>
    isKnown ? [{ name, raw, status, code }] : [],
  );
}

const filled = (head: string, bytes: number): string =>
  bytes < Infinity ? `${head}X-Filler: ${'a'.repeat(bytes)}\r\n\r\n` : head;

const isDirect = (_: unknown, { direct }: Deployment): boolean => direct === true;

const wire = each(
  'bytes {}',
  isDirect,
  ({ type, deployment }) => rawRequests(collectionPath(type), deployment),
  ({ type, steps }, { raw, status, code }) =>
    void steps.push({
      request: { method: 'POST', path: collectionPath(type), raw },
      expect: { status, headers: closed, problem: { code, unaddressed: true } },
      changes: [],
    }),
);

const [LIVE, READY] = ['/health/live', '/health/ready'] as const;

const unchanged = (method: string, path: string, expect: Expectation, more: Partial<Step> = {}): Step => ({
  request: { method, path },
  expect,
  changes: [],
  ...more,
});

/** What operators ask is about no record; the oracle does not know it. */
const health = table(
  'health',
  rule(`${LIVE}, ${READY}`, isDirect, ({ steps }) => {
    const headers = { 'cache-control': 'no-store' };
    const problem = { code: 'method-not-allowed' } as const;
    steps.push(
      unchanged('GET', LIVE, { status: 200, headers, body: 'live\n' }),
      // Its text names the models, which the suite does not know.
      unchanged('GET', READY, { status: 200, headers }),
      unchanged('HEAD', READY, { status: 200, headers, empty: true }),
      unchanged('POST', READY, { status: 405, headers: { allow: 'GET, HEAD' }, problem }),
    );
  }),
  // Clients are told to go elsewhere; requests that still come are answered, each as the last one of its connection.
  rule(
    `${READY} and a list, service stopping`,
    (type, deployment) => isDirect(type, deployment) && offers('list')(type),
    (scene) => {
      const last = { given: 'service stopping' } as const;
      scene.steps.push(unchanged('GET', READY, { status: 503, body: 'stopping\n' }, last));
      send(scene, { method: 'GET', list: { limit: 0 } }, last);
    },
  ),
);

/** Each write waits for a while before it is given up, so few stand for all. */
const FAILURES = [
  { given: 'database held', methods: ['PUT'], readable: true },
  { given: 'database full', methods: ['POST', 'PUT', 'PATCH', 'DELETE'], readable: true },
  { given: 'memory used up', methods: ['POST', 'PUT', 'PATCH'], readable: false },
] as const;

/** Writes are refused whole, and go on afterwards. */
const storage = each(
  '{}',
  offers('create', 'get', 'update', 'delete'),
  () => FAILURES.map((one) => ({ ...one, name: `${one.methods.join(', ')}, ${one.given}` })),
  (scene, { given, methods, readable }) => {
    const id = post(scene, fullest(scene));
    const change = fullest(scene);
    const update = { id, body: change };
    const parts = { POST: { body: fullest(scene) }, PUT: update, PATCH: update, DELETE: { id } };
    for (const method of methods) send(scene, { method, ...parts[method] }, { given });
    if (readable) send(scene, { method: 'GET', id }, { given });
    puts(scene, id, [change]);
  },
);

export const RATES = 'rates';

/** No case sends more requests than these for one answer. */
const MOST_REQUESTS = 3000;

/** How often a client may ask: it is told what is left, and then when to come again. */
const rates = each(
  'more requests for {} than a minute may have',
  (_, { rateLimit = Infinity }) => rateLimit <= MOST_REQUESTS,
  ({ type }) =>
    endpoints(type)
      .filter(reads)
      .slice(0, 1)
      .map((call) => ({ call, name: collectionPath(type) })),
  (scene, { call }) => {
    const { rateLimit = 0 } = scene.deployment;
    const policy = { 'ratelimit-policy': `"minute";q=${rateLimit};w=60` };
    const spent = { ...policy, ratelimit: '"minute";r=0;t={reset:seconds}', 'retry-after': '{wait:seconds}' };
    send(scene, { ...call, wrong: ['noSuchParameter=1'] });
    for (const { request, expect } of scene.steps.splice(0, 1)) {
      const headers = { ...expect.headers, ...policy, ratelimit: '"minute";{left}' };
      const refused = {
        status: 429,
        headers: { ...expect.headers, ...spent },
        problem: { code: 'rate-limited' },
      } as const;
      scene.steps.push(
        { request, expect: { ...expect, headers }, changes: [] },
        { request, expect: refused, changes: [], attempts: rateLimit + 1 },
      );
    }
  },
);

/** What clients of other interfaces ask for, once for each. No record has the identifier 0. */
const dialects = table(
  'dialects',
  each(
    '/{}: a list, and a record',
    (type) => offers('list', 'get')(type) && type.identifier.inRecord && type.identifier.name === 'id',
    ({ deployment }) => deployment.dialects ?? [],
    (scene, dialect) => {
      const path = `/${dialect}/${encodeURIComponent(scene.type.path)}`;
      const { query, headers } = NOTHING[dialect];
      const expected = { 'x-total-count': '0', ...headers(scene.type.path) };
      scene.steps.push(unchanged('GET', `${path}?${query}`, { status: 200, headers: expected, body: [] }));
      const id = obtain(scene);
      send(scene, { method: 'GET', id });
      // The oracle knows the answer by its usual path.
      for (const step of scene.steps.slice(-1)) {
        const { request } = step;
        scene.steps.push({ ...step, request: { ...request, path: request.path.replace('/api', `/${dialect}`) } });
      }
    },
  ),
);

/** How each asks for no record. */
const NOTHING = {
  'json-server': { query: '_start=0&_end=10&id=0', headers: () => ({}) },
  'simple-rest': {
    query: `range=${encodeURIComponent('[0,9]')}&filter=${encodeURIComponent('{"id":0}')}`,
    headers: (path: string) => ({ 'content-range': `${encodeURIComponent(path)} */0` }),
  },
} as const;

export const settingRules: readonly Rule[] = [...cors, ...access, ...dialects];

/** Rules that have nothing to do with types: they show at the first one that can show them. */
export const serviceRules: readonly Rule[] = [
  ...table('views', breadth),
  ...table('wire', wire),
  ...health,
  ...table('storage', storage),
  ...table(RATES, rates),
];
