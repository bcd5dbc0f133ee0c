/** The narrow door to a database. Everything above it works with any driver; only drivers know a database's client. */
import type { SqlValue } from '../field-types/field-type.ts';

/** SQLite answers at once, others later: callers await either. */
export type Awaitable<T> = T | Promise<T>;

/** SQL compiled once, run with positional values. Drivers prepare it once for each connection. */
export interface Statement {
  readonly sql: string;
}

export type Row = readonly SqlValue[];

/** Rows are arrays in the order of the selected columns. */
export interface Reader {
  /** The first row, or undefined. */
  get(statement: Statement, values: readonly SqlValue[]): Awaitable<Row | undefined>;
  all(statement: Statement, values: readonly SqlValue[]): Awaitable<readonly Row[]>;
  /** The first column of every row. */
  column(statement: Statement, values: readonly SqlValue[]): Awaitable<readonly SqlValue[]>;
}

export interface Writer extends Reader {
  /** How many rows were changed, and the identifier of a row that was inserted. */
  run(statement: Statement, values: readonly SqlValue[]): Awaitable<{ readonly changes: number; readonly identifier: number }>;
}
