/** A plan for people: each step, what it does to the records, and what has to be said or done before it is made. */
import type { Drift } from './driver.ts';
import type { AffectedRows, Assessed, State } from './assess.ts';
import { stepId } from './steps.ts';
import { costOf, type Lock } from './tasks.ts';

const PASSING: ReadonlySet<State> = new Set(['ready', 'kept']);

export const blockers = (steps: readonly Assessed[]): readonly Assessed[] =>
  steps.filter(({ state }) => !PASSING.has(state));

const marks = {
  ready: '  ',
  allow: '! ',
  unclear: '? ',
  blocked: 'x ',
  kept: '- ',
} as const satisfies Record<State, string>;

/** States that `--allow` changes. */
const ALLOWED: ReadonlySet<State> = new Set(['allow', 'unclear', 'kept']);

export const formatSteps = (steps: readonly Assessed[], withSql: boolean): string =>
  steps.map((one) => formatStep(one, withSql)).join('\n');

/** Seconds from which on people are told. */
const LONG = 1;

const waits = {
  none: 'nobody waits',
  rows: 'writes wait a moment for a record that is just being filled',
  writes: 'writes wait for a moment',
  all: 'requests of this type wait for a moment',
} as const satisfies Record<Lock, string>;

function formatCost({ step, state, rows }: Assessed): readonly string[] {
  const { locks, seconds } = costOf(step.tasks, rows ?? 0);
  if (state === 'kept' || seconds < LONG) return [];
  return [`  about ${Math.round(seconds)} s for ${rows} records while the service runs; ${waits[locks]}`];
}

function formatStep(assessed: Assessed, withSql: boolean): string {
  const { step, state, affected } = assessed;
  const answers = ALLOWED.has(state) ? [`  --allow ${stepId(step)}`] : [];
  const cost = formatCost(assessed);
  const lines = [...affected.map(formatAffected).map((line) => `  ${line}`), ...cost, ...answers];
  const sql = withSql ? step.tasks.flatMap((task) => `${task.sql};`.split('\n')).map((line) => `    ${line}`) : [];
  return [`${marks[state]}${step.description}`, ...[...lines, ...sql].map((line) => `  ${line}`)].join('\n');
}

/** `3 records: the value of "isbn" is lost (1, 2, 5)`. */
function formatAffected({ count, identifiers, says }: AffectedRows): string {
  const more = count > identifiers.length ? ` and ${count - identifiers.length} more` : '';
  return `${count} ${count === 1 ? 'record' : 'records'}: ${says} (${identifiers.join(', ')}${more})`;
}

export const formatDrift = (drift: readonly Drift[]): string =>
  drift
    .map(({ table, differences }) => `Table ${table} is not as the engine left it: ${differences.join(', ')}`)
    .join('\n');

/** What the database keeps besides; for people. */
export const formatKept = (kept: readonly Assessed[]): string =>
  ['The database keeps what these descriptors do not name, until you allow its drop:', formatSteps(kept, false)].join(
    '\n',
  );

const advice: readonly (readonly [State, string])[] = [
  ['blocked', 'x  Records stand in the way: change them first, or revert the change.'],
  ['unclear', '?  Say what is meant, in the descriptor with "renamedFrom", or with --allow.'],
  ['allow', '!  This can lose or refuse something: if it is meant, apply it with its --allow.'],
];

export function formatRefusal(steps: readonly Assessed[], drift: readonly Drift[]): string {
  const allowed = steps.filter(({ state }) => state === 'allow').map(({ step }) => `--allow ${stepId(step)}`);
  const isOpen = steps.some(({ state }) => state === 'blocked' || state === 'unclear') || drift.length > 0;
  return [
    'The descriptors differ from the tables of the database:',
    '',
    formatSteps(
      steps.filter(({ state }) => state !== 'kept'),
      false,
    ),
    '',
    ...advice.filter(([state]) => steps.some((one) => one.state === state)).map(([, line]) => line),
    ...(drift.length === 0
      ? []
      : [formatDrift(drift), 'Put these tables back as they were; the steps above change them.']),
    ...(isOpen || allowed.length === 0 ? [] : ['', `  npm run apply -- ${allowed.join(' ')}`, '']),
    'Nothing was changed.',
  ].join('\n');
}

/** The same for machines. */
export const planAsJson = (steps: readonly Assessed[], drift: readonly Drift[], withSql: boolean) => ({
  steps: steps.map(({ step, state, affected, rows }) => ({
    id: stepId(step),
    code: step.code,
    type: step.type,
    name: step.name ?? null,
    risk: step.risk,
    state,
    description: step.description,
    records: affected,
    isReversible: step.risk !== 'destructive',
    ...(rows === undefined ? {} : costOf(step.tasks, rows)),
    ...(withSql ? { sql: step.tasks.map(({ sql }) => sql) } : {}),
  })),
  drift,
});
