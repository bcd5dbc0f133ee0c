/** Bodies and whole requests in which zzuf has flipped bits: refused or carried out, and never more than that. `SEED=7` flips others. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { creationExample } from '../../engine/openapi/examples.ts';
import { exchange } from '../support/exchange.ts';
import { expectUnhurt, JSON_BODY, model, openTarget, type Target } from './target.ts';
import { describeWith, isLong, run, seed } from './tools.ts';

/** The share of bits that is flipped: one in a body, a few, too many to be JSON. */
const RATIOS = [0.0005, 0.004, 0.03];
/** Of each body, or request, with each ratio. */
const COPIES = isLong ? 2000 : 50;
const TOGETHER = 20;

/** `COPIES` of the text, each with other bits flipped: zzuf looks at where in a file a byte stands. */
async function mutated(text: string, ratio: number): Promise<readonly Buffer[]> {
  const { length } = Buffer.from(text);
  const all = await run('zzuf', ['-q', '-s', String(seed), '-r', String(ratio)], text.repeat(COPIES));
  return Array.from({ length: COPIES }, (_, index) => all.subarray(index * length, (index + 1) * length));
}

async function eachOf<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < all.length; from += TOGETHER) await Promise.all(all.slice(from, from + TOGETHER).map(work));
}

const CSV = { 'content-type': 'text/csv' };
const NDJSON = { 'content-type': 'application/x-ndjson' };

/** Records that come as lines, as arrays, or by a unique value. */
const MANY = [
  ['POST /api/newsletter-subscribers', '"email","name"\r\n"a@example.com","A ""b"""\r\nb@example.com,\r\n', CSV],
  ['POST /api/newsletter-subscribers', '{"email":"c@example.com"}\n{"email":"d@example.com"}\n', NDJSON],
  ['POST /api/newsletter-subscribers?on=email', '[{"email":"a@example.com"},{"email":"e@example.com"}]', JSON_BODY],
  ['PUT /api/newsletter-subscribers?on=email', '{"email":"a@example.com"}', JSON_BODY],
  ['PATCH /api/tax-classes', '[{"id":1,"name":"a"},{"id":2,"@etag":"\\"x\\"","name":"b"}]', JSON_BODY],
] as const;
/** Their queries are flipped, too. */
const WITHOUT_BODY = [
  'DELETE /api/newsletter-subscribers?_cnd[id][gt]=1&_cnd[$any][0][email][like]=*a*&dryRun=true',
  'DELETE /api/tax-classes?_cnd[rates][$count][gt]=9',
  'GET /api/notifications/$summary?by=day(date)&measure=count,max(date)&_cnd[orderBy]=count',
  'GET /api/shipping-markups?_cnd[zone.name]=a&include=zone&fields=value&_cnd[limit]=0&_cnd[limit]=5',
];

const cases = [...model.types.values()].flatMap((type) => {
  const body = JSON.stringify(creationExample(type));
  const create = type.operations.has('create') ? [[`POST /api/${type.path}`, body] as const] : [];
  const update = ['PUT', 'PATCH'].map((method) => [`${method} /api/${type.path}/1`, body] as const);
  const both = [...create, ...(type.operations.has('update') ? update : [])];
  return both.map(([title, sent]) => [title, sent, JSON_BODY] as const);
});

describeWith('zzuf', () => {
  let target: Target;
  beforeAll(async () => void (target = await openTarget({ requestTimeout: 600 })));
  afterAll(() => target.close());

  test('flips bits, and the same again', async () => {
    const [one, again] = [await mutated('{"name":"value"}', 0.03), await mutated('{"name":"value"}', 0.03)];
    expect(one).toEqual(again);
    expect(new Set(one.map(String)).size).toBeGreaterThan(COPIES / 2);
  });

  test.each([...cases, ...MANY])('bodies of %s %s', async (title, body, headers) => {
    const refused = new Set<number>();
    for (const ratio of RATIOS)
      await eachOf(await mutated(body, ratio), async (bytes) => {
        const { status } = await exchange(target.url, title, { headers, body: bytes });
        refused.add(status);
        if (status >= 500) throw new Error(`${status} for ${title} ${ratio} ${bytes.toString('base64')}`);
      });
    // Some were no JSON any more.
    expect([...refused]).toContain(400);
  });

  test('whole requests', async () => {
    const { hostname, port } = new URL(target.url);
    const withBody = [...cases.slice(0, isLong ? undefined : 3), ...MANY].map(([title, body, headers]) => {
      const head = `${title} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${headers['content-type']}\r\nConnection: close\r\n`;
      return `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    });
    const withoutBody = WITHOUT_BODY.map(
      (title) => `${title} HTTP/1.1\r\nHost: localhost\r\nPrefer: max-affected=10\r\nConnection: close\r\n\r\n`,
    );
    const requests = [...withBody, ...withoutBody];
    for (const request of requests)
      for (const ratio of RATIOS)
        await eachOf(await mutated(request, ratio), async (bytes) => {
          const answer = await answerTo(Number(port), hostname, bytes);
          if (answer.startsWith('HTTP/1.1 5'))
            throw new Error(`${answer.slice(0, 200)} to ${bytes.toString('base64')}`);
        });
    expect((await exchange(target.url, 'GET /health/ready')).status).toBe(200);
  });

  test('and the service is as it was', () => expectUnhurt(target));
});

async function answerTo(port: number, host: string, bytes: Buffer): Promise<string> {
  const socket = connect(port, host).on('error', () => undefined);
  let answer = '';
  socket.on('data', (piece) => (answer += String(piece)));
  socket.end(bytes);
  const closed = once(socket, 'close');
  await Promise.race([closed, sleep(5000, undefined, { ref: false })]);
  socket.destroy();
  return answer;
}
