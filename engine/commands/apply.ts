/** `apply`: carries out the plan. Each step by which records could lose something must be allowed. */
import { constants } from 'node:os';
import { CallerGone, callerUntil } from '../edge/caller.ts';
import type { Model } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import { StartError } from '../problem.ts';
import { type Applied, applyPlan, createEngineTables, ownView, planFor } from '../storage/migrate/apply.ts';
import { type Doing, type Follower, type MigrationEvent, titleOf } from '../storage/migrate/driver.ts';
import type { Standing } from '../storage/migrate/applied.ts';
import { formatPlan, planAsJson } from '../storage/migrate/assess.ts';
import { isSeed, type Plan, stepId } from '../storage/migrate/steps.ts';
import { databaseAt, insertSeeds } from '../storage/open.ts';
import { print, printError } from '../process.ts';
import { BOOLEAN, command, readModel } from './command.ts';

const USAGE =
  'records apply [--allow STEP]... [--back] [--json]: "records plan" shows the steps and their names; --back applies descriptors that the database has left behind';

export const apply = command(
  USAGE,
  { allow: { type: 'string', multiple: true }, back: BOOLEAN, json: BOOLEAN },
  0,
  async ({ allow = [], back = false, json = false }, _, { schemaDirectory, databaseUrl }) => {
    const model = readModel(schemaDirectory);
    const driver = await databaseAt(databaseUrl).open();
    const { watch, stopCode, end } = follow({ json, isStoppable: driver.dialect.locks });
    try {
      const done = await driver.exclusively(async () => {
        const allowed = new Set(allow);
        const plan = await planFor(model, driver, allowed);
        if (!back) refuseBehind(model, plan.standing);
        refuseUnknown(allow, [await planFor(model, driver), plan]);
        await createEngineTables(driver);
        const applied = await applyPlan(plan, driver, allowed, watch);
        if (plan.steps.some(isSeed))
          await insertSeeds(ownView(model, (await planFor(model, driver)).standing).model, driver);
        const isTakenBack = plan.steps.length === 0 && (await driver.abandonMigration(watch));
        return { ...applied, isTakenBack };
      });
      end();
      print(json ? asJson(done) : format(done));
      return 0;
    } catch (error) {
      end();
      const code = stopCode();
      if (code === undefined || !(error instanceof CallerGone)) throw error;
      printError(STOPPED);
      return code;
    } finally {
      await driver.close();
    }
  },
);

const STOPPED =
  'Stopped. Clients see the tables as before, or as they should be. What is done is kept: run the same command again to go on, or apply other descriptors to take it back.';

/** Older descriptors, applied by mistake, would undo the changes of newer instances. */
function refuseBehind(model: Model, standing: Standing): void {
  const { state, last, own } = standing;
  if (state !== 'behind') return;
  // It throws where a start could not serve them.
  ownView(model, standing);
  throw new StartError(
    `The database has model ${last}, and these descriptors were model ${own?.number}: a start serves its own view of the tables. To go back on purpose, look at "records plan --back", and use --back here too. Nothing was changed.`,
  );
}

/** Checks with and without the allowed steps, which can make other steps unnecessary. */
function refuseUnknown(allow: readonly string[], plans: readonly Plan[]): void {
  const pending = [...new Set(plans.flatMap(({ steps, kept }) => [...steps, ...kept].map(stepId)))];
  const unknown = allow.find((id) => !pending.includes(id));
  if (unknown === undefined) return;
  const steps = pending.length === 0 ? 'there is nothing to do' : `the steps are ${pending.join(', ')}`;
  const hint = didYouMean(unknown, pending) || `; ${steps}`;
  throw new StartError(`--allow ${unknown}: there is no such step${hint}. Nothing was changed.`);
}

interface Outcome extends Applied {
  /** Whether what a stopped migration had prepared was removed. */
  readonly isTakenBack: boolean;
}

const asJson = ({ steps, backup, isTakenBack }: Outcome): string =>
  JSON.stringify({ ...planAsJson(steps, [], false), backup: backup ?? null, isTakenBack }, null, 2);

function format({ steps, backup, isTakenBack }: Outcome): string {
  const told = ({ length }: readonly unknown[]): readonly string[] => [
    `${length} ${length === 1 ? 'step' : 'steps'} applied.`,
  ];
  return [
    ...(backup === undefined ? [] : [`The database as it was: ${backup}`]),
    ...(isTakenBack ? ['Took back what a migration to other descriptors had prepared.'] : []),
    ...formatPlan(steps, told),
  ].join('\n');
}

interface Following {
  readonly watch: Follower;
  /** The exit code after a signal. */
  readonly stopCode: () => number | undefined;
  readonly end: () => void;
}

interface FollowOptions {
  readonly json: boolean;
  /** Without handling, a signal ends the process, and SQLite rolls the transaction back. */
  readonly isStoppable: boolean;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

function follow({ json, isStoppable }: FollowOptions): Following {
  const stopping = new AbortController();
  let code: number | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    code = 128 + constants.signals[signal];
    stopping.abort();
    end();
  };
  const end = (): void => SIGNALS.forEach((signal) => process.off(signal, stop));
  const textOf = json ? eventAsJson : eventAsText;
  let [shown, number, began] = ['', 0, 0];
  const report = (event: MigrationEvent): void => {
    if (shown === '') {
      if (!json) printError(`You can stop this with Ctrl-C or SIGTERM. ${isStoppable ? KEPT : UNDONE}`);
      if (isStoppable) SIGNALS.forEach((signal) => process.on(signal, stop));
    }
    if (event.kind === 'doing' && event.number !== number) [number, began] = [event.number, performance.now()];
    const text = textOf(event, performance.now() - began);
    // A line for each tenth of the work.
    const part = event.kind === 'doing' ? `${number} ${Math.floor(10 * shareOf(event))}` : text;
    if (part !== shown) printError(text);
    shown = part;
  };
  return { watch: { caller: callerUntil(stopping.signal), report }, stopCode: () => code, end };
}

const KEPT = 'What is done is kept; the same command goes on from there.';
const UNDONE = 'Nothing is changed then; the same command begins again.';

const shareOf = ({ position, last }: Doing): number => (last === 0 ? 0 : Math.min(1, position / last));

const rateOf = ({ rows }: Doing, milliseconds: number): number | undefined =>
  rows === 0 ? undefined : Math.round((1000 * rows) / Math.max(1, milliseconds));

function eventAsText(event: MigrationEvent, milliseconds: number): string {
  if (event.kind === 'waiting') {
    const holders = event.holders.length === 0 ? '' : `, which is held by ${event.holders.join(', ')}`;
    return `Waiting for ${event.table}${holders}`;
  }
  const { task, number, of, last } = event;
  const rate = rateOf(event, milliseconds);
  const speed = rate === undefined ? '' : `, ${rate} rows per second`;
  return `[${number}/${of}] ${titleOf(task)}${last === 0 ? '' : `: ${Math.floor(100 * shareOf(event))}%${speed}`}`;
}

function eventAsJson(event: MigrationEvent, milliseconds: number): string {
  if (event.kind === 'waiting') return JSON.stringify(event);
  const { kind, task, ...rest } = event;
  const rowsPerSecond = rateOf(event, milliseconds);
  return JSON.stringify({ kind, task: titleOf(task), table: task.table ?? null, ...rest, rowsPerSecond });
}
