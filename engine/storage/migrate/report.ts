/** A plan for people: each step, what it does to the records, and what has to be said or done before it is made. */
import type { Assessed, State } from './assess.ts';
import type { Drift } from './catalogue.ts';
import { olderInstances, stepId } from './steps.ts';

const marks: Readonly<Record<State, string>> = { ready: '  ', allow: '! ', unclear: '? ', blocked: 'x ', kept: '- ' };

const advice: readonly (readonly [State, string])[] = [
  ['blocked', 'x  Something stands in the way: change it first, or revert the change.'],
  ['unclear', '?  Say what is meant, in the descriptor with "renamedFrom", or with --allow.'],
  ['allow', '!  This can lose or refuse something: if it is meant, apply it with its --allow.'],
];

const olderWords = {
  named: 'older instances go on, under their own names, unless the type is open (503)',
  read: 'older instances refuse to write such records (503)',
  refuse: 'older instances cannot use the type (503)',
} as const;

export const blockers = (steps: readonly Assessed[]): readonly Assessed[] =>
  steps.filter(({ state }) => state !== 'ready' && state !== 'kept');

interface StepDetails {
  readonly sql?: boolean;
  readonly notes?: boolean;
}

export const formatSteps = (steps: readonly Assessed[], shown: StepDetails = {}): string =>
  steps.map((one) => formatStep(one, shown)).join('\n');

function formatStep(
  { step, state, affected, obstacles }: Assessed,
  { sql = false, notes = false }: StepDetails,
): string {
  const older = notes ? olderInstances(step) : undefined;
  const lines = [
    // `3 records: the value of "isbn" is lost (1, 2, 5)`
    ...affected.map(({ count, identifiers, says }) => {
      const more = count > identifiers.length ? ` and ${count - identifiers.length} more` : '';
      return `${count} ${count === 1 ? 'record' : 'records'}: ${says} (${identifiers.join(', ')}${more})`;
    }),
    ...obstacles,
    ...(older ? [olderWords[older]] : []),
    ...(state === 'ready' || state === 'blocked' ? [] : [`--allow ${stepId(step)}`]),
    ...(sql ? step.tasks.flatMap((task) => `${task.sql};`.split('\n')).map((line) => `  ${line}`) : []),
  ];
  return [`${marks[state]}${step.description}`, ...lines.map((line) => `    ${line}`)].join('\n');
}

export const formatDrift = (drift: readonly Drift[]): string =>
  drift
    .flatMap(({ table, differences, cures }) => [
      `Table ${table} is not as the engine left it: ${differences.join(', ')}`,
      ...cures.map((sql) => `  ${sql};`),
    ])
    .join('\n');

export const formatOthers = (others: readonly string[]): string =>
  `The engine did not make, and leaves alone: ${others.join(', ')}`;

/** The steps that are made, and the parts that the database keeps. `told`: lines about the former. */
export function formatPlan(
  steps: readonly Assessed[],
  told: (made: readonly Assessed[]) => readonly string[],
  shown: StepDetails = {},
): readonly string[] {
  const made = steps.filter(({ state }) => state !== 'kept');
  const kept = steps.filter(({ state }) => state === 'kept');
  return [
    ...(made.length === 0
      ? ['Nothing to do: the tables have what the descriptors want.']
      : [formatSteps(made, shown), ...told(made)]),
    ...(kept.length === 0
      ? []
      : [
          '',
          'The database keeps what these descriptors do not name, until you allow its drop:',
          formatSteps(kept, { ...shown, sql: false }),
        ]),
  ];
}

export function formatRefusal(steps: readonly Assessed[], drift: readonly Drift[]): string {
  const allowed = steps.filter(({ state }) => state === 'allow').map(({ step }) => `--allow ${stepId(step)}`);
  const isOpen = steps.some(({ state }) => state === 'blocked' || state === 'unclear') || drift.length > 0;
  const shown = steps.filter(({ state }) => state !== 'kept');
  return [
    ...(shown.length === 0
      ? []
      : ['The descriptors differ from the tables of the database:', '', formatSteps(shown), '']),
    ...advice.filter(([state]) => steps.some((one) => one.state === state)).map(([, line]) => line),
    ...(drift.length === 0 ? [] : [formatDrift(drift), 'Put back what is missing: requests and other steps need it.']),
    ...(isOpen || allowed.length === 0 ? [] : ['', `  npm run apply -- ${allowed.join(' ')}`, '']),
    'Nothing was changed.',
  ].join('\n');
}

export const planAsJson = (
  steps: readonly Assessed[],
  drift: readonly Drift[],
  withSql: boolean,
  others: readonly string[] = [],
) => ({
  steps: steps.map(({ step, state, affected, obstacles }) => ({
    id: stepId(step),
    code: step.code,
    type: step.type,
    name: step.name ?? null,
    risk: step.risk,
    state,
    description: step.description,
    records: affected,
    obstacles: obstacles.length > 0 ? obstacles : undefined,
    older: olderInstances(step),
    sql: withSql ? step.tasks.map(({ sql }) => sql) : undefined,
  })),
  drift,
  others: others.length > 0 ? others : undefined,
});
