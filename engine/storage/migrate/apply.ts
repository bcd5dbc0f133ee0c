/** Brings the database to the Model: at start what no record can lose anything by, with `apply` what was allowed as well. */
import { isDeepStrictEqual } from 'node:util';
import type { Model } from '../../model/model.ts';
import { StartError } from '../../start-error.ts';
import type { Driver, Reader } from '../driver.ts';
import { engineTables } from '../engine-tables.ts';
import { MODEL_TABLE, NO_MODEL, readAppliedModel, writeAppliedModel } from './applied.ts';
import { assess, type Assessed } from './assess.ts';
import { createPlan } from './plan.ts';
import { blockers, formatRefusal } from './report.ts';
import type { Plan } from './steps.ts';

/** Throws a StartError, with the plan in its message, where somebody has to allow a step; nothing is changed then. */
export async function prepare(model: Model, driver: Driver): Promise<void> {
  await createEngineTables(driver);
  try {
    await applyPlan(await planFor(model, driver), driver, new Set());
  } catch (error) {
    if (!(error instanceof StalePlan)) throw error;
    // Another instance started at the same time, and was first.
    await applyPlan(await planFor(model, driver), driver, new Set());
  }
}

export async function createEngineTables(driver: Driver): Promise<void> {
  const known = new Set(await driver.existing());
  const missing = [...engineTables(driver.dialect)].filter(([name]) => !known.has(name)).map(([, ddl]) => ddl);
  if (missing.length > 0) await driver.define(missing);
}

/** What the start, or `apply`, would do. Reads only. */
export async function planFor(model: Model, driver: Driver): Promise<Plan> {
  const isKnown = (await driver.existing()).includes(MODEL_TABLE);
  return createPlan(isKnown ? await readAppliedModel(driver) : NO_MODEL, model, driver.dialect);
}

export interface Applied {
  readonly steps: readonly Assessed[];
  /** The copy that was made before, if any. */
  readonly backup: string | undefined;
}

/**
 * Holds the plan against the rows once more, and then runs all of it in one transaction. `allowed`: ids of steps that
 * may be made though records lose something. Throws a StartError, with the plan in its message, where a step is not
 * allowed or not possible; nothing is changed then.
 */
export async function applyPlan(plan: Plan, driver: Driver, allowed: ReadonlySet<string>): Promise<Applied> {
  if (plan.steps.length === 0) return rememberModel(plan, driver);
  const asFound = await refused(plan, driver, await assess(plan, driver, driver.dialect, allowed));
  let steps = asFound;
  const backup = await driver.migrate({
    statements: plan.steps.flatMap(({ sql }) => sql),
    backup: asFound.some(({ step, isAtStake }) => step.risk === 'destructive' && isAtStake),
    before: async (reader) => {
      await refuseStale(plan, reader);
      steps = await refused(plan, driver, await assess(plan, reader, driver.dialect, allowed));
    },
    after: (writer) => writeAppliedModel(writer, plan.wanted),
  });
  return { steps, backup };
}

/** Differences that are not steps: what tables do not keep, and no record is held to. */
async function rememberModel({ applied, wanted }: Plan, driver: Driver): Promise<Applied> {
  if (!isDeepStrictEqual(applied, wanted)) await driver.write((writer) => writeAppliedModel(writer, wanted));
  return { steps: [], backup: undefined };
}

/** Somebody else changed the tables since the plan was made. */
class StalePlan extends StartError {}

async function refuseStale({ applied }: Plan, reader: Reader): Promise<void> {
  if (isDeepStrictEqual(await readAppliedModel(reader), applied)) return;
  throw new StalePlan('The tables were changed by somebody else in the meantime. Nothing was changed by this plan.');
}

async function refused(plan: Plan, driver: Driver, steps: readonly Assessed[]): Promise<readonly Assessed[]> {
  const drift = await driver.drift(plan.touched);
  if (blockers(steps).length + drift.length === 0) return steps;
  // Tables that another instance has just changed look as if they had drifted.
  await refuseStale(plan, driver);
  throw new StartError(formatRefusal(steps, drift));
}
