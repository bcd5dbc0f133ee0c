/** One connection to an SQLite file: prepares each statement once and runs it. */
import { statSync, utimesSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { SqlValue } from '../../field-types/field-type.ts';
import { SQLITE_AGGREGATES, SQLITE_FUNCTIONS } from '../../field-types/totals.ts';
import { codeOf } from '../../files.ts';
import { ConstraintError, type OnRow, type Row, type Statement, type Values, type Writer } from '../driver.ts';
import { foldedText } from '../columns.ts';
import { FOLDED } from './dialect.ts';
import { answerTooLong } from '../../problem.ts';
import { diskFull, MissingObject, refusedByOthers, unavailable } from '../unavailable.ts';

/** A prepared statement, as much of it as is used. */
interface Prepared {
  get(...values: Values): unknown;
  all(...values: Values): unknown[];
  run(...values: Values): { readonly changes: number; readonly lastInsertRowid: number | bigint };
  iterate(...values: Values): IterableIterator<unknown>;
}

type Answering = 'row' | 'value' | 'run';

export interface SqliteConnection extends Writer {
  readonly database: Database.Database;
  iterate(statement: Statement, values: Values): IterableIterator<Row>;
  /** For statements that are run again and again and return nothing. */
  command(statement: Statement): void;
  execute(sql: string): void;
  close(): void;
}

const ROLLBACK: Statement = { sql: 'rollback' };
/** Not in triggers and views of others. */
const IN_STATEMENTS = { deterministic: true, directOnly: true };

export function connect(file: string, readonly: boolean): SqliteConnection {
  const database = new Database(file, { readonly, timeout: 0 });
  for (const [name, work] of [[FOLDED, foldedText], ...Object.entries(SQLITE_FUNCTIONS)] as const)
    database.function(name, IN_STATEMENTS, work);
  for (const [name, aggregate] of Object.entries(SQLITE_AGGREGATES))
    database.aggregate<unknown>(name, { ...IN_STATEMENTS, ...aggregate });
  const translated = translatedFor(file);
  const prepared: Readonly<Record<Answering, WeakMap<Statement, Prepared>>> = {
    row: new WeakMap(),
    value: new WeakMap(),
    run: new WeakMap(),
  };

  function prepare(statement: Statement, shape: Answering): Prepared {
    const known = prepared[shape].get(statement);
    if (known) return known;
    const fresh = database.prepare<SqlValue[]>(statement.sql);
    if (shape === 'row') fresh.raw();
    if (shape === 'value') fresh.pluck();
    prepared[shape].set(statement, fresh);
    return fresh;
  }

  return {
    database,
    get: translated((statement, values) => prepare(statement, 'row').get(...values) as Row | undefined),
    value: translated((statement, values) => prepare(statement, 'value').get(...values) as SqlValue | undefined),
    all: translated((statement, values, onRow) => {
      const rows = prepare(statement, 'row');
      return onRow ? each(rows.iterate(...values) as Iterable<Row>, onRow) : (rows.all(...values) as Row[]);
    }),
    column: translated((statement, values, onRow) => {
      const one = prepare(statement, 'value');
      return onRow ? each(one.iterate(...values) as Iterable<SqlValue>, onRow) : (one.all(...values) as SqlValue[]);
    }),
    run: translated((statement, values) => {
      const { changes, lastInsertRowid } = prepare(statement, 'run').run(...values);
      return { changes, identifier: Number(lastInsertRowid) };
    }),
    iterate: translated((statement, values) => prepare(statement, 'row').iterate(...values) as IterableIterator<Row>),
    command: translated((statement: Statement) => void prepare(statement, 'run').run()),
    execute: translated((sql: string) => void database.exec(sql)),
    close: () => void database.close(),
  };
}

function each<R>(rows: Iterable<R>, onRow: OnRow<R>): readonly R[] {
  const all: R[] = [];
  for (const row of rows) {
    onRow(row);
    all.push(row);
  }
  return all;
}

/** Never throws: it is called where an error is on its way already. A transaction may stay open if the disk fails. */
export function rollBack({ database, command }: SqliteConnection): void {
  try {
    if (database.inTransaction) command(ROLLBACK);
  } catch {
    return;
  }
}

// SQLite's result codes -> problems. An error that is not listed is a fault of the engine and is passed on unchanged.

const busy = (cause: unknown): Error => unavailable('busy', cause);
const CANNOT_GROW = 'The file of the database cannot grow: its disk, a quota or a limit of the process is full';
/** A deletion takes along records that take others along, more than 1,000 levels deep: each level is a trigger. */
const TOO_DEEP = 'triggers nested too deep';
const unique = (cause: unknown): Error => new ConstraintError('unique', cause);

const translations = new Map<string, (cause: unknown) => unknown>([
  ['SQLITE_CONSTRAINT_UNIQUE', unique],
  ['SQLITE_CONSTRAINT_PRIMARYKEY', unique],
  ['SQLITE_CONSTRAINT_ROWID', unique],
  ['SQLITE_CONSTRAINT_FOREIGNKEY', (cause) => new ConstraintError('reference', cause)],
  // RAISE in a trigger of others.
  ['SQLITE_CONSTRAINT_TRIGGER', (cause) => refusedByOthers(cause instanceof Error ? cause.message : '', cause)],
  ['SQLITE_BUSY', busy],
  ['SQLITE_BUSY_SNAPSHOT', busy],
  ['SQLITE_BUSY_RECOVERY', busy],
  ['SQLITE_LOCKED', busy],
  ['SQLITE_IOERR', (cause) => unavailable('broken', cause)],
  // SQLite reports ENOSPC as SQLITE_FULL, but EFBIG (a limit of the process), EDQUOT and others as this.
  ['SQLITE_IOERR_WRITE', (cause) => diskFull(cause, CANNOT_GROW)],
  ['SQLITE_READONLY', (cause) => unavailable('readOnly', cause)],
  ['SQLITE_CANTOPEN', busy],
  ['SQLITE_FULL', (cause) => diskFull(cause)],
  ['SQLITE_TOOBIG', answerTooLong],
  [
    'SQLITE_ERROR',
    (cause) => {
      if (!(cause instanceof Error)) return cause;
      if (/^no such (table|column)/.test(cause.message)) return new MissingObject(cause);
      return cause.message === TOO_DEEP ? new ConstraintError('too-deep', cause) : cause;
    },
  ],
]);

/** Of `SQLITE_IOERR_READ`, `SQLITE_IOERR`. */
const primaryOf = (code: string): string => code.split('_', 2).join('_');

/** The error that callers of the driver see. */
export function translate(error: unknown, file: string): unknown {
  // By its code, not its class: the native module keeps the first class it was loaded with.
  const code = codeOf(error);
  if (primaryOf(code) === 'SQLITE_IOERR' && isReadOnly(file)) return unavailable('readOnly', error);
  const known = translations.get(code) ?? translations.get(primaryOf(code));
  return known?.(error) ?? error;
}

/** Whether its file system has become read-only, as after an error of its disk. SQLite does not tell why it cannot write. */
function isReadOnly(file: string): boolean {
  try {
    const { atime, mtime } = statSync(file);
    utimesSync(file, atime, mtime);
    return false;
  } catch (error) {
    return codeOf(error) === 'EROFS';
  }
}

const translatedFor =
  (file: string) =>
  <A extends readonly unknown[], T>(work: (...args: A) => T): ((...args: A) => T) =>
  (...args) => {
    try {
      return work(...args);
    } catch (error) {
      throw translate(error, file);
    }
  };
