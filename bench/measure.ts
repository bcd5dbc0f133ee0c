/** Rounds: each contender in turn does some of the same work, again and again, while the others stand still. */
import { checkAnswers, SAMPLES } from './checks.ts';
import { addItems } from './database.ts';
import { dialects } from './dialects.ts';
import type { Driver } from './driver/driver.ts';
import type { Outcome } from './driver/job.ts';
import type { Running } from './process.ts';
import type { Progress } from './report/progress.ts';
import { median, summary, type Summary } from './statistics.ts';
import type { Work, World } from './work.ts';

export interface Plan {
  readonly rounds: number;
  /** How long one round is to last, about. */
  readonly seconds: number;
  readonly rows: number;
}

export interface Measured {
  readonly contender: string;
  readonly work: string;
  readonly connections: number;
  /** Microseconds of the server's CPU for each request. */
  readonly cpu: Summary;
  /** Requests in a second. */
  readonly rate: Summary;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const offers = ({ contender }: Running, { relations }: Work): boolean =>
  !relations || dialects[contender.dialect].relations;

/** What the rounds of one work have in common. */
export interface Setting {
  readonly work: Work;
  readonly connections: number;
  readonly plan: Plan;
  readonly driver: Driver;
  readonly progress: Progress;
}

interface Sample {
  readonly cpu: number;
  readonly rate: number;
  readonly outcome: Outcome;
}

interface Lane {
  readonly server: Running;
  /** Requests are numbered, so that no two rounds send the same write. */
  next: number;
  /** Requests that fill a round. */
  amount: number;
}

/** Fewer, and the first rounds still run code that has not been compiled. */
const WARM_UP = 5000;
const MAX_AMOUNT = 40_000;

export async function measure(servers: readonly Running[], setting: Setting): Promise<readonly Measured[]> {
  const able = servers.filter((server) => offers(server, setting.work));
  const lanes = able.map((server): Lane => ({ server, next: firstNumber(), amount: WARM_UP }));
  for (const lane of lanes) await warmUp(lane, setting);
  const samples = new Map(lanes.map((lane) => [lane, [] as Sample[]]));
  for (let round = 0; round < setting.plan.rounds; round += 1)
    for (const lane of rotated(lanes, round)) samples.get(lane)?.push(await oneRound(lane, setting));
  return lanes.map((lane) => summarized(lane, samples.get(lane) ?? [], setting));
}

const summarized = ({ server }: Lane, samples: readonly Sample[], { work, connections }: Setting): Measured => ({
  contender: server.contender.name,
  work: work.name,
  connections,
  cpu: summary(samples.map(({ cpu }) => cpu)),
  rate: summary(samples.map(({ rate }) => rate)),
  p50: median(samples.map(({ outcome }) => outcome.p50)),
  p99: median(samples.map(({ outcome }) => outcome.p99)),
});

/** Values that an earlier run has written are not written again. */
let numbers = 0;
const firstNumber = (): number => (numbers += 1_000_000);

const rotated = <T>(values: readonly T[], by: number): readonly T[] => {
  const start = by % values.length;
  return [...values.slice(start), ...values.slice(0, start)];
};

/** The first answers are looked at; the rest of the requests make the server warm, and tell how many fill a round. */
async function warmUp(lane: Lane, setting: Setting): Promise<void> {
  const world = worldOf(lane, setting);
  await checkAnswers(lane.server, setting.work, world, lane.next);
  lane.next += SAMPLES;
  const { seconds } = await drive(lane, world, setting);
  const wanted = Math.round((lane.amount / seconds) * setting.plan.seconds);
  lane.amount = Math.min(MAX_AMOUNT, Math.max(setting.connections, wanted));
}

async function oneRound(lane: Lane, setting: Setting): Promise<Sample> {
  const { server, amount } = lane;
  const world = worldOf(lane, setting);
  const before = server.cpu();
  const outcome = await drive(lane, world, setting);
  return { cpu: (server.cpu() - before) / amount, rate: amount / outcome.seconds, outcome };
}

async function drive(lane: Lane, world: World, { work, connections, driver, progress }: Setting): Promise<Outcome> {
  const { server, next: first, amount } = lane;
  const { name, dialect } = server.contender;
  const outcome = await driver.ask({ url: server.url, dialect, work: work.name, world, connections, first, amount });
  if (outcome.failures > 0) throw new Error(`${name}: ${outcome.failures} of ${amount} requests failed (${work.name})`);
  lane.next += amount;
  progress.step(`${work.name}, ${connections} connections, ${name}`);
  return outcome;
}

function worldOf({ server, next, amount }: Lane, { work, plan: { rows } }: Setting): World {
  return { rows, spare: work.consumes ? addItems(server.file, amount + SAMPLES) - next : 0 };
}
