/** `plan`: what the descriptors would change in the database, and what that would do to its records. Changes nothing. */
import type { Model } from '../model/model.ts';
import { readSettings } from '../settings.ts';
import { NO_MODEL } from '../storage/migrate/applied.ts';
import { type Database, databaseAt } from '../storage/open.ts';
import type { Drift } from '../storage/migrate/driver.ts';
import { assess, type Assessed } from '../storage/migrate/assess.ts';
import { createPlan } from '../storage/migrate/plan.ts';
import type { Standing } from '../storage/migrate/history.ts';
import { formatDrift, formatPlan, formatRenames, planAsJson } from '../storage/migrate/report.ts';
import { ownView, planFor } from '../storage/migrate/apply.ts';
import { renamePlan } from '../storage/migrate/rename.ts';
import type { MigrationStep } from '../storage/migrate/steps.ts';
import { print } from '../terminal.ts';
import { BOOLEAN, type Command, readModel, readOptions } from './command.ts';

const USAGE =
  'records plan [--allow STEP]... [--back] [--sql] [--json]: exit code 0 nothing to do, 2 changes, 1 faults; --allow and --back show what "records apply" would do with them';

const NOTHING = { steps: [] };

interface Looked {
  readonly standing: Standing | undefined;
  readonly steps: readonly Assessed[];
  readonly drift: readonly Drift[];
  /** What `apply --rename-columns` would do, if there is nothing else to do. */
  readonly renames: readonly MigrationStep[];
  /** Whether one of the tables that drifted would be changed. */
  readonly inTheWay: boolean;
}

export const plan: Command = {
  usage: USAGE,
  run: async (args) => {
    const known = { allow: { type: 'string', multiple: true }, back: BOOLEAN, sql: BOOLEAN, json: BOOLEAN } as const;
    const { allow = [], back = false, sql = false, json = false } = readOptions(args, known, 0, USAGE).values;
    const { schemaDirectory, databaseUrl } = readSettings(process.env);
    const looked = await look(readModel(schemaDirectory), databaseAt(databaseUrl), new Set(allow), back);
    print(json ? asJson(looked, sql) : format(looked, sql));
    return exitCode(looked);
  },
};

async function look(model: Model, database: Database, allowed: ReadonlySet<string>, back: boolean): Promise<Looked> {
  if (database.newDialect) {
    const { steps } = createPlan(NO_MODEL, model, database.newDialect);
    return {
      standing: undefined,
      steps: steps.map((step) => ({ step, state: 'ready', isAtStake: false, affected: [], rows: undefined })),
      drift: [],
      renames: [],
      inTheWay: false,
    };
  }
  const driver = await database.open();
  try {
    const found = await planFor(model, driver, allowed);
    const { standing } = found;
    // A start would change nothing. It throws a StartError if it could not serve the tables.
    const isBehind = standing.state === 'behind' && !back;
    if (isBehind) ownView(model, standing);
    const tables = [...Object.values(found.applied.types), ...found.applied.joins];
    const drift = await driver.drift(Object.fromEntries(tables.map(({ table, definition }) => [table, definition])));
    if (isBehind) return { standing, steps: [], drift, renames: [], inTheWay: false };
    const steps = await assess(found, driver, driver.dialect, allowed);
    const inTheWay = drift.some(({ table }) => found.touched[table] !== undefined);
    const { steps: renames } = found.steps.length > 0 ? NOTHING : renamePlan(found, model, driver.dialect);
    return { standing: undefined, steps, drift, renames, inTheWay };
  } finally {
    await driver.close();
  }
}

function exitCode({ steps, inTheWay }: Looked): number {
  if (inTheWay || steps.some(({ state }) => state === 'blocked' || state === 'unclear')) return 1;
  return steps.some(({ state }) => state !== 'kept') ? 2 : 0;
}

const asJson = ({ steps, drift, renames, standing }: Looked, sql: boolean): string => {
  const behind = standing && { database: standing.last?.number ?? null, serves: standing.own?.number ?? null };
  return JSON.stringify({ ...planAsJson(steps, drift, sql, renames), ...(behind ? { behind } : {}) }, null, 2);
};

const LEGEND = 'x records stand in the way   ? say what is meant   ! needs --allow';

function format({ steps, drift, renames, standing }: Looked, sql: boolean): string {
  const told = (made: readonly Assessed[]): readonly string[] =>
    made.every(({ state }) => state === 'ready') ? [] : ['', LEGEND];
  return [
    ...(standing ? [formatBehind(standing)] : []),
    ...formatPlan(steps, told, { sql, notes: true }),
    ...(renames.length === 0 ? [] : ['', formatRenames(renames, sql)]),
    ...(drift.length === 0 ? [] : ['', formatDrift(drift)]),
  ].join('\n');
}

const formatBehind = ({ last, own }: Standing): string =>
  `The database has model ${last?.number ?? 0}. These descriptors were model ${own?.number ?? 0}: a start serves its own view of the tables.`;
