/** Clients that send or read as slowly as they can: they are cut off, and others are served meanwhile. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { exchange } from '../support/exchange.ts';
import { expectUnhurt, JSON_BODY, openTarget, type Target } from './target.ts';
import { describeWith, isLong, run } from './tools.ts';

const CONNECTIONS = isLong ? '1000' : '100';
const IDLE = isLong ? 5000 : 2000;
/** Long enough to see that it is the service that ends it. */
const SECONDS = '600';
const PATH = '/api/tmp-vars';

let target: Target;
beforeAll(async () => {
  target = await openTarget({ requestTimeout: 9000, slowReaderTimeout: 5000 });
  for (let made = 0; made < 10; made += 1) {
    const body = JSON.stringify({ name: `slow${made}`, value: 'x'.repeat(300_000) });
    expect((await exchange(target.url, `POST ${PATH}`, { headers: JSON_BODY, body })).status).toBe(201);
  }
});
afterAll(() => target.close());

/** While something else goes on, another client asks again and again; answers how often it was served, and says how long it waited. */
async function servedDuring(work: Promise<unknown>): Promise<number> {
  const state = { over: false };
  const ended = work.finally(() => (state.over = true));
  let served = 0;
  let longest = 0;
  while (!state.over) {
    const start = performance.now();
    expect((await exchange(target.url, `GET ${PATH}/1`)).status).toBe(200);
    longest = Math.max(longest, performance.now() - start);
    served += 1;
    await sleep(20);
  }
  await ended;
  console.info(`${served} requests of another client served meanwhile, each within ${Math.ceil(longest)} ms`);
  return served;
}

const pace = ['-c', CONNECTIONS, '-r', CONNECTIONS, '-i', '1', '-l', SECONDS, '-p', '5'];

const ATTACKS: readonly (readonly [string, readonly string[]])[] = [
  ['heads', ['-H', '-u', `${PATH}/1`]],
  ['bodies', ['-B', '-t', 'POST', '-f', 'application/json', '-s', '4096', '-x', '8', '-u', PATH]],
  ['readers', ['-X', '-w', '512', '-y', '1024', '-n', '1', '-z', '64', '-u', `${PATH}?_cnd[limit]=0&_cnd[limit]=10`]],
];

describeWith('slowhttptest', () => {
  test.each(ATTACKS)('slow %s are cut off, and others are served', async (_, words) => {
    const own = words.map((word) => (word.startsWith('/') ? target.url + word : word));
    const attack = run('slowhttptest', [...pace, ...own]);
    expect(await servedDuring(attack)).toBeGreaterThan(0);
    const said = String(await attack);
    expect(said).toContain('No open connections left');
    expect(said).not.toContain('Hit test time limit');
  });
});

test(`${IDLE} idle connections: others are served, and the service closes them`, async () => {
  const { hostname, port } = new URL(target.url);
  const closed: Promise<unknown>[] = [];
  // No more at once than the system lets wait to be accepted.
  for (let opened = 0; opened < IDLE; opened += 200) {
    const sockets = Array.from({ length: 200 }, () => connect(Number(port), hostname).on('error', () => undefined));
    closed.push(...sockets.map((socket) => new Promise((done) => socket.resume().once('close', done))));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    await exchange(target.url, 'GET /health/live');
  }
  expect(await servedDuring(Promise.all(closed))).toBeGreaterThan(0);
});

// Of many long pages at once, some find no place in the queue.
test('and the service is as it was', () => expectUnhurt(target, [503]));
