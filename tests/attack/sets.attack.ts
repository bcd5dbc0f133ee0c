/** Sets of millions: no answer, write or deletion of them takes the memory, or keeps others waiting. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { useTool } from '../mcp/agent.ts';
import { ask } from '../support/ask.ts';
import { isLong } from './tools.ts';
import type { Waits } from './other-client.ts';
import { setStage, type Stage, type Victim, waitsDuring } from './victim.ts';

/** MiB of the process with a heap of 512. */
const LIMIT = 1024;
const ITEMS = isLong ? 5_000_000 : 50_000;
const MEMOS = isLong ? 2_000_000 : 20_000;
const TOGETHER = isLong ? 50 : 5;

const counted = (count: number): string =>
  `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`;

let stage: Stage;
beforeAll(async () => {
  stage = await setStage([
    `insert into notes (id, title) values (1, 'asked by others')`,
    `insert into shelves (id, name) values (1, 'large'), (2, 'heavy')`,
    `${counted(ITEMS)} insert into items (text, shelf_items_id) select 'item', 1 from n`,
    `${counted(MEMOS)} insert into memos (text, shelf_id) select 'a memo that is not long', 1 from n`,
    `${counted(200)} insert into memos (text, shelf_id) select repeat('x', 1000000), 2 from n`,
  ]);
});
afterAll(() => stage.remove());

const REQUESTS: readonly (readonly [request: string, body: unknown, statuses: readonly number[]])[] = [
  ['GET /api/shelves/1', undefined, [400]],
  ['GET /api/shelves/1?include=items', undefined, [400]],
  ['GET /api/shelves/2', undefined, [400, 503]],
  ['GET /api/shelves', undefined, [400, 503]],
  ['GET /api/shelves?_cnd[limit]=0&_cnd[limit]=2', undefined, [400, 503]],
  ['GET /api/shelves/1?include=memos.shelf.memos', undefined, [400]],
  // On PostgreSQL, writes to one record wait for each other, and on a busy machine for too long.
  ['PATCH /api/shelves/1', { name: 'renamed' }, [400, 503]],
  ['PUT /api/shelves/1?include=', { memos: [] }, [422, 503]],
  ['PUT /api/shelves/1?include=', { items: [] }, [422, 503]],
  ['DELETE /api/shelves/1?include=', undefined, [422, 503]],
];

/** Agents are refused within the answer. */
const CALLS: readonly (readonly [tool: string, given: object, codes: readonly string[]])[] = [
  ['get_record', { type: 'Shelf', id: 1 }, ['too-many-related']],
  ['list_records', { type: 'Shelf', limit: 2 }, ['too-many-related', 'invalid-query', 'overloaded']],
  ['update_record', { type: 'Shelf', id: 1, changes: { memos: [] } }, ['too-many-rows', 'storage-busy', 'overloaded']],
  // What is deleted is answered, and read before.
  ['delete_record', { type: 'Shelf', id: 1 }, ['too-many-related', 'too-many-rows', 'storage-busy', 'overloaded']],
];

function report(what: string, victim: Victim, idle: Waits, waits: Waits): void {
  console.info(
    `${what}: peak ${victim.peak()} MiB; another client: ${waits.served} served, ` +
      `99th percentile ${waits.p99.toFixed(1)} ms (idle ${idle.p99.toFixed(1)} ms), longest ${waits.longest.toFixed(0)} ms`,
  );
}

const idleFor = (victim: Victim): Promise<Waits> => waitsDuring(victim, () => sleep(isLong ? 1000 : 100));

test.each(REQUESTS)(`%s, ${TOGETHER} at a time`, async (request, body, statuses) => {
  const victim = await stage.start();
  try {
    const idle = await idleFor(victim);
    const waits = await waitsDuring(victim, () =>
      Promise.all(Array.from({ length: TOGETHER }, async () => (await ask(victim.url, request, body)).status)),
    );
    report(request, victim, idle, waits);
    expect(statuses).toEqual(expect.arrayContaining([...new Set(waits.result)]));
    expect(victim.isAlive()).toBe(true);
    expect(victim.peak()).toBeLessThan(LIMIT);
  } finally {
    await victim.stop();
  }
});

/** In the gate, reading stands for all: behind the tools are the same operations. */
test.each(isLong ? CALLS : CALLS.slice(0, 1))(`agents: %s %j, ${TOGETHER} at a time`, async (name, given, codes) => {
  const victim = await stage.start();
  try {
    const idle = await idleFor(victim);
    const waits = await waitsDuring(victim, () =>
      Promise.all(
        Array.from({ length: TOGETHER }, async () => (await useTool(victim.url, name, given)).says['problem']),
      ),
    );
    report(`${name} by agents`, victim, idle, waits);
    const found = new Set(waits.result.map(String));
    expect(codes).toEqual(expect.arrayContaining([...found]));
    expect(victim.isAlive()).toBe(true);
    expect(victim.peak()).toBeLessThan(LIMIT);
  } finally {
    await victim.stop();
  }
});

test('delete --chunked beside the service, killed once', async () => {
  const victim = await stage.start();
  const cli = (): ReturnType<typeof spawn> =>
    spawn(process.execPath, [join(stage.program, 'engine', 'cli.js'), 'delete', 'Shelf', '1', '--chunked'], {
      env: { ...process.env, ...stage.environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  try {
    const idle = await idleFor(victim);
    const work = async (): Promise<unknown> => {
      const killed = cli();
      const ended = once(killed, 'close');
      // Its first line of progress says that it has begun to delete; a small tree may be gone before.
      killed.stderr?.once('data', () => killed.kill('SIGKILL'));
      const [code] = await ended;
      if (code === 0) return 0;
      const [again] = await once(cli(), 'close');
      return again;
    };
    const waits = await waitsDuring(victim, work);
    report('delete --chunked', victim, idle, waits);
    expect(waits.result).toBe(0);
    expect((await ask(victim.url, 'GET /api/shelves?include=&fields=name')).body).toEqual([{ id: 2, name: 'heavy' }]);
    const left = await ask(victim.url, 'GET /api/memos?_cnd[shelf][null]=true&_cnd[limit]=0&_cnd[limit]=0');
    expect(left.headers.get('x-total-count')).toBe(String(MEMOS));
    expect(victim.peak()).toBeLessThan(LIMIT);
  } finally {
    await victim.stop();
  }
});
