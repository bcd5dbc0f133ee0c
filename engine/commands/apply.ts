/**
 * `apply`: carries out the plan in one transaction. Steps by which records could lose something must be allowed, one by
 * one; what the descriptors do not name stays until its drop is allowed.
 */
import { CallerGone } from '../caller.ts';
import { didYouMean } from '../names.ts';
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { databaseAt } from '../storage/database.ts';
import { linksOf } from '../storage/define.ts';
import { type Applied, applyPlan, createEngineTables, planFor, renamePlanFor } from '../storage/migrate/apply.ts';
import type { Standing } from '../storage/migrate/history.ts';
import { formatKept, formatSteps, planAsJson } from '../storage/migrate/report.ts';
import { type Plan, stepId } from '../storage/migrate/steps.ts';
import { print, printError } from '../terminal.ts';
import { BOOLEAN, type Command, readModel, readOptions } from './command.ts';
import { follow } from './progress.ts';

const USAGE =
  'records apply [--allow STEP]... [--back] [--rename-columns] [--json]: "records plan" shows the steps and their names; --back applies descriptors that the database has left behind; --rename-columns gives tables and columns the names of the descriptors';

const NONE: ReadonlySet<string> = new Set();

export const apply: Command = {
  usage: USAGE,
  run: async (args) => {
    const known = {
      allow: { type: 'string', multiple: true },
      back: BOOLEAN,
      'rename-columns': BOOLEAN,
      json: BOOLEAN,
    } as const;
    const {
      allow = [],
      back = false,
      'rename-columns': renames = false,
      json = false,
    } = readOptions(args, known, 0, USAGE).values;
    const { schemaDirectory, databaseUrl } = readSettings(process.env);
    const model = readModel(schemaDirectory);
    const driver = await databaseAt(databaseUrl).open();
    const { watch, stopCode, end } = follow({ json, isStoppable: driver.dialect.locks });
    try {
      const done = await driver.exclusively(async () => {
        const allowed = new Set(allow);
        const plan = await planFor(model, driver, allowed);
        if (!back) refuseBehind(plan.standing);
        refuseUnknown(allow, [await planFor(model, driver), plan]);
        await createEngineTables(driver);
        const applied = await applyPlan(plan, driver, allowed, watch);
        await driver.expectSmallSets(linksOf(plan.model));
        const isTakenBack = plan.steps.length === 0 && (await driver.abandonMigration(watch));
        if (!renames) return { ...applied, isTakenBack };
        const { steps } = await applyPlan(await renamePlanFor(model, driver), driver, NONE, watch);
        return { ...applied, isTakenBack, steps: [...applied.steps, ...steps] };
      });
      end();
      print(json ? asJson(done) : format(done));
      return 0;
    } catch (error) {
      end();
      const code = stopCode();
      if (code === undefined || !(error instanceof CallerGone)) throw error;
      printError(STOPPED);
      return code;
    } finally {
      await driver.close();
    }
  },
};

const STOPPED =
  'Stopped. Clients see the tables as before, or as they should be. What is done is kept: run the same command again to go on, or apply other descriptors to take it back.';

/** Applied by mistake, such descriptors would turn the tables around under newer instances. */
function refuseBehind({ state, last, own }: Standing): void {
  if (state !== 'behind') return;
  throw new StartError(
    `The database has model ${last?.number}, and these descriptors were model ${own?.number}: a start serves its own view of the tables. To go back on purpose, look at "records plan --back", and use --back here too. Nothing was changed.`,
  );
}

/** What is allowed may make other steps needless. */
function refuseUnknown(allow: readonly string[], plans: readonly Plan[]): void {
  const pending = [...new Set(plans.flatMap(({ steps, kept }) => [...steps, ...kept].map(stepId)))];
  const unknown = allow.find((id) => !pending.includes(id));
  if (unknown === undefined) return;
  const steps = pending.length === 0 ? 'there is nothing to do' : `the steps are ${pending.join(', ')}`;
  const hint = didYouMean(unknown, pending) || `; ${steps}`;
  throw new StartError(`--allow ${unknown}: there is no such step${hint}. Nothing was changed.`);
}

interface Outcome extends Applied {
  /** Whether another migration had been stopped, and what it had prepared is gone. */
  readonly isTakenBack: boolean;
}

const asJson = ({ steps, backup, isTakenBack }: Outcome): string =>
  JSON.stringify({ ...planAsJson(steps, [], false), backup: backup ?? null, isTakenBack }, null, 2);

function format({ steps, backup, isTakenBack }: Outcome): string {
  const made = steps.filter(({ state }) => state !== 'kept');
  const kept = steps.filter(({ state }) => state === 'kept');
  return [
    ...(backup === undefined ? [] : [`The database as it was: ${backup}`]),
    ...(isTakenBack ? ['Took back what a migration to other descriptors had prepared.'] : []),
    ...(made.length === 0
      ? ['Nothing to do: the tables have what the descriptors want.']
      : [formatSteps(made), `${made.length} ${made.length === 1 ? 'step' : 'steps'} applied.`]),
    ...(kept.length === 0 ? [] : ['', formatKept(kept)]),
  ].join('\n');
}
