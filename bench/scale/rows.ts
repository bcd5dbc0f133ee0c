/** The same work at more and more rows. */
import { join } from 'node:path';
import { SCHEMA } from '../contenders.ts';
import type { Cores } from '../cores.ts';
import type { Plan } from '../measure.ts';
import { createDatabase, sqliteData } from '../database.ts';
import { startAssistant } from '../driver/assistant.ts';
import type { Read, Reading } from '../driver/list-reader.ts';
import { type Running, start } from '../process.ts';
import type { Progress } from '../report/progress.ts';
import { inFolder, served } from '../servers.ts';
import type { Axis, Growth } from './growth.ts';
import { type Effort, engineWith, growthsOf, roundsOf } from './rounds.ts';
import { rowsWork, WHOLE_LIST } from './rows-work.ts';
import { rowsTargets } from './targets.ts';

export const rowsSteps = (sizes: readonly number[], plan: Plan): number =>
  2 * sizes.length + roundsOf(rowsWork, sizes, plan);

export const scaleRows = (sizes: readonly number[], cores: Cores, effort: Effort): Promise<Axis> =>
  inFolder(async (folder) => {
    const begin = sizes.map((rows) => async (): Promise<Running> => {
      const file = join(folder, `${rows}.db`);
      await createDatabase(file, rows, SCHEMA, 0);
      effort.progress.step(`${rows} rows made`);
      return start(engineWith(rows, 'rows', SCHEMA), sqliteData(file, rows), [cores.server]);
    });
    return served(begin, cores, async (stage) => {
      const { servers } = stage;
      const starts = servers.map(({ startTime }) => startTime / 1000);
      const memory = servers.map((server) => server.memory().resident);
      const whole = await wholeLists(servers, cores, effort.progress);
      const work = await growthsOf(rowsWork, stage, effort);
      const growths: readonly Growth[] = [
        ...work,
        ...whole,
        { name: 'start', unit: 's', values: starts },
        { name: 'memory', unit: 'MiB', values: memory },
      ];
      return { title: 'More rows', of: 'rows', sizes, growths, targets: rowsTargets };
    });
  });

async function wholeLists(servers: readonly Running[], cores: Cores, progress: Progress): Promise<readonly Growth[]> {
  const reader = startAssistant<Reading, Read>(join(__dirname, '../driver/list-reader.js'), cores.driver);
  const found: { readonly cost: number; readonly memory: number }[] = [];
  try {
    for (const server of servers) {
      found.push(await wholeList(server, reader.ask));
      progress.step(`whole list, ${server.contender.name}`);
    }
  } finally {
    await reader.stop();
  }
  return [
    { name: 'whole list, for each record', unit: 'µs', values: found.map(({ cost }) => cost) },
    { name: 'whole list, more memory', unit: 'MiB', values: found.map(({ memory }) => memory) },
  ];
}

/** The first list of the server: the thread that reads it is part of what it costs. */
async function wholeList(
  server: Running,
  read: (reading: Reading) => Promise<Read>,
): Promise<{ readonly cost: number; readonly memory: number }> {
  const { rows } = server.data;
  server.forgetPeak();
  const { resident } = server.memory();
  const before = server.cpu();
  const { records } = await read({ url: server.url + WHOLE_LIST });
  if (records !== rows) throw new Error(`the whole list had ${records} records of ${rows}`);
  return { cost: (server.cpu() - before) / rows, memory: Math.max(0, server.memory().peak - resident) };
}
