/** The parts of one database's SQL that Knex does not cover. Members answer SQL unless they say otherwise. */
import type { Knex } from 'knex';
import type { DialectName, SqlValue } from '../field-types/field-type.ts';
import type { BulkColumn } from './tables.ts';
import type { Row, Statement } from './driver.ts';
import type { Altered, TableAlteration } from './migrate/driver.ts';

export interface Dialect {
  readonly name: DialectName;
  /** A value that differs once the tables have changed. `renew` makes it differ. */
  readonly revision: {
    readonly sql: string;
    readonly inEachSnapshot: boolean;
    readonly renew: readonly string[];
  };
  readonly knex: Knex;
  readonly quote: (name: string) => string;
  readonly literal: (value: SqlValue) => string;

  // JSON texts.

  readonly array: (json: string, from: string, order: string) => string;
  readonly hasKey: (column: string, key: string) => string;
  readonly withoutKeys: (column: string, keys: readonly string[]) => string;
  readonly keyJson: (column: string, key: string) => string;
  /** The literal that `extracted` of a column type takes. */
  readonly keyPath: (key: string) => string;

  // Texts.

  readonly folded: (text: string) => string;
  /** Joins a folded text and its text into one that orders by the former, and takes them apart. */
  readonly spelled: {
    readonly joined: (folded: string, text: string) => string;
    readonly text: (joined: string) => string;
    readonly folded: (joined: string) => string;
  };
  readonly like: string;

  // Lists.

  readonly estimate: {
    readonly sql: (parts: {
      readonly table: string;
      readonly identifier: string;
      readonly rowIdentifier: string;
      /** SQL of the SELECT; `from` comes before its own tables, `where` before its own conditions. */
      readonly select: (columns: string, from?: string, where?: string) => string;
    }) => string;
    readonly read: (row: Row) => { readonly rows: number; readonly isCheap: boolean };
  };
  /** A page, followed by a row with the total unless the page shows it; missing if two statements cost no more. */
  readonly counted?: (
    page: Statement,
    count: Statement,
    how: { readonly values: number; readonly isFirstPage: boolean },
  ) => Statement;
  readonly limit: string;
  /** Whether all rows of a statement cost less at once than one by one. */
  readonly readsRowsAtOnce: boolean;
  /** Null comes before every value ascending and after it descending. `present`: it is never null. */
  readonly orderBy: (expression: string, descending: boolean, present: boolean) => string;
  /** The join of ordered rows with others, and whether it keeps their order. */
  readonly joined: { readonly words: string; readonly inOrder: boolean };
  /** Condition: `column` is in a JSON array of numbers. Bound: the array. */
  readonly oneOf: (column: string) => string;
  /** The rows of a JSON array of numbers: `listed$.value`, and their order in `listed$.key`. Bound: the array. */
  readonly listed: string;
  /** Condition: two columns are in a JSON array of pairs. Bound: the array. */
  readonly oneOfPairs: (left: string, right: string) => string;

  // Tables.

  readonly integer: string;
  readonly identifier: (builder: Knex.CreateTableBuilder, column: string) => void;
  readonly openKeys: string;
  readonly namesConstraints: boolean;
  /** Follows the closing bracket of CREATE TABLE; `keyed` where the table has an identifier column. */
  readonly tableOptions: (keyed: boolean) => string;
  /** The terms of an index that serves `orderBy`, and ends in the identifier unless it is unique. */
  readonly indexed: (expressions: readonly string[], identifier: string | undefined) => readonly string[];
  /** Condition: the columns are too long for one entry of an index. Undefined if every entry fits. */
  readonly isLongEntry: ((columns: readonly string[]) => string) | undefined;
  readonly alterTable: (alteration: TableAlteration) => Altered;
  readonly catalogue: string;

  // Writes.

  readonly returning: boolean;
  /** The sequence, which knows the greatest identifier ever used. `move` binds the new one in each statement. */
  readonly sequence: {
    readonly read: (table: string, column: string) => string;
    readonly move: (table: string, column: string) => readonly string[];
  };
  /** The rows of a JSON array of objects with keys c0, c1 and so on. Bound: the array. Missing if it is not faster. */
  readonly rowsOfJson?: (columns: readonly BulkColumn[]) => string;
  /** Between `begin` and `end`, rows of these tables may refer to later ones. */
  readonly deferred: (tables: readonly string[]) => {
    readonly begin: readonly string[];
    readonly end: readonly string[];
  };
  /** The time of the database some hours ago, as text that sorts. Bound: the hours. */
  readonly hoursAgo: string;
  /** Whether writes run concurrently, so that rows must be locked before they are compared. */
  readonly locks: boolean;
  /** Waits until no other transaction that ran it is left. Undefined if writes run one by one. */
  readonly lockOwnership: string | undefined;
}

// SQL that puts JSON together as text: nothing is parsed between the levels, and any number of keys is possible.

/** PostgreSQL takes 100 arguments of one function (FUNC_MAX_ARGS), SQLite more in every build. */
const MAX_ARGUMENTS = 100;

export const literal = (value: SqlValue): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);

function concat(parts: readonly string[]): string {
  if (parts.length <= MAX_ARGUMENTS) return `concat(${parts.join(', ')})`;
  const groups = Array.from({ length: Math.ceil(parts.length / MAX_ARGUMENTS) }, (_, index) =>
    concat(parts.slice(index * MAX_ARGUMENTS, (index + 1) * MAX_ARGUMENTS)),
  );
  return concat(groups);
}

/** An object with these keys, each with the SQL of its JSON text. `openKeys`: the text of an object whose keys follow. */
export function jsonObject(entries: readonly (readonly [key: string, json: string])[], openKeys?: string): string {
  if (entries.length === 0) return openKeys ?? `'{}'`;
  const parts = entries.flatMap(([key, json], index) => [
    literal(`${index === 0 ? '{' : ','}${JSON.stringify(key)}:`),
    json,
  ]);
  const end =
    openKeys === undefined ? `'}'` : `case ${openKeys} when '{}' then '}' else ',' || substr(${openKeys}, 2) end`;
  return concat([...parts, end]);
}

export const jsonOptional = (json: string): string => `coalesce(${json}, 'null')`;
