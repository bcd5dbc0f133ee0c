/** How a service is set up and how it is doing: tokens, origins, rates, bytes that are not HTTP, health, a database that refuses. */
import { type Call, collectionPath, endpoints, MISSING_ID, requestOf } from '../call.ts';
import type { Expectation, ExpectedProblem, Step } from '../case.ts';
import type { Deployment } from '../deployment.ts';
import { fullest } from '../samples.ts';
import { get, post, put, send } from '../scene.ts';
import { breadth } from './views.ts';
import { offers, type Rule, rule, single, table } from './rule.ts';

const reads = ({ method }: Call): boolean => method === 'GET';

/** A service that needs tokens, and a replay that has one which may only read. */
const isReadable = (_: unknown, { guarded, hasReader }: Deployment): boolean => guarded === true && hasReader === true;

const access = table('access', [
  // Not even whether there is something.
  rule<'nobody' | 'stranger'>({
    when: (_, { guarded }) => guarded === true,
    each: () => ['nobody', 'stranger'],
    title: (as) => `every request as ${as}`,
    requests: (scene, as) => {
      const { type } = scene;
      const others = [
        { method: 'OPTIONS' },
        { method: 'GET', path: `${collectionPath(type)}-none` },
        { method: 'HEAD' },
      ];
      for (const call of [...endpoints(type), ...others]) send(scene, { ...call, as });
    },
  }),
  single({
    when: isReadable,
    calls: (type) => endpoints(type).flatMap((call) => (reads(call) ? [] : { ...call, as: 'reader' })),
  }),
  rule({
    when: isReadable,
    title: 'with a token that may only read: reads, and what is offered',
    requests: (scene) => {
      if (offers('list')(scene.type)) send(scene, { method: 'GET', list: { limit: 0 }, as: 'reader' });
      for (const id of [undefined, MISSING_ID]) send(scene, { method: 'OPTIONS', id, as: 'reader' });
    },
  }),
]);

const STRANGER = 'https://elsewhere.example';

/** Pages of other origins (Fetch standard, CORS protocol): those that are named may ask and see, others may not. */
const cors = table('cors', [
  rule<string>({
    when: (_, { corsOrigins }) => corsOrigins !== undefined,
    each: ({ deployment: { corsOrigins = [] } }) => [...corsOrigins.filter((origin) => origin !== '*'), STRANGER],
    title: (origin) => `from ${origin}`,
    requests: (scene, origin) => {
      const { type } = scene;
      for (const { method, id } of endpoints(type)) {
        const asked = { 'access-control-request-method': method, 'access-control-request-headers': 'content-type' };
        send(scene, { method: 'OPTIONS', id, as: 'nobody', headers: { origin, ...asked } });
      }
      if (offers('list')(type)) send(scene, { method: 'GET', list: { limit: 0 }, headers: { origin } });
      for (const call of endpoints(type).filter(reads).slice(0, 1))
        send(scene, { ...call, wrong: ['noSuchParameter=1'], headers: { origin } });
    },
  }),
]);

const closed = { 'cache-control': 'no-cache', connection: 'close' } as const;
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
const SHORT = 'Connection: close\r\nContent-Length: 2\r\n\r\n{}';

/** No case takes longer than this to be answered, in milliseconds. */
const PATIENCE = 5_000;

type Bytes = readonly [what: string, bytes: string, status: number, code: NonNullable<ExpectedProblem['code']>];

/** What the oracle cannot read: bytes that are not an HTTP request, never become one, or are for another service. */
function rawRequests(path: string, { headerLimit = Infinity, requestTimeout = Infinity, refusesHosts }: Deployment) {
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  const elsewhere = head.replace('localhost', 'rebound.invalid');
  const smuggled = 'DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const bad = [400, 'bad-request'] as const;
  const both = 'Content-Length: 2\r\nTransfer-Encoding: chunked';
  const all: readonly (readonly [isKnown: boolean, ...Bytes])[] = [
    [true, 'that are not HTTP', 'HELLO\r\n\r\n', ...bad],
    [true, 'with a length and chunks', `${head}${both}\r\n\r\n0\r\n\r\n${smuggled}`, ...bad],
    [true, 'with two hosts', `${head}Host: localhost\r\nContent-Length: 2\r\n\r\n{}`, ...bad],
    [true, 'with two codings', `${head}Transfer-Encoding: gzip, chunked\r\n\r\n${smuggled}`, ...bad],
    [true, 'with chunks in HTTP/1.0', `${head.replace('/1.1', '/1.0')}${CHUNKED}`, ...bad],
    [headerLimit < Infinity, 'with too large headers', filled(head, headerLimit), 431, 'headers-too-large'],
    [refusesHosts === true, 'for another host', `${elsewhere}${SHORT}`, 421, 'misdirected-request'],
    [requestTimeout <= PATIENCE, 'whose body never ends', `${head}Content-Length: 10\r\n\r\n{`, 408, 'request-timeout'],
  ];
  return all.flatMap(([isKnown, ...bytes]) => (isKnown ? [bytes] : []));
}

const filled = (head: string, bytes: number): string =>
  bytes < Infinity ? `${head}X-Filler: ${'a'.repeat(bytes)}\r\n\r\n` : head;

const isDirect = (_: unknown, { direct }: Deployment): boolean => direct === true;

const wire = rule<Bytes>({
  when: isDirect,
  each: ({ type, deployment }) => rawRequests(collectionPath(type), deployment),
  title: ([what]) => `bytes ${what}`,
  requests: ({ type, steps }, [, bytes, status, code]) =>
    void steps.push({
      request: { method: 'POST', path: collectionPath(type), raw: bytes },
      expect: { status, headers: closed, problem: { code, unaddressed: true } },
      changes: [],
    }),
});

const [LIVE, READY] = ['/health/live', '/health/ready'] as const;

const unchanged = (method: string, path: string, expect: Expectation, more: Partial<Step> = {}): Step => ({
  request: { method, path },
  expect,
  changes: [],
  ...more,
});

/** What operators ask is about no record; the oracle does not know it. */
const health = table('health', [
  rule({
    when: isDirect,
    title: () => `${LIVE}, ${READY}`,
    requests: ({ steps }) => {
      const headers = { 'cache-control': 'no-store' };
      steps.push(
        unchanged('GET', LIVE, { status: 200, headers, body: 'live\n' }),
        // Its text names the models, which the suite does not know.
        unchanged('GET', READY, { status: 200, headers }),
        unchanged('HEAD', READY, { status: 200, headers, empty: true }),
        unchanged('POST', READY, {
          status: 405,
          headers: { allow: 'GET, HEAD' },
          problem: { code: 'method-not-allowed' },
        }),
      );
    },
  }),
  // Clients are told to go elsewhere; requests that still come are answered, each as the last one of its connection.
  rule({
    when: (type, { direct }) => direct === true && offers('list')(type),
    title: () => `${READY} and a list, service stopping`,
    requests: (scene) => {
      const last = { given: 'service stopping' } as const;
      scene.steps.push(unchanged('GET', READY, { status: 503, body: 'stopping\n' }, last));
      send(scene, { method: 'GET', list: { limit: 0 } }, last);
    },
  }),
]);

/** Each write waits for a while before it is given up, so few stand for all. */
const FAILURES = [
  ['database held', ['PUT'], true],
  ['database full', ['POST', 'PUT', 'PATCH', 'DELETE'], true],
  ['memory used up', ['POST', 'PUT', 'PATCH'], false],
] as const;

/** Writes are refused whole, and go on afterwards. */
const storage = rule<(typeof FAILURES)[number]>({
  when: offers('create', 'get', 'update', 'delete'),
  each: () => FAILURES,
  title: ([given, methods]) => `${methods.join(', ')}, ${given}`,
  requests: (scene, [given, methods, readable]) => {
    const id = post(scene, fullest(scene));
    const change = fullest(scene);
    const parts = {
      POST: { body: fullest(scene) },
      PUT: { id, body: change },
      PATCH: { id, body: change },
      DELETE: { id },
    };
    for (const method of methods) send(scene, { method, ...parts[method] }, { given });
    if (readable) send(scene, { method: 'GET', id }, { given });
    put(scene, id, change);
    get(scene, id);
  },
});

export const RATES = 'rates';

/** No case sends more requests than these for one answer. */
const MOST_REQUESTS = 3000;

/** How often a client may ask: it is told what is left, and then when to come again. */
const rates = rule({
  when: (type, { rateLimit = Infinity }) => rateLimit <= MOST_REQUESTS && endpoints(type).some(reads),
  title: (_, type) => `more requests for ${collectionPath(type)} than a minute may have`,
  requests: (scene) => {
    const { rateLimit = 0 } = scene.deployment;
    const call = endpoints(scene.type).find(reads);
    if (call === undefined) return;
    const policy = { 'ratelimit-policy': `"minute";q=${rateLimit};w=60` };
    const spent = { ...policy, ratelimit: '"minute";r=0;t={reset:seconds}', 'retry-after': '{wait:seconds}' };
    const faulty = { ...call, wrong: ['noSuchParameter=1'] };
    const { expect } = send(scene, faulty);
    const request = requestOf(faulty);
    const refused = {
      status: 429,
      headers: { ...expect.headers, ...spent },
      problem: { code: 'rate-limited' },
    } as const;
    scene.steps.splice(
      0,
      1,
      {
        request,
        expect: { ...expect, headers: { ...expect.headers, ...policy, ratelimit: '"minute";{left}' } },
        changes: [],
      },
      { request, expect: refused, changes: [], attempts: rateLimit + 1 },
    );
  },
});

export const settingRules: readonly Rule[] = [...cors, ...access];

/** Rules that have nothing to do with types: they show at the first one that can show them. */
export const serviceRules: readonly Rule[] = [
  ...table('views', [breadth]),
  ...table('wire', [wire]),
  ...health,
  ...table('storage', [storage]),
  ...table(RATES, [rates]),
];
