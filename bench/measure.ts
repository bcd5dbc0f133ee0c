/** Rounds: each contender in turn does some of the same work, again and again, while the others stand still. */
import { checkAnswers, SAMPLES } from './checks.ts';
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

function offers({ contender }: Running, { relations, consumes }: Work): boolean {
  const dialect = dialects[contender.dialect];
  return (!relations || dialect.relations) && (!consumes || dialect.live);
}

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
  /** What the work has to find out beforehand. */
  readonly page: string | undefined;
  /** Requests are numbered, so that no two rounds send the same write. */
  next: number;
  /** Requests that fill a round. */
  amount: number;
}

/** With fewer requests the first rounds would still run code that has not been compiled. Where they are slow, fewer have to do. */
const WARM_UP = 5000;
const WARM_UP_GROWTH = 4;
const MAX_AMOUNT = 40_000;

export async function measure(servers: readonly Running[], setting: Setting): Promise<readonly Measured[]> {
  const able = servers.filter((server) => offers(server, setting.work));
  const lanes: Lane[] = [];
  for (const server of able) lanes.push(await warmUp(server, setting));
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

/** The first answers are looked at; further requests make the server warm, and tell how many fill a round. */
async function warmUp(server: Running, setting: Setting): Promise<Lane> {
  const { work, connections, plan, progress } = setting;
  const lane: Lane = { server, page: await work.page?.(server), next: firstNumber(), amount: connections };
  await checkAnswers(server, work, await worldOf(lane, setting), lane.next);
  lane.next += SAMPLES;
  let [warmed, spent, rate] = [0, 0, 0];
  while (warmed < WARM_UP && spent < plan.seconds) {
    const { seconds } = await drive(lane, setting);
    warmed += lane.amount;
    spent += seconds;
    rate = lane.amount / seconds;
    lane.amount = clamp(rate * plan.seconds, connections, lane.amount * WARM_UP_GROWTH);
  }
  lane.amount = clamp(rate * plan.seconds, connections, MAX_AMOUNT);
  progress.step(`${work.name}, ${connections} connections, ${server.contender.name}, warm-up`);
  return lane;
}

const clamp = (value: number, least: number, greatest: number): number =>
  Math.round(Math.min(greatest, Math.max(least, value)));

async function oneRound(lane: Lane, setting: Setting): Promise<Sample> {
  const { server, amount } = lane;
  const { work, connections, progress } = setting;
  const before = server.cpu();
  const outcome = await drive(lane, setting);
  const cpu = (server.cpu() - before) / amount;
  progress.step(`${work.name}, ${connections} connections, ${server.contender.name}`);
  return { cpu, rate: amount / outcome.seconds, outcome };
}

async function drive(lane: Lane, setting: Setting): Promise<Outcome> {
  const { work, connections, driver } = setting;
  const { server, next: first, amount } = lane;
  const { name, dialect } = server.contender;
  const world = await worldOf(lane, setting);
  const outcome = await driver.ask({ url: server.url, dialect, work: work.name, world, connections, first, amount });
  if (outcome.failures > 0) throw new Error(`${name}: ${outcome.failures} of ${amount} requests failed (${work.name})`);
  lane.next += amount;
  return outcome;
}

async function worldOf({ server, page, next, amount }: Lane, { work }: Setting): Promise<World> {
  const { rows, types, addItems } = server.data;
  const spare = work.consumes ? (await addItems(amount + SAMPLES)) - next : 0;
  return { rows, spare, types, page };
}
