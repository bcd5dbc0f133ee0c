/** `plan`: what `apply` would do. Changes nothing. */
import type { Model } from '../model/model.ts';
import { NO_MODEL } from '../storage/migrate/applied.ts';
import { type Location, databaseAt } from '../storage/open.ts';
import { type Drift, driftOf, othersIn } from '../storage/migrate/catalogue.ts';
import { createPlan } from '../storage/migrate/plan.ts';
import type { Standing } from '../storage/migrate/applied.ts';
import {
  type Assessed,
  assessIn,
  formatDrift,
  formatOthers,
  formatPlan,
  LEGEND,
  planAsJson,
} from '../storage/migrate/assess.ts';
import { ownView, planFor } from '../storage/migrate/apply.ts';
import { print } from '../process.ts';
import { BOOLEAN, command, readModel } from './command.ts';

const USAGE =
  'records plan [--allow STEP]... [--back] [--sql] [--json]: exit code 0 nothing to do, 2 changes, 1 faults; --allow and --back show what "records apply" would do with them';

interface Looked {
  readonly standing: Standing | undefined;
  readonly steps: readonly Assessed[];
  readonly drift: readonly Drift[];
  readonly isThere: boolean;
  /** Columns and tables that this engine did not make. */
  readonly others: readonly string[];
}

export const plan = command(
  USAGE,
  { allow: { type: 'string', multiple: true }, back: BOOLEAN, sql: BOOLEAN, json: BOOLEAN },
  0,
  async ({ allow = [], back = false, sql = false, json = false }, _, { schemaDirectory, databaseUrl }) => {
    const looked = await look(readModel(schemaDirectory), databaseAt(databaseUrl), new Set(allow), back);
    print(json ? asJson(looked, sql) : format(looked, sql));
    return exitCode(looked);
  },
);

async function look(model: Model, database: Location, allowed: ReadonlySet<string>, back: boolean): Promise<Looked> {
  if (database.newDialect) {
    const { steps } = createPlan(NO_MODEL, model, database.newDialect);
    return {
      standing: undefined,
      steps: steps.map((step) => ({ step, state: 'ready', isAtStake: false, affected: [], obstacles: [] })),
      drift: [],
      others: [],
      isThere: false,
    };
  }
  const driver = await database.open();
  try {
    const found = await planFor(model, driver, allowed);
    const { standing } = found;
    // Throws a StartError if a start could not serve the tables.
    const isBehind = standing.state === 'behind' && !back;
    if (isBehind) ownView(model, standing);
    const drift = driftOf(found.applied, found.catalogue);
    const others = othersIn(found.applied, found.catalogue);
    if (isBehind) return { standing, steps: [], drift, others, isThere: true };
    const steps = await assessIn(found, driver, allowed);
    return { standing: undefined, steps, drift, others, isThere: true };
  } finally {
    await driver.close();
  }
}

function exitCode({ steps, drift }: Looked): number {
  if (drift.length > 0 || steps.some(({ state }) => state === 'blocked' || state === 'unclear')) return 1;
  return steps.some(({ state }) => state !== 'kept') ? 2 : 0;
}

const asJson = ({ steps, drift, standing, others }: Looked, sql: boolean): string => {
  const behind = standing && { database: standing.last ?? null, serves: standing.own?.number ?? null };
  return JSON.stringify({ ...planAsJson(steps, drift, sql, others), ...(behind ? { behind } : {}) }, null, 2);
};

function format({ steps, drift, standing, others, isThere }: Looked, sql: boolean): string {
  const told = (made: readonly Assessed[]): readonly string[] =>
    made.every(({ state }) => state === 'ready') ? [] : ['', LEGEND];
  return [
    ...(standing ? [formatBehind(standing)] : []),
    ...formatPlan(steps, told, { sql, notes: isThere }),
    ...(others.length === 0 ? [] : ['', formatOthers(others)]),
    ...(drift.length === 0 ? [] : ['', formatDrift(drift)]),
  ].join('\n');
}

const formatBehind = ({ last, own }: Standing): string =>
  `The database has model ${last ?? 0}. These descriptors were model ${own?.number ?? 0}: a start serves its own view of the tables.`;
