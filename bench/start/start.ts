/** `bench -- start`: how soon the shipped record types are served, and in how much memory. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Contender, engine, ROOT } from '../contenders.ts';
import { chooseCores, type Cores, hurry, pinned } from '../cores.ts';
import { sqliteData } from '../database.ts';
import type { Options } from '../options.ts';
import { start } from '../process.ts';
import { createProgress } from '../report/progress.ts';
import type { Report } from '../report/report.ts';
import { inFolder } from '../servers.ts';
import { type Taken, takenReport } from './report.ts';

const environment = { SCHEMA_DIR: join(ROOT, 'schema') };
const shipped: Contender = { ...engine, environment };
const COMMANDS = join(__dirname, '../../engine/cli.js');

interface Round {
  readonly first: number;
  readonly again: number;
  readonly cpu: number;
  readonly memory: number;
  readonly check: number;
}

export async function startTimes({ rounds: count }: Options): Promise<Report> {
  const cores = chooseCores();
  hurry();
  const progress = createProgress(count);
  const rounds: Round[] = [];
  for (let round = 0; round < count; round += 1) {
    rounds.push(await oneRound(cores));
    progress.step(`start and check, round ${round + 1}`);
  }
  progress.end();
  const taken: readonly Taken[] = [
    { what: 'listening, no database yet', unit: 'ms', values: rounds.map(({ first }) => first), limit: 500 },
    { what: 'listening, the database is there', unit: 'ms', values: rounds.map(({ again }) => again), limit: 500 },
    { what: 'CPU until then', unit: 'ms', values: rounds.map(({ cpu }) => cpu) },
    { what: 'resident memory, listening', unit: 'MiB', values: rounds.map(({ memory }) => memory), limit: 120 },
    { what: 'check', unit: 'ms', values: rounds.map(({ check }) => check) },
  ];
  return takenReport(taken);
}

const oneRound = ({ server: core }: Cores): Promise<Round> =>
  inFolder(async (folder) => {
    const data = sqliteData(join(folder, 'records.db'), 0);
    const { startTime: first, ...firstServer } = await start(shipped, data, [core]);
    const { resident: memory } = firstServer.memory();
    await firstServer.stop();
    const { startTime: again, ...secondServer } = await start(shipped, data, [core]);
    const cpu = secondServer.cpu() / 1000;
    await secondServer.stop();
    return { first, again, cpu, memory, check: await checkTime(core) };
  });

/** Milliseconds from the start of the process until it has ended. */
async function checkTime(core: number): Promise<number> {
  const began = performance.now();
  const [command, ...args] = pinned([core], [process.execPath, COMMANDS, 'check']);
  const child = spawn(command, args, { env: { ...process.env, ...environment }, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`check ended with ${code}`);
  return performance.now() - began;
}
