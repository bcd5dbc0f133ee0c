/** `export`: writes all records as NDJSON, with identifiers and relations. */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { newFile } from '../files.ts';
import type { Model } from '../model/model.ts';
import { reasonOf, StartError } from '../problem.ts';
import type { Driver } from '../storage/driver.ts';
import { planFor } from '../storage/migrate/apply.ts';
import { exportLines } from '../storage/transfer/export.ts';
import { print } from '../process.ts';
import { BOOLEAN, command, databaseFile, isOfSystem, progressBar, withDatabase } from './command.ts';

const USAGE =
  'records export FILE [--force]: writes all records of the database as NDJSON; --force replaces an existing file';

export const exportRecords = command(USAGE, { force: BOOLEAN }, 1, async ({ force = false }, [name], settings) => {
  if (name === undefined) throw new StartError(`The name of the file is missing\n${USAGE}`);
  const file = newFile(name, { force, database: databaseFile(settings) });
  try {
    const count = await withDatabase(settings, async (model, driver) =>
      write(await requireApplied(model, driver), driver, file.partial, name),
    );
    file.finish();
    print(`Wrote ${count} lines to ${name}`);
  } finally {
    file.discard();
  }
  return 0;
});

async function requireApplied(own: Model, driver: Driver): Promise<Model> {
  const { steps, kept, model } = await planFor(own, driver);
  if (steps.length + kept.length > 0)
    throw new StartError(
      'The tables do not match the descriptors; see `records plan`. What no descriptor names would be missing from the export. Nothing was written.',
    );
  return model;
}

async function write(model: Model, driver: Driver, partial: string, name: string): Promise<number> {
  const progress = progressBar();
  let [done, all] = [-1, 0];
  async function* lines(): AsyncGenerator<string> {
    for await (const line of exportLines(model, driver)) {
      if (typeof line === 'object') all = line.lines;
      progress((done += 1), all);
      yield `${typeof line === 'object' ? JSON.stringify(line) : line}\n`;
    }
  }
  const out = createWriteStream(partial, { flags: 'r+' });
  await pipeline(lines, out).catch((error: unknown) => {
    throw isOfSystem(error) ? new StartError(`${name} cannot be written: ${reasonOf(error)}`, { cause: error }) : error;
  });
  return done;
}
