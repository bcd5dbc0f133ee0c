/** The same records in more and more types. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Cores } from '../cores.ts';
import type { Plan } from '../measure.ts';
import { insert, sqliteData } from '../database.ts';
import { type Running, start } from '../process.ts';
import { identifiers, itemOf } from '../records.ts';
import { inFolder, served, type Stage } from '../servers.ts';
import type { Axis, Growth } from './growth.ts';
import { type Effort, engineWith, growthsOf, roundsOf } from './rounds.ts';
import { descriptorOf, pathOf, tableOf, typesWork } from './types-work.ts';
import { type Start, startGrowths, startsOf, startTimes } from './starts.ts';
import { typesTargets } from './targets.ts';

/** In each type. */
const RECORDS = 200;
/** Statements are compiled when they are first wanted: each type is asked so often before it is measured. */
const VISITS = 8;

export const typesSteps = (sizes: readonly number[], plan: Plan): number =>
  (2 * startsOf(plan) + 1) * sizes.length + roundsOf(typesWork, sizes, plan);

/** A server that runs, and what it took to get there. */
interface Started {
  readonly server: Running;
  readonly first: Start;
  readonly again: Start;
  readonly memory: number;
}

export const scaleTypes = (sizes: readonly number[], cores: Cores, effort: Effort): Promise<Axis> =>
  inFolder(async (folder) => {
    const all: Started[] = [];
    const starts = sizes.map((types) => async () => {
      const started = await startWith(types, folder, cores, effort);
      all.push(started);
      return started.server;
    });
    return served(starts, cores, async (stage) => {
      await visitAll(stage, effort);
      const work = await growthsOf(typesWork, stage, effort);
      const growths: readonly Growth[] = [
        ...work,
        ...startGrowths(
          'first start',
          all.map(({ first }) => first),
        ),
        ...startGrowths(
          'start',
          all.map(({ again }) => again),
        ),
        { name: 'memory', unit: 'MiB', values: all.map(({ memory }) => memory) },
      ];
      return { title: 'More record types', of: 'types', sizes, growths, targets: typesTargets };
    });
  });

async function visitAll({ servers, driver }: Stage, { connections }: Effort): Promise<void> {
  for (const { url, contender, data } of servers)
    for (const { name } of typesWork) {
      const { rows, types = 1 } = data;
      const job = { url, dialect: contender.dialect, work: name, world: { rows, types, spare: 0 }, connections };
      await driver.ask({ ...job, first: 0, amount: Math.max(connections, VISITS * types) });
    }
}

async function startWith(types: number, folder: string, cores: Cores, { plan, progress }: Effort): Promise<Started> {
  const starts = startsOf(plan);
  const schema = join(folder, `${types} types`);
  mkdirSync(schema);
  for (const type of identifiers(types)) writeFileSync(join(schema, `${pathOf(type)}.yaml`), descriptorOf(type));
  const contender = engineWith(types, 'types', schema);
  const startOn = async (file: string): Promise<Running> => {
    const server = await start(contender, { ...sqliteData(join(schema, file), RECORDS), types }, [cores.server]);
    progress.step(`start with ${contender.name}`);
    return server;
  };
  const first = await startTimes(starts, (attempt) => startOn(`${attempt}.db`));
  fill(join(schema, '0.db'), types);
  const again = await startTimes(starts, () => startOn('0.db'));
  const server = await startOn('0.db');
  return { server, first, again, memory: server.memory().resident };
}

function fill(file: string, types: number): void {
  const database = new Database(file);
  database.pragma('synchronous = off');
  for (const type of identifiers(types))
    insert(database, tableOf(type), identifiers(RECORDS), (id) =>
      type === 1 ? itemOf(id) : { ...itemOf(id), previous_id: id },
    );
  database.close();
}
