/** The interface to a database. The code above it works with any driver; only drivers know a database's client. */
import type { Caller } from '../edge/caller.ts';
import type { SqlValue } from '../field-types/field-type.ts';
import type { Dialect } from './dialect.ts';
import type { Migrating } from './migrate/driver.ts';

/** A value or a promise of it: SQLite returns results at once. */
export type Awaitable<T> = T | Promise<T>;

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

/** Called with each row as it is received; what it throws ends the statement. */
export type OnRow<R> = (row: R) => void;

export interface Reader {
  all(statement: Statement, values: Values, onRow?: OnRow<Row>): Awaitable<readonly Row[]>;
  /** The first row, or undefined. */
  get(statement: Statement, values: Values): Awaitable<Row | undefined>;
  /** The first column of the first row, or undefined. */
  value(statement: Statement, values: Values): Awaitable<SqlValue | undefined>;
  /** The first column of every row. */
  column(statement: Statement, values: Values, onRow?: OnRow<SqlValue>): Awaitable<readonly SqlValue[]>;
}

/** A reader by what answers all rows of a statement. */
export const readerOf = (
  all: (statement: Statement, values: Values, onRow?: OnRow<Row>) => Promise<readonly Row[]>,
): Reader => ({
  all,
  get: async (statement, values) => (await all(statement, values))[0],
  value: async (statement, values) => (await all(statement, values))[0]?.[0],
  column: async (statement, values, onRow) => {
    const rows = await all(statement, values, onRow && (([value = null]) => onRow(value)));
    return rows.map(([value = null]) => value);
  },
});

export interface Writer extends Reader {
  /** Returns how many rows changed, the identifier of an inserted row, and the rows that RETURNING answers. */
  run(
    statement: Statement,
    values: Values,
  ): Awaitable<{ readonly changes: number; readonly identifier: number; readonly rows?: readonly Row[] }>;
}

/** A snapshot that stays open over several turns of the event loop, for lists that are streamed. */
export interface Snapshot extends Reader {
  /** The texts in the first column of every row, some at a time, read as they are asked for. */
  texts(statement: Statement, values: Values): AsyncIterable<readonly string[]>;
  close(): Awaitable<void>;
}

/**
 * Throws a ConstraintError if a statement breaks a constraint, and a Problem if the database is busy, full or cannot be
 * reached.
 */
export interface Driver extends Reader, Migrating {
  readonly dialect: Dialect;
  /** The address of the database without a password, for messages. */
  readonly address: string;
  /**
   * Runs the work on one snapshot. Like every method with a caller, it throws CallerGone once that caller has left.
   * `single`: each statement of the work may have a snapshot of its own.
   */
  read<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean): Awaitable<T>;
  /** Like `read`, for work that may read many rows: few run at a time. */
  scan<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean): Awaitable<T>;
  /** Rows of a table that are counted between the requests; counting more of them needs `scan`. */
  readonly mostCounted: number;
  /** Another value after each commit; missing where the driver would have to ask the server. */
  readonly version?: (() => unknown) | undefined;
  /**
   * Runs the work in a transaction and resolves when it is on disk. If the work throws, what it did is undone, and nothing
   * else. If the caller leaves, the work is done completely or not at all. `row`: names the row that it changes, if it is
   * known before, or that it changes very many: such writes wait for each other, and not in the way of others.
   * Work may be run more than once. `revision`: of the tables, asked when the work is done; where they have changed since,
   * nothing is committed, and the work is run again.
   */
  write<T>(
    work: (writer: Writer) => Awaitable<T>,
    caller?: Caller,
    row?: string,
    revision?: () => SqlValue | undefined,
  ): Promise<T>;
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
  /** Names of the tables and indexes that exist. */
  existing(): Awaitable<readonly SqlValue[]>;
  /** `heavy`: whether a step of the list may take long. */
  snapshot(caller?: Caller, heavy?: boolean): Awaitable<Snapshot>;
  /** Rejects if the database does not answer, or is not where it was opened. */
  ping(): Awaitable<void>;
  /** How much of each kind of work is admitted at a time. */
  readonly slots: Slots;
  /** How connections to the server are used; missing if there is no server. */
  usage?(): Readonly<Record<'requests' | 'streams', PoolUsage>>;
  close(): Promise<void>;
}

/** `slowList`: a whole list that needs a slot of the searches as well, where its driver says so. */
export type Kind = 'read' | 'scan' | 'write' | 'stream' | 'slowList';

/** How much of each kind a driver does at a time. */
export interface Slots {
  /** Missing: as many as there are. */
  readonly most: { readonly [kind in Kind]?: number };
  /** Kinds that share slots. */
  readonly shared: readonly { readonly kinds: readonly Kind[]; readonly most: number }[];
  /** Milliseconds that each may wait. */
  readonly patience: Readonly<Record<Kind, number>>;
}

export type WaitingWork = Readonly<Record<Exclude<Kind, 'slowList'>, number>>;

export interface PoolUsage {
  /** Connections that there may be. */
  readonly most: number;
  readonly used: number;
  readonly idle: number;
}

export interface ServerUsage {
  /** `primary`, or `replica-1` and so on, in the order of READ_URL. */
  readonly server: string;
  readonly pools: Readonly<Record<'requests' | 'streams', PoolUsage>>;
  /** Requests that wait for a connection. */
  readonly waiting: WaitingWork;
}

export interface DriverOptions {
  /** Milliseconds that a statement of a request may take. */
  readonly statementTimeout: number;
  /** Whole lists that may be read at the same time; undefined leaves it to the driver. */
  readonly maxStreams?: number | undefined;
  /** Whether callers are told the position of what they wrote. */
  readonly positions?: boolean;
}

/** A server that follows another one. */
export interface Replica {
  readonly driver: Driver;
  /** Whether it answers, and has everything up to this position of the log; undefined asks for nothing. */
  readonly covers: (position: string | undefined) => boolean;
}

/** For commands: they may take as long as they need. */
export const UNLIMITED: DriverOptions = { statementTimeout: Infinity };

/** A statement broke a constraint. The caller finds out which one by looking at the rows. */
export class ConstraintError extends Error {
  readonly kind: 'unique' | 'reference' | 'too-long' | 'too-deep';
  /** The index that an entry is too long for, if the database names it. */
  readonly index: string | undefined;

  constructor(kind: ConstraintError['kind'], cause: unknown, index?: string) {
    super(`${kind} constraint`, { cause });
    this.kind = kind;
    this.index = index;
  }
}

/** Another write changed what this one relies on, before it was locked. The driver runs the work again. */
export class Overtaken extends Error {}
