/** The interface by which a driver changes tables. */
import { type Caller, PATIENT } from '../../edge/caller.ts';
import type { OnDelete } from '../../descriptor/descriptor.ts';
import type { Column } from '../columns.ts';
import type { OtherColumn } from './catalogue.ts';
import type { Awaitable, Reader, Writer } from '../driver.ts';
import type { TableIndex, TableStatements } from '../tables.ts';

export interface Migration {
  readonly tasks: readonly Task[];
  /** Identifies the migration: only one with the same key continues one that was interrupted. */
  readonly key: string;
  /** Names of the indexes that the engine made; those of others stay. */
  readonly own: ReadonlySet<string>;
  /** Tables that nobody else reads or writes from before `before` until the end. */
  readonly locked: readonly string[];
  /** Whether a copy of the database is made first, where the database is a file. */
  readonly backup: boolean;
  /** Runs at the start of the transaction that changes what clients see. An error that it throws ends the migration. */
  readonly before: (reader: Reader) => Awaitable<void>;
  readonly after: (writer: Writer) => Awaitable<void>;
  readonly watch: Follower;
}

export interface Follower {
  /** Once it has gone, the migration stops with CallerGone. The next one goes on from there. */
  readonly caller: Caller;
  readonly report: (event: MigrationEvent) => void;
}

/** How far a migration has come: the task, and its number from 1. */
export interface Doing {
  readonly kind: 'doing';
  readonly task: Task;
  readonly number: number;
  readonly of: number;
  /** The identifier up to which a fill is done, the greatest one, and the rows that this process did; 0 otherwise. */
  readonly position: number;
  readonly last: number;
  readonly rows: number;
}

/** A `doing` comes before each statement and each batch; a `waiting` when others have held the table for a while. */
export type MigrationEvent =
  | Doing
  | { readonly kind: 'waiting'; readonly table: string; readonly holders: readonly string[] };

export const UNWATCHED: Follower = { caller: PATIENT, report: () => undefined };

export interface Migrating {
  /** All or nothing: clients see the tables before, or after. Answers the name of the copy. */
  migrate(migration: Migration): Promise<string | undefined>;
  /** Clears up after a migration that was cut off when its tables were done. */
  finishMigration(watch: Follower): Promise<void>;
  /** Takes back the preparations of a migration that was cut off. Answers whether there was one. */
  abandonMigration(watch: Follower): Promise<boolean>;
  /** Runs the statements over empty tables, where that needs no lock: answers which one fails, and why. */
  rehearse(
    migration: Pick<Migration, 'tasks' | 'own'>,
  ): Awaitable<{ readonly task: Task; readonly reason: string } | undefined>;
}

// Changes of one table as data, for a dialect to put into statements.

export type Edit =
  | { readonly kind: 'addColumn'; readonly column: Column }
  | {
      readonly kind: 'changeColumn';
      readonly column: Column;
      /** `limits`: those that the database keeps, as SQL without the column's name. */
      readonly was: {
        readonly nullable: boolean;
        readonly limits?: string | undefined;
        readonly onDelete?: OnDelete;
      };
    }
  | { readonly kind: 'dropColumn'; readonly name: string; readonly isReference: boolean }
  | { readonly kind: 'dropIndex'; readonly name: string }
  | { readonly kind: 'createIndex'; readonly index: TableIndex };

/** A column afterwards, and where its values come from. */
export interface ColumnSource {
  readonly column: Column;
  readonly value: string;
  readonly from: string | undefined;
  /** Another column that its value depends on. */
  readonly reads?: string | undefined;
  readonly isRetyped?: boolean;
}

/** In the order of the edits; names in `value` are those before. */
export interface TableAlteration {
  readonly table: string;
  readonly identifier: string;
  readonly edits: readonly Edit[];
  readonly columnsBefore: readonly string[];
  /** All columns afterwards but the identifier, in the order of the table. */
  readonly columns: readonly ColumnSource[];
  /** Creates the table afterwards, under any name. */
  readonly create: (name: string) => TableStatements;
  readonly indexes: readonly TableIndex[];
  readonly others: readonly OtherColumn[];
}

export interface Altered {
  /** The tasks of each edit; empty where `together` does it, or an edit before it. */
  readonly each: readonly (readonly Task[])[];
  /** Tasks of a rebuild that makes all edits in one pass over the rows. */
  readonly together: readonly Task[];
}

/**
 * The kinds of tasks in the order in which they run, each with its stage, the wait of clients, and its words in progress
 * reports. A database that changes its tables in one transaction runs the tasks in the order of the plan. The others have
 * three stages: `prepare` builds new objects beside the old ones, under names that no client knows; `switch` is one short
 * transaction that gives them their names, and remembers the model; `finish` checks and clears up.
 */
export const taskKinds = {
  column: { stage: 'prepare', lock: 'all', says: 'Add a column to' },
  trigger: { stage: 'prepare', lock: 'writes', says: 'Add a trigger to' },
  fill: { stage: 'prepare', lock: 'rows', says: 'Work through the rows of' },
  check: { stage: 'prepare', lock: 'all', says: 'Add a check to' },
  validate: { stage: 'prepare', lock: 'none', says: 'Check the rows of' },
  index: { stage: 'prepare', lock: 'none', says: 'Build an index of' },
  define: { stage: 'switch', lock: 'all', says: 'Change' },
  /** Only if tables change in one transaction. */
  rewrite: { stage: 'switch', lock: 'all', says: 'Work through the rows of' },
  rename: { stage: 'switch', lock: 'all', says: 'Change' },
  settle: { stage: 'switch', lock: 'all', says: 'Change' },
  renameIndex: { stage: 'switch', lock: 'none', says: 'Change' },
  create: { stage: 'switch', lock: 'none', says: 'Create' },
  /** Once all tables are there: they may lead to each other in circles. */
  link: { stage: 'switch', lock: 'all', says: 'Change' },
  confirm: { stage: 'finish', lock: 'none', says: 'Check the references of' },
} as const satisfies Record<
  string,
  {
    readonly stage: 'prepare' | 'switch' | 'finish';
    readonly lock: 'none' | 'rows' | 'writes' | 'all';
    readonly says: string;
  }
>;

export interface Task {
  readonly kind: keyof typeof taskKinds;
  /** The table that it locks or reads, by its name before the migration. */
  readonly table: string | undefined;
  /** A fill binds the identifiers before the first row and of the last row of a batch. */
  readonly sql: string;
  /** The column by which a fill counts. */
  readonly identifier?: string;
  readonly drops?: string;
  /** The index that it builds beside the table. */
  readonly builds?: string;
}

export const plainTasks = (kind: Task['kind'], statements: readonly string[], table?: string): readonly Task[] =>
  statements.map((sql) => ({ kind, table, sql }));

export const tableTasks = ({ create, links }: TableStatements, indexes: readonly string[]): readonly Task[] => [
  ...plainTasks('create', [...create, ...indexes]),
  ...plainTasks('link', links),
];

/** For people: `Build an index of books`. */
export const titleOf = ({ kind, table }: Task): string => `${taskKinds[kind].says} ${table ?? 'the tables'}`;
