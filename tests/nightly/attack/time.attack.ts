/** Work for clients that ask for more than the database can do, and leave, ends with them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connectTo, type TestDatabase } from '../../support/databases.ts';
import { attack, secondsUntilIdle, setStage, type Stage, waitsDuring } from './victim.ts';

const LIMIT = 1024;
const MANY = 1_000_000;
const SCALE = 10;
/** Idle samples in a row, ten in a second. */
const QUIET = 20;

let stage: Stage;
beforeAll(async () => {
  stage = await setStage([
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${MANY})
      insert into notes (title, text, "rank") select 'note', repeat(md5(cast(i as text)), 3), i from n`,
  ]);
});
afterAll(() => stage.remove());

/** Seconds until the server runs nothing for the service any more, and goes on like that for as long as it is watched. */
async function secondsUntilQuiet({ kind, url }: TestDatabase): Promise<number> {
  if (kind === 'sqlite') return 0;
  const client = await connectTo(url);
  const began = performance.now();
  let last = 0;
  for (let quiet = 0; quiet < QUIET; quiet += 1) {
    const { rowCount } = await client.query(
      "select from pg_stat_activity where datname = current_database() and application_name = 'records' and state = 'active' and query ~ '^with page|^select count.*distinct'",
    );
    if (rowCount !== 0) {
      quiet = 0;
      last = (performance.now() - began) / 1000;
    }
    await sleep(100);
  }
  await client.end();
  return last;
}

const LEFT = ['orders, left', 'likes, left', 'summaries, left', 'agents, left', 'requests, left'];

test.each(LEFT)('%s', async (name) => {
  const victim = await stage.start();
  try {
    const idle = await waitsDuring(victim, () => sleep(1000));
    const waits = await waitsDuring(victim, () => attack(victim, name, SCALE));
    const [seconds, server] = await Promise.all([secondsUntilIdle(victim), secondsUntilQuiet(stage.database)]);
    console.info(
      `${name}: ${400 * SCALE} requests or so, ${MANY} rows: peak ${victim.peak()} MiB; idle again within ${seconds + 1} s, its last statement ended after ${server.toFixed(1)} s; ` +
        `another client: ${waits.served} served, ${waits.refused} refused, ` +
        `99th percentile ${waits.p99.toFixed(1)} ms (idle ${idle.p99.toFixed(1)} ms), longest ${waits.longest.toFixed(0)} ms`,
    );
    expect(victim.isAlive()).toBe(true);
    expect(victim.peak()).toBeLessThan(LIMIT);
    expect([waits.served > 0, waits.refused]).toEqual([true, 0]);
    // One of them is what it takes to see it.
    expect([seconds, server].filter((measured) => measured > 2)).toEqual([]);
  } finally {
    await victim.stop();
  }
});
