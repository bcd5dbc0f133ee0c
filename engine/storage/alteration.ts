/** What a plan asks of a database's DDL: changes of one table, for the dialect to put into statements. */
import type { Column } from './columns.ts';

export type Edit =
  | { readonly kind: 'renameTable'; readonly from: string }
  | { readonly kind: 'renameIdentifier'; readonly from: string; readonly to: string }
  | { readonly kind: 'renameColumn'; readonly from: string; readonly to: string }
  | { readonly kind: 'addColumn'; readonly column: Column }
  /** Another type, default, foreign key, limits, or whether it may be null. `value`: SQL of the new value over the old row. */
  | {
      readonly kind: 'changeColumn';
      readonly column: Column;
      readonly value: string;
      /** Whether there are limits to it, or were. */
      readonly isLimited: boolean;
    }
  | { readonly kind: 'dropColumn'; readonly name: string; readonly isReference: boolean }
  /** New values for a column that is there, in the rows that `where` chooses. */
  | { readonly kind: 'setColumn'; readonly name: string; readonly value: string; readonly where: string }
  | { readonly kind: 'dropIndex'; readonly name: string }
  | { readonly kind: 'createIndex'; readonly name: string; readonly sql: string };

/** In the order of the edits; names in `value` and `where` are those before. */
export interface TableAlteration {
  /** The table's name afterwards. */
  readonly table: string;
  /** The identifier's column afterwards. */
  readonly identifier: string;
  readonly edits: readonly Edit[];
  /** Without the identifier. */
  readonly columnsBefore: readonly string[];
  /** All columns afterwards, each with SQL of its value over the row before. */
  readonly values: readonly { readonly column: string; readonly value: string }[];
  /** CREATE TABLE of the table afterwards, under any name. */
  readonly create: (name: string) => string;
  readonly indexes: readonly string[];
}

export interface Altered {
  /** The statements of each edit; empty where `together` does it. */
  readonly each: readonly (readonly string[])[];
  /** What only all of them together can be done with: one pass over the rows. */
  readonly together: readonly string[];
}

/** The part of a dialect that changes tables. */
export interface Alterations {
  readonly alterTable: (alteration: TableAlteration) => Altered;
  /** SQL: whether the JSON object kept in a column has the key. */
  readonly hasKey: (column: string, key: string) => string;
  /** SQL: the object without these keys. */
  readonly withoutKeys: (column: string, keys: readonly string[]) => string;
  /** SQL: the JSON text of a key that is there. */
  readonly keyJson: (column: string, key: string) => string;
  /** SQL: whether a JSON object has no key. */
  readonly isEmpty: (json: string) => string;
  /** The literal that `extracted` of a column type takes. */
  readonly keyPath: (key: string) => string;
}
