/** Clients that try to use up memory: the process stays below 1 GiB with a heap of 512 MiB, goes on, and serves another client. */
import { setTimeout as sleep } from 'node:timers/promises';
import { exchange } from '../../support/exchange.ts';
import { answersIn, attack, isFault, setStage, type Stage, type Victim, waitsDuring } from './victim.ts';

const LIMIT = 1024;
/** Milliseconds that another client may wait, on a machine whose 99th percentile without an attack is IDLE; a busier one gets more. */
const BOUNDS = { p99: 250, longest: 1500 };
const IDLE = 3;
const RECORDS = 450;
const MANY = 1_000_000;
const SCALE = 10;

let stage: Stage;
beforeAll(async () => {
  stage = await setStage([
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${RECORDS})
      insert into notes (title, text, "rank") select 'note', repeat('x', 1000000), i from n`,
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${MANY})
      insert into notes (title, text, "rank") select 'small', md5(cast(i as text)), i from n`,
  ]);
});
afterAll(() => stage.remove());

const names = (text: string): readonly string[] => text.split(/\s*\|\s*/);
const ALL = names(`pipelined | chunks | big pages | big pages, unread | zipped pages | whole lists, unread |
  whole lists, zipped | orders | big bodies | many keys | nested writes | arrays | dry arrays |
  faulty arrays | arrays of changes | upserts | wide lines | deletions, dry | deletions of too many |
  deletions | summaries | agents reading | slow bodies | pipelined requests | requests, left |
  unfinished bodies | half a head | header floods | mix`);

/** The code for agents is loaded for the first of them: once, which is not what an attack is about. */
const useTool = async ({ url }: Victim): Promise<void> => {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  expect((await exchange(url, 'POST /mcp', { headers, body })).status).toBe(200);
};

test.each(ALL)('%s', async (name) => {
  const victim = await stage.start();
  try {
    await useTool(victim);
    const idle = await waitsDuring(victim, () => sleep(1000));
    const before = victim.used();
    const waits = await waitsDuring(victim, () => attack(victim, name, SCALE));
    const answered = answersIn(waits.result);
    const used = victim.used() - before;
    console.info(
      `${name}: peak ${victim.peak()} MiB, ${used.toFixed(1)} s of a processor; another client: ${waits.served} served, ${waits.refused} refused, ` +
        `99th percentile ${waits.p99.toFixed(1)} ms (idle ${idle.p99.toFixed(1)} ms), longest ${waits.longest.toFixed(0)} ms ${waits.result}`,
    );
    expect(Object.keys(answered).filter(isFault)).toEqual([]);
    expect(victim.isAlive()).toBe(true);
    expect(victim.peak()).toBeLessThan(LIMIT);
    const busy = Math.max(1, idle.p99 / IDLE);
    expect([waits.p99 < BOUNDS.p99 * busy, waits.longest < BOUNDS.longest * busy]).toEqual([true, true]);
  } finally {
    await victim.stop();
  }
});
