/** `restore FILE`: a backup takes the place of the database, which is kept beside it. */
import { Problem } from '../problem.ts';
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { databaseAt } from '../storage/open.ts';
import { type Assessed, assessIn } from '../storage/migrate/assess.ts';
import { blockers, formatSteps } from '../storage/migrate/report.ts';
import { ownView, planFor } from '../storage/migrate/apply.ts';
import { listed, restore } from '../storage/sqlite/backup.ts';
import { print } from '../terminal.ts';
import { sqliteFile } from './backup.ts';
import { type Command, readModel, readOptions } from './command.ts';

const USAGE =
  'records restore FILE [--force]: verifies FILE, and replaces the database with a copy of it; --force accepts a file that does not fit the descriptors, or holds what the engine did not create';

export const restoreBackup: Command = {
  usage: USAGE,
  run: async (args) => {
    const { positionals, values } = readOptions(args, { force: { type: 'boolean' } }, 1, USAGE);
    const [from] = positionals;
    if (from === undefined) throw new StartError(USAGE);
    const file = sqliteFile(`pg_restore --clean --if-exists --single-transaction --dbname=DATABASE_URL ${from}`);
    const { rows, tables, former } = await restore(from, file, async (copy, { foreign }) => {
      if (values.force) return;
      if (foreign.length > 0) throw new StartError(refuseForeign(from, foreign));
      await fits(from, copy);
    });
    print(`${file} is ${from} now: ${rows} rows in ${tables} tables, verified`);
    if (former !== undefined) print(`What was there before: ${former}`);
    return 0;
  },
};

const refuseForeign = (from: string, foreign: readonly string[]): string =>
  [
    `${from} holds what this engine did not make: ${listed(foreign)}.`,
    'Triggers and views run as part of what the service does. Restore it with --force if you know them. Nothing was changed.',
  ].join('\n');

/** A service must be able to start with it: throws a StartError where somebody would have to decide something first. */
async function fits(from: string, copy: string): Promise<void> {
  const steps = await stepsFor(copy);
  if (blockers(steps).length > 0) throw new StartError(refusal(from, steps));
  const made = steps.filter(({ state }) => state === 'ready');
  if (made.length > 0)
    print(`${from} was made with other descriptors. The next start makes these steps:\n${formatSteps(made)}`);
}

async function stepsFor(copy: string): Promise<readonly Assessed[]> {
  const model = readModel(readSettings(process.env).schemaDirectory);
  const driver = await databaseAt(`sqlite:${copy}`).open();
  try {
    const plan = await planFor(model, driver);
    if (plan.standing.state !== 'behind') return await assessIn(plan, driver, new Set());
    // Made for newer descriptors: a start changes nothing, and throws a StartError if it could not serve the tables.
    ownView(model, plan.standing);
    return [];
  } catch (error) {
    if (error instanceof StartError || error instanceof Problem) throw error;
    // Whoever made the file has written into what the engine remembers of its tables.
    throw new StartError('The file remembers tables in a form that this engine does not know. Nothing was changed.', {
      cause: error,
    });
  } finally {
    await driver.close();
  }
}

const refusal = (from: string, steps: readonly Assessed[]): string =>
  [
    `${from} was made with other descriptors, and the service would not start with it:`,
    '',
    formatSteps(steps),
    '',
    'Use the descriptors that it was made with, or restore it with --force and decide with "records plan" and "records apply".',
    'Nothing was changed.',
  ].join('\n');
