/** Changes of one table as data, for a dialect to put into statements. */
import type { OnDelete } from '../../descriptor/descriptor.ts';
import type { Column } from '../columns.ts';
import type { Task } from './tasks.ts';

export type Edit =
  | { readonly kind: 'addColumn'; readonly column: Column }
  /** Another type, default, foreign key, limits, or whether it may be null. */
  | { readonly kind: 'changeColumn'; readonly column: Column; readonly was: ColumnBefore }
  | { readonly kind: 'dropColumn'; readonly name: string; readonly isReference: boolean }
  /** New values for a column that is there, in the rows that `where` chooses. */
  | { readonly kind: 'setColumn'; readonly name: string; readonly value: string; readonly where: string }
  | { readonly kind: 'dropIndex'; readonly name: string; readonly unique: boolean }
  | { readonly kind: 'createIndex'; readonly name: string; readonly sql: string };

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
  /** CREATE TABLE of the table afterwards, under any name. */
  readonly create: (name: string) => string;
  readonly indexes: readonly string[];
}

export interface Altered {
  /** The tasks of each edit; empty where `together` does it, or an edit before it. */
  readonly each: readonly (readonly Task[])[];
  /** What only all of them together can be done with: one pass over the rows. */
  readonly together: readonly Task[];
}
