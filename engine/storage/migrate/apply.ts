/** Makes a plan true: held against the rows once more, then all of it in one transaction. */
import { isDeepStrictEqual } from 'node:util';
import { StartError } from '../../start-error.ts';
import { readAppliedModel, writeAppliedModel } from './applied.ts';
import type { Driver, Reader } from '../driver.ts';
import { assess, type Assessed } from './assess.ts';
import { blockers, formatRefusal } from './report.ts';
import type { MigrationStep, Plan } from './step.ts';

export interface ApplyOptions {
  /** Ids of steps that may be made though records lose something. */
  readonly allowed: ReadonlySet<string>;
  /** After a step was made; it is not final yet. */
  readonly made?: (step: MigrationStep, index: number) => void;
}

export interface Applied {
  readonly steps: readonly Assessed[];
  /** The copy that was made before, if any. */
  readonly backup: string | undefined;
}

/** Somebody else changed the tables since the plan was made. */
export class StalePlan extends StartError {}

/** Throws a StartError, with the plan in its message, where a step is not allowed or not possible; nothing is changed then. */
export async function applyPlan(plan: Plan, driver: Driver, { allowed, made }: ApplyOptions): Promise<Applied> {
  const asFound = await refused(plan, driver, await assess(plan, driver, driver.dialect, allowed));
  let steps = asFound;
  const backup = await driver.migrate({
    statements: plan.steps.map(({ sql }) => sql),
    backup: asFound.some(({ step, isAtStake }) => step.risk === 'destructive' && isAtStake),
    before: async (reader) => {
      await refuseStale(plan, reader);
      steps = await refused(plan, driver, await assess(plan, reader, driver.dialect, allowed));
    },
    made: (index) => {
      const step = plan.steps[index];
      if (step) made?.(step, index);
    },
    after: (writer) => writeAppliedModel(writer, plan.wanted),
  });
  return { steps, backup };
}

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
