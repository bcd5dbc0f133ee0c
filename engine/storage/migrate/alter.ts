/** Changes of one table as data, for a dialect to put into statements; and those that every database words alike. */
import type { Column } from '../columns.ts';
import type { Dialect } from '../driver.ts';

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

/** `table`: its name afterwards. */
type Alter<K extends Edit['kind'], Result = readonly string[]> = (
  edit: Extract<Edit, { kind: K }>,
  table: string,
  dialect: Dialect,
) => Result;

/** One entry for each kind of edit. */
export type Alters<Result = readonly string[]> = { readonly [K in Edit['kind']]: Alter<K, Result> };

/** The entry of a kind takes the edits of that kind. */
export const alterBy = <Result>(alters: Alters<Result>, edit: Edit, table: string, dialect: Dialect): Result =>
  (alters[edit.kind] as (edit: Edit, table: string, dialect: Dialect) => Result)(edit, table, dialect);

const renamed = ({ from, to }: { from: string; to: string }, table: string, { quote }: Dialect): readonly string[] => [
  `alter table ${quote(table)} rename column ${quote(from)} to ${quote(to)}`,
];

export const commonAlters: Omit<Alters, 'addColumn' | 'changeColumn'> = {
  renameTable: ({ from }, table, { quote }) => [`alter table ${quote(from)} rename to ${quote(table)}`],
  renameIdentifier: renamed,
  renameColumn: renamed,
  dropColumn: ({ name }, table, { quote }) => [`alter table ${quote(table)} drop column ${quote(name)}`],
  setColumn: ({ name, value, where }, table, { quote }) => [
    `update ${quote(table)} set ${quote(name)} = ${value} where ${where}`,
  ],
  dropIndex: ({ name }, _table, { quote }) => [`drop index ${quote(name)}`],
  createIndex: ({ sql }) => [sql],
};
