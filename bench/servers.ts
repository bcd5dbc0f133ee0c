/** Every contender of a run: each started on a copy of the same database, and stopped at the end, whatever happens. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Contender, SCHEMA } from './contenders.ts';
import type { Cores } from './cores.ts';
import { copyDatabase, createDatabase } from './database.ts';
import { type Driver, startDriver } from './driver/driver.ts';
import { type Running, start } from './process.ts';

export interface Stage {
  readonly servers: readonly Running[];
  readonly driver: Driver;
}

export async function onStage<T>(
  contenders: readonly Contender[],
  rows: number,
  cores: Cores,
  use: (stage: Stage) => Promise<T>,
): Promise<T> {
  return inFolder(async (folder) => {
    const original = join(folder, 'original.db');
    await createDatabase(original, rows, SCHEMA);
    const starts = contenders.map((contender) => () => {
      const data = copyDatabase(original, join(folder, `${contender.name}.db`), rows);
      return start(contender, data, [cores.server]);
    });
    return served(starts, cores, use);
  });
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
export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
