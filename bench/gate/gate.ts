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
import { work } from '../work.ts';
import { limits, REFERENCE } from './limits.ts';
import { judge } from './judge.ts';
import { type Verdict, verdictsText } from './verdict.ts';

const ROWS = 10_000;
/** So many that writes come together even where the driver gets little of the machine. */
const CONNECTIONS = 64;

export async function gate({ work: names, subject, rounds }: Options): Promise<Report> {
  const unlimited = names.find((name) => !(name in limits));
  if (unlimited !== undefined)
    throw new UsageError(`--work: "${unlimited}" has no limit, only ${Object.keys(limits).join(', ')}`);
  const wanted = work.filter(({ name }) => names.includes(name));
  const own: Contender = subject === '' ? engine : { ...engine, program: resolve(subject) };
  const contenders = [own, ...handWritten.filter(({ name }) => name === REFERENCE)];
  hurry();
  const progress = createProgress(wanted.length);
  const judgeAll = async ({ servers, driver }: Stage): Promise<readonly Verdict[]> => {
    const verdicts: Verdict[] = [];
    for (const one of wanted) {
      verdicts.push(await judge(servers, { work: one, connections: CONNECTIONS, driver }, rounds));
      progress.step(one.name);
    }
    return verdicts;
  };
  const verdicts = await onStage(contenders, ROWS, chooseCores(), judgeAll, memory());
  progress.end();
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
