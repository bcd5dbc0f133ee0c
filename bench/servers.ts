/** Every contender of a run: each started on a copy of the same database, and stopped at the end, whatever happens. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Contender, DatabaseName } from './contenders.ts';
import type { Cores } from './cores.ts';
import type { Original } from './data.ts';
import { sqliteOriginal } from './database.ts';
import { type Driver, startDriver } from './driver/driver.ts';
import { atTheEnd } from './leftovers.ts';
import { postgresOriginal } from './postgres.ts';
import { type Running, start } from './process.ts';

export interface Stage {
  readonly servers: readonly Running[];
  readonly driver: Driver;
}

const createOriginal: Readonly<Record<DatabaseName, (folder: string, rows: number) => Promise<Original>>> = {
  sqlite: sqliteOriginal,
  postgres: postgresOriginal,
};

export async function onStage<T>(
  contenders: readonly Contender[],
  rows: number,
  cores: Cores,
  use: (stage: Stage) => Promise<T>,
  parent = tmpdir(),
): Promise<T> {
  return inFolder(async (folder) => {
    const originals = new Map<DatabaseName, Original>();
    try {
      for (const { database } of contenders)
        if (!originals.has(database)) originals.set(database, await createOriginal[database](folder, rows));
      const starts = contenders.map((contender) => async () => {
        const data = await originals.get(contender.database)?.copy(contender.name);
        if (!data) throw new Error(`there is no database for ${contender.name}`);
        return start(contender, data, contender.allCores === true ? cores.all : [cores.server]);
      });
      return await served(starts, cores, use);
    } finally {
      for (const original of originals.values()) await original.remove();
    }
  }, parent);
}

export async function served<T>(
  starts: readonly (() => Promise<Running>)[],
  cores: Cores,
  use: (stage: Stage) => Promise<T>,
): Promise<T> {
  const servers: Running[] = [];
  const driver = startDriver(cores.driver);
  try {
    for (const begin of starts) servers.push(await begin());
    return await use({ servers, driver });
  } finally {
    await Promise.all([driver.stop(), ...servers.map((server) => server.stop())]);
  }
}

/** A folder that is gone afterwards. */
export async function inFolder<T>(use: (folder: string) => Promise<T>, parent = tmpdir()): Promise<T> {
  const folder = mkdtempSync(join(parent, 'bench-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const forget = atTheEnd(remove);
  try {
    return await use(folder);
  } finally {
    forget();
    remove();
  }
}
