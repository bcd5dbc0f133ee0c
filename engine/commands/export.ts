/** `export`: all records as NDJSON, identifiers and relations included. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import type { Model } from '../model/model.ts';
import { StartError } from '../start-error.ts';
import type { Driver } from '../storage/driver.ts';
import { planFor } from '../storage/prepare.ts';
import { exportLines } from '../storage/transfer/export.ts';
import { textOf } from '../storage/transfer/lines.ts';
import type { Command } from './command.ts';
import { fileIn, progressBar, withDatabase } from './transfer.ts';

const USAGE = 'records export FILE: writes all records of the database, as NDJSON';

export const exportRecords: Command = {
  run: async (args) => {
    const file = fileIn(args, USAGE);
    const count = await withDatabase(async (model, driver) => {
      await requireApplied(model, driver);
      return write(model, driver, file);
    });
    console.log(`${count} lines written to ${file}`);
    return 0;
  },
};

async function requireApplied(model: Model, driver: Driver): Promise<void> {
  if ((await planFor(model, driver)).steps.length > 0)
    throw new StartError('The tables are not as the descriptors want them; see `records plan`. Nothing was written.');
}

/** The file has its name when it is whole. */
async function write(model: Model, driver: Driver, file: string): Promise<number> {
  const partial = `${file}.partial`;
  const out = createWriteStream(partial);
  await once(out, 'open').catch((error: Error) => {
    throw new StartError(`${file} cannot be written: ${error.message}`, { cause: error });
  });
  const progress = progressBar();
  let all = 0;
  let done = -1;
  for await (const line of exportLines(model, driver)) {
    if ('format' in line) all = line.lines;
    if (!out.write(`${textOf(line)}\n`)) await once(out, 'drain');
    progress((done += 1), all);
  }
  out.end();
  await finished(out);
  await rename(partial, file);
  return done;
}
