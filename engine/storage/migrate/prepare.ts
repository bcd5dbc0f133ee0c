/** Brings the database to the Model at start: what no record can lose anything by is done, anything else stops the start. */
import { isDeepStrictEqual } from 'node:util';
import type { Model } from '../../model/model.ts';
import { MODEL_TABLE, NO_MODEL, readAppliedModel, writeAppliedModel } from './applied.ts';
import type { Driver } from '../driver.ts';
import { engineTables } from '../engine-tables.ts';
import { applyPlan, StalePlan } from './apply.ts';
import { createPlan } from './plan.ts';
import type { Plan } from './step.ts';

/** Throws a StartError, with the plan in its message, where somebody has to allow a step; nothing is changed then. */
export async function prepare(model: Model, driver: Driver): Promise<void> {
  await makeEngineTables(driver);
  try {
    await makeTrue(await planFor(model, driver), driver);
  } catch (error) {
    if (!(error instanceof StalePlan)) throw error;
    // Another instance started at the same time, and was first.
    await makeTrue(await planFor(model, driver), driver);
  }
}

/** What the start, or `apply`, would do. Reads only. */
export async function planFor(model: Model, driver: Driver): Promise<Plan> {
  const isKnown = (await driver.existing()).includes(MODEL_TABLE);
  return createPlan(isKnown ? await readAppliedModel(driver) : NO_MODEL, model, driver.dialect);
}

export async function makeEngineTables(driver: Driver): Promise<void> {
  const known = new Set(await driver.existing());
  const missing = [...engineTables(driver.dialect)].filter(([name]) => !known.has(name)).map(([, ddl]) => ddl);
  if (missing.length > 0) await driver.define(missing, () => undefined);
}

async function makeTrue(plan: Plan, driver: Driver): Promise<void> {
  if (plan.steps.length > 0) await applyPlan(plan, driver, { allowed: new Set() });
  else await rememberModel(plan, driver);
}

/** Differences that are no steps: what tables do not keep, and no record is held to. */
export async function rememberModel({ applied, wanted }: Plan, driver: Driver): Promise<void> {
  if (!isDeepStrictEqual(applied, wanted)) await driver.write((writer) => writeAppliedModel(writer, wanted));
}
