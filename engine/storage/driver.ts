/** The narrow door to a database. Everything above it works with any driver; only drivers know a database's client. */
import type { Knex } from 'knex';
import type { Awaitable } from '../awaitable.ts';
import type { Caller } from '../caller.ts';
import type { Altered, TableAlteration } from './migrate/alter.ts';
import type { Migrating } from './migrate/driver.ts';
import type { DialectName, SqlValue } from '../field-types/field-type.ts';
import type { LikeWords } from '../query/operators.ts';

export type { Awaitable } from '../awaitable.ts';

/** SQL compiled once, run with positional values. Drivers prepare it once for each connection. */
export interface Statement {
  readonly sql: string;
}

export type Values = readonly SqlValue[];
/** The values in the order of the selected columns. */
export type Row = readonly SqlValue[];

export interface Reader {
  /** The first row, or undefined. */
  get(statement: Statement, values: Values): Awaitable<Row | undefined>;
  all(statement: Statement, values: Values): Awaitable<readonly Row[]>;
  /** The first column of the first row, or undefined. */
  value(statement: Statement, values: Values): Awaitable<SqlValue | undefined>;
  /** What a statement counts; it may be remembered for as long as nothing is written. */
  count(statement: Statement, values: Values): Awaitable<number>;
  /**
   * The texts in the first column of every row. They draw from the caller; more bytes than `most`, the longest text aside,
   * are refused.
   */
  page(statement: Statement, values: Values, caller: Caller, most?: number): Awaitable<readonly string[]>;
  /** The first column of every row. */
  column(statement: Statement, values: Values): Awaitable<readonly SqlValue[]>;
}

export interface Writer extends Reader {
  /** How many rows were changed, and the identifier of a row that was inserted. */
  run(statement: Statement, values: Values): Awaitable<{ readonly changes: number; readonly identifier: number }>;
}

/** A snapshot that outlives the turn, for lists that are streamed. */
export interface Snapshot extends Reader {
  /** The texts in the first column of every row, some at a time, read as they are asked for. */
  texts(statement: Statement, values: Values): AsyncIterable<readonly string[]>;
  close(): Awaitable<void>;
}

export interface TextWork {
  /** The greatest number of bytes that one text may have. */
  readonly longest: number;
  /** How many all of them have; undefined where each may be read for many rows. */
  readonly total: Statement | undefined;
  /** Nanoseconds that each byte takes, at worst. */
  readonly perByte: number;
}

/** What tells how much work a list is. */
export interface ListWork {
  /** The greatest identifier of its table. */
  readonly newest: Statement;
  readonly rows: Statement;
  readonly values: Values;
  readonly filters: number;
  /** The texts that are matched, row after row. */
  readonly texts: readonly TextWork[];
  readonly offset: number;
  /** Whether an index gives the records in their order, and those that the filters ask for. */
  readonly isIndexed: boolean;
  /** A list that is streamed to its end. */
  readonly whole: boolean;
  /** Whether it begins behind a cursor. */
  readonly continued: boolean;
  /** How many bytes of texts its table has. */
  readonly bytes: Statement;
  /** How much it shows of each set. */
  readonly sets: readonly SetWork[];
  /** The tables, as `newest` has them, whose rows are counted before because it shows more than one level. */
  readonly deep: readonly Statement[];
  /** The count that is wanted, if any. */
  readonly counted: { readonly statement: Statement; readonly values: Values } | undefined;
}

export interface SetWork {
  /** About how many rows the table has. */
  readonly size: Statement;
  /** How many of them the list shows, up to a limit. Bound as the list. */
  readonly shown: Statement;
}

/**
 * Constraints that a statement broke are thrown as ConstraintError; a database that is busy, full or out of reach as
 * Problem.
 */
export interface Driver extends Reader, Migrating {
  readonly dialect: Dialect;
  /** Runs the work on one snapshot. Like all that takes a caller, it throws CallerGone once that one has left. */
  read<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller): Awaitable<T>;
  /** The same for work that may look at many rows: so few at a time that single records are still served. */
  scan<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller): Awaitable<T>;
  /** Bytes of a page that `read` may take; a longer one is for `scan`. */
  readonly pageAtOnce: number;
  /** Whether a list is for `scan`. */
  isHeavy(list: ListWork): boolean;
  /** Whether one of these tables, as `newest` has them, has so many rows that what joins them is for `scan`. */
  isLarge(tables: readonly Statement[]): boolean;
  /** Whether a table has so few rows that all are read at once. */
  isSmall(newest: Statement): Awaitable<boolean>;
  /**
   * Runs the work in a transaction and answers when it is on disk. What the work throws undoes what it did, and nothing
   * else. If the caller leaves, the work is done to its end or not at all.
   */
  write<T>(work: (writer: Writer) => Awaitable<T>, caller?: Caller): Promise<T>;
  /** Runs the work while no other process that asks for this runs its own. */
  exclusively<T>(work: () => Awaitable<T>): Promise<T>;
  /** Runs DDL in one transaction. */
  define(statements: readonly string[]): Promise<void>;
  /** Names of the tables and indexes that exist. */
  existing(): Awaitable<readonly SqlValue[]>;
  /** `heavy` as `isHeavy` says: if it is not given, the list may be. */
  snapshot(caller?: Caller, heavy?: boolean): Awaitable<Snapshot>;
  /** Rejects if the database does not answer, or is not where it was opened. */
  ping(): Awaitable<void>;
  close(): Promise<void>;
}

/** A column and its type in DDL. */
export interface BulkColumn {
  readonly name: string;
  readonly type: string;
}

export interface DriverOptions {
  /** Milliseconds that a statement of a request may take. */
  readonly statementTimeout: number;
}

/** For commands: what they do takes as long as it needs. */
export const UNLIMITED: DriverOptions = { statementTimeout: Infinity };

/** The words of one database's SQL that Knex has no name for. */
export interface Dialect {
  readonly name: DialectName;
  /** Another value once the tables were changed; and whether it is cheap enough to be asked for in each snapshot. */
  readonly revision: { readonly sql: string; readonly inEachSnapshot: boolean };
  /** Compiles SQL; never runs it. */
  readonly knex: Knex;
  readonly quote: (name: string) => string;
  readonly literal: (value: SqlValue) => string;
  /** JSON text of an object with these keys, each with the SQL of its JSON text; `openKeys`: SQL of one more object's text. */
  readonly object: (entries: readonly (readonly [key: string, json: string])[], openKeys: string | undefined) => string;
  /** A scalar subquery: the JSON text of an array of `json` over the rows of `from`, in order. */
  readonly array: (json: string, from: string, order: string) => string;
  /** A scalar subquery: the JSON text of the one row of `from`, or of null. */
  readonly optional: (json: string, from: string) => string;
  /** How many bytes a text or a JSON column has, without reading it where the database can tell. */
  readonly bytes: (column: string, sqlType: string) => string;
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
  /** JSON text of a value that may be null. */
  readonly nullable: (json: string) => string;
  /** What follows the order of a list. Bound: limit, offset. */
  readonly limit: string;
  /** Whether the columns of rows that an offset skips are not computed. */
  readonly skipsUnbuilt: boolean;
  /** The LIMIT that is none. */
  readonly unlimited: SqlValue;
  /** Null comes before every value ascending and after it descending. `present`: it is never null. */
  readonly orderBy: (expression: string, descending: boolean, present: boolean) => string;
  /** What an index is made over, for such an order; an index that is not unique ends in the identifier where that is not free. */
  readonly indexed: (expressions: readonly string[], identifier: string | undefined) => readonly string[];
  readonly like: LikeWords;
  /** A join of rows that are in order; whether they stay so. */
  readonly joined: { readonly words: string; readonly inOrder: boolean };
  /** The column type of identifiers and of what refers to them. */
  readonly integer: string;
  readonly identifier: (builder: Knex.CreateTableBuilder, column: string) => void;
  /** Whether foreign keys need names of their own, which must not be too long. */
  readonly namesConstraints: boolean;
  /** The column type of open keys. */
  readonly openKeys: string;
  /** What follows the closing bracket of CREATE TABLE; `keyed` where the table has an identifier column. */
  readonly tableOptions: (keyed: boolean) => string;
  readonly alterTable: (alteration: TableAlteration) => Altered;
  /** Rows whose `column` is one of the JSON array of numbers that is bound here. */
  readonly oneOf: (column: string) => string;
  /** Whether an INSERT has to ask for the identifier that it made. */
  readonly returning: boolean;
  /** An INSERT with an identifier of the client's choice: the sequence goes on behind it. */
  readonly insertGiven: (sql: string, table: string, column: string) => string;
  /** SQL that answers the greatest identifier that was ever used, and SQL that moves it on. Bound, in each: the identifier. */
  readonly sequence: {
    readonly read: (table: string, column: string) => string;
    readonly move: (table: string, column: string) => readonly string[];
  };
  /**
   * SQL: the rows of a JSON array of objects that is bound here, with keys c0, c1 and so on. Missing where a statement for
   * each row is as fast.
   */
  readonly rowsOfJson?: (columns: readonly BulkColumn[]) => string;
  /**
   * SQL inside a transaction, for many rows: from `begin` on, rows of these tables may refer to rows that are yet to come;
   * `end` is for when they are all there.
   */
  readonly deferred: (tables: readonly string[]) => {
    readonly begin: readonly string[];
    readonly end: readonly string[];
  };
  /** Whether writes run beside each other, so that rows have to be locked before they are compared. */
  readonly locks: boolean;
}

/** A statement broke a constraint; which one, the caller finds out by looking. */
export class ConstraintError extends Error {
  readonly kind: 'unique' | 'reference';

  constructor(kind: 'unique' | 'reference', cause: unknown) {
    super(`${kind} constraint`, { cause });
    this.kind = kind;
  }
}
