/** The checker finds a service that lies, and nothing wrong with one that does not. */
import type { Exchanged } from '../support/exchange.ts';
import { sampled } from '../support/sample.ts';
import { startTestServer } from '../support/server.ts';
import { Clients, overHttp, type Transport } from './clients.ts';
import { describeOp, History, type Violation } from './history.ts';
import { judge } from './judge.ts';

const OPS = 600;

/** What a lie looks like depends on how requests happen to meet; the first seed nearly always shows it. */
const SEEDS = Array.from({ length: 10 }, (_, index) => 7 + index);

type Lie = (honest: Transport) => Transport;

async function verdict(lie: Lie, seed: number): Promise<Violation | undefined> {
  const server = await startTestServer({ schemaDirectory: 'tests/fixtures/chaos/second' });
  const http = overHttp();
  try {
    const history = new History();
    const target = { name: 'A', url: server.url };
    const clients = new Clients(history, lie(http), () => [target]);
    await clients.run(seed, 4, () => history.ops.length > OPS);
    await clients.readAll(target);
    return judge(history);
  } finally {
    http.close();
    await server.close();
  }
}

const titled = (violation: Violation | undefined): string | undefined =>
  violation && [violation.rule, ...violation.ops.map(describeOp)].join('\n');

test('an honest service', async () => {
  expect(titled(await verdict((honest) => honest, 7))).toBeUndefined();
});

/** One in so many of the requests that fit. */
function sometimes(fits: (title: string, headers: Readonly<Record<string, string>>) => boolean, lie: Lie): Lie {
  let count = 0;
  return (honest) => {
    const lying = lie(honest);
    return (url, title, headers, body) =>
      (fits(title, headers) && (count += 1) % 3 === 0 ? lying : honest)(url, title, headers, body);
  };
}

const is =
  (method: string, type = '') =>
  (title: string): boolean =>
    title.startsWith(`${method} /api/${type}`);
const without = (headers: Readonly<Record<string, string>>, name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name));
const as = (answer: Exchanged, status: number, text = answer.text): Exchanged => ({ ...answer, status, text });
const BUSY: Exchanged = {
  status: 503,
  headers: { 'content-type': 'application/problem+json', 'retry-after': '1' },
  text: '{"type":"urn:problem:storage-busy"}',
};

const lies = {
  'a write is acknowledged, and not done': sometimes(
    is('PUT', 'registers/'),
    (honest) => async (url, title, headers, body) => {
      const before = await honest(url, title.replace('PUT', 'GET'), {});
      if (before.status !== 200 || headers['if-match'] !== undefined) return honest(url, title, headers, body);
      const text = JSON.stringify({ ...JSON.parse(before.text), ...JSON.parse(body ?? '') });
      return { status: 200, headers: {}, text };
    },
  ),
  'a create is acknowledged, and undone': sometimes(
    is('POST', 'registers'),
    (honest) => async (url, title, headers, body) => {
      const made = await honest(url, title, headers, body);
      if (made.status === 201) await honest(url, `DELETE ${made.headers.location}`, {});
      return made;
    },
  ),
  'a delete is acknowledged, and not done': sometimes(
    is('DELETE'),
    (honest) => (url, title) => honest(url, title.replace('DELETE', 'GET'), {}),
  ),
  'one create makes two records': sometimes(is('POST'), (honest) => async (url, title, headers, body) => {
    await honest(url, title, without(headers, 'idempotency-key'), body);
    return honest(url, title, without(headers, 'idempotency-key'), body);
  }),
  'an idempotency key is forgotten': (honest) => (url, title, headers, body) =>
    honest(url, title, without(headers, 'idempotency-key'), body),
  'a stale tag is accepted': sometimes(
    is('PUT'),
    (honest) => (url, title, headers, body) => honest(url, title, without(headers, 'if-match'), body),
  ),
  'a stale tag is accepted where only a related record has changed': (honest) => async (url, title, headers, body) => {
    const answer = await honest(url, title, headers, body);
    const isOfFamily = title.includes('include=account.ledgers') && answer.status === 412;
    return isOfFamily ? honest(url, title, without(headers, 'if-match'), body) : answer;
  },
  'a record that has changed is not modified': sometimes(
    (_, headers) => headers['if-none-match'] !== undefined,
    (honest) => async (url, title, headers, body) => as(await honest(url, title, headers, body), 304, ''),
  ),
  'a nested write is done in part': sometimes(is('PUT', 'assemblies/'), (honest) => (url, title, headers, body) => {
    const { box: _, ...rest } = JSON.parse(body ?? '');
    return honest(url, title, headers, JSON.stringify(rest));
  }),
  'what a refused write did first stays': (honest) => async (url, title, headers, body) => {
    const answer = await honest(url, title, headers, body);
    const isOfBox = answer.status === 422 && title.includes('/assemblies/');
    if (isOfBox) await honest(url, 'POST /api/boxes', headers, JSON.stringify(JSON.parse(body ?? '').box));
    return answer;
  },
  'a write is refused with 503, and done': sometimes(is('PUT'), (honest) => async (url, title, headers, body) => {
    await honest(url, title, headers, body);
    return BUSY;
  }),
  'a read comes late': (honest) => {
    const last = new Map<string, Exchanged>();
    return async (url, title, headers, body) => {
      const answer = await honest(url, title, headers, body);
      if (!title.startsWith('GET') || headers['if-none-match'] !== undefined) return answer;
      const before = last.get(title) ?? answer;
      last.set(title, answer);
      return before;
    };
  },
  'a list leaves a record out': sometimes(is('GET', 'registers'), (honest) => async (url, title, headers, body) => {
    const answer = await honest(url, title, headers, body);
    return answer.text.startsWith('[{') ? as(answer, 200, JSON.stringify(JSON.parse(answer.text).slice(1))) : answer;
  }),
  'a list shows two moments': (honest) => {
    let last = new Map<unknown, { readonly id: unknown }>();
    return async (url, title, headers, body) => {
      const answer = await honest(url, title, headers, body);
      if (title !== 'GET /api/registers' || answer.status !== 200) return answer;
      const records = JSON.parse(answer.text) as { readonly id: unknown }[];
      const mixed = records.map((record, at) => (at % 2 === 0 ? record : (last.get(record.id) ?? record)));
      last = new Map(records.map((record) => [record.id, record]));
      return as(answer, 200, JSON.stringify(mixed));
    };
  },
  'a field goes back to what it was': (honest) => async (url, title, headers, body) => {
    const path = title.split('?')[0]?.replace('PUT ', '');
    const isOfField = title.startsWith('PUT /api/registers/') && body?.includes('"left"');
    const before = isOfField ? await honest(url, `GET ${path}`, {}) : undefined;
    const answer = await honest(url, title, headers, body);
    if (before?.status !== 200 || answer.status !== 200) return answer;
    const { left } = JSON.parse(before.text);
    await honest(url, `PUT ${path}`, without(headers, 'if-match'), JSON.stringify({ left }));
    return answer;
  },
  'an internal error': sometimes(is('GET'), () => async () => as(BUSY, 500, '{"type":"urn:problem:internal-error"}')),
  '503 without Retry-After': sometimes(is('GET'), () => async () => ({
    ...BUSY,
    headers: { 'content-type': 'application/problem+json' },
  })),
} satisfies Record<string, Lie>;

/** Which of these shows first depends on what the clients happen to do. */
const DISORDER = /cannot have happened|Two writes followed|is gone, and nobody deleted it|was deleted twice|two texts/;

const rules: Readonly<Record<keyof typeof lies, RegExp>> = {
  'a write is acknowledged, and not done': DISORDER,
  'a create is acknowledged, and undone': DISORDER,
  'a delete is acknowledged, and not done': DISORDER,
  'one create makes two records': /made two records/,
  'an idempotency key is forgotten': /One idempotency key made two records/,
  'a stale tag is accepted': DISORDER,
  'a stale tag is accepted where only a related record has changed': DISORDER,
  'a record that has changed is not modified': DISORDER,
  'a nested write is done in part': /parts of two writes/,
  'what a refused write did first stays': /shows "s\d+", which was refused/,
  'a write is refused with 503, and done': /shows "s\d+", which was refused/,
  'a read comes late': DISORDER,
  'a list leaves a record out': DISORDER,
  'a list shows two moments': DISORDER,
  'a field goes back to what it was': DISORDER,
  'an internal error': /not promised: 500 internal-error/,
  '503 without Retry-After': /Retry-After is missing/,
};

test.each(sampled(Object.entries(lies), 3))('%s', async (name, lie) => {
  const rule = rules[name as keyof typeof lies];
  const found: (string | undefined)[] = [];
  for (const seed of SEEDS) {
    found.push(titled(await verdict(lie, seed)));
    if (rule.test(found.at(-1) ?? '')) return;
  }
  expect(found).toContainEqual(expect.stringMatching(rule));
});
