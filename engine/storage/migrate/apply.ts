/** Migrates the tables to the Model. A start only makes steps that lose nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Model } from '../../model/model.ts';
import { Problem, StartError } from '../../problem.ts';
import { SCHEMA_CHECK_INTERVAL_MS } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import { type Driver, type Follower, type Reader, UNWATCHED, type Writer } from '../driver.ts';
import { engineTables, SEED_TABLE } from '../tables.ts';
import type { Clock } from '../columns.ts';
import { readAppliedModel, remember, type History, historyOf } from './applied.ts';
import { assess, type Assessed, assessIn, blockers, formatRefusal } from './assess.ts';
import { driftOf, othersIn, ownIndexes, readCatalogue } from './catalogue.ts';
import { createPlan } from './plan.ts';
import { withLost } from './recording-steps.ts';
import { insertSeeds, readSeeded } from './seeds.ts';
import { servedModel } from './served.ts';
import { isSeed, kindOf, type Plan, stepId } from './steps.ts';

export type PreparedTables = Awaited<ReturnType<typeof prepareOnce>>;

const NONE: ReadonlySet<string> = new Set();

interface Preparation {
  readonly migrate?: boolean | undefined;
  readonly seeds?: boolean;
  readonly clock?: Clock | undefined;
}

/** Throws a StartError with the plan, and changes nothing, if the operator has to decide. */
export const prepare = (model: Model, driver: Driver, how: Preparation = {}): Promise<PreparedTables> =>
  prepareOnce(model, driver, how).catch((error: unknown) => {
    if (error instanceof StalePlan) return prepareOnce(model, driver, how);
    throw error;
  });

async function prepareOnce(model: Model, driver: Driver, { migrate = true, seeds = true, clock }: Preparation) {
  const found = await historyOf(model, driver);
  const isBehind = found.state === 'behind';
  const isMigrated = migrate && !isBehind;
  if (isMigrated) await createEngineTables(driver);
  const plan = await planFor(model, driver, NONE, found);
  const { applied, catalogue, model: mapped, unused } = plan;
  const others = othersIn(applied, catalogue);
  if (isMigrated) {
    const steps = seeds ? plan.steps : plan.steps.filter((step) => !isSeed(step));
    const { history } = await applyPlan({ ...plan, steps, kept: [] }, driver, NONE, UNWATCHED, clock);
    const names = { made: steps.map(stepId), kept: plan.kept.map(stepId), others, unused };
    return { ...ownView(mapped, history), history, ...names };
  }
  const drift = driftOf(applied, catalogue, driver.dialect);
  if (drift.length > 0) {
    await refuseStale(found, driver);
    throw new StartError(formatRefusal([], drift));
  }
  const view = ownView(mapped, found, isBehind ? [] : [...missingTables(found, driver.dialect).keys()]);
  if (seeds && found.state === 'current' && [...model.types.values()].some(({ seed }) => seed.length > 0))
    await driver.write((writer) => insertSeeds(view.model, writer, driver, clock));
  return { ...view, history: found, made: [], kept: [], others, unused };
}

/**
 * The model limited to what the tables can hold. Throws a StartError if they cannot serve it. `mapped`: the descriptors'
 * model with the names of its tables and columns; `missing`: the engine's own missing tables.
 */
export function ownView(mapped: Model, { state, applied, last, own }: History, missing: readonly string[] = []) {
  const { model: served, incompatible } = servedModel(mapped, applied);
  const unfit = [
    ...missing.map((table) => `  ${table}: there is no such table`),
    ...incompatible.flatMap(({ table, reason, isReadable }) => (isReadable ? [] : [`  ${table}: ${reason}`])),
  ];
  if (unfit.length === 0) return { model: served, mapped };
  const [reason, cure] =
    state === 'behind'
      ? [
          `The database has model ${last ?? 0}. These descriptors were model ${own?.number ?? 0}, and its tables cannot serve them any more:`,
          'Start the service with the newer descriptors, or go back on purpose: "records plan --back" shows the steps.',
        ]
      : [
          'The tables cannot serve these descriptors, and this start must not change them (--no-migrate, or MIGRATE=off):',
          '"records plan" shows the steps that are missing, and "records apply" makes them.',
        ];
  throw new StartError([reason, '', ...unfit, '', `${cure} Nothing was changed.`].join('\n'));
}

export async function createEngineTables(driver: Driver): Promise<void> {
  const missing = async () => missingTables({ tables: new Set(await driver.existing()) }, driver.dialect);
  const statements = [...(await missing()).values()];
  try {
    if (statements.length > 0) await driver.define(statements);
  } catch (error) {
    // Another start may have made the missing tables.
    if ((await missing()).size > 0) throw error;
  }
}

const missingTables = ({ tables }: Pick<History, 'tables'>, dialect: Dialect): ReadonlyMap<string, string> =>
  new Map([...engineTables(dialect)].filter(([name]) => !tables.has(name)));

export async function planFor(model: Model, driver: Driver, allowedDrops = NONE, found?: History) {
  const history = found ?? (await historyOf(model, driver));
  const catalogue = await readCatalogue(driver);
  const seeded = history.tables.has(SEED_TABLE) ? await readSeeded(driver) : undefined;
  const asFound = { ...history, applied: withLost(history.applied, catalogue) };
  return { ...createPlan(model, asFound, driver.dialect, allowedDrops, catalogue, seeded), history, catalogue };
}

/**
 * Runs the whole plan, or throws a StartError with it. `allowed`: ids of steps by which records may lose data. `history`:
 * as the database has it afterwards.
 */
export async function applyPlan(
  plan: Awaited<ReturnType<typeof planFor>>,
  driver: Driver,
  allowed: ReadonlySet<string>,
  watch: Follower = UNWATCHED,
  clock?: Clock,
) {
  const { history, wanted, applied, catalogue } = plan;
  const { dialect } = driver;
  await driver.finishMigration(watch);
  const asFound = await assessIn(plan, driver, allowed);
  const drift = driftOf(applied, catalogue, dialect);
  if (blockers(asFound).length + drift.length > 0) {
    // Tables just changed by another instance look as if they had drifted.
    await refuseStale(history, driver);
    throw new StartError(formatRefusal(asFound, drift));
  }
  // Without steps, the model may still differ in what the tables do not show.
  const isNew = history.state !== 'current' || !isDeepStrictEqual(history.applied, wanted);
  const number = (history.last ?? 0) + 1;
  const own = { number, applied: wanted };
  const after: History = isNew ? { ...history, state: 'current', applied: wanted, last: number, own } : history;
  const finish = async (writer: Writer): Promise<void> => {
    if (isNew) await remember(writer, history, wanted, dialect);
    if (plan.steps.some(isSeed)) await insertSeeds(servedModel(plan.model, wanted).model, writer, driver, clock);
  };
  const triggers = [...new Set(asFound.flatMap((one) => one.triggers ?? []))].join(', ');
  const named = (error: unknown): never => {
    const isRefused = error instanceof Problem && error.code === 'refused-by-database';
    if (!isRefused && (triggers === '' || !(error instanceof StartError) || error instanceof StalePlan)) throw error;
    const reason = isRefused
      ? `The database refuses a seed record: ${error.message}. Nothing was changed.`
      : error.message;
    throw new StartError(triggers === '' ? reason : `${reason}\nTriggers that fired: ${triggers}`, { cause: error });
  };
  if (plan.steps.every(isSeed)) {
    if (isNew || plan.steps.length > 0) await driver.write(finish).catch(named);
    return { steps: asFound, backup: undefined, history: after };
  }
  let steps = asFound;
  const tasks = plan.steps.flatMap((step) => step.tasks);
  const lossy = plan.steps.filter(({ risk }) => risk === 'destructive');
  const migration = driver.migrate({
    tasks,
    key: JSON.stringify([applied, wanted, tasks.map(({ sql }) => sql)]),
    own: ownIndexes(applied),
    locked: [...new Set(lossy.flatMap(({ rowsIn }) => rowsIn ?? []))].toSorted(),
    backup: asFound.some(({ step, state, hasRows }) => state === 'ready' && step.risk === 'destructive' && hasRows),
    before: async (reader) => {
      await refuseStale(history, reader);
      steps = await assessAgain(asFound, plan, driver, reader, allowed);
    },
    after: finish,
    watch,
  });
  const backup = await migration.catch(named);
  // Running instances must notice before this writes values that they would misread.
  if (!dialect.revision.inEachSnapshot && plan.steps.some((step) => kindOf(step).isMisread))
    await sleep(2 * SCHEMA_CHECK_INTERVAL_MS);
  return { steps, backup, history: after };
}

class StalePlan extends StartError {}

async function refuseStale({ applied }: Pick<History, 'applied'>, reader: Reader): Promise<void> {
  if (isDeepStrictEqual(await readAppliedModel(reader), applied)) return;
  throw new StalePlan('The tables were changed by somebody else in the meantime. Nothing was changed by this plan.');
}

/** If clients wait for the lock, reassesses only steps that had found no rows; constraints protect the others. */
async function assessAgain(
  asFound: readonly Assessed[],
  plan: Plan,
  { dialect }: Driver,
  reader: Reader,
  allowed: ReadonlySet<string>,
): Promise<readonly Assessed[]> {
  const isLossy = ({ step }: Assessed): boolean => step.risk === 'destructive';
  const wasEmpty = (one: Assessed): boolean => !one.hasRows || (isLossy(one) && one.affected.length === 0);
  const again = new Set(asFound.filter((one) => !dialect.locks || wasEmpty(one)).map(({ step }) => step));
  const steps = plan.steps.filter((step) => again.has(step));
  const now = await assess({ ...plan, steps, kept: [] }, reader, dialect, allowed);
  const found = asFound.map((one) => now.find(({ step }) => step === one.step) ?? one);
  if (blockers(found).length > 0) throw new StartError(formatRefusal(found, []));
  const filled = found.find(
    (one, at) => one.state === 'ready' && isLossy(one) && one.affected.length > 0 && asFound[at]?.affected.length === 0,
  );
  if (!filled) return found;
  throw new StalePlan(`${filled.step.description}: records were written in the meantime. Nothing was changed.`);
}
