/** `apply`: makes the plan true, in one transaction. What records could lose something by has to be allowed, step by step. */
import { didYouMean } from '../names.ts';
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { databaseAt } from '../storage/database.ts';
import type { Driver } from '../storage/driver.ts';
import { type Applied, applyPlan } from '../storage/migrate/apply.ts';
import { formatSteps, planAsJson } from '../storage/migrate/report.ts';
import { type Plan, stepId } from '../storage/migrate/step.ts';
import { makeEngineTables, planFor, rememberModel } from '../storage/migrate/prepare.ts';
import { print } from '../terminal.ts';
import { type Command, readModel, readOptions } from './command.ts';

const USAGE = 'records apply [--allow STEP]... [--json]: the steps and their names are shown by "records plan"';

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
        await makeEngineTables(driver);
        return makeTrue(await planFor(model, driver), driver, allow);
      });
      print(json ? asJson(applied) : format(applied));
    } finally {
      await driver.close();
    }
    return 0;
  },
};

async function makeTrue(plan: Plan, driver: Driver, allow: readonly string[]): Promise<Applied> {
  const pending = plan.steps.map(stepId);
  const unknown = allow.find((id) => !pending.includes(id));
  if (unknown !== undefined) throw new StartError(notPending(unknown, pending));
  if (plan.steps.length > 0) return applyPlan(plan, driver, { allowed: new Set(allow) });
  await rememberModel(plan, driver);
  return { steps: [], backup: undefined };
}

function notPending(id: string, pending: readonly string[]): string {
  const steps = pending.length === 0 ? 'there is nothing to do' : `the steps are ${pending.join(', ')}`;
  return `--allow ${id}: there is no such step${didYouMean(id, pending) || `; ${steps}`}. Nothing was changed.`;
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
