/** Rounds: each contender in turn does some of the same work, again and again, while the others stand still. */
import type { Contender } from './contenders.ts';
import { dialects } from './dialects.ts';
import { type Lane, oneRound, openLane, rotated, type Sample, type Task, drive } from './lane.ts';
import type { Running } from './process.ts';
import type { Progress } from './report/progress.ts';
import { median, summary, type Summary } from './statistics.ts';
import type { Work } from './work.ts';

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
  /** The same of the database, if it has processes of its own that can be seen from here. */
  readonly databaseCpu: Summary | undefined;
  /** Requests in a second. */
  readonly rate: Summary;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export interface Setting extends Task {
  readonly plan: Plan;
  readonly progress: Progress;
}

interface Measuring {
  readonly lane: Lane;
  /** Requests that fill a round. */
  readonly amount: number;
  readonly samples: Sample[];
}

/** With fewer requests the first rounds would still run code that has not been compiled. */
const WARM_UP = 5000;
/** Where requests are slow, so many have to do, unless they take this many times as long as a round. */
const LEAST_WARM_UP = 1000;
const LONGEST_WARM_UP = 10;
const WARM_UP_GROWTH = 4;
const MAX_AMOUNT = 40_000;
/** Requests of each connection in a round: with a few, its begin and its end are most of what is measured. */
const LEAST_EACH = 8;

export function offers(contender: Contender, { relations, consumes }: Work): boolean {
  const dialect = dialects[contender.dialect];
  return (!relations || dialect.relations) && (!consumes || dialect.live);
}

export async function measure(servers: readonly Running[], setting: Setting): Promise<readonly Measured[]> {
  const able = servers.filter((server) => offers(server.contender, setting.work));
  const all: Measuring[] = [];
  for (const server of able) all.push(await warmUp(server, setting));
  for (let round = 0; round < setting.plan.rounds; round += 1)
    for (const { lane, amount, samples } of rotated(all, round)) {
      samples.push(await oneRound(lane, setting, amount));
      setting.progress.step(stepOf(lane, setting));
    }
  return all.map((one) => summarized(one, setting));
}

const summarized = ({ lane, samples }: Measuring, { work, connections }: Setting): Measured => ({
  contender: lane.server.contender.name,
  work: work.name,
  connections,
  cpu: summary(samples.map(({ cpu }) => cpu)),
  databaseCpu: summaryIfAny(samples.flatMap(({ databaseCpu }) => databaseCpu ?? [])),
  rate: summary(samples.map(({ rate }) => rate)),
  p50: median(samples.map(({ outcome }) => outcome.p50)),
  p99: median(samples.map(({ outcome }) => outcome.p99)),
});

const summaryIfAny = (values: readonly number[]): Summary | undefined =>
  values.length === 0 ? undefined : summary(values);

const stepOf = ({ server }: Lane, { work, connections }: Setting): string =>
  `${work.name}, ${connections} at once, ${server.contender.name}`;

/** Requests that make the server warm also tell how many fill a round. */
async function warmUp(server: Running, setting: Setting): Promise<Measuring> {
  const { connections, plan, progress } = setting;
  const lane = await openLane(server, setting);
  let [amount, warmed, spent, rate] = [connections, 0, 0, 0];
  const isWarm = (): boolean =>
    warmed >= WARM_UP ||
    (spent >= plan.seconds && (warmed >= LEAST_WARM_UP || spent >= LONGEST_WARM_UP * plan.seconds));
  while (!isWarm()) {
    const { seconds } = await drive(lane, setting, amount);
    warmed += amount;
    spent += seconds;
    rate = amount / seconds;
    amount = clamp(rate * plan.seconds, connections, amount * WARM_UP_GROWTH);
  }
  progress.step(`${stepOf(lane, setting)}, warm-up`);
  return { lane, amount: clamp(rate * plan.seconds, connections * LEAST_EACH, MAX_AMOUNT), samples: [] };
}

const clamp = (value: number, least: number, greatest: number): number =>
  Math.round(Math.min(greatest, Math.max(least, value)));
