/** The interface to a database. The code above it works with any driver; only drivers know a database's client. */
import type { Caller } from '../edge/caller.ts';
import type { SqlValue } from '../field-types/field-type.ts';
import type { Dialect } from './dialect.ts';
import type { Migrating } from './migrate/driver.ts';

export type Awaitable<T> = T | Promise<T>;

/** SQL compiled once, run with positional values. Drivers prepare it once for each connection. */
export interface Statement {
  readonly sql: string;
  /** The same statement for a transaction that it shares with others: it does nothing if it would have to wait for a lock. */
  readonly together?: Statement | undefined;
}

/** A text that is answered is held as it was read, and in the response. */
export const COPIES_OF_TEXT = 2;

export type Values = readonly SqlValue[];
export type Row = readonly SqlValue[];

export interface BoundStatement {
  readonly statement: Statement;
  readonly values: Values;
}

/** Called with each row as it is received; what it throws ends the statement. */
export type OnRow<R> = (row: R) => void;

/** `get` and `value` answer the first row, `value` and `column` the first column. */
export interface Reader {
  all(statement: Statement, values: Values, onRow?: OnRow<Row>): Awaitable<readonly Row[]>;
  get(statement: Statement, values: Values): Awaitable<Row | undefined>;
  value(statement: Statement, values: Values): Awaitable<SqlValue | undefined>;
  column(statement: Statement, values: Values, onRow?: OnRow<SqlValue>): Awaitable<readonly SqlValue[]>;
}

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

export type Around = <A extends readonly [statement: Statement, ...others: unknown[]], T>(
  ask: (...asked: A) => T,
) => (...asked: A) => T;

export interface Writer extends Reader {
  /** `identifier`: of an inserted row; `rows`: what RETURNING answers. */
  run(
    statement: Statement,
    values: Values,
  ): Awaitable<{ readonly changes: number; readonly identifier: number; readonly rows?: readonly Row[] }>;
}

export interface Snapshot extends Reader {
  /** The texts in the first column of every row, some at a time, read as they are asked for. */
  texts(statement: Statement, values: Values): AsyncIterable<readonly string[]>;
  close(): Awaitable<void>;
}

/** Methods throw ConstraintError, CallerGone once their caller has left, and a Problem if the database is busy, full or unreachable. */
export interface Driver extends Reader, Migrating {
  readonly dialect: Dialect;
  readonly address: string;
  /** Runs the work on one snapshot. `single`: its statements may have a snapshot each. */
  read<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean): Awaitable<T>;
  scan<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean): Awaitable<T>;
  /** Rows of a table that `read` may count; counting more of them needs `scan`. */
  readonly mostCounted: number;
  /** Another value after each commit; missing if the driver would have to ask the server. */
  readonly version?: (() => unknown) | undefined;
  /**
   * Runs the work in a transaction, perhaps several times, and resolves when that is on disk. Writes of the same `row` queue.
   * `revision`: asked after the work, which is repeated if the tables have another one by then.
   */
  write<T>(
    work: (writer: Writer) => Awaitable<T>,
    caller?: Caller,
    row?: string,
    revision?: () => SqlValue | undefined,
  ): Promise<T>;
  /**
   * Runs a statement as a transaction, after those `before` it, and returns its first row; undefined if it divides by zero,
   * since that undoes them. Missing if a transaction costs no more.
   */
  readonly writeAlone?:
    | ((
        statement: Statement,
        values: Values,
        caller?: Caller,
        row?: string,
        before?: readonly BoundStatement[],
      ) => Promise<Row | undefined>)
    | undefined;
  exclusively<T>(work: () => Awaitable<T>): Promise<T>;
  define(statements: readonly string[]): Promise<void>;
  existing(): Awaitable<readonly SqlValue[]>;
  snapshot(caller?: Caller, heavy?: boolean): Awaitable<Snapshot>;
  ping(): Awaitable<void>;
  readonly slots: Slots;
  usage?(): PoolUsages;
  close(): Promise<void>;
}

/** `slowList`: a stream that also takes a slot of the searches, if its driver says so. */
export type Kind = 'read' | 'scan' | 'write' | 'stream' | 'slowList';

/** How much of each kind runs at a time (no `most`: any number), and how many milliseconds it may wait. */
export interface Slots {
  readonly most: { readonly [kind in Kind]?: number };
  readonly shared: readonly { readonly kinds: readonly Kind[]; readonly most: number }[];
  readonly waitMs: (kind: Kind) => number;
}

export interface PoolUsage {
  readonly most: number;
  readonly used: number;
  readonly idle: number;
}

type PoolUsages = Readonly<Record<'requests' | 'streams', PoolUsage>>;

export interface ServerUsage {
  /** `primary`, or `replica-1` and so on, in the order of READ_URL. */
  readonly server: string;
  readonly pools: PoolUsages;
  readonly waiting: Readonly<Record<Exclude<Kind, 'slowList'>, number>>;
}

export interface DriverOptions {
  readonly statementTimeout: number;
  /** Whole lists that may be read at the same time; undefined leaves it to the driver. */
  readonly maxStreams?: number | undefined;
  readonly positions?: boolean;
}

export interface Replica {
  readonly driver: Driver;
  /** Whether the replica answers, and has replayed the log up to this position; undefined means any. */
  readonly covers: (position: string | undefined) => boolean;
}

/** For commands: they may take as long as they need. */
export const UNLIMITED: DriverOptions = { statementTimeout: Infinity };

/** A statement broke a constraint. The caller finds out which one by looking at the rows. */
export class ConstraintError extends Error {
  readonly kind: 'unique' | 'reference' | 'too-long' | 'too-deep';
  readonly index: string | undefined;

  constructor(kind: ConstraintError['kind'], cause: unknown, index?: string) {
    super(`${kind} constraint`, { cause });
    this.kind = kind;
    this.index = index;
  }
}

/** Another write changed what this one relies on, before it was locked. The driver runs the work again. */
export class Overtaken extends Error {}
