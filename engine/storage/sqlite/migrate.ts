/**
 * Changes of tables in an SQLite file, on a connection of their own: foreign keys are off before the transaction begins,
 * and checked in it.
 */
import Database from 'better-sqlite3';
import { CallerGone } from '../../caller.ts';
import { Problem } from '../../problem.ts';
import { reasonOf, StartError } from '../../start-error.ts';
import type { TableDefinition } from '../migrate/applied.ts';
import { compareObjects, type Drift, type Migration, type Objects } from '../migrate/driver.ts';
import { backUp, timestamped } from './backup.ts';
import { connect, rollBack, type SqliteConnection } from './connection.ts';
import { sqliteDialect } from './dialect.ts';
import type { Task } from '../migrate/tasks.ts';

/** Milliseconds that another process may write before this one gives up. */
const DEFINE_TIMEOUT = 5000;
const MIGRATE_TIMEOUT = 10_000;
const MAX_SHOWN = 10;

export function define(connection: SqliteConnection, statements: readonly string[]): void {
  // Instances that start together wait for each other.
  withTimeout(connection, DEFINE_TIMEOUT, 'begin immediate');
  try {
    for (const sql of statements) connection.execute(sql);
    connection.execute('commit');
  } catch (error) {
    rollBack(connection);
    throw error;
  }
}

/** Runs a statement that may wait for other processes, for so many milliseconds; later ones do not wait. */
export function withTimeout(connection: SqliteConnection, milliseconds: number, sql: string): void {
  connection.execute(`pragma busy_timeout = ${milliseconds}`);
  try {
    connection.execute(sql);
  } finally {
    connection.execute('pragma busy_timeout = 0');
  }
}

export async function migrate(file: string, migration: Migration): Promise<string | undefined> {
  const connection = connect(file, false);
  try {
    connection.execute(
      `pragma busy_timeout = ${MIGRATE_TIMEOUT}; pragma journal_mode = wal; pragma synchronous = full; pragma trusted_schema = off; pragma foreign_keys = off; begin immediate`,
    );
    const copy = await carryOut(connection, file, migration);
    connection.execute('commit');
    return copy;
  } catch (error) {
    // Busy, or full: for the operator.
    throw error instanceof Problem ? new StartError(`${error.message}. Nothing was changed.`, { cause: error }) : error;
  } finally {
    // Closing rolls back what was not committed.
    connection.close();
  }
}

async function carryOut(connection: SqliteConnection, file: string, migration: Migration): Promise<string | undefined> {
  await migration.before(connection);
  // While this connection holds the write lock, another one reads the state that it found.
  const copy = migration.backup ? timestamped(file, 'backup') : undefined;
  if (copy !== undefined) await backUp(file, copy);
  const { caller, report } = migration.watch;
  const tasks = [...migration.tasks];
  for (const [index, task] of tasks.entries()) {
    if (caller.isGone) throw new CallerGone();
    const tell = (position: number, last: number): void =>
      report({ kind: 'doing', task, number: index + 1, of: tasks.length, position, last });
    refusing(task.sql, () => (task.kind === 'fill' ? fill(connection, task, tell) : plainly(connection, task, tell)));
  }
  await migration.after(connection);
  refuseBroken(connection);
  return copy;
}

type Tell = (position: number, last: number) => void;

function plainly({ execute }: SqliteConnection, { sql }: Task, tell: Tell): void {
  tell(0, 0);
  execute(sql);
}

/** Rows between two reports. */
const BATCH = 50_000;

function fill({ value, run }: SqliteConnection, { table = '', identifier = '', sql }: Task, tell: Tell): void {
  const { quote } = sqliteDialect;
  const key = quote(identifier);
  const last = Number(value({ sql: `select max(${key}) from ${quote(table)}` }, []) ?? 0);
  const next = {
    sql: `select max(${key}) from (select ${key} from ${quote(table)} where ${key} > ? order by ${key} limit ${BATCH})`,
  };
  const statement = { sql };
  for (let position = 0; ;) {
    tell(position, last);
    const end = value(next, [position]);
    if (typeof end !== 'number') return;
    run(statement, [position, end]);
    position = end;
  }
}

/** It may fail because of something that others added to the file, for instance a view. */
function refusing(sql: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof Problem) throw error;
    const reason = reasonOf(error);
    throw new StartError(`SQLite refused "${sql}": ${reason}. Nothing was changed.`, { cause: error });
  }
}

function refuseBroken({ all }: SqliteConnection): void {
  const rows = all({ sql: 'select "table", rowid, parent from pragma_foreign_key_check' }, []);
  const broken = rows as readonly (readonly (string | number | null)[])[];
  if (broken.length === 0) return;
  const shown = broken.slice(0, MAX_SHOWN).map(([table, row, parent]) => `row ${row} of ${table} to ${parent}`);
  throw new StartError(`${broken.length} foreign keys would lead nowhere: ${shown.join(', ')}. Nothing was changed.`);
}

/** Compares tables with what SQLite makes of their DDL, in a database that lives for a moment. */
export function findDrift(
  file: Database.Database,
  tables: Readonly<Record<string, TableDefinition>>,
): readonly Drift[] {
  const scratch = new Database(':memory:');
  try {
    scratch.pragma('foreign_keys = off');
    return Object.entries(tables).flatMap(([table, { create, indexes }]) => {
      for (const sql of [create, ...Object.values(indexes)]) definitionOfTable(scratch, sql);
      const differences = compareObjects(inspect(scratch, table), inspect(file, table));
      return differences.length === 0 ? [] : [{ table, differences }];
    });
  } finally {
    scratch.close();
  }
}

/** The definitions come from the file, which may come from anywhere: only a single CREATE statement is run. */
function definitionOfTable(scratch: Database.Database, sql: string): void {
  if (!/^create (unique index|index|table) /i.test(sql)) throw unknownDefinition();
  try {
    scratch.prepare(sql).run();
  } catch (error) {
    throw unknownDefinition(error);
  }
}

const unknownDefinition = (cause?: unknown): StartError =>
  new StartError('The database remembers a definition of a table that this engine did not make. Nothing was changed.', {
    cause,
  });

/** Everything that belongs to a table, by its name for people. */
function inspect(database: Database.Database, table: string): Objects {
  const rows = (sql: string): readonly Record<string, unknown>[] =>
    database.prepare<[string], Record<string, unknown>>(sql).all(table);
  const columns = rows('select name, lower(type) as type, "notnull", dflt_value, pk from pragma_table_xinfo(?)');
  const keys = rows(
    'select "from", lower("table") as "table", lower("to") as "to", on_delete from pragma_foreign_key_list(?)',
  );
  const others = rows(
    `select type, name, sql from sqlite_schema where tbl_name = ? collate nocase and type <> 'table' and sql is not null`,
  );
  const named = (kind: unknown, name: unknown): string => `${String(kind)} ${String(name)}`;
  return new Map<string, unknown>([
    ...columns.map(({ name, ...column }) => [named('column', name), column] as const),
    ...keys.map(({ from, ...key }) => [named('foreign key', from), key] as const),
    ...others.map(({ type, name, sql }) => [named(type, name), plain(String(sql))] as const),
  ]);
}

/** SQL without what a rename rewrites: quotes, case, spaces. */
const plain = (sql: string): string => sql.replaceAll(/[`"\s]/g, '').toLowerCase();
