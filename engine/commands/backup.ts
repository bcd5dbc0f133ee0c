/** `backup FILE` copies the database while the service runs; `restore FILE` replaces the database by the copy. */
import { firstOf } from '../names.ts';
import { Problem, StartError } from '../problem.ts';
import type { Settings } from '../settings/settings.ts';
import { type Assessed, assessIn, blockers, formatSteps } from '../storage/migrate/assess.ts';
import { ownView, planFor } from '../storage/migrate/apply.ts';
import { backUp, restore } from '../storage/sqlite/backup.ts';
import { print, printError } from '../process.ts';
import { BOOLEAN, command, databaseFile, withDatabase } from './command.ts';

const MAX_NAMED = 20;

const BACKUP =
  'records backup FILE [--force]: copies the database of DATABASE_URL to FILE, and verifies the copy; --force overwrites an existing file';

export const backup = command(BACKUP, { force: BOOLEAN }, ['FILE'], async ({ force = false }, [to], settings) => {
  const file = sqliteFile(settings, `pg_dump --format=custom --file=${to} DATABASE_URL`);
  const { rows, tables, foreign } = await backUp(file, to, force);
  print(`${to}: ${rows} rows in ${tables} tables, verified`);
  if (foreign.length > 0)
    printError(
      `Not made by this engine, and refused by "records restore" without --force: ${firstOf(foreign, MAX_NAMED)}`,
    );
  return 0;
});

function sqliteFile(settings: Settings, instead: string): string {
  const file = databaseFile(settings);
  if (file !== undefined) return file;
  throw new StartError(`This is for SQLite files. PostgreSQL has a program of its own for it: ${instead}`);
}

const RESTORE =
  'records restore FILE [--force]: verifies FILE, and replaces the database with a copy of it; --force accepts a file that does not fit the descriptors, or holds what the engine did not create';

export const restoreBackup = command(RESTORE, { force: BOOLEAN }, ['FILE'], async ({ force }, [from], settings) => {
  const file = sqliteFile(
    settings,
    `pg_restore --clean --if-exists --single-transaction --dbname=DATABASE_URL ${from}`,
  );
  const { rows, tables, former } = await restore(from, file, async (copy, { foreign }) => {
    if (force) return;
    if (foreign.length > 0) throw new StartError(refuseForeign(from, foreign));
    await fits(settings, from, copy);
  });
  print(`${file} is ${from} now: ${rows} rows in ${tables} tables, verified`);
  if (former !== undefined) print(`What was there before: ${former}`);
  return 0;
});

const refuseForeign = (from: string, foreign: readonly string[]): string =>
  `${from} holds what this engine did not make: ${firstOf(foreign, MAX_NAMED)}.
Triggers and views run as part of what the service does. Restore it with --force if you know them. Nothing was changed.`;

async function fits(settings: Settings, from: string, copy: string): Promise<void> {
  const assessed = withDatabase({ ...settings, databaseUrl: `sqlite:${copy}` }, async (model, driver) => {
    const plan = await planFor(model, driver);
    if (plan.history.state !== 'behind') return assessIn(plan, driver, new Set());
    // The copy has newer descriptors: throws a StartError if a start could not serve it.
    ownView(plan.model, plan.history);
    return [];
  });
  const steps = await assessed.catch((error: unknown) => {
    if (error instanceof StartError || error instanceof Problem) throw error;
    const message = 'The file remembers tables in a form that this engine does not know. Nothing was changed.';
    throw new StartError(message, { cause: error });
  });
  if (blockers(steps).length > 0) throw new StartError(refusal(from, steps));
  const made = steps.filter(({ state }) => state === 'ready');
  if (made.length > 0) print(`The next start makes these steps:\n${formatSteps(made)}`);
}

const refusal = (from: string, steps: readonly Assessed[]): string =>
  `${from} was made with other descriptors, and the service would not start with it:

${formatSteps(steps)}

Use the descriptors that it was made with, or restore it with --force and decide with "records plan" and "records apply".
Nothing was changed.`;
