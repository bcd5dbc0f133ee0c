/** `apply`: carries out the plan in one transaction. Steps by which records could lose something must be allowed, one by one. */
import { didYouMean } from '../names.ts';
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { databaseAt } from '../storage/database.ts';
import { type Applied, applyPlan, createEngineTables, planFor } from '../storage/migrate/apply.ts';
import { formatSteps, planAsJson } from '../storage/migrate/report.ts';
import { type Plan, stepId } from '../storage/migrate/steps.ts';
import { print } from '../terminal.ts';
import { type Command, readModel, readOptions } from './command.ts';

const USAGE = 'records apply [--allow STEP]... [--json]: "records plan" shows the steps and their names';

export const apply: Command = {
  usage: USAGE,
  run: async (args) => {
    const known = { allow: { type: 'string', multiple: true }, json: { type: 'boolean' } } as const;
    const { allow = [], json = false } = readOptions(args, known, 0, USAGE).values;
    const { schemaDirectory, databaseUrl } = readSettings(process.env);
    const model = readModel(schemaDirectory);
    const driver = await databaseAt(databaseUrl).open();
    try {
      const applied = await driver.exclusively(async () => {
        await createEngineTables(driver);
        const plan = await planFor(model, driver);
        refuseUnknown(allow, plan);
        return applyPlan(plan, driver, new Set(allow));
      });
      print(json ? asJson(applied) : format(applied));
    } finally {
      await driver.close();
    }
    return 0;
  },
};

function refuseUnknown(allow: readonly string[], plan: Plan): void {
  const pending = plan.steps.map(stepId);
  const unknown = allow.find((id) => !pending.includes(id));
  if (unknown === undefined) return;
  const steps = pending.length === 0 ? 'there is nothing to do' : `the steps are ${pending.join(', ')}`;
  const hint = didYouMean(unknown, pending) || `; ${steps}`;
  throw new StartError(`--allow ${unknown}: there is no such step${hint}. Nothing was changed.`);
}

const asJson = ({ steps, backup }: Applied): string =>
  JSON.stringify({ ...planAsJson(steps, [], false), backup: backup ?? null }, null, 2);

function format({ steps, backup }: Applied): string {
  if (steps.length === 0) return 'Nothing to do: the tables are as the descriptors want them.';
  return [
    ...(backup === undefined ? [] : [`The database as it was: ${backup}`]),
    formatSteps(steps, false),
    `${steps.length} ${steps.length === 1 ? 'step' : 'steps'} applied.`,
  ].join('\n');
}
