/** `plan` shows what `apply` would do. `apply` requires an --allow for each step that could lose data. */
import type { Doing, MigrationEvent } from '../storage/driver.ts';
import { constants } from 'node:os';
import { CallerGone, NO_CLIENT } from '../edge/caller.ts';
import type { Model } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import { StartError } from '../problem.ts';
import { NO_MODEL, type History } from '../storage/migrate/applied.ts';
import { applyPlan, createEngineTables, ownView, planFor } from '../storage/migrate/apply.ts';
import {
  type Assessed,
  assessIn,
  blockers,
  formatDrift,
  formatOthers,
  formatPlan,
  formatUnused,
  legendOf,
  planAsJson,
} from '../storage/migrate/assess.ts';
import { driftOf, othersIn } from '../storage/migrate/catalogue.ts';
import { titleOf } from '../storage/migrate/task.ts';
import { createPlan } from '../storage/migrate/plan.ts';
import { type Plan, stepId } from '../storage/migrate/steps.ts';
import { databaseAt, type Location } from '../storage/open.ts';
import { print, printError } from '../process.ts';
import { BOOLEAN, command, readModel, STRINGS, withDatabase } from './command.ts';

export const plan = command(
  'records plan [--allow STEP]... [--back] [--sql] [--json]: exit code 0 nothing to do, 2 changes that a start makes, 1 changes that it refuses; --allow and --back show what "records apply" would do with them',
  { allow: STRINGS, back: BOOLEAN, sql: BOOLEAN, json: BOOLEAN },
  [],
  async ({ allow = [], back = false, sql = false, json }, _, { schemaDirectory, databaseUrl }) => {
    const looked = await look(readModel(schemaDirectory), databaseAt(databaseUrl), new Set(allow), back);
    const { history, steps, drift, others, unused } = looked;
    if (json) {
      const behind = history && { database: history.last ?? null, serves: history.own?.number ?? null };
      print(JSON.stringify({ ...planAsJson(steps, drift, sql, others, unused), behind }, null, 2));
    } else print(format(looked, sql));
    if (drift.length > 0 || blockers(steps).length > 0) return 1;
    return steps.some(({ state }) => state !== 'kept') ? 2 : 0;
  },
);

/** `waiting`: the steps that going back would make. */
async function look(model: Model, database: Location, allowed: ReadonlySet<string>, back: boolean) {
  const forward = { history: undefined, waiting: [] };
  if (database.empty) {
    const { dialect, reader } = database.empty;
    const made = { ...createPlan(model, { applied: NO_MODEL, own: undefined }, dialect), catalogue: new Map() };
    const steps = await assessIn(made, { ...reader(), dialect, dryRun: () => undefined }, allowed);
    return { ...forward, steps, drift: [], others: [], unused: [], isThere: false };
  }
  const driver = await database.open();
  try {
    const found = await planFor(model, driver, allowed);
    const { history, applied, catalogue, unused } = found;
    const drift = driftOf(applied, catalogue, driver.dialect);
    const looked = { drift, others: othersIn(applied, catalogue), unused, isThere: true };
    if (history.state !== 'behind' || back) {
      const steps = await assessIn(found, driver, allowed);
      const taken = new Set(steps.flatMap(({ takes = [] }) => takes));
      return { ...forward, ...looked, steps, others: looked.others.filter((name) => !taken.has(name)) };
    }
    ownView(found.model, history);
    return { ...looked, steps: [], history, waiting: found.steps.map(({ description }) => `  ${description}`) };
  } finally {
    await driver.close();
  }
}

type Looked = Awaited<ReturnType<typeof look>>;

function format({ steps, drift, history, waiting, others, unused, isThere }: Looked, sql: boolean): string {
  const legend = (made: readonly Assessed[]): readonly string[] =>
    made.every(({ state }) => state === 'ready') ? [] : legendOf(made);
  return [
    ...(history ? [behind(history), ...(waiting.length > 0 ? [WAITING] : []), ...waiting] : []),
    ...(history ? [] : formatPlan(steps, legend, { sql, notes: isThere })),
    ...(others.length === 0 ? [] : ['', formatOthers(others)]),
    ...(unused.length === 0 ? [] : ['', formatUnused(unused)]),
    ...(drift.length === 0 ? [] : ['', formatDrift(drift)]),
  ].join('\n');
}

const behind = ({ last, own }: History): string =>
  `The database has model ${last ?? 0}. These descriptors were model ${own?.number ?? 0}: a start serves its own view of the tables.`;

const WAITING = 'It does without these steps, which "records apply --back" makes:';

export const apply = command(
  'records apply [--allow STEP]... [--back] [--json]: "records plan" shows the steps and their names; --back applies descriptors that the database has left behind',
  { allow: STRINGS, back: BOOLEAN, json: BOOLEAN },
  [],
  async ({ allow = [], back = false, json = false }, _, settings) =>
    withDatabase(settings, async (model, driver) => {
      const { watch, stopCode, end } = follow(json, driver.dialect.locks);
      try {
        const { steps, backup, isTakenBack } = await driver.exclusively(async () => {
          const allowed = new Set(allow);
          const found = await planFor(model, driver, allowed);
          if (!back) refuseBehind(found.model, found.history);
          refuseUnknown(allow, found);
          await createEngineTables(driver);
          const applied = await applyPlan(found, driver, allowed, watch);
          return { ...applied, isTakenBack: found.steps.length === 0 && (await driver.abandonMigration(watch)) };
        });
        end();
        if (json)
          print(JSON.stringify({ ...planAsJson(steps, [], false), backup: backup ?? null, isTakenBack }, null, 2));
        else {
          if (backup !== undefined) print(`The database as it was: ${backup}`);
          if (isTakenBack) print('Took back what a migration to other descriptors had prepared.');
          const applied = ({ length }: readonly unknown[]) => [`${length} ${length === 1 ? 'step' : 'steps'} applied.`];
          print(formatPlan(steps, applied).join('\n'));
        }
        return 0;
      } catch (error) {
        end();
        const code = stopCode();
        if (code === undefined || !(error instanceof CallerGone)) throw error;
        printError(STOPPED);
        return code;
      }
    }),
);

const STOPPED =
  'Stopped. Clients see the old tables or the new ones, and nothing between. What is done is kept: run the same command again to go on, or apply other descriptors to take it back.';

/** Older descriptors, applied by mistake, would undo the changes of newer instances. */
function refuseBehind(mapped: Model, history: History): void {
  if (history.state !== 'behind') return;
  ownView(mapped, history);
  throw new StartError(
    `${behind(history)} To go back on purpose, look at "records plan --back", and use --back here too. Nothing was changed.`,
  );
}

function refuseUnknown(allow: readonly string[], { steps: planned, kept }: Plan): void {
  const pending = [...new Set([...planned, ...kept].map(stepId))];
  const unknown = allow.find((id) => !pending.includes(id));
  if (unknown === undefined) return;
  const steps = pending.length === 0 ? 'there is nothing to do' : `the steps are ${pending.join(', ')}`;
  const hint = didYouMean(unknown, pending) || `; ${steps}`;
  throw new StartError(`--allow ${unknown}: there is no such step, and nothing was changed${hint}`);
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const KEPT = 'What is done is kept; the same command goes on from there.';
const UNDONE = 'Nothing is changed then; the same command begins again.';

/** Prints progress. Unless `isStoppable`, a signal ends the process, and SQLite rolls back. */
function follow(json: boolean, isStoppable: boolean) {
  const stopping = new AbortController();
  let code: number | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    code = 128 + constants.signals[signal];
    stopping.abort();
    end();
  };
  const end = (): void => SIGNALS.forEach((signal) => process.off(signal, stop));
  let [shown, number, began] = ['', 0, 0];
  const report = (event: MigrationEvent): void => {
    if (shown === '') {
      if (!json) printError(`You can stop this with Ctrl-C or SIGTERM. ${isStoppable ? KEPT : UNDONE}`);
      if (isStoppable) SIGNALS.forEach((signal) => process.on(signal, stop));
    }
    if (event.kind === 'doing' && event.number !== number) [number, began] = [event.number, performance.now()];
    const text = textOf(event, performance.now() - began, json);
    const part = event.kind === 'doing' ? `${number} ${Math.floor(10 * shareOf(event))}` : text;
    if (part !== shown) printError(text);
    shown = part;
  };
  return { watch: { caller: { ...NO_CLIENT, signal: stopping.signal }, report }, stopCode: () => code, end };
}

const shareOf = ({ position, last }: Doing): number => (last === 0 ? 0 : Math.min(1, position / last));

function textOf(event: MigrationEvent, milliseconds: number, json: boolean): string {
  if (event.kind === 'waiting') {
    const holders = event.holders.length === 0 ? '' : `, which is held by ${event.holders.join(', ')}`;
    return json ? JSON.stringify(event) : `Waiting for ${event.table}${holders}`;
  }
  const { kind, task, ...rest } = event;
  const { number, of, last, rows } = rest;
  const rowsPerSecond = rows === 0 ? undefined : Math.round((1000 * rows) / Math.max(1, milliseconds));
  if (json) return JSON.stringify({ kind, task: titleOf(task), table: task.table ?? null, ...rest, rowsPerSecond });
  const speed = rowsPerSecond === undefined ? '' : `, ${rowsPerSecond} rows per second`;
  return `[${number}/${of}] ${titleOf(task)}${last === 0 ? '' : `: ${Math.floor(100 * shareOf(event))}%${speed}`}`;
}
