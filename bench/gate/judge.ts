/** Rounds of one work by this engine and by the server beside it, until there is no doubt. */
import { drive, type Lane, oneRound, openLane, type Task } from '../lane.ts';
import type { Running } from '../process.ts';
import { type Verdict, verdict } from './verdict.ts';

/** Requests. */
const WARM_UP = 5000;
const ROUND = 800;
/** Whoever seems too dear is looked at so many times as long. */
const PATIENCE = 3;
/** On a machine that has little time, whoever is cheap enough after that many rounds may go. */
const LEAST_ROUNDS = 3;
const SECONDS = 6;

export async function judge(servers: readonly Running[], task: Task, rounds: number): Promise<Verdict> {
  const began = performance.now();
  const isLate = (): boolean => performance.now() - began > SECONDS * 1000;
  const all: { readonly lane: Lane; readonly costs: number[] }[] = [];
  for (const server of servers) all.push({ lane: await openLane(server, task), costs: [] });
  for (let warmed = 0; warmed < WARM_UP && !isLate(); warmed += ROUND)
    for (const { lane } of all) await drive(lane, task, ROUND);
  for (let round = 1; ; round += 1) {
    for (const { lane, costs } of all) costs.push((await oneRound(lane, task, ROUND)).cpu);
    const found = verdict(
      task.work.name,
      all.map(({ costs }) => costs),
    );
    const enough = isLate() ? Math.min(LEAST_ROUNDS, rounds) : rounds;
    if (round >= (found.passed ? enough : rounds * PATIENCE)) return found;
  }
}
