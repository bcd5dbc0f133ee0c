/**
 * Brings the tables to the Model. At start they only move forward, by steps that lose nothing; `apply` also makes what was
 * allowed. An instance whose descriptors were left behind changes nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Model } from '../../model/model.ts';
import { StartError } from '../../problem.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Reader } from '../driver.ts';
import { engineTables } from '../tables.ts';
import { LOOK_MS } from '../database.ts';
import { type AppliedModel, appliedModel, readAppliedModel } from './applied.ts';
import { assess, type Assessed, assessIn } from './assess.ts';
import { type Catalogue, driftOf, othersIn, ownIndexes, readCatalogue } from './catalogue.ts';
import { remember, type Standing, standingOf } from './history.ts';
import { placedModel } from './place.ts';
import { createPlan } from './plan.ts';
import { blockers, formatRefusal } from './report.ts';
import { readSeeded, type Seeded } from './seeds.ts';
import { servedModel } from './served.ts';
import { isDrop, isReadOtherwise, isSeed, type MigrationStep, type Plan, stepId } from './steps.ts';
import { UNWATCHED, type Follower } from './driver.ts';

/** A plan, and where the descriptors that it is for stand. */
interface StandingPlan extends Plan {
  readonly standing: Standing;
  readonly catalogue: Catalogue;
}

/** The state of the database from which a plan is made. */
interface Found {
  readonly catalogue: Catalogue;
  readonly seeded: Seeded;
}

const find = async (driver: Driver): Promise<Found> => ({
  catalogue: await readCatalogue(driver, driver.dialect),
  seeded: await readSeeded(driver, await driver.existing()),
});

export interface PreparedTables {
  /** As it is served over the tables. */
  readonly model: Model;
  /** The model of the descriptors, with the names of the tables and columns that hold it. */
  readonly placed: Model;
  readonly standing: Standing;
  /** Ids of the steps that were made. */
  readonly made: readonly string[];
  /** Ids of the steps that would drop what the tables keep besides. */
  readonly kept: readonly string[];
  /** Names of the objects that others have added to the tables. */
  readonly others: readonly string[];
}

const NONE: ReadonlySet<string> = new Set();

export interface PrepareOptions {
  /** Whether what holds nothing goes, and descriptors that were left behind are applied again. */
  readonly isTidy?: boolean | undefined;
  /** Whether tables may be changed. */
  readonly migrate?: boolean | undefined;
}

/** Throws a StartError, with the plan in its message, where somebody has to decide something; nothing is changed then. */
export async function prepare(model: Model, driver: Driver, options: PrepareOptions = {}): Promise<PreparedTables> {
  try {
    return await prepareOnce(model, driver, options);
  } catch (error) {
    if (!(error instanceof StalePlan)) throw error;
    // Another instance started at the same time and was first, or records came.
    return prepareOnce(model, driver, options);
  }
}

async function prepareOnce(
  model: Model,
  driver: Driver,
  { isTidy = false, migrate = true }: PrepareOptions,
): Promise<PreparedTables> {
  const standing = await standingFor(model, driver);
  const isBehind = standing.state === 'behind' && !isTidy;
  if (!isBehind && migrate) {
    await createEngineTables(driver);
    return moveForward(model, driver, standing, isTidy);
  }
  const others = await wholeTables(standing.applied, driver);
  if (isBehind) return { ...viewOf(model, standing), standing, made: [], kept: [], others };
  return { ...(await asTheyAre(model, driver, standing)), others };
}

async function moveForward(model: Model, driver: Driver, before: Standing, isTidy: boolean): Promise<PreparedTables> {
  await driver.finishMigration(UNWATCHED);
  const found = await find(driver);
  const letGo = isTidy ? await emptied(planAt(model, driver, before, found), driver) : NONE;
  const { kept, ...plan } = planAt(model, driver, before, found, letGo);
  // Kept steps are not made, so their rows need no check.
  await applyPlan({ ...plan, kept: [] }, driver, letGo);
  const standing = isKnown(plan) && !isTidy ? before : await standingFor(model, driver);
  const others = othersIn(plan.applied, found.catalogue);
  return {
    ...viewOf(model, standing),
    standing,
    made: plan.steps.map(stepId),
    kept: kept.map(stepId),
    others,
  };
}

/** Throws a StartError if a table lacks something. Answers what others have added to them. */
async function wholeTables(applied: AppliedModel, driver: Driver): Promise<readonly string[]> {
  const catalogue = await readCatalogue(driver, driver.dialect);
  const drift = driftOf(applied, catalogue);
  if (drift.length === 0) return othersIn(applied, catalogue);
  await refuseStale({ applied }, driver);
  throw new StartError(formatRefusal([], drift));
}

/** Changes nothing: serves the tables as far as they suit. */
async function asTheyAre(model: Model, driver: Driver, standing: Standing): Promise<Omit<PreparedTables, 'others'>> {
  const placed = placedAt(model, standing);
  const { model: served, misfits: all } = servedModel(placed, standing.applied);
  const misfits = all.filter(({ isReadable }) => !isReadable);
  const missing = (await missingTables(driver)).map(([table]) => ({ table, says: 'there is no such table' }));
  if (misfits.length + missing.length === 0) return { model: served, placed, standing, made: [], kept: [] };
  throw new StartError(
    [
      'The tables cannot serve these descriptors, and this start must not change them (--no-migrate, or MIGRATE=off):',
      '',
      ...[...missing, ...misfits].map(({ table, says }) => `  ${table}: ${says}`),
      '',
      '"records plan" shows the steps that are missing, and "records apply" makes them. Nothing was changed.',
    ].join('\n'),
  );
}

const viewOf = (model: Model, standing: Standing): Pick<PreparedTables, 'model' | 'placed'> => ({
  model: ownView(model, standing),
  placed: placedAt(model, standing),
});

const placedAt = (model: Model, { applied, own }: Standing): Model => placedModel(model, applied, own?.applied);

/** The model that an instance serves over tables that were made for other descriptors. */
export function ownView(model: Model, standing: Standing): Model {
  const { applied, last, own } = standing;
  const { model: served, misfits: all } = servedModel(placedAt(model, standing), applied);
  const misfits = all.filter(({ isReadable }) => !isReadable);
  if (misfits.length === 0) return served;
  throw new StartError(
    [
      `The database has model ${last?.number ?? 0}. These descriptors were model ${own?.number ?? 0}, and its tables cannot serve them any more:`,
      '',
      ...misfits.map(({ table, says }) => `  ${table}: ${says}`),
      '',
      'Start the service with the newer descriptors, or go back on purpose: "records plan --back" shows the steps.',
      'Nothing was changed.',
    ].join('\n'),
  );
}

/** The drops by which no record loses anything. */
async function emptied(plan: Plan, driver: Driver): Promise<ReadonlySet<string>> {
  const steps = await assess(plan, driver, driver.dialect, NONE);
  const empty = steps.filter(({ step, affected }) => isDrop(step) && affected.length === 0);
  return new Set(empty.map(({ step }) => stepId(step)));
}

export async function createEngineTables(driver: Driver): Promise<void> {
  const missing = (await missingTables(driver)).map(([, ddl]) => ddl);
  if (missing.length > 0) await driver.define(missing);
}

/** Of the engine's own: names and DDL. */
async function missingTables(driver: Driver): Promise<readonly (readonly [name: string, ddl: string])[]> {
  const known = new Set(await driver.existing());
  return [...engineTables(driver.dialect)].filter(([name]) => !known.has(name));
}

const standingFor = async (model: Model, driver: Driver): Promise<Standing> =>
  standingOf(model, appliedModel(model, driver.dialect), driver, await driver.existing());

/** The plan of the start, or of `apply`. Reads only. `letGo`: ids of the drops that are asked for. */
export async function planFor(model: Model, driver: Driver, letGo = NONE): Promise<StandingPlan> {
  return planAt(model, driver, await standingFor(model, driver), await find(driver), letGo);
}

const planAt = (
  model: Model,
  { dialect }: Driver,
  standing: Standing,
  { catalogue, seeded }: Found,
  letGo = NONE,
): StandingPlan => ({
  ...createPlan(standing.applied, model, dialect, letGo, standing.own?.applied, catalogue, seeded),
  standing,
  catalogue,
});

export interface Applied {
  /** The steps that were made, and those that were kept. */
  readonly steps: readonly Assessed[];
  /** The copy that was made before, if any. */
  readonly backup: string | undefined;
}

/**
 * Holds the plan against the rows once more, and then runs all of it, or nothing. `allowed`: ids of steps that
 * may be made though records lose something. Throws a StartError, with the plan in its message, where a step is not
 * allowed or not possible; nothing is changed then.
 */
export async function applyPlan(
  plan: StandingPlan,
  driver: Driver,
  allowed: ReadonlySet<string>,
  watch: Follower = UNWATCHED,
): Promise<Applied> {
  await driver.finishMigration(watch);
  const isSettled = plan.steps.every(isSeed);
  const asFound = await refused(plan, driver, await assessIn(plan, driver, allowed));
  if (isSettled) await rememberModel(plan, driver);
  if (isSettled) return { steps: asFound, backup: undefined };
  let steps = asFound;
  const { dialect } = driver;
  const tasks = plan.steps.flatMap((step) => step.tasks);
  const lossy = plan.steps.filter(({ risk }) => risk === 'destructive');
  const backup = await driver.migrate({
    tasks,
    key: JSON.stringify([plan.applied, plan.wanted, tasks.map(({ sql }) => sql)]),
    own: ownIndexes(plan.applied),
    locked: [...new Set(lossy.flatMap(({ rowsIn }) => rowsIn ?? []))].toSorted(),
    backup: asFound.some(({ step, state, isAtStake }) => state === 'ready' && step.risk === 'destructive' && isAtStake),
    before: async (reader) => {
      await refuseStale(plan, reader);
      steps = dialect.locks
        ? await changedSince(asFound, plan, reader, dialect, allowed)
        : await refused(plan, driver, await assess(plan, reader, dialect, allowed));
      refuseSurprise(asFound, steps);
    },
    after: (writer) => remember(writer, plan.standing, plan.wanted, driver.dialect),
    watch,
  });
  // Until all running instances have noticed, nothing may be written that they would read wrongly.
  if (!driver.dialect.revision.inEachSnapshot && plan.steps.some(isReadOtherwise)) await sleep(2 * LOOK_MS);
  return { steps, backup };
}

/**
 * What was empty may have records now. The rest is not looked at again, since others wait meanwhile: what the rows must be
 * like, constraints have seen to since, and what is lost was allowed.
 */
async function changedSince(
  asFound: readonly Assessed[],
  plan: Plan,
  reader: Reader,
  dialect: Dialect,
  allowed: ReadonlySet<string>,
): Promise<readonly Assessed[]> {
  const isEmpty = ({ step, isAtStake, affected }: Assessed): boolean =>
    !isAtStake || (step.risk === 'destructive' && affected.length === 0);
  const empty = new Set<MigrationStep>(asFound.filter(isEmpty).map(({ step }) => step));
  const steps = plan.steps.filter((step) => empty.has(step));
  const now = await assess({ ...plan, steps, kept: [] }, reader, dialect, allowed);
  const again = new Map(now.map((one) => [one.step, one]));
  const found = asFound.map((one) => again.get(one.step) ?? one);
  if (blockers(found).length > 0) throw new StartError(formatRefusal(found, []));
  return found;
}

/** Differences that are not steps: what tables do not keep, and no record is held to. */
async function rememberModel(plan: StandingPlan, driver: Driver): Promise<void> {
  if (!isKnown(plan)) await driver.write((writer) => remember(writer, plan.standing, plan.wanted, driver.dialect));
}

/** Whether the database has this model, and remembers it as its last one. */
const isKnown = ({ standing, wanted }: Pick<StandingPlan, 'standing' | 'wanted'>): boolean =>
  standing.state === 'current' && isDeepStrictEqual(standing.applied, wanted);

/** Somebody else changed the tables, or the records, since the plan was made. */
class StalePlan extends StartError {}

async function refuseStale({ applied }: Pick<Plan, 'applied'>, reader: Reader): Promise<void> {
  if (isDeepStrictEqual(await readAppliedModel(reader), applied)) return;
  throw new StalePlan('The tables were changed by somebody else in the meantime. Nothing was changed by this plan.');
}

/** Refuses a drop if its table was empty when somebody allowed it, and has records now. */
function refuseSurprise(before: readonly Assessed[], now: readonly Assessed[]): void {
  const isFilled = (step: Assessed): boolean => step.step.risk === 'destructive' && step.affected.length > 0;
  const filled = now.find(
    (one, index) =>
      one.state === 'ready' && isFilled(one) && !before.some((other, at) => at === index && isFilled(other)),
  );
  if (filled)
    throw new StalePlan(`${filled.step.description}: records were written in the meantime. Nothing was changed.`);
}

async function refused(plan: StandingPlan, driver: Driver, steps: readonly Assessed[]): Promise<readonly Assessed[]> {
  const drift = driftOf(plan.applied, plan.catalogue);
  if (blockers(steps).length + drift.length === 0) return steps;
  // Tables that another instance has just changed look as if they had drifted.
  await refuseStale(plan, driver);
  throw new StartError(formatRefusal(steps, drift));
}
