/** The interface of drivers that change tables, and the changes as data. */
import { type Caller, NO_CLIENT } from '../../edge/caller.ts';
import type { OnDelete } from '../../descriptor/descriptor.ts';
import type { Column } from '../columns.ts';
import type { OtherColumn } from './catalogue.ts';
import type { Awaitable, Reader, Writer } from '../driver.ts';
import { StartError } from '../../problem.ts';
import type { TableIndex, TableStatements } from '../tables.ts';

export interface Migration {
  readonly tasks: readonly Task[];
  /** Only a migration with the same key continues one that was interrupted. */
  readonly key: string;
  readonly own: ReadonlySet<string>;
  /** Tables that nobody else reads or writes from before `before` until the end. */
  readonly locked: readonly string[];
  readonly backup: boolean;
  /** Begins the transaction that changes what clients see. An error that it throws ends the migration. */
  readonly before: (reader: Reader) => Awaitable<void>;
  readonly after: (writer: Writer) => Awaitable<void>;
  readonly watch: Follower;
}

/** The migration inserts seed records, and is taken back as a whole with the one that cannot be inserted. */
export class SeedRefused extends StartError {}

export interface Follower {
  /** Once it has gone, the migration stops with CallerGone. The next one goes on from there. */
  readonly caller: Caller;
  readonly report: (event: MigrationEvent) => void;
}

export interface Doing {
  readonly kind: 'doing';
  readonly task: Task;
  readonly number: number;
  readonly of: number;
  /** Of a fill: the identifier that it has reached, the greatest one, and the rows done by this process; otherwise 0. */
  readonly position: number;
  readonly last: number;
  readonly rows: number;
}

export type MigrationEvent =
  | Doing
  | { readonly kind: 'waiting'; readonly table: string; readonly holders: readonly string[] };

export const UNWATCHED: Follower = { caller: NO_CLIENT, report: () => undefined };

export interface Migrating {
  /** All or nothing. Returns the name of the copy. */
  migrate(migration: Migration): Promise<string | undefined>;
  finishMigration(watch: Follower): Promise<void>;
  abandonMigration(watch: Follower): Promise<boolean>;
  /** Runs the tasks over empty tables, where that needs no lock. Returns the task that fails, and why. */
  dryRun(
    migration: Pick<Migration, 'tasks' | 'own'>,
  ): Awaitable<{ readonly task: Task; readonly reason: string } | undefined>;
}

export type Edit =
  | { readonly kind: 'addColumn'; readonly column: Column }
  | {
      readonly kind: 'changeColumn';
      readonly column: Column;
      readonly was: {
        readonly nullable: boolean;
        readonly limits?: string | undefined;
        readonly onDelete?: OnDelete;
      };
    }
  | { readonly kind: 'dropColumn'; readonly name: string; readonly isReference: boolean }
  | { readonly kind: 'dropIndex'; readonly name: string }
  | { readonly kind: 'createIndex'; readonly index: TableIndex };

export interface ColumnSource {
  readonly column: Column;
  /** SQL over the columns before. */
  readonly value: string;
  readonly from: string | undefined;
  readonly reads?: string | undefined;
  readonly isRetyped?: boolean;
}

export interface TableAlteration {
  readonly table: string;
  readonly identifier: string;
  readonly edits: readonly Edit[];
  readonly wasOpen: boolean;
  readonly columns: readonly ColumnSource[];
  readonly create: (name: string) => TableStatements;
  readonly indexes: readonly TableIndex[];
  readonly others: readonly OtherColumn[];
}

export interface Altered {
  /** The tasks of each edit; empty where `together` or an earlier edit does it. */
  readonly each: readonly (readonly Task[])[];
  /** A rebuild that makes all edits in one pass over the rows. */
  readonly together: readonly Task[];
}

/**
 * SQLite runs tasks in the order of the plan, in one transaction. PostgreSQL sorts them as here, in three stages: `prepare`
 * builds objects under hidden names, `switch` is one short transaction that renames them, `finish` checks and clears up.
 */
export const taskKinds = {
  column: { stage: 'prepare', lock: 'all', says: 'Add a column to' },
  trigger: { stage: 'prepare', lock: 'writes', says: 'Add a trigger to' },
  fill: { stage: 'prepare', lock: 'rows', says: 'Work through the rows of' },
  check: { stage: 'prepare', lock: 'all', says: 'Add a check to' },
  validate: { stage: 'prepare', lock: 'none', says: 'Check the rows of' },
  index: { stage: 'prepare', lock: 'none', says: 'Build an index of' },
  define: { stage: 'switch', lock: 'all', says: 'Change' },
  /** SQLite only. */
  rewrite: { stage: 'switch', lock: 'all', says: 'Work through the rows of' },
  rename: { stage: 'switch', lock: 'all', says: 'Change' },
  settle: { stage: 'switch', lock: 'all', says: 'Change' },
  renameIndex: { stage: 'switch', lock: 'none', says: 'Change' },
  create: { stage: 'switch', lock: 'none', says: 'Create' },
  /** After all tables are created, since foreign keys may form circles. */
  link: { stage: 'switch', lock: 'all', says: 'Change' },
  confirm: { stage: 'finish', lock: 'none', says: 'Check the references of' },
} as const;

export interface Task {
  readonly kind: keyof typeof taskKinds;
  /** The table that it locks or reads, by its name before the migration. */
  readonly table: string | undefined;
  /** A fill binds the identifiers before the first row and of the last row of a batch. */
  readonly sql: string;
  readonly identifier?: string;
  readonly drops?: string;
  readonly builds?: string;
}

export const plainTasks = (kind: Task['kind'], statements: readonly string[], table?: string): readonly Task[] =>
  statements.map((sql) => ({ kind, table, sql }));

export const tableTasks = ({ create, links }: TableStatements, indexes: readonly string[]): readonly Task[] => [
  ...plainTasks('create', [...create, ...indexes]),
  ...plainTasks('link', links),
];

export const titleOf = ({ kind, table }: Task): string => `${taskKinds[kind].says} ${table ?? 'the tables'}`;
