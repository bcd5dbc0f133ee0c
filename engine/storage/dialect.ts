/** The parts of one database's SQL that Knex does not cover. Members return SQL unless noted. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Knex } from 'knex';
import type { DialectName, SqlValue } from '../field-types/field-type.ts';
import type { IdentifierField } from '../model/identifier.ts';
import type { JoinTable, RecordType } from '../model/model.ts';
import { PACKAGE_FOLDER } from '../process.ts';
import type { View } from '../query/list-query.ts';
import type { BulkColumn, Column } from './columns.ts';
import type { Altered, TableAlteration } from './migrate/task.ts';

/** SQL with positional parameters. Drivers prepare it once per connection. */
export interface Statement {
  readonly sql: string;
  /** The tables of record types, and of the links between them, that it reads. None: the engine's own tables. */
  readonly reads?: readonly string[];
  /** The tables that it changes. */
  readonly writes?: readonly string[];
  /** The same statement for a shared transaction: it does nothing if it would have to wait for a lock. */
  readonly batched?: Statement | undefined;
}

export type TypedColumn = readonly [column: string, sqlType: string];

/** A statement on records, before its table names stand for what a client sees: `createVisible` makes Statements of it. */
export interface RecordStatement {
  readonly query: string;
  readonly reads: readonly string[];
  /** It shows nothing of the records, and reads all. */
  readonly isOfData?: boolean;
  /** Whether it may read all records, and not just a few. */
  readonly readsMany?: boolean;
  /** How many sets its filters read, 0 by default. */
  readonly sets?: number;
}

export type Row = readonly SqlValue[];

export interface Dialect {
  readonly name: DialectName;
  /** A value that changes with the tables. `renew` changes it. */
  readonly revision: {
    readonly sql: string;
    readonly inEachSnapshot: boolean;
    readonly renew: readonly string[];
  };
  readonly knex: Knex;
  readonly quote: (name: string) => string;

  // JSON.

  readonly array: (json: string, from: string, order: string) => string;
  /** Of the open keys of a record. */
  readonly hasKey: (key: string) => string;
  readonly withoutKeys: (keys: readonly string[]) => string;
  readonly keyJson: (key: string) => string;
  /** The `path` literal for a column type's `extracted`. */
  readonly keyPath: (key: string) => string;

  // Strings.

  readonly folded: (text: string) => string;
  /** Joins case-folded and original strings into one that sorts by the former; splits it. */
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
      readonly isCounted: boolean;
      /** Returns the SELECT; `from` precedes its own tables, `where` its own conditions. */
      readonly select: (columns: string, from?: string, where?: string) => string;
    }) => string;
    readonly read: (row: Row) => { readonly rows: number; readonly isCheap: boolean };
  };
  /**
   * A page, then a row with the total unless the page implies it; missing if two statements cost no more. Bound: as the page and
   * the count, and for a first page again its limit plus one, and its offset.
   */
  readonly counted?: (page: RecordStatement, count: RecordStatement, isFirstPage: boolean) => RecordStatement;
  /** Whether `exists` is planned as a join; else each row evaluates it, and `in`, evaluated once, costs less. */
  readonly plansSets: boolean;
  readonly limit: string;
  /** Whether reading all rows at once costs less than one by one. */
  readonly readsRowsAtOnce: boolean;
  /** Sorts nulls first ascending, last descending. `present`: never null. */
  readonly orderBy: (expression: string, descending: boolean, present: boolean) => string;
  /** The join of ordered rows with other rows, and whether it keeps the order. */
  readonly joined: { readonly words: string; readonly inOrder: boolean };
  /** Condition: `column` is in a JSON array of identifiers. Bound: the array. */
  readonly oneOf: (column: string, sqlType: string) => string;
  /** The rows of a JSON array of identifiers: `listed$.value`, and their order in `listed$.key`. Bound: the array. */
  readonly listed: (sqlType: string) => string;
  /** Condition: two columns are in a JSON array of pairs of identifiers. Bound: the array. */
  readonly oneOfPairs: (left: TypedColumn, right: TypedColumn) => string;

  // Tables.

  readonly integer: string;
  readonly identifier: (builder: Knex.CreateTableBuilder, identifier: IdentifierField) => void;
  readonly openKeys: string;
  readonly namesConstraints: boolean;
  /** Codes of errors about texts that are no values of a column. */
  readonly mistyped: RegExp | undefined;
  /** Follows the closing bracket of CREATE TABLE; `keyed`: the table has an identifier column that counts. */
  readonly tableOptions: (keyed: boolean) => string;
  /** The terms of an index that serves `orderBy`; it ends in the identifier unless unique. */
  readonly indexed: (expressions: readonly string[], identifier: string | undefined) => readonly string[];
  /** Condition: the columns are too long for one entry of an index. Undefined if every entry fits. */
  readonly isLongEntry: ((columns: readonly string[]) => string) | undefined;
  readonly alterTable: (alteration: TableAlteration) => Altered;
  readonly catalogue: string;
  readonly log: LogDialect;

  // Writes.

  readonly returning: boolean;
  /** The columns of a constraint. Bound: its table, its name. */
  readonly constrained: string;
  /** Checks at each statement what others have deferred to the commit, so that the statement is known. */
  readonly checkNow: string | undefined;
  /** The sequence of identifiers. `read`: the greatest ever used. `move` binds the new value in each statement. */
  readonly sequence: {
    readonly read: (table: string, column: string) => string;
    readonly move: (table: string, column: string) => readonly string[];
  };
  /** The rows of a JSON array of objects with keys c0, c1 and so on. Bound: the array. Missing if it is not faster. */
  readonly rowsOfJson?: (columns: readonly BulkColumn[]) => string;
  /** Between `begin` and `end`, rows of these tables may refer to later rows. */
  readonly deferred: (tables: readonly string[]) => {
    readonly begin: readonly string[];
    readonly end: readonly string[];
  };
  /** The database's time some hours ago, as a sortable string. Bound: the hours. */
  readonly hoursAgo: string;
  /** Whether writes run concurrently, so that rows must be locked before they are compared. */
  readonly locks: boolean;
  /** Statements of writes that `Driver.writeSingle` sends; missing if a transaction costs no more. */
  readonly single?: SingleWrites;
  /** Takes a lock until the transaction ends. Undefined if writes run one by one. */
  readonly lockOwnership: string | undefined;
}

/** A statement of a trigger; it runs if `when` is true. */
export interface LogStatement {
  readonly when: string | undefined;
  readonly sql: string;
}

/** What triggers write to the log of changes, by the change of a row. */
export type LogTrigger = Readonly<Record<'insert' | 'update' | 'delete', readonly LogStatement[]>>;

interface LogDialect {
  /** The type of the entries' numbers, none of which is given twice. */
  readonly position: string;
  /** The last of these numbers that was given. */
  readonly last: string;
  /**
   * Of the transaction that holds up readers most: a JSON array of the position that it has not gone beyond, its process and
   * the name of its program; null if there is none. It is read after a column `last`.
   */
  readonly held: string;
  /** Whether records would show different values. */
  readonly differ: (one: string, other: string) => string;
  /** JSON text of a column, as a string if other programs have made it invalid. */
  readonly valid: (json: string) => string;
  /** A random number for a log that begins anew. */
  readonly number: string;
  /** The statements that make the indexes for `own` and `owned`, and drop former ones. */
  readonly indexes: readonly string[];
  /** Conditions of entries. Bound: a JSON array of pairs of source and record, or of owners. */
  readonly own: string;
  readonly owned: string;
  /** Time, number of the write, actor and request, and the FROM clause that they need. */
  readonly writer: { readonly columns: string; readonly from: string };
  /** Says who makes the next changes of the transaction, as a write with a number of its own. Bound: actor, request. */
  readonly attribute: Statement;
  /** Ends what `attribute` says; missing if the transaction does. */
  readonly unattribute?: Statement;
  /** `early`: whether rows go with those of other tables, and their entries come first. */
  readonly create: (name: string, table: string, trigger: LogTrigger, early: boolean) => readonly string[];
  readonly drop: (name: string) => readonly string[];
}

/** Each `key` names the view, and the columns that are written. */
export interface SingleWrites {
  readonly of: (
    type: RecordType,
    columns: readonly Column[],
    stamped: readonly string[],
  ) => {
    /** Returns identifier and JSON. Bound: as `insertNew`. */
    readonly create: (key: string, view: View) => Statement;
    /** Bound: number of the new record, values of all columns. */
    readonly insertNew: Statement;
    /**
     * Returns identifier and JSON of a new record. Divides by zero if the JSON is too long to be free, or if a new record
     * got the identifier of a linked one. Bound: its number, JSON array of pairs of such a number and identifier.
     */
    readonly answerNew: (key: string, view: View) => Statement;
    /** Returns JSON. Bound: identifier, values of these columns, stamps. */
    readonly update: (key: string, change: readonly [view: View, columns: readonly string[]]) => Statement;
    /** Returns JSON. Bound: identifier. */
    readonly remove: (key: string, view: View) => Statement;
  };
  /** Bound: left, right, each an identifier or the number of a new record. */
  readonly insertPair: (join: JoinTable) => Statement;
}

/** The SQL of a file in this folder, in which `{NAME}` stands for a word. */
export const sqlIn = (file: string, words: Readonly<Record<string, string>>): string =>
  readFileSync(join(PACKAGE_FOLDER, 'engine/storage', file), 'utf8').replaceAll(
    /\{([A-Z_]+)\}/g,
    (_, name: string) => words[name] ?? '',
  );

// SQL that concatenates JSON as strings, to parse nothing between levels and allow any number of keys.

/** PostgreSQL allows 100 arguments per function (FUNC_MAX_ARGS), SQLite more in every build. */
const MAX_ARGUMENTS = 100;

export const literal = (value: SqlValue): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);

function concat(parts: readonly string[]): string {
  if (parts.length <= MAX_ARGUMENTS) return `concat(${parts.join(', ')})`;
  return concat(inGroups(parts, MAX_ARGUMENTS).map(concat));
}

export const inGroups = <T>(all: readonly T[], most: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(all.length / most) }, (_, at) => all.slice(at * most, (at + 1) * most));

/** An object with these keys, each with SQL for its JSON. `openKeys`: SQL for JSON; if that has keys, they follow. */
export function jsonObject(entries: readonly (readonly [key: string, json: string])[], openKeys?: string): string {
  const hasKeys = `${openKeys} like '{%:%'`;
  if (entries.length === 0)
    return openKeys === undefined ? `'{}'` : `case when ${hasKeys} then ${openKeys} else '{}' end`;
  const parts = entries.flatMap(([key, json], index) => [
    literal(`${index === 0 ? '{' : ','}${JSON.stringify(key)}:`),
    json,
  ]);
  const end = openKeys === undefined ? `'}'` : `case when ${hasKeys} then ',' || substr(${openKeys}, 2) else '}' end`;
  return concat([...parts, end]);
}

export const jsonOptional = (json: string): string => `coalesce(${json}, 'null')`;
