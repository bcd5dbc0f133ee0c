/** `restore FILE`: a backup takes the place of the database, which is kept beside it. */
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { databaseAt } from '../storage/database.ts';
import { type Assessed, assess } from '../storage/plan/assess.ts';
import { blockers, formatSteps } from '../storage/plan/report.ts';
import { planFor } from '../storage/prepare.ts';
import { restore } from '../storage/sqlite/backup.ts';
import { sqliteFile } from './backup.ts';
import type { Command } from './command.ts';
import { readOptions } from './options.ts';
import { readModel } from './schema.ts';

const USAGE =
  'records restore FILE [--anyway]: looks through FILE, and puts a copy of it in the place of the database; --anyway where it does not fit the descriptors';

export const restoreBackup: Command = {
  run: async (args) => {
    const { positionals, values } = readOptions(args, { anyway: { type: 'boolean' } }, 1, USAGE);
    const [from] = positionals;
    if (from === undefined) throw new StartError(USAGE);
    const file = sqliteFile(`pg_restore --clean --if-exists --single-transaction --dbname=DATABASE_URL ${from}`);
    const { anyway = false } = values;
    const { rows, tables, former } = await restore(from, file, (copy) =>
      anyway ? Promise.resolve() : fits(from, copy),
    );
    console.log(`${file} is ${from} now: ${rows} rows in ${tables} tables, looked through, no fault`);
    if (former !== undefined) console.log(`What was there before: ${former}`);
    return 0;
  },
};

/** A service must be able to start with it: throws a StartError where somebody would have to decide something first. */
async function fits(from: string, copy: string): Promise<void> {
  const steps = await stepsFor(copy);
  if (blockers(steps).length > 0) throw new StartError(refusal(from, steps));
  if (steps.length > 0)
    console.log(
      `${from} was made with other descriptors. The next start makes these steps:\n${formatSteps(steps, false)}`,
    );
}

async function stepsFor(copy: string): Promise<readonly Assessed[]> {
  const model = readModel(readSettings(process.env).schemaDirectory);
  const driver = await databaseAt(`sqlite:${copy}`).open();
  try {
    return await assess(await planFor(model, driver), driver, driver.dialect, new Set());
  } finally {
    await driver.close();
  }
}

const refusal = (from: string, steps: readonly Assessed[]): string =>
  [
    `${from} was made with other descriptors, and the service would not start with it:`,
    '',
    formatSteps(steps, false),
    '',
    'Take the descriptors that it was made with, or restore it with --anyway and decide with "records plan" and "records apply".',
    'Nothing was changed.',
  ].join('\n');
