/** One server in the rounds of one work: its requests are numbered, so that no two rounds send the same write. */
import { checkAnswers, SAMPLES } from './checks.ts';
import { spentBetween } from './cpu.ts';
import type { Driver } from './driver/driver.ts';
import type { Outcome } from './driver/job.ts';
import type { Running } from './process.ts';
import type { Work, World } from './work.ts';

/** What the rounds of one work have in common. */
export interface Task {
  readonly work: Work;
  readonly connections: number;
  readonly driver: Driver;
}

export interface Lane {
  readonly server: Running;
  /** What the work has to find out beforehand. */
  readonly page: string | undefined;
  /** The number of the next request. */
  next: number;
}

export interface Sample {
  /** Microseconds of the server's CPU for each request. */
  readonly cpu: number;
  /** The same of the database; undefined if it has no processes that can be seen from here. */
  readonly databaseCpu: number | undefined;
  /** Requests in a second. */
  readonly rate: number;
  readonly outcome: Outcome;
}

/** Values that an earlier run has written are not written again. */
let numbers = 0;
const firstNumber = (): number => (numbers += 1_000_000);

/** The first answers are looked at. */
export async function openLane(server: Running, { work }: Task): Promise<Lane> {
  const lane: Lane = { server, page: await work.page?.(server), next: firstNumber() };
  await checkAnswers(server, work, await worldOf(lane, work, 0), lane.next);
  lane.next += SAMPLES;
  return lane;
}

export async function oneRound(lane: Lane, task: Task, amount: number): Promise<Sample> {
  const { server } = lane;
  const world = await worldOf(lane, task.work, amount);
  const [before, databaseBefore] = [server.cpu(), server.data.cpu?.()];
  const outcome = await driveIn(lane, task, amount, world);
  const [after, databaseAfter] = [server.cpu(), server.data.cpu?.()];
  return {
    cpu: (after - before) / amount,
    databaseCpu: databaseBefore && databaseAfter && spentBetween(databaseBefore, databaseAfter) / amount,
    rate: amount / outcome.seconds,
    outcome,
  };
}

export async function drive(lane: Lane, task: Task, amount: number): Promise<Outcome> {
  return driveIn(lane, task, amount, await worldOf(lane, task.work, amount));
}

async function driveIn(
  lane: Lane,
  { work, connections, driver }: Task,
  amount: number,
  world: World,
): Promise<Outcome> {
  const { server, next: first } = lane;
  const { name, dialect } = server.contender;
  const outcome = await driver.ask({ url: server.url, dialect, work: work.name, world, connections, first, amount });
  if (outcome.failures > 0) throw new Error(`${name}: ${outcome.failures} of ${amount} requests failed (${work.name})`);
  lane.next += amount;
  return outcome;
}

async function worldOf({ server, page, next }: Lane, { consumes }: Work, amount: number): Promise<World> {
  const { rows, types, addItems } = server.data;
  const spare = consumes ? (await addItems(amount + SAMPLES)) - next : 0;
  return { rows, spare, types, page };
}

/** Each of them is first as often as the others. */
export const rotated = <T>(values: readonly T[], by: number): readonly T[] => {
  const start = by % values.length;
  return [...values.slice(start), ...values.slice(0, start)];
};
