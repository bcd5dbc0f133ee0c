/**
 * The statements of a migration as data: when each of them runs, and what it locks. A database that changes its tables
 * in one transaction runs them in the order of the plan. The others run them in three stages, so that clients never wait
 * long: `prepare` builds what is new beside what is there, under names that no client knows; `switch` is one short
 * transaction that gives it the names that the model wants, and remembers the model; `finish` checks and clears up.
 */
import type { TableStatements } from '../tables.ts';

type Stage = 'prepare' | 'switch' | 'finish';

/**
 * The waits of clients. none: nothing. rows: the rows of one batch, if they write them. writes: writes to the table
 * wait for a moment. all: reads and writes wait for a moment.
 */
export type Lock = 'none' | 'rows' | 'writes' | 'all';

interface TaskOrder {
  readonly stage: Stage;
  readonly lock: Lock;
  /** Describes its work on the table, for the progress report. */
  readonly says: string;
}

/** In the order in which they run. */
export const taskKinds = {
  column: { stage: 'prepare', lock: 'all', says: 'Add a column to' },
  trigger: { stage: 'prepare', lock: 'writes', says: 'Add a trigger to' },
  fill: { stage: 'prepare', lock: 'rows', says: 'Work through the rows of' },
  check: { stage: 'prepare', lock: 'all', says: 'Add a check to' },
  validate: { stage: 'prepare', lock: 'none', says: 'Check the rows of' },
  index: { stage: 'prepare', lock: 'none', says: 'Build an index of' },
  /** Takes what is no longer wanted out of the way. */
  define: { stage: 'switch', lock: 'all', says: 'Change' },
  /** Only if tables change in one transaction. */
  rewrite: { stage: 'switch', lock: 'all', says: 'Work through the rows of' },
  setAside: { stage: 'switch', lock: 'none', says: 'Change' },
  rename: { stage: 'switch', lock: 'all', says: 'Change' },
  settle: { stage: 'switch', lock: 'all', says: 'Change' },
  renameIndex: { stage: 'switch', lock: 'none', says: 'Change' },
  create: { stage: 'switch', lock: 'none', says: 'Create' },
  /** Once all tables are there: they may lead to each other in circles. */
  link: { stage: 'switch', lock: 'all', says: 'Change' },
  confirm: { stage: 'finish', lock: 'none', says: 'Check the references of' },
  dropIndex: { stage: 'finish', lock: 'none', says: 'Drop an index of' },
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
  /** The column that it drops. */
  readonly drops?: string;
  /** The index that it builds beside the table. */
  readonly builds?: string;
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

/** Those of a new table and its indexes. */
export const tableTasks = ({ create, links }: TableStatements, indexes: readonly string[]): readonly Task[] => [
  ...plainTasks('create', [...create, ...indexes]),
  ...plainTasks('link', links),
];

/** For people: `Build an index of books`. */
export const titleOf = ({ kind, table }: Task): string => `${taskKinds[kind].says} ${table ?? 'the tables'}`;
