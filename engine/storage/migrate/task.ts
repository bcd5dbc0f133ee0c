/** Changes of tables as data, and the tasks of drivers that carry them out. */
import type { OnDelete } from '../../descriptor/descriptor.ts';
import { StartError } from '../../problem.ts';
import type { Column, TableIndex, TableStatements } from '../columns.ts';

export type Edit =
  | { readonly kind: 'addColumn'; readonly column: Column }
  | {
      readonly kind: 'changeColumn';
      readonly column: Column;
      readonly was: {
        readonly nullable: boolean;
        readonly limits?: string | undefined;
        readonly onDelete?: OnDelete;
        readonly hasOtherDefault?: boolean;
      };
    }
  | { readonly kind: 'dropColumn'; readonly name: string; readonly isReference: boolean }
  | { readonly kind: 'dropIndex'; readonly name: string }
  | { readonly kind: 'createIndex'; readonly index: TableIndex };

export interface ColumnSource {
  readonly column: Column;
  /** SQL over the old columns. */
  readonly value: string;
  readonly from: string | undefined;
  readonly reads?: string | undefined;
  readonly isRetyped?: boolean;
}

export interface TableAlteration {
  readonly table: string;
  readonly identifier: string;
  readonly keyType: string | undefined;
  readonly edits: readonly Edit[];
  readonly wasOpen: boolean;
  readonly columns: readonly ColumnSource[];
  readonly create: (name: string) => TableStatements;
  readonly indexes: readonly TableIndex[];
  /** Columns that somebody else has added; `detail`: the words after the name. */
  readonly others: readonly { readonly name: string; readonly detail: string }[];
}

export interface Altered {
  /** The tasks of each edit; empty if `rebuild` or an earlier edit does it. */
  readonly each: readonly (readonly Task[])[];
  /** A rebuild that makes all edits in one pass over the rows. */
  readonly rebuild: readonly Task[];
}

/**
 * SQLite runs tasks in plan order, in one transaction. PostgreSQL sorts them as here, in three stages: `prepare` builds
 * objects under temporary names, `switch` is a short transaction that renames them, `finish` checks and cleans up.
 */
export const taskKinds = {
  column: { stage: 'prepare', lock: 'all', title: 'Add a column to' },
  trigger: { stage: 'prepare', lock: 'writes', title: 'Add a trigger to' },
  fill: { stage: 'prepare', lock: 'rows', title: 'Work through the rows of' },
  check: { stage: 'prepare', lock: 'all', title: 'Add a check to' },
  validate: { stage: 'prepare', lock: 'none', title: 'Check the rows of' },
  index: { stage: 'prepare', lock: 'none', title: 'Build an index of' },
  define: { stage: 'switch', lock: 'all', title: 'Change' },
  /** Only SQLite runs it. */
  rewrite: { stage: 'switch', lock: 'all', title: 'Work through the rows of' },
  rename: { stage: 'switch', lock: 'all', title: 'Change' },
  settle: { stage: 'switch', lock: 'all', title: 'Change' },
  renameIndex: { stage: 'switch', lock: 'none', title: 'Change' },
  create: { stage: 'switch', lock: 'none', title: 'Create' },
  /** Runs after all tables exist, as foreign keys may form cycles. */
  link: { stage: 'switch', lock: 'all', title: 'Change' },
  confirm: { stage: 'finish', lock: 'none', title: 'Check the references of' },
} as const;

export interface Task {
  readonly kind: keyof typeof taskKinds;
  /** The table that it locks or reads, by its old name. */
  readonly table: string | undefined;
  /** A fill binds the identifiers before a batch's first row and of its last row. */
  readonly sql: string;
  readonly identifier?: string;
  /** The SQL type of the identifier, if it is no number: a fill then binds the last one of a batch twice. */
  readonly keyType?: string | undefined;
  readonly drops?: string;
  /** Whether a new table takes the place of the old one, without constraints of others. */
  readonly replaces?: boolean;
  /** Whether the records of the table go with it, and what the log has of them. */
  readonly forgets?: true;
  readonly builds?: string;
  /** The constraint that it makes, or gives its name. */
  readonly constraint?: string;
  /** Whether it updates rows, so that triggers fire. */
  readonly updates?: boolean;
}

export const plainTasks = (kind: Task['kind'], statements: readonly string[], table?: string): readonly Task[] =>
  statements.map((sql) => ({ kind, table, sql }));

export const tableTasks = ({ create, links }: TableStatements, indexes: readonly string[]): readonly Task[] => [
  ...plainTasks('create', [...create, ...indexes]),
  ...plainTasks('link', links),
];

export const tooGreat = (table: string): StartError =>
  new StartError(
    `Table ${table} has an identifier above 2^53, which this service cannot read: give that row another one. Nothing was changed.`,
  );

export const titleOf = ({ kind, table }: Task): string => `${taskKinds[kind].title} ${table ?? 'the tables'}`;
