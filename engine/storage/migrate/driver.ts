/** The interface by which a driver changes tables. */
import { type Caller, PATIENT } from '../../edge/caller.ts';
import type { OnDelete } from '../../descriptor/descriptor.ts';
import type { Column } from '../columns.ts';
import type { OtherColumn } from './catalogue.ts';
import type { Awaitable, Reader, Writer } from '../driver.ts';
import type { TableIndex, TableStatements } from '../tables.ts';
import type { Task } from './tasks.ts';

export interface Migration {
  /** In the order of the plan. */
  readonly tasks: Iterable<Task>;
  /** Identifies the migration: only one with the same key continues one that was interrupted. */
  readonly key: string;
  /** Names of the indexes that the engine made; those of others stay. */
  readonly own: ReadonlySet<string>;
  /** Tables that nobody else reads or writes from before `before` until the end. */
  readonly locked: readonly string[];
  /** Whether a copy of the database is made first, where the database is a file. */
  readonly backup: boolean;
  /** In the transaction that changes what clients see, before anything is changed. An error that it throws ends the migration. */
  readonly before: (reader: Reader) => Awaitable<void>;
  /** In the same transaction, after all statements. */
  readonly after: (writer: Writer) => Awaitable<void>;
  readonly watch: Follower;
}

/** An observer of a migration, which may stop it. */
export interface Follower {
  /** Once it has gone, the migration stops with CallerGone. The next one goes on from there. */
  readonly caller: Caller;
  readonly report: (event: MigrationEvent) => void;
}

/** How far a migration has come: in a task, of which it is the first if `number` is 1. */
export interface Doing {
  readonly kind: 'doing';
  readonly task: Task;
  readonly number: number;
  /** How many tasks there are. */
  readonly of: number;
  /** Of a fill: the identifier up to which it is done, and the greatest one; otherwise 0. */
  readonly position: number;
  readonly last: number;
  /** Of a fill: the rows that it has worked through since this process began it; otherwise 0. */
  readonly rows: number;
}

/** doing: before each statement, and after each batch of a fill. waiting: others have held the table for a while. */
export type MigrationEvent =
  | Doing
  | { readonly kind: 'waiting'; readonly table: string; readonly holders: readonly string[] };

export const UNWATCHED: Follower = { caller: PATIENT, report: () => undefined };

/** How a driver changes tables. */
export interface Migrating {
  /**
   * Runs it, or refuses it as a whole: clients see the tables as they were, or as they should be. Foreign keys are looked
   * at when all is done: where one would lead nowhere, nothing is changed. Answers the name of the copy.
   */
  migrate(migration: Migration): Promise<string | undefined>;
  /** Clears up after a migration that was cut off when its tables were done. */
  finishMigration(watch: Follower): Promise<void>;
  /** Takes back what a migration has prepared that was cut off before. Answers whether there was one. */
  abandonMigration(watch: Follower): Promise<boolean>;
  /**
   * Runs these statements over empty tables, where that needs no lock: answers which one fails, and why. Undefined if none
   * does.
   */
  rehearse(migration: Pick<Migration, 'tasks' | 'own'>): Awaitable<Failure | undefined>;
}

export interface Failure {
  readonly task: Task;
  readonly reason: string;
}

// Changes of one table as data, for a dialect to put into statements.

export type Edit =
  | { readonly kind: 'addColumn'; readonly column: Column }
  /** Another type, default, foreign key, limits, or whether it may be null. */
  | { readonly kind: 'changeColumn'; readonly column: Column; readonly was: ColumnBefore }
  | { readonly kind: 'dropColumn'; readonly name: string; readonly isReference: boolean }
  /** New values for a column that is there, in the rows that `where` chooses. */
  | { readonly kind: 'setColumn'; readonly name: string; readonly value: string; readonly where: string }
  | { readonly kind: 'dropIndex'; readonly name: string; readonly unique: boolean }
  | { readonly kind: 'createIndex'; readonly index: TableIndex };

interface ColumnBefore {
  readonly nullable: boolean;
  /** The limits that the database keeps, as SQL without the column's name. */
  readonly limits: string | undefined;
  /** Of a foreign key. */
  readonly onDelete: OnDelete | undefined;
}

/** A column afterwards, and where its values come from. */
export interface ColumnSource {
  readonly column: Column;
  /** SQL over the row before. */
  readonly value: string;
  /** The column that it was. */
  readonly from: string | undefined;
  /** Another column that its value depends on. */
  readonly reads?: string | undefined;
  /** Whether its type in the database is another one. */
  readonly isRetyped: boolean;
}

/** In the order of the edits; names in `value` and `where` are those before. */
export interface TableAlteration {
  readonly table: string;
  /** The identifier's column. */
  readonly identifier: string;
  readonly edits: readonly Edit[];
  /** Without the identifier. */
  readonly columnsBefore: readonly string[];
  /** All columns afterwards but the identifier, in the order of the table. */
  readonly columns: readonly ColumnSource[];
  /** The statements that create the table afterwards, under any name. */
  readonly create: (name: string) => TableStatements;
  readonly indexes: readonly TableIndex[];
  /** Columns that somebody else has added. */
  readonly others: readonly OtherColumn[];
}

export interface Altered {
  /** The tasks of each edit; empty where `together` does it, or an edit before it. */
  readonly each: readonly (readonly Task[])[];
  /** Tasks of a rebuild that makes all edits in one pass over the rows. */
  readonly together: readonly Task[];
}
