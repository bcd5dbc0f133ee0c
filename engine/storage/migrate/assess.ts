/** Checks a plan against the rows: which records each step affects, and whether it may run. */
import type { Identifier } from '../../model/identifier.ts';
import { firstOf } from '../../names.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Reader } from '../driver.ts';
import {
  type Catalogue,
  type Drift,
  obstaclesTo,
  ownIndexes,
  surroundingsOf,
  takenBy,
  triggersOf,
} from './catalogue.ts';
import {
  isSeed,
  kindOf,
  type MigrationStep,
  olderInstances,
  type Plan,
  type RowQuery,
  type StepCheck,
  stepId,
} from './steps.ts';

/** unclear: an operator must clarify. blocked: records or objects prevent it. kept: the drop is not allowed. */
type State = 'ready' | 'allow' | 'unclear' | 'blocked' | 'kept';

interface AffectedRows extends Pick<StepCheck, 'effect' | 'says'> {
  readonly count: number;
  readonly identifiers: readonly Identifier[];
  /** The seeds with which these records conflict. */
  readonly seeds?: readonly Identifier[] | undefined;
}

export interface Assessed {
  readonly step: MigrationStep;
  readonly state: State;
  readonly hasRows: boolean;
  readonly affected: readonly AffectedRows[];
  readonly obstacles: readonly string[];
  readonly triggers?: readonly string[];
  readonly takes?: readonly string[];
  readonly older?: ReturnType<typeof olderInstances>;
}

const MAX_IDENTIFIERS = 10;
const PAGE = 2_000;

/** `allowed`: ids of steps. The reader must see the database as of the plan. */
export async function assess(
  plan: Plan,
  reader: Reader,
  { quote }: Pick<Dialect, 'quote'>,
  allowed: ReadonlySet<string>,
): Promise<readonly Assessed[]> {
  const filled = new Map<string | undefined, boolean>();
  const kept = new Set(plan.kept);
  const all = [...plan.steps, ...plan.kept];
  for (const { rowsIn } of all)
    if (rowsIn !== undefined && !filled.has(rowsIn))
      filled.set(rowsIn, (await reader.get({ sql: `select 1 from ${quote(rowsIn)} limit 1` }, [])) !== undefined);
  const checks = all.flatMap((step) => (filled.get(step.rowsIn) || isSeed(step) ? step.checks : []));
  const unfit = new Set<string | undefined>();
  const found = new Map<StepCheck, AffectedRows>();
  // PostgreSQL cannot convert open keys that do not fit, so these are found first.
  for (const check of checks.toSorted((one, other) => Number(!one.accepts) - Number(!other.accepts))) {
    if (!check.accepts && unfit.has(check.takesKeysOf)) continue;
    const rows = await findRows(check, reader);
    if (rows.count > 0) found.set(check, { effect: check.effect, says: check.says, ...rows });
    if (rows.count > 0 && check.accepts && check.takesKeysOf !== undefined) unfit.add(check.takesKeysOf);
  }
  return all.map((step) => {
    const hasRows = filled.get(step.rowsIn) === true;
    const affected = step.checks.flatMap((check) => found.get(check) ?? []);
    const state = kept.has(step) ? 'kept' : stateOf(step, hasRows, affected, allowed);
    const older = olderInstances(step, plan.model.types.get(step.type)?.open === true);
    return { step, affected, obstacles: [], hasRows, state, older };
  });
}

/** Like `assess`, but also finds third-party objects that block a step, and a task that SQLite would refuse. */
export async function assessIn(
  plan: Plan & { readonly catalogue: Catalogue },
  driver: Reader & Pick<Driver, 'dialect' | 'dryRun'>,
  allowed: ReadonlySet<string>,
): Promise<readonly Assessed[]> {
  const around = surroundingsOf(plan, plan.catalogue, driver.dialect);
  const found = (await assess(plan, driver, driver.dialect, allowed)).map((one) =>
    one.state === 'kept'
      ? one
      : blockedBy(
          {
            ...one,
            triggers: triggersOf(one.step, plan.catalogue),
            takes: takenBy(one.step, around),
          },
          obstaclesTo(one.step, around),
        ),
  );
  if (found.some(({ obstacles }) => obstacles.length > 0)) return found;
  const tasks = plan.steps.flatMap((step) => step.tasks);
  const failure = await driver.dryRun({ tasks, own: ownIndexes(plan.applied) });
  if (!failure) return found;
  return found.map((one) => (one.step.tasks.includes(failure.task) ? blockedBy(one, [failure.reason]) : one));
}

const blockedBy = (one: Assessed, obstacles: readonly string[]): Assessed =>
  obstacles.length === 0 ? one : { ...one, state: 'blocked', obstacles };

function stateOf(
  step: MigrationStep,
  hasRows: boolean,
  affected: readonly AffectedRows[],
  allowed: ReadonlySet<string>,
): State {
  if (affected.some(({ effect }) => effect === 'fail')) return 'blocked';
  const isHarmless = !kindOf(step).isDrop && (!hasRows || step.risk === 'safe');
  if (isHarmless || allowed.has(stepId(step))) return 'ready';
  return kindOf(step).isQuestion ? 'unclear' : 'allow';
}

async function findRows({ sql, accepts }: RowQuery, reader: Reader): Promise<Omit<AffectedRows, keyof StepCheck>> {
  if (!accepts) {
    const first = `select identifier, value, count(*) over () from (${sql}) as found order by identifier limit ${MAX_IDENTIFIERS}`;
    const rows = await reader.all({ sql: first }, []);
    const [[, seed = null, count = 0] = []] = rows;
    const column = (at: number) => rows.map((row) => row[at] as Identifier);
    return { count: Number(count), identifiers: column(0), seeds: seed === null ? undefined : column(1) };
  }
  let count = 0;
  const page = (where: string) => ({
    sql: `select identifier, value from (${sql}) as found${where} order by identifier limit ${PAGE}`,
  });
  const identifiers: Identifier[] = [];
  for (let last: Identifier | undefined; ;) {
    const rows = await (last === undefined
      ? reader.all(page(''), [])
      : reader.all(page(' where identifier > ?'), [last]));
    for (const [identifier = null, value = null] of rows) {
      last = identifier as Identifier;
      if (!accepts(String(value)) && count++ < MAX_IDENTIFIERS) identifiers.push(last);
    }
    if (rows.length < PAGE) return { count, identifiers };
  }
}

const marks: Readonly<Record<State, string>> = { ready: '  ', allow: '! ', unclear: '? ', blocked: 'x ', kept: '- ' };

const LEGEND = 'x something stands in the way   ? say what is meant   ! needs --allow';

/** Explains the marks, and names those that one answer concerns: of one type, or of types that came and went. */
export function legendOf(steps: readonly Assessed[]): readonly string[] {
  const open = steps.filter(({ state }) => state === 'unclear' || state === 'allow');
  const groups = [...Map.groupBy(open, ({ step }) => (step.name === undefined ? '' : step.type)).values()];
  const asked = groups.filter((group) => group.length > 1 && group.some(({ state }) => state === 'unclear'));
  const lines = asked.map((group) => `These belong together: ${group.map(({ step }) => allowing(step)).join(' ')}`);
  return ['', LEGEND, ...lines];
}

const olderWords = {
  named: 'older instances go on, under their own names',
  read: 'older instances refuse to write such records (503)',
  refuse: 'older instances cannot use the type (503)',
} as const;

/** Names of kept parts can contain a blank. */
const allowing = (step: MigrationStep): string => `--allow ${stepId(step).replace(/.* .*/, '"$&"')}`;

export const blockers = (steps: readonly Assessed[]): readonly Assessed[] =>
  steps.filter(({ state }) => state !== 'ready' && state !== 'kept');

interface Shown {
  readonly sql?: boolean;
  readonly notes?: boolean;
}

export const formatSteps = (steps: readonly Assessed[], { sql = false, notes = false }: Shown = {}): string =>
  steps
    .flatMap(({ step, state, affected, obstacles, triggers = [], takes = [], older }) => {
      const lines = [
        ...affected.map(({ count, identifiers, seeds, says }) => {
          const named = identifiers.map((one, at) => (seeds ? `${one} for seed ${seeds[at]} of ${step.type}` : one));
          return `${count} ${count === 1 ? 'record' : 'records'}: ${says} (${firstOf(named, MAX_IDENTIFIERS, count)})`;
        }),
        ...obstacles,
        ...triggers.map((name) => `fires trigger ${name}, which the engine did not make`),
        ...takes.map((name) => `takes ${name} along, which the engine did not make`),
        ...(notes && older ? [olderWords[older]] : []),
        ...(state === 'ready' || state === 'blocked' ? [] : [allowing(step)]),
        ...(sql ? step.tasks.flatMap((task) => `${task.sql};`.split('\n')).map((line) => `  ${line}`) : []),
      ];
      return [`${marks[state]}${step.description}`, ...lines.map((line) => `    ${line}`)];
    })
    .join('\n');

export const formatDrift = (drift: readonly Drift[]): string =>
  drift
    .flatMap(({ table, differences, cures }) => [
      `Table ${table} is not as the engine left it: ${differences.join(', ')}`,
      ...cures.map((sql) => `  ${sql};`),
    ])
    .join('\n');

export const formatOthers = (others: readonly string[]): string =>
  `The engine did not make, and leaves alone: ${others.join(', ')}`;

export const UNUSED_NAMES =
  'A table or a column keeps the name that it was made with. To use another, export the records, and import them into a new database';

export const formatUnused = (unused: readonly string[]): string =>
  `Without effect: ${unused.join(', ')}. ${UNUSED_NAMES}.`;

export function formatPlan(
  steps: readonly Assessed[],
  summary: (made: readonly Assessed[]) => readonly string[],
  shown: Shown = {},
): readonly string[] {
  const made = steps.filter(({ state }) => state !== 'kept');
  const kept = steps.filter(({ state }) => state === 'kept');
  const keeps = 'The database keeps what these descriptors do not name, until you allow its drop:';
  return [
    ...(made.length > 0
      ? [formatSteps(made, shown), ...summary(made)]
      : ['Nothing to do: the tables have what the descriptors want.']),
    ...(kept.length > 0 ? ['', keeps, formatSteps(kept, { ...shown, sql: false })] : []),
  ];
}

export function formatRefusal(steps: readonly Assessed[], drift: readonly Drift[]): string {
  const shown = steps.filter(({ state }) => state !== 'kept');
  const allowed = shown.flatMap(({ step, state }) => (state === 'allow' ? allowing(step) : []));
  const isOpen = steps.some(({ state }) => state === 'blocked' || state === 'unclear') || drift.length > 0;
  const differ = 'The descriptors differ from the tables of the database:';
  return [
    ...(shown.length > 0 ? [differ, '', formatSteps(shown), ...legendOf(shown)] : []),
    ...(drift.length > 0 ? [formatDrift(drift), 'Put it back: requests and other steps need it.'] : []),
    ...(isOpen || allowed.length === 0 ? [] : ['', `  npm run apply -- ${allowed.join(' ')}`, '']),
    'Nothing was changed.',
  ].join('\n');
}

export const planAsJson = (
  steps: readonly Assessed[],
  drift: readonly Drift[],
  withSql: boolean,
  others: readonly string[] = [],
  unused: readonly string[] = [],
) => ({
  steps: steps.map(({ step, state, affected, obstacles, triggers = [], takes = [], older }) => ({
    id: stepId(step),
    code: step.code,
    type: step.type,
    name: step.name ?? null,
    risk: step.risk,
    state,
    description: step.description,
    records: affected,
    obstacles: obstacles.length > 0 ? obstacles : undefined,
    triggers: triggers.length > 0 ? triggers : undefined,
    takes: takes.length > 0 ? takes : undefined,
    older,
    sql: withSql ? step.tasks.map(({ sql }) => sql) : undefined,
  })),
  drift,
  others: others.length > 0 ? others : undefined,
  unused: unused.length > 0 ? unused : undefined,
});
