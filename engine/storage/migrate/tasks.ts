/**
 * The statements of a migration as data: when each of them runs, and what it locks. A database that changes its tables
 * in one transaction runs them in the order of the plan. The others run them in three stages, so that clients never wait
 * long: `prepare` builds what is new beside what is there, under names that no client knows; `switch` is one short
 * transaction that gives it the names that the model wants, and remembers the model; `finish` checks and clears up.
 */

type Stage = 'prepare' | 'switch' | 'finish';

/**
 * What clients may wait for. none: nothing. rows: the rows of one batch, if they write them. writes: writes to the table
 * wait for a moment. all: reads and writes wait for a moment.
 */
export type Lock = 'none' | 'rows' | 'writes' | 'all';

interface TaskOrder {
  readonly stage: Stage;
  /** Microseconds that it takes for each row of the table. */
  readonly perRow: number;
  readonly lock: Lock;
  /** What it does to its table, for whoever follows the migration. */
  readonly says: string;
}

/** In the order in which they run. */
export const taskKinds = {
  column: { stage: 'prepare', perRow: 0, lock: 'all', says: 'Add a column to' },
  trigger: { stage: 'prepare', perRow: 0, lock: 'writes', says: 'Add a trigger to' },
  fill: { stage: 'prepare', perRow: 40, lock: 'rows', says: 'Work through the rows of' },
  check: { stage: 'prepare', perRow: 0, lock: 'all', says: 'Add a check to' },
  validate: { stage: 'prepare', perRow: 0.3, lock: 'none', says: 'Check the rows of' },
  index: { stage: 'prepare', perRow: 3, lock: 'none', says: 'Build an index of' },
  /** Takes what is no longer wanted out of the way. */
  define: { stage: 'switch', perRow: 0, lock: 'all', says: 'Change' },
  /** Where tables change in one transaction. */
  rewrite: { stage: 'switch', perRow: 2, lock: 'all', says: 'Work through the rows of' },
  setAside: { stage: 'switch', perRow: 0, lock: 'none', says: 'Change' },
  /** To a name that nothing else has. */
  moveAway: { stage: 'switch', perRow: 0, lock: 'all', says: 'Change' },
  rename: { stage: 'switch', perRow: 0, lock: 'all', says: 'Change' },
  renameTable: { stage: 'switch', perRow: 0, lock: 'all', says: 'Rename' },
  settle: { stage: 'switch', perRow: 0, lock: 'all', says: 'Change' },
  renameIndex: { stage: 'switch', perRow: 0, lock: 'none', says: 'Change' },
  create: { stage: 'switch', perRow: 0, lock: 'none', says: 'Create' },
  confirm: { stage: 'finish', perRow: 0.5, lock: 'none', says: 'Check the references of' },
  dropIndex: { stage: 'finish', perRow: 0, lock: 'none', says: 'Drop an index of' },
} as const satisfies Record<string, TaskOrder>;

type TaskKind = keyof typeof taskKinds;

export interface Task {
  readonly kind: TaskKind;
  /** The table that it locks or reads, by its name before the migration. */
  readonly table: string | undefined;
  /** A fill binds the identifiers before the first row and of the last row of a batch. */
  readonly sql: string;
  /** Of a fill: the column of the identifier. */
  readonly identifier?: string;
}

const RANKS: ReadonlyMap<string, number> = new Map(Object.keys(taskKinds).map((kind, rank) => [kind, rank]));
const rankOf = ({ kind }: Task): number => RANKS.get(kind) ?? 0;

/** The tasks of one stage, in the order in which they run. */
export const tasksOf = (stage: Stage, tasks: Iterable<Task>): readonly Task[] =>
  [...tasks]
    .filter(({ kind }) => taskKinds[kind].stage === stage)
    .toSorted((one, other) => rankOf(one) - rankOf(other));

/** Statements that belong to no table that clients use. */
export const plainTasks = (kind: TaskKind, statements: readonly string[], table?: string): readonly Task[] =>
  statements.map((sql) => ({ kind, table, sql }));

/** For people: `Build an index of books`. */
export const titleOf = ({ kind, table }: Task): string => `${taskKinds[kind].says} ${table ?? 'the tables'}`;

const LOCKS: readonly Lock[] = ['none', 'rows', 'writes', 'all'];

export interface StepCost {
  /** The strongest lock. */
  readonly locks: Lock;
  /** About how long others wait for it at most. */
  readonly lockedSeconds: number;
  /** About how long the step works. */
  readonly seconds: number;
}

/** Seconds: what takes longer is given up, or done in smaller parts. */
const MOMENTS: Readonly<Record<Lock, number>> = { none: 0, rows: 0.1, writes: 0.2, all: 0.2 };

/** Microseconds for each row where one transaction does everything, for its kinds of tasks. */
const PER_ROW_AT_ONCE: Readonly<Partial<Record<TaskKind, number>>> = {
  fill: 2,
  rewrite: 1.5,
  index: 1,
};

/** Over a table of this many rows. `isLive`: while clients go on; otherwise in one transaction, for which writes wait. */
export function costOf(tasks: readonly Task[], rows: number, isLive: boolean): StepCost {
  const perRow = ({ kind }: Task): number => (isLive ? taskKinds[kind].perRow : (PER_ROW_AT_ONCE[kind] ?? 0));
  const seconds = Math.round((rows * tasks.reduce((sum, task) => sum + perRow(task), 0)) / 100_000) / 10;
  if (!isLive) return { locks: tasks.length === 0 ? 'none' : 'writes', lockedSeconds: seconds, seconds };
  const strongest = Math.max(0, ...tasks.map(({ kind }) => LOCKS.indexOf(taskKinds[kind].lock)));
  const locks = LOCKS[strongest] ?? 'none';
  return { locks, lockedSeconds: MOMENTS[locks], seconds };
}

export const worksOnRows = (tasks: readonly Task[]): boolean => tasks.some(({ kind }) => taskKinds[kind].perRow > 0);
