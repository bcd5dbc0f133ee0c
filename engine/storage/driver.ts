/** The interface to a database. The code above it works with any driver; only drivers know a database's client. */
import type { Knex } from 'knex';
import type { Awaitable } from '../awaitable.ts';
import type { Caller } from '../caller.ts';
import type { Altered, Migrating, TableAlteration } from './migrate/driver.ts';
import type { BulkColumn, LinkColumn, Revision, Sequence } from './define.ts';
import type { DatabaseUsage, OnWait, Silence } from './usage.ts';
import type { DialectName, SqlValue } from '../field-types/field-type.ts';
import type { LikeWords } from '../query/operators.ts';
export type { Awaitable } from '../awaitable.ts';

/** SQL compiled once, run with positional values. Drivers prepare it once for each connection. */
export interface Statement {
  readonly sql: string;
  /** The same, with the same values, for one transaction with others: it does nothing where it would hold them up. */
  readonly together?: Statement | undefined;
}

export type Values = readonly SqlValue[];
/** The values in the order of the selected columns. */
export type Row = readonly SqlValue[];

export interface BoundStatement {
  readonly statement: Statement;
  readonly values: Values;
}

export interface Reader {
  /** The first row, or undefined. */
  get(statement: Statement, values: Values): Awaitable<Row | undefined>;
  all(statement: Statement, values: Values): Awaitable<readonly Row[]>;
  /** The first column of the first row, or undefined. */
  value(statement: Statement, values: Values): Awaitable<SqlValue | undefined>;
  /** What a statement counts. The driver may remember it until something is written. */
  count(statement: Statement, values: Values): Awaitable<number>;
  /** Throws if the page is too long, or NeedsSnapshot. */
  page(wanted: PageRequest, caller: Caller): Awaitable<PageRows>;
  /** The first column of every row. */
  column(statement: Statement, values: Values): Awaitable<readonly SqlValue[]>;
}

/** The rows of the statement have one column, the text of a record. */
export interface PageRequest extends BoundStatement {
  /** Bytes that the texts may have, not counting the longest. They draw from the caller's budget. */
  readonly most: number;
  /** Whether the texts are short whatever they hold: then neither is checked. */
  readonly isShort: boolean;
  /** The bytes of a page that was long when it was last read: a driver that would measure it first need not do so. */
  readonly expected?: number | undefined;
  /** Present if the driver should count along: the statement of the total, and the rows that were asked for. */
  readonly count?: (BoundStatement & { readonly range: PageRange }) | undefined;
}

export interface PageRange {
  readonly limit: number;
  /** undefined behind a cursor. */
  readonly offset: number | undefined;
}

export interface PageRows {
  readonly texts: readonly string[];
  /** What the driver counted in the same statement, if it does that and the texts do not tell; bytes of a long page. */
  readonly counted?: number | undefined;
  readonly bytes?: number | undefined;
}

/** One statement is not enough for this list: it must be read again, in a transaction. */
export class NeedsSnapshot extends Error {}
/** Its transaction is rolled back, though nothing failed: of a dry run, or of what must begin again outside it. */
export class Rehearsed extends Error {}
export interface Writer extends Reader {
  /** Returns how many rows changed, the identifier of an inserted row, and the rows that RETURNING answers. */
  run(
    statement: Statement,
    values: Values,
  ): Awaitable<{ readonly changes: number; readonly identifier: number; readonly rows?: readonly Row[] }>;
  /** Runs it with one after the other of the values, and returns how many rows changed. Missing if that is not faster. */
  readonly runEach?: ((statement: Statement, all: readonly Values[]) => Awaitable<number>) | undefined;
  /** The same without its result, for a statement that breaks no constraint. If it fails, the transaction fails. */
  send(statement: Statement, values: Values): void;
  /** Whether statements may be run before the answers to others are there: then any failure ends the transaction. */
  readonly isPipelined: boolean;
}

/** A snapshot that stays open over several turns of the event loop, for lists that are streamed. */
export interface Snapshot extends Reader {
  /** The texts in the first column of every row, some at a time, read as they are asked for. */
  texts(statement: Statement, values: Values): AsyncIterable<readonly string[]>;
  close(): Awaitable<void>;
}

export interface TextWork {
  /** The greatest number of bytes that one text may have. */
  readonly longest: number;
  /** How many bytes all texts have; undefined if each may be read for many rows. */
  readonly total: Statement | undefined;
  /** Nanoseconds that each byte takes, at worst. */
  readonly perByte: number;
}

/** What determines how much work a list is. */
export interface ListWork {
  /** The greatest identifier of its table. */
  readonly newest: Statement;
  readonly rows: Statement;
  readonly values: Values;
  /** How many filters are tested for each row, sets counted for more. */
  readonly filters: number;
  /** The texts that are matched, row after row. */
  readonly texts: readonly TextWork[];
  readonly offset: number;
  /** Whether an index gives the order, and finds what the filters ask for. */
  readonly isIndexed: boolean;
  /** A list that is streamed to its end. */
  readonly whole: boolean;
  /** Whether it begins at a cursor. */
  readonly continued: boolean;
  /** How many bytes of texts its table has. */
  readonly bytes: Statement;
  /** What it shows of each set. */
  readonly sets: readonly SetWork[];
  /** The rows that an index finds, if it finds them by one filter, and how many bytes of texts they have. */
  readonly found?: { readonly rows: BoundStatement; readonly bytes: BoundStatement } | undefined;
  /** The tables, each as in `newest`, that it joins because it shows more than one level, or that its filters search. */
  readonly deep: readonly Statement[];
  /** The statement of the total, if it was asked for. */
  readonly counted: BoundStatement | undefined;
}

export interface SetWork {
  /** About how many rows the table has. */
  readonly size: Statement;
  /** How many of them the list shows, up to a limit. Bound as the list. */
  readonly shown: Statement;
}

/**
 * Throws a ConstraintError if a statement breaks a constraint, and a Problem if the database is busy, full or cannot be
 * reached.
 */
export interface Driver extends Reader, Migrating {
  readonly dialect: Dialect;
  /**
   * Runs the work on one snapshot. Like every method with a caller, it throws CallerGone once that caller has left.
   * `single`: each statement of the work may have a snapshot of its own.
   */
  read<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean): Awaitable<T>;
  /** The same for work that may read many rows: few run at a time, even fewer if it `isLong`, a long page. */
  scan<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean, isLong?: boolean): Awaitable<T>;
  /** The greatest length, in bytes, of a page that `read` may read; a longer one needs `scan`, and is long. */
  readonly pageAtOnce: number;
  /** Whether a list needs `scan`. */
  isHeavy(list: ListWork): boolean;
  /** Whether one of these tables, each as in `newest`, has so many rows that a join over them needs `scan`. */
  isLarge(tables: readonly Statement[]): boolean;
  /** Whether a table has few enough rows to read all of them at once. */
  isSmall(newest: Statement): Awaitable<boolean>;
  /**
   * Runs the work in a transaction and resolves when it is on disk. If the work throws, what it did is undone, and nothing
   * else. If the caller leaves, the work is done completely or not at all. `row`: names the row that it changes, if it is
   * known before, or that it changes very many: such writes wait for each other, and not in the way of others.
   * `isRehearsal`: the work throws Rehearsed at its end. Work may be run more than once.
   */
  write<T>(work: (writer: Writer) => Awaitable<T>, caller?: Caller, row?: string, isRehearsal?: boolean): Promise<T>;
  /**
   * Runs one statement that writes, in a transaction of its own, and returns its first row. Missing if a transaction costs
   * nothing more. The driver that the store uses binds one more value: the revision of the tables, as they were last
   * seen. With null in its place, the statement does nothing.
   */
  readonly writeAlone?:
    | ((statement: Statement, values: Values, caller?: Caller, row?: string) => Promise<Row | undefined>)
    | undefined;
  /** Runs the work while no other process runs work by this method. */
  exclusively<T>(work: () => Awaitable<T>): Promise<T>;
  /** Runs DDL in one transaction. */
  define(statements: readonly string[]): Promise<void>;
  /** Tells the database that most records have few related ones, however many some of them have. */
  expectSmallSets(links: readonly LinkColumn[]): Awaitable<void>;
  /** Names of the tables and indexes that exist. */
  existing(): Awaitable<readonly SqlValue[]>;
  /** Triggers, views and whatever else of others the database file holds, by name; undefined if there are none. */
  foreign(): string | undefined;
  /** `heavy`: what `isHeavy` says; by default the list may be heavy. */
  snapshot(caller?: Caller, heavy?: boolean): Awaitable<Snapshot>;
  /** Rejects if the database does not answer, or is not where it was opened. */
  ping(): Awaitable<void>;
  /** Whole lists that may be read at the same time, unless a setting says otherwise. */
  readonly maxStreams: number;
  /** How connections to the server are used; missing if there is no server. */
  usage?(): DatabaseUsage;
  /** Missing if nobody looks at whether the server answers. */
  readonly silence?: Silence | undefined;
  close(): Promise<void>;
}

export interface DriverOptions {
  /** Milliseconds that a statement of a request may take. */
  readonly statementTimeout: number;
  /** Whole lists that may be read at the same time; Infinity leaves it to the driver. */
  readonly maxStreams?: number | undefined;
  /** Whether callers are told the position of what they wrote. */
  readonly positions?: boolean;
  /** Told how long each piece of work has waited for a connection. */
  readonly onWait?: OnWait | undefined;
}

/** A server that follows another one. */
export interface Replica {
  readonly driver: Driver;
  /** Whether it answers, and has everything up to this position of the log; undefined asks for nothing. */
  readonly covers: (position: string | undefined) => boolean;
  /** Looks now how far it has come. Never rejects. */
  readonly look: () => Promise<void>;
}

/** For commands: they may take as long as they need. */
export const UNLIMITED: DriverOptions = { statementTimeout: Infinity };

interface EstimateParts {
  readonly table: string;
  /** In the table, and of the rows that are selected. */
  readonly identifier: string;
  readonly rowIdentifier: string;
  /** SQL of the SELECT; `from` comes before its own tables, `where` before its own conditions. */
  readonly select: (columns: string, from?: string, where?: string) => string;
}

export interface Estimate {
  readonly rows: number;
  /** Counting costs next to nothing. */
  readonly isCheap: boolean;
}

/** Records that a list looks at: a number, all, all until the page is full, or those that match the filters. */
type Effort = number | 'all' | 'until full' | 'matching';

/** The parts of one database's SQL that Knex does not cover. */
export interface Dialect {
  readonly name: DialectName;
  readonly revision: Revision;
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
  /** The length in bytes of a text or JSON column; not read from disk if the database can tell without. */
  readonly bytes: (column: string, sqlType: string) => string;
  /** SQL: whether the JSON object kept in a column has the key. */
  readonly hasKey: (column: string, key: string) => string;
  /** SQL: the object without these keys. */
  readonly withoutKeys: (column: string, keys: readonly string[]) => string;
  /** SQL: the JSON text of a key that is there. */
  readonly keyJson: (column: string, key: string) => string;
  /** SQL: whether a JSON object has no key. */
  readonly isEmpty: (json: string) => string;
  /** SQL: the folded text of a text. */
  readonly folded: (text: string) => string;
  /** SQL: a folded text with its text behind it, in one that orders by the former first; and either of them from that. */
  readonly spelled: {
    readonly joined: (folded: string, text: string) => string;
    readonly text: (joined: string) => string;
    readonly folded: (joined: string) => string;
  };
  /** The literal that `extracted` of a column type takes. */
  readonly keyPath: (key: string) => string;
  /** JSON text of a value that may be null. */
  readonly nullable: (json: string) => string;
  /** About how many records a SELECT finds, by one statement that reads few rows whatever it finds. */
  readonly estimate: {
    readonly sql: (parts: EstimateParts) => string;
    /** What the row of that statement says. */
    readonly read: (row: Row) => Estimate;
  };
  /** SQL that says how a list is read, bound as the list, and how many records of the table it looks at. */
  readonly effort: {
    readonly sql: (list: string) => string;
    readonly read: (rows: readonly Row[], table: string) => Effort;
  };
  /** What follows the order of a list. Bound: limit, offset. */
  readonly limit: string;
  /** Whether the columns of rows that an offset skips are not computed. */
  readonly skipsUnbuilt: boolean;
  /** The value of LIMIT that means no limit. */
  readonly unlimited: SqlValue;
  /** Null comes before every value ascending and after it descending. `present`: it is never null. */
  readonly orderBy: (expression: string, descending: boolean, present: boolean) => string;
  /** The terms of an index for such an order. If the database does not do so by itself, one that is not unique ends in the identifier. */
  readonly indexed: (expressions: readonly string[], identifier: string | undefined) => readonly string[];
  readonly like: LikeWords;
  /** The join of ordered rows with others, and whether it keeps their order. */
  readonly joined: { readonly words: string; readonly inOrder: boolean };
  /** The column type of identifiers and of what refers to them. */
  readonly integer: string;
  readonly identifier: (builder: Knex.CreateTableBuilder, column: string) => void;
  /** Whether foreign keys need names, which must not be too long. */
  readonly namesConstraints: boolean;
  /** The column type of open keys. */
  readonly openKeys: string;
  /** What follows the closing bracket of CREATE TABLE; `keyed` where the table has an identifier column. */
  readonly tableOptions: (keyed: boolean) => string;
  readonly alterTable: (alteration: TableAlteration) => Altered;
  /** Condition: `column` is in a JSON array of numbers. Bound: the array. */
  readonly oneOf: (column: string) => string;
  /** The rows of a JSON array of numbers: `listed.value`, and their order in `listed.key`. Bound: the array. */
  readonly listed: string;
  /** Condition: two columns are in a JSON array of pairs. Bound: the array. */
  readonly oneOfPairs: (left: string, right: string) => string;
  /**
   * SQL: a parent and a child, for the first children of some parents in the order of both; reads no others. Bound: a
   * JSON array of the parents.
   */
  readonly childrenInOrder: (table: string, identifier: string, column: string, limit: number) => string;
  /** Whether an INSERT needs RETURNING to tell the new identifier. */
  readonly returning: boolean;
  /** An INSERT with an identifier that the client chose: the sequence continues after it. */
  readonly insertGiven: (sql: string, table: string, column: string) => string;
  readonly sequence: Sequence;
  /** SQL: the rows of a JSON array of objects with keys c0, c1 and so on. Bound: the array. Missing if it is not faster. */
  readonly rowsOfJson?: (columns: readonly BulkColumn[]) => string;
  /**
   * SQL inside a transaction that inserts many rows: between `begin` and `end`, rows of these tables may refer to rows that
   * are inserted later.
   */
  readonly deferred: (tables: readonly string[]) => {
    readonly begin: readonly string[];
    readonly end: readonly string[];
  };
  /** Whether writes run concurrently, so that rows must be locked before they are compared. */
  readonly locks: boolean;
  /** SQL inside a transaction: waits until no other transaction that ran it is left. Undefined where writes run one by one. */
  readonly lockOwnership: string | undefined;
}

/** A statement broke a constraint. The caller finds out which one by looking at the rows. */
export class ConstraintError extends Error {
  readonly kind: 'unique' | 'reference';

  constructor(kind: 'unique' | 'reference', cause: unknown) {
    super(`${kind} constraint`, { cause });
    this.kind = kind;
  }
}

/** Another write changed what this one relies on, before it was locked. The driver runs the work again. */
export class Overtaken extends Error {}
