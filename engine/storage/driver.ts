/** The interface to a database. Only drivers depend on a database's client library. */
import { type Caller, NO_CLIENT } from '../edge/caller.ts';
import type { SqlValue } from '../field-types/field-type.ts';
import { StartError } from '../problem.ts';
import type { Dialect, RecordStatement, Row, Statement } from './dialect.ts';
import type { Task } from './migrate/task.ts';

export type Awaitable<T> = T | Promise<T>;

export type { Row, Statement } from './dialect.ts';

/** Memory holds a returned string as read, and in the response. */
export const COPIES_OF_TEXT = 2;

export type Values = readonly SqlValue[];

export interface BoundStatement {
  readonly statement: Statement;
  readonly values: Values;
}

/** Called with each row when it arrives; an exception ends the statement. */
export type OnRow<R> = (row: R) => void;

/** `get` and `value` return the first row, `value` and `column` the first column. */
export interface Reader<S = Statement> {
  all(statement: S, values: Values, onRow?: OnRow<Row>): Awaitable<readonly Row[]>;
  get(statement: S, values: Values): Awaitable<Row | undefined>;
  value(statement: S, values: Values): Awaitable<SqlValue | undefined>;
  column(statement: S, values: Values, onRow?: OnRow<SqlValue>): Awaitable<readonly SqlValue[]>;
}

/** A Reader for one client. */
export type RecordReader = Reader<RecordStatement>;

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
  /** `identifier`: of an inserted row; `rows`: of RETURNING. */
  run(
    statement: Statement,
    values: Values,
  ): Awaitable<{ readonly changes: number; readonly identifier: number; readonly rows?: readonly Row[] }>;
}

export interface Snapshot extends Reader {
  /** Yields the strings in the first column in chunks, read on demand. */
  texts(statement: Statement, values: Values): AsyncIterable<readonly string[]>;
  close(): Awaitable<void>;
}

export interface Migration {
  readonly tasks: readonly Task[];
  /** Only a migration with the same key continues an interrupted migration. */
  readonly key: string;
  readonly own: ReadonlySet<string>;
  /** Tables that only the migration uses from `before` until the end. */
  readonly locked: readonly string[];
  readonly backup: boolean;
  /** Begins the transaction that changes what clients see. If it throws, the migration ends. */
  readonly before: (reader: Reader) => Awaitable<void>;
  readonly after: (writer: Writer) => Awaitable<void>;
  readonly watch: Follower;
}

/** If a seed record of the migration cannot be inserted, the whole migration is undone. */
export class SeedRefused extends StartError {}

export interface Follower {
  /** Once it has gone, the migration stops with CallerGone. The next migration continues. */
  readonly caller: Caller;
  readonly report: (event: MigrationEvent) => void;
}

export interface Doing {
  readonly kind: 'doing';
  readonly task: Task;
  readonly number: number;
  readonly of: number;
  /** For fills: identifier reached, greatest identifier, and rows done by this process; otherwise 0. */
  readonly position: number;
  readonly last: number;
  readonly rows: number;
}

export type MigrationEvent =
  | Doing
  | { readonly kind: 'waiting'; readonly table: string; readonly holders: readonly string[] };

export const UNWATCHED: Follower = { caller: NO_CLIENT, report: () => undefined };

/** Methods throw ConstraintError, CallerGone if the caller has left, and a Problem if the database is busy, full or unreachable. */
export interface Driver extends Reader {
  readonly dialect: Dialect;
  readonly address: string;
  /** What the database said, for the log: without values of records. */
  readonly causeOf: (error: unknown) => string;
  /** Runs the work on one snapshot. `single`: its statements may have a snapshot each. */
  read<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean): Awaitable<T>;
  scan<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean): Awaitable<T>;
  /** `read` for a dry run, which may take as long as a write. */
  preview<T>(work: (reader: Reader) => Awaitable<T>, caller: Caller): Awaitable<T>;
  /** Maximum rows of a table that `read` may count; above it, use `scan`. */
  readonly mostCounted: number;
  /** Changes with each commit; missing if the driver would have to ask the server. */
  readonly version?: (() => unknown) | undefined;
  /**
   * Runs the work in a transaction, perhaps repeatedly, and resolves once it is on disk. Writes of the same `row` queue.
   * `revision`: called after the work, which is repeated if the tables' revision differs.
   */
  write<T>(
    work: (writer: Writer) => Awaitable<T>,
    caller?: Caller,
    row?: string,
    revision?: () => SqlValue | undefined,
  ): Promise<T>;
  /**
   * Runs the statements `before` and `statement` as a transaction; returns the last one's first row, undefined if it divides
   * by zero, which undoes all. Missing if a transaction costs no more.
   */
  readonly writeSingle?:
    | ((
        statement: Statement,
        values: Values,
        caller?: Caller,
        row?: string,
        before?: readonly BoundStatement[],
      ) => Promise<Row | undefined>)
    | undefined;
  exclusively<T>(work: () => Awaitable<T>): Promise<T>;
  /** Runs all or nothing. Returns the backup's name. */
  migrate(migration: Migration): Promise<string | undefined>;
  finishMigration(watch: Follower): Promise<void>;
  abandonMigration(watch: Follower): Promise<boolean>;
  /** Runs the tasks on empty tables, if that needs no lock. Returns the failing task, and why. */
  dryRun(
    migration: Pick<Migration, 'tasks' | 'own'>,
  ): Awaitable<{ readonly task: Task; readonly reason: string } | undefined>;
  define(statements: readonly string[]): Promise<void>;
  existing(): Awaitable<readonly SqlValue[]>;
  snapshot(caller?: Caller, heavy?: boolean): Awaitable<Snapshot>;
  ping(): Awaitable<void>;
  readonly slots: Slots;
  usage?(): PoolUsages;
  /** Seconds that a replica is behind the primary; missing for a primary. */
  readonly lag?: () => number;
  close(): Promise<void>;
}

/** `slowList`: taken beside `stream` for a heavy list, whose slots drivers may share with `scan`. */
export type Kind = 'read' | 'scan' | 'write' | 'stream' | 'slowList';

/** The maximum of each kind at a time (none: any number), and how many milliseconds it may wait. */
export interface Slots {
  readonly limits: { readonly [kind in Kind]?: number };
  readonly shared: readonly { readonly kinds: readonly Kind[]; readonly limit: number }[];
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
  /** Whether requests of the last minute have waited for these in vain. */
  readonly shortages: Readonly<Record<'connections' | 'locks', boolean>>;
  readonly lag: number | undefined;
}

export interface DriverOptions {
  readonly statementTimeout: number;
  /** Maximum concurrent reads of whole lists; undefined: the driver's default. */
  readonly maxStreams?: number | undefined;
  readonly positions?: boolean;
  /** Whether this process serves the database: only one may serve an SQLite file. */
  readonly serves?: boolean | undefined;
}

export interface Replica {
  readonly driver: Driver;
  /** Whether the replica responds, and has replayed the WAL up to this position, if given. */
  readonly covers: (position: string | undefined) => boolean;
}

/** For commands, which have no time limit. */
export const UNLIMITED: DriverOptions = { statementTimeout: Infinity };

/** Where a rule stands: a column, or a constraint or index whose columns `dialect.constrained` finds. */
export interface RulePlace {
  readonly column?: string | undefined;
  readonly constraint?: string | undefined;
}

/** A statement violated a constraint. The caller queries the rows to find which. */
export class ConstraintError extends Error {
  readonly kind: 'unique' | 'reference' | 'too-long' | 'too-deep';
  readonly place: RulePlace;

  constructor(kind: ConstraintError['kind'], cause: unknown, place: RulePlace = {}) {
    super(`${kind} constraint`, { cause });
    this.kind = kind;
    this.place = place;
  }
}

/** Another write changed rows before this write locked them. The driver runs the work again. */
export class Overtaken extends Error {}
