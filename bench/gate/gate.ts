/** `bench -- gate`: fails where this engine has become much dearer. Made for machines that do other things as well. */
import { accessSync, constants } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { type Contender, engine, handWritten } from '../contenders.ts';
import { chooseCores, hurry } from '../cores.ts';
import { type Options, UsageError } from '../options.ts';
import { createProgress } from '../report/progress.ts';
import type { Report } from '../report/report.ts';
import { onStage, type Stage } from '../servers.ts';
import { type Work, work } from '../work.ts';
import { limits, REFERENCE } from './limits.ts';
import { judge } from './judge.ts';
import { type Verdict, verdictsText } from './verdict.ts';

const ROWS = 10_000;
/** So many that writes come together even where the driver gets little of the machine. */
const CONNECTIONS = 64;
/**
 * Work that seems too dear is judged again with servers that are started anew: how a process happens to lie in memory,
 * and what was compiled in it, stays the same for all of its rounds.
 */
const STAGES = 3;

export async function gate({ work: names, subject, rounds }: Options): Promise<Report> {
  const unlimited = names.find((name) => !(name in limits));
  if (unlimited !== undefined)
    throw new UsageError(`--work: "${unlimited}" has no limit, only ${Object.keys(limits).join(', ')}`);
  const own: Contender = subject === '' ? engine : { ...engine, program: resolve(subject) };
  const contenders = [own, ...handWritten.filter(({ name }) => name === REFERENCE)];
  hurry();
  const progress = createProgress(names.length);
  const judgeAll = async ({ servers, driver }: Stage, wanted: readonly Work[]): Promise<readonly Verdict[]> => {
    const verdicts: Verdict[] = [];
    for (const one of wanted) {
      verdicts.push(await judge(servers, { work: one, connections: CONNECTIONS, driver }, rounds));
      progress.step(one.name);
    }
    return verdicts;
  };
  let wanted = work.filter(({ name }) => names.includes(name));
  const found = new Map<string, Verdict>();
  for (let stage = 0; stage < STAGES && wanted.length > 0; stage += 1) {
    for (const one of await onStage(contenders, ROWS, chooseCores(), (on) => judgeAll(on, wanted), memory()))
      found.set(one.work, one);
    wanted = wanted.filter(({ name }) => found.get(name)?.passed !== true);
  }
  progress.end();
  const verdicts = [...found.values()];
  const failed = verdicts.some(({ passed }) => !passed);
  return { text: verdictsText(verdicts, REFERENCE), data: verdicts, chart: '', failed };
}

/** A folder in memory, where there is one: nobody waits for a disk, and no file system changes what a write costs. */
function memory(): string {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return '/dev/shm';
  } catch {
    return tmpdir();
  }
}
