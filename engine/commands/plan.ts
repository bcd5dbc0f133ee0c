/** `plan`: what the descriptors would change in the database, and what that would do to its records. Changes nothing. */
import type { Model } from '../model/model.ts';
import { readSettings } from '../settings.ts';
import { NO_MODEL } from '../storage/migrate/applied.ts';
import { type Database, databaseAt } from '../storage/database.ts';
import type { Drift } from '../storage/migrate/driver.ts';
import { assess, type Assessed } from '../storage/migrate/assess.ts';
import { createPlan } from '../storage/migrate/plan.ts';
import { formatDrift, formatSteps, planAsJson } from '../storage/migrate/report.ts';
import { planFor } from '../storage/migrate/apply.ts';
import { print } from '../terminal.ts';
import { type Command, readModel, readOptions } from './command.ts';

const USAGE = 'records plan [--sql] [--json]: exit code 0 nothing to do, 2 changes, 1 faults';

interface Looked {
  readonly steps: readonly Assessed[];
  readonly drift: readonly Drift[];
  /** Whether one of the tables that drifted would be changed. */
  readonly inTheWay: boolean;
}

export const plan: Command = {
  usage: USAGE,
  run: async (args) => {
    const { values } = readOptions(args, { sql: { type: 'boolean' }, json: { type: 'boolean' } }, 0, USAGE);
    const { sql = false, json = false } = values;
    const { schemaDirectory, databaseUrl } = readSettings(process.env);
    const looked = await look(readModel(schemaDirectory), databaseAt(databaseUrl));
    print(json ? JSON.stringify(planAsJson(looked.steps, looked.drift, sql), null, 2) : format(looked, sql));
    return exitCode(looked);
  },
};

async function look(model: Model, database: Database): Promise<Looked> {
  if (database.newDialect) {
    const { steps } = createPlan(NO_MODEL, model, database.newDialect);
    return {
      steps: steps.map((step) => ({ step, state: 'ready', isAtStake: false, affected: [] })),
      drift: [],
      inTheWay: false,
    };
  }
  const driver = await database.open();
  try {
    const found = await planFor(model, driver);
    const tables = [...Object.values(found.applied.types), ...found.applied.joins];
    const drift = await driver.drift(Object.fromEntries(tables.map(({ table, definition }) => [table, definition])));
    const steps = await assess(found, driver, driver.dialect, new Set());
    return { steps, drift, inTheWay: drift.some(({ table }) => found.touched[table] !== undefined) };
  } finally {
    await driver.close();
  }
}

function exitCode({ steps, inTheWay }: Looked): number {
  if (inTheWay || steps.some(({ state }) => state === 'blocked' || state === 'unclear')) return 1;
  return steps.length > 0 ? 2 : 0;
}

const LEGEND = 'x records stand in the way   ? say what is meant   ! needs --allow';

function format({ steps, drift }: Looked, sql: boolean): string {
  const isPlain = steps.every(({ state }) => state === 'ready');
  return [
    steps.length === 0 ? 'Nothing to do: the tables are as the descriptors want them.' : formatSteps(steps, sql),
    ...(isPlain ? [] : ['', LEGEND]),
    ...(drift.length === 0 ? [] : ['', formatDrift(drift)]),
  ].join('\n');
}
