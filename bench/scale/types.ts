/** The same records in more and more types. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Contender, engine, ROOT } from '../contenders.ts';
import type { Cores } from '../cores.ts';
import type { Plan } from '../measure.ts';
import { insert, itemRow, sqliteData } from '../database.ts';
import { type Running, start } from '../process.ts';
import { identifiers, itemOf } from '../records.ts';
import { inFolder, served } from '../servers.ts';
import { median } from '../statistics.ts';
import type { Axis, Growth } from './growth.ts';
import { type Effort, engineWith, growthsOf, roundsOf } from './rounds.ts';
import { descriptorOf, pathOf, tableOf, typesWork } from './types-work.ts';
import { shippedTargets, typesTargets } from './targets.ts';

/** In all types together. */
const RECORDS = 100_000;
const LEAST_RECORDS = 20;
/** Of each, the median counts. */
const STARTS = 3;
const SHIPPED_SCHEMA = join(ROOT, 'schema');
const SHIPPED: Contender = { ...engine, name: 'shipped types', environment: { SCHEMA_DIR: SHIPPED_SCHEMA } };

export const typesSteps = (sizes: readonly number[], plan: Plan): number =>
  (2 * STARTS + 1) * sizes.length + STARTS + roundsOf(typesWork, sizes, plan);

/** A server that runs, and what it took to get there. */
interface Started {
  readonly server: Running;
  readonly first: number;
  readonly again: number;
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
      const work = await growthsOf(typesWork, stage, effort);
      const growths: readonly Growth[] = [
        ...work,
        { name: 'first start', unit: 's', values: all.map(({ first }) => first) },
        { name: 'start', unit: 's', values: all.map(({ again }) => again) },
        { name: 'memory', unit: 'MiB', values: all.map(({ memory }) => memory) },
      ];
      return { title: 'More record types', of: 'types', sizes, growths, targets: typesTargets };
    });
  });

async function startWith(types: number, folder: string, cores: Cores, { progress }: Effort): Promise<Started> {
  const schema = join(folder, `${types} types`);
  mkdirSync(schema);
  for (const type of identifiers(types)) writeFileSync(join(schema, `${pathOf(type)}.yaml`), descriptorOf(type));
  const rows = Math.max(LEAST_RECORDS, Math.floor(RECORDS / types));
  const contender = engineWith(types, 'types', schema);
  const startOn = async (file: string): Promise<Running> => {
    const server = await start(contender, { ...sqliteData(join(schema, file), rows), types }, [cores.server]);
    progress.step(`start with ${contender.name}`);
    return server;
  };
  const firsts = await startTimes((attempt) => startOn(`${attempt}.db`));
  fill(join(schema, '0.db'), types, rows);
  const others = await startTimes(() => startOn('0.db'));
  const server = await startOn('0.db');
  return { server, first: median(firsts), again: median(others), memory: server.memory().resident };
}

/** In seconds. */
async function startTimes(begin: (attempt: number) => Promise<Running>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let attempt = 0; attempt < STARTS; attempt += 1) {
    const server = await begin(attempt);
    times.push(server.startTime / 1000);
    await server.stop();
  }
  return times;
}

function fill(file: string, types: number, rows: number): void {
  const database = new Database(file);
  database.pragma('synchronous = off');
  for (const type of identifiers(types))
    insert(database, tableOf(type), identifiers(rows), (id) => [...itemRow(itemOf(id)), ...(type === 1 ? [] : [id])]);
  database.close();
}

/** What `npm start` does in this project. */
export const startShipped = (cores: Cores, { progress }: Effort): Promise<Axis> =>
  inFolder(async (folder) => {
    const memories: number[] = [];
    const times = await startTimes(async (attempt) => {
      const server = await start(SHIPPED, sqliteData(join(folder, `${attempt}.db`), 0), [cores.server]);
      memories.push(server.memory().resident);
      progress.step(`start with the ${SHIPPED.name}`);
      return server;
    });
    const types = readdirSync(SHIPPED_SCHEMA).filter((file) => file.endsWith('.yaml')).length;
    const growths: readonly Growth[] = [
      { name: 'first start', unit: 's', values: [median(times)] },
      { name: 'memory', unit: 'MiB', values: [median(memories)] },
    ];
    return { title: 'The shipped record types', of: 'types', sizes: [types], growths, targets: shippedTargets };
  });
