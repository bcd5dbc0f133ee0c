/** Three instances of the service on one PostgreSQL server, all attacked at once: none ends, and no write that one has acknowledged is lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { exchange } from '../support/exchange.ts';
import { onServer } from '../support/postgres.ts';
import { isLong } from './tools.ts';
import { answersIn, attack, isFault, secondsUntilIdle, setStage, type Stage, type Victim } from './victim.ts';

const LIMIT = 1024;
const SCALE = isLong ? 3 : 1;
/** All at once take a scale of their own: they are many. */
const ATTACKS: readonly (readonly [name: string, scale: number])[] = [
  ['mix', SCALE],
  ...['slow bodies', 'pipelined requests', 'requests, left'].map((name) => [name, isLong ? 10 : 1] as const),
];
const JSON_BODY = { 'content-type': 'application/json' };

/** A client whose connection was cut does not know whether its request was carried out. */
const CUT = 0;

const statusAndText = (url: string, title: string, body?: string) =>
  exchange(url, title, body === undefined ? {} : { headers: JSON_BODY, body }).catch(() => ({ status: CUT, text: '' }));

/** Seconds that one of them takes at most, and one more to see it; they share a processor. */
const MOST_UNTIL_IDLE = 2;

interface Written {
  /** The titles by their identifiers. */
  readonly acknowledged: ReadonlyMap<number, string>;
  readonly statuses: ReadonlySet<number>;
}

/** Another client writes by each of them in turn until the work is done. */
async function writesDuring(victims: readonly Victim[], work: Promise<unknown>): Promise<Written> {
  const state = { over: false };
  void work.finally(() => (state.over = true));
  const acknowledged = new Map<number, string>();
  const statuses = new Set<number>();
  for (let count = 0; !state.over; count += 1) {
    const { url } = victims[count % victims.length] as Victim;
    const title = `written ${count}`;
    const { status, text } = await statusAndText(url, 'POST /api/notes', JSON.stringify({ title }));
    statuses.add(status);
    if (status === 201) acknowledged.set(JSON.parse(text).id, title);
    await sleep(20);
  }
  return { acknowledged, statuses };
}

onServer('on PostgreSQL', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await setStage([
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 60)
        insert into notes (title, text, "rank") select 'note', repeat('x', 1000000), i from n`,
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
        insert into notes (title, text, "rank") select 'small', md5(cast(i as text)), i from n`,
    ]);
  });
  afterAll(() => stage.remove());

  test.each(ATTACKS)('three instances, %s', async (name, scale) => {
    const victims = await Promise.all([stage.start(), stage.start(), stage.start()]);
    try {
      const attacks = Promise.all(victims.map((victim) => attack(victim, name, scale)));
      const { acknowledged, statuses } = await writesDuring(victims, attacks);
      console.info(
        `${name}: peaks ${victims.map((victim) => victim.peak()).join(', ')} MiB; ${acknowledged.size} acknowledged writes; statuses ${[...statuses].join(', ')}`,
      );
      const idle = await Promise.all(victims.map(secondsUntilIdle));
      const answers = (await attacks).map(answersIn);
      console.info(
        `answers ${answers.map((one) => JSON.stringify(one)).join(' ')}; idle again within ${idle.map((seconds) => seconds + 1).join(', ')} s`,
      );
      expect(answers.flatMap((one) => Object.keys(one).filter(isFault))).toEqual([]);
      expect(victims.map((victim) => victim.isAlive())).toEqual([true, true, true]);
      for (const victim of victims) expect(victim.peak()).toBeLessThan(LIMIT);
      expect([...statuses].filter((status) => ![CUT, 201, 503].includes(status))).toEqual([]);
      expect(acknowledged.size).toBeGreaterThan(0);
      const found = new Map<number, unknown>();
      for (const [index, identifier] of [...acknowledged.keys()].entries()) {
        const { url } = victims[index % victims.length] as Victim;
        const { text } = await exchange(url, `GET /api/notes/${identifier}?fields=title`);
        found.set(identifier, JSON.parse(text).title);
      }
      expect(found).toEqual(acknowledged);
      if (isLong) expect(idle.filter((seconds) => seconds > MOST_UNTIL_IDLE * victims.length)).toEqual([]);
    } finally {
      await Promise.all(victims.map((victim) => victim.stop()));
    }
  });
});
