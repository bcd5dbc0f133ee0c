/** Bodies on their way in: one buffer however many pieces there are, drawn from the budget until the request is carried out. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Budget, createBudget, type Share } from '../../engine/budget.ts';
import { type Caller, CallerGone, PATIENT } from '../../engine/caller.ts';
import { contentReader, createTally, type ReadContent } from '../../engine/http/content.ts';
import { RECORD_BODY } from '../../engine/http/negotiation.ts';
import { type Exchange, HttpCaller } from '../../engine/http/request.ts';
import { serve } from '../../engine/server/serve.ts';
import { type Pace, UNPACED } from '../../engine/pace.ts';
import { readSettings } from '../../engine/settings.ts';
import { createDatabase } from '../support/databases.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { leaving, settled } from '../support/leaving.ts';

const MIB = 1024 ** 2;
const HEADERS = { 'content-type': 'application/json' };

const drawing = (budget: Budget): HttpCaller =>
  new HttpCaller({ socket: new EventEmitter() } as IncomingMessage, {} as ServerResponse, budget);

function arriving(pieces: readonly Buffer[], caller: Caller = PATIENT): Exchange {
  const headers = { ...HEADERS, 'transfer-encoding': 'chunked' };
  const stream = Readable.from(pieces, { objectMode: false });
  const request = Object.assign(stream, { headers, socket: new EventEmitter() }) as unknown as IncomingMessage;
  return { request, caller } as Exchange;
}

/** Nothing is left. */
const fill = (budget: Budget): readonly Share[] =>
  Array.from({ length: Math.ceil(budget.limit / 65_536) }, () =>
    budget.take(Math.min(65_536, budget.limit - budget.used)),
  );

const cut = (body: Buffer, length: number): readonly Buffer[] =>
  Array.from({ length: Math.ceil(body.length / length) }, (_, index) =>
    body.subarray(index * length, (index + 1) * length),
  );

const reader = (bodyLimit: number, budget: Budget): ReadContent =>
  contentReader({ bodyLimit, bodyKeys: 1000 }, budget, UNPACED);

const BODY = Buffer.from(JSON.stringify({ name: 'x'.repeat(99_990) }));

test.each([1_000_000, 65_536, 1000, 8])('a body in pieces of %d bytes is what was sent', async (length) => {
  const budget = createBudget(64 * MIB);
  const caller = drawing(budget);
  const content = await reader(MIB, budget)(arriving(cut(BODY, length), caller), RECORD_BODY);
  expect(BODY.equals(content as Buffer)).toBe(true);
  expect(budget.used).toBeGreaterThan(BODY.length);
  expect(budget.used).toBeLessThan(8 * BODY.length);
  caller.release();
  expect(budget.used).toBe(0);
});

test.each([BODY, BODY.subarray(0, 5000)])(
  'a long body is not handed on if its client leaves while it waits',
  async (body) => {
    const caller = leaving();
    const begin: Pace['begin'] = (work) => {
      caller.leave();
      return work();
    };
    const read = contentReader({ bodyLimit: MIB, bodyKeys: 1000 }, createBudget(64 * MIB), { ...UNPACED, begin });
    await expect(read(arriving([body], caller), RECORD_BODY)).rejects.toBeInstanceOf(CallerGone);
  },
);

test.each([BODY, Buffer.from('{}')])('a body that waits is not even counted if its client leaves', async (body) => {
  const client = leaving();
  const taken: number[] = [];
  const caller = Object.assign(client, { take: (bytes: number) => void taken.push(bytes) });
  const begin: Pace['begin'] = async (work) => {
    await nextTurn();
    // One that may have left is asked meanwhile.
    if (client.isWatched) client.leave();
    return work();
  };
  const read = contentReader({ bodyLimit: MIB, bodyKeys: 1000 }, createBudget(64 * MIB), { ...UNPACED, begin });
  await expect(read(arriving([body], caller), RECORD_BODY)).rejects.toBeInstanceOf(CallerGone);
  expect(taken).toEqual([body.length]);
});

test('a short body that has waited is not handed on if its client has left without a reset', async () => {
  const doubtful = (begin: Pace['begin']): Promise<unknown> => {
    const client = leaving();
    const caller = Object.assign(client, { mayHaveLeft: true });
    void client.watched.then(client.leave);
    const read = contentReader({ bodyLimit: MIB, bodyKeys: 1000 }, createBudget(64 * MIB), { ...UNPACED, begin });
    return settled(read(arriving([Buffer.from('{}')], caller), RECORD_BODY));
  };
  expect(await doubtful((work) => Promise.resolve(work()))).toBeInstanceOf(CallerGone);
  // At once, to look for it would take longer than to serve it.
  expect(await doubtful((work) => work())).toBeInstanceOf(Buffer);
});

test('a long body is not handed on if what tells that its client has left is read behind it', async () => {
  const caller = leaving();
  const asked = arriving([BODY], caller);
  asked.request.once('end', () => setImmediate(caller.leave));
  await expect(reader(MIB, createBudget(64 * MIB))(asked, RECORD_BODY)).rejects.toBeInstanceOf(CallerGone);
});

test('a body in pieces of a byte is refused soon', async () => {
  const read = reader(MIB, createBudget(64 * MIB));
  await expect(read(arriving(cut(BODY, 1)), RECORD_BODY)).rejects.toMatchObject({ code: 'bad-request' });
  // A few of them are not a fault: people type.
  expect(await read(arriving(cut(BODY.subarray(0, 1000), 1)), RECORD_BODY)).toHaveLength(1000);
});

test('a body that nests draws more than one that does not', async () => {
  const drawn = async (body: string): Promise<number> => {
    const budget = createBudget(64 * MIB);
    await reader(MIB, budget)(arriving([Buffer.from(body)], drawing(budget)), RECORD_BODY);
    return budget.used;
  };
  expect(await drawn('[]'.repeat(1000))).toBeGreaterThan(3 * (await drawn('xx'.repeat(1000))));
});

test('a large body with too many keys is refused while it arrives', async () => {
  const keys = (count: number): string =>
    Array.from({ length: count }, (_, key) => `"k${key}":"${':{['.repeat(60)}"`).join();
  const read = (text: string): Promise<unknown> =>
    reader(MIB, createBudget(64 * MIB))(arriving(cut(Buffer.from(text), 8000)), RECORD_BODY);
  await expect(read(`{${keys(1001)}`)).rejects.toMatchObject({
    code: 'content-too-large',
    message: 'The body has more than 1000 keys; at most 1000 are allowed',
  });
  expect(await read(`{${keys(1000)}}`)).toBeInstanceOf(Buffer);
});

test.each([
  ['{}', 0, 1],
  ['{"a":[{"b:":1},{}],"c":{}}', 3, 5],
  ['["\\\\","{",":\\"[:"]', 0, 1],
  ['{"\\\\":":","\\"":"\\\\\\""}', 2, 1],
])('%s has %d keys and %d brackets, however it is cut', (text, keys, brackets) => {
  const bytes = Buffer.from(text);
  for (let length = 1; length <= bytes.length; length += 1) {
    const tally = createTally();
    for (let end = 0; end < bytes.length; end += length) tally.count(bytes, end);
    expect(tally.count(bytes, bytes.length)).toEqual({ keys, brackets });
  }
});

test('a body for which nothing is left is refused with 503', async () => {
  const budget = createBudget(64 * MIB);
  fill(budget);
  const read = reader(MIB, budget)(arriving(cut(BODY, 1000), drawing(budget)), RECORD_BODY);
  await expect(read).rejects.toMatchObject({ code: 'overloaded', status: 503 });
});

test('a BODY_LIMIT that MEMORY_LIMIT has no room for is refused at start', () => {
  expect(() => reader(10 * MIB, createBudget(16 * MIB))).toThrow(
    'BODY_LIMIT is 10485760, but with a MEMORY_LIMIT of 16777216 a body can have 2396745 bytes at most',
  );
});

test('a body that can never be parsed is refused with 413', async () => {
  const budget = createBudget(16 * MIB);
  const body = Buffer.from('[]'.repeat(500_000));
  await expect(reader(MIB, budget)(arriving([body]), RECORD_BODY)).rejects.toMatchObject({
    code: 'content-too-large',
  });
});

test('a write without memory is answered 503 with Retry-After; each gives back what it had', async () => {
  const database = await createDatabase();
  const own = { port: 0, databaseUrl: database.url, schemaDirectory: 'tests/fixtures/http' };
  const serving = await serve({ ...readSettings({}), ...own });
  const { budget } = serving.engine;
  const post = (name: string): Promise<Exchanged> =>
    exchange(serving.url, 'POST /api/gadgets', { headers: HEADERS, body: JSON.stringify({ name }) });
  const all = fill(budget);
  const refused = await post('x');
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  expect(refused.text).toContain('urn:problem:overloaded');
  expect((await exchange(serving.url, 'GET /api/gadgets/1')).status).toBe(404);
  for (const share of all) share.release();
  expect([(await post('x')).status, (await post('x'.repeat(1000))).status]).toEqual([201, 422]);
  expect(budget.used).toBe(0);
  await serving.close();
  await database.remove();
});
