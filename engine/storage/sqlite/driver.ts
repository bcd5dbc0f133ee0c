/** SQLite behind the driver's interface: one connection writes, one reads, and processes of their own look at many rows. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { PATIENT } from '../../caller.ts';
import { makeOwnerOnly } from '../../files.ts';
import {
  type Awaitable,
  type Driver,
  type DriverOptions,
  type Reader,
  type Statement,
  UNLIMITED,
  type Writer,
} from '../driver.ts';
import { Problem } from '../../problem.ts';
import { connect, type SqliteConnection } from './connection.ts';
import { sqliteDialect } from './dialect.ts';
import { createGroupCommit } from './group-commit.ts';
import { createScanner } from './scanner.ts';
import { createTurnReader, type TurnReader } from './turn-reader.ts';
import { createScales } from './list-cost.ts';
import { reasonOf, StartError } from '../../start-error.ts';
import { compareObjects, type Drift, type Migration, type Objects } from '../migrate/driver.ts';
import { backUp } from './backup.ts';
import type { TableDefinition } from '../migrate/applied.ts';

/** Rows of a table that are read at once; more are streamed. */
const MAX_SMALL = 1000;
/** Characters that an answer of a reader process may have: they are held several times while it is sent. */
const MAX_ANSWER = 16 * 1024 * 1024;
/** Bytes of a page that is read between the requests: a millisecond. */
const PAGE_AT_ONCE = 512 * 1024;
const EXISTING: Statement = {
  sql: `select name from sqlite_schema where type in ('table', 'index') and name not like 'sqlite\\_%' escape '\\'`,
};

const PING: Statement = { sql: 'select 1 from sqlite_schema' };

const inodeOf = (file: string): bigint | undefined => statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;
const moved = (): Problem => new Problem('storage-busy', 'The file of the database was moved, removed or replaced');

export function openSqlite(file: string, { statementTimeout }: DriverOptions = UNLIMITED): Driver {
  mkdirSync(dirname(file), { recursive: true });
  makeOwnerOnly(file);
  const writer = connect(file, false);
  writer.execute(
    'pragma busy_timeout = 5000; pragma journal_mode = wal; pragma busy_timeout = 0; pragma synchronous = full; pragma foreign_keys = on; pragma trusted_schema = off; pragma cell_size_check = on',
  );
  const inode = inodeOf(file);
  const readings = connect(file, true);
  const reader = createTurnReader(readings);
  const longest = statementTimeout === Infinity ? Number.MAX_SAFE_INTEGER : MAX_ANSWER;
  const scanner = createScanner({ file, longest, patience: statementTimeout });
  const commits = createGroupCommit(writer, reader.refresh);

  const apart = async <T>(work: () => Awaitable<T>): Promise<T> => {
    reader.refresh();
    try {
      return await work();
    } finally {
      reader.refresh();
    }
  };

  return {
    dialect: sqliteDialect,
    get: reader.get,
    all: reader.all,
    value: reader.value,
    page: reader.page,
    column: reader.column,
    count: reader.count,
    // The work waits for nothing but this connection, and so ends within the turn in which it began.
    read: (work, caller) => reader.inTurn(() => work(reader), caller),
    write: commits.write,
    define: (statements, work) => apart(() => define(writer, statements, work)),
    // Whoever defines first, holds the file; the next one finds what was made.
    exclusively: async (work) => work(),
    existing: () => reader.column(EXISTING, []),
    migrate: (migration) => apart(() => migrate(file, migration)),
    drift: (tables) => findDrift(readings.database, tables),
    scan: (work, caller) => {
      const adopt = reader.watch();
      return scanner.scan((session) => work(adoptingCounts(session, adopt)), caller);
    },
    pageAtOnce: PAGE_AT_ONCE,
    ...createScales(reader, readings.database),
    isSmall: (newest) => reader.count(newest, []) <= MAX_SMALL,
    ping: () => {
      // What was moved away or replaced can still be read and written here, and nowhere else.
      if (inodeOf(file) !== inode) throw moved();
      reader.value(PING, []);
    },
    snapshot: (caller = PATIENT, heavy = true) => scanner.snapshot(caller, heavy),
    close: async () => {
      scanner.close();
      await commits.drained();
      reader.close();
      writer.close();
    },
  };
}

/** What a scan has counted need not be counted again. */
const adoptingCounts = (session: Reader, adopt: ReturnType<TurnReader['watch']>): Reader => ({
  ...session,
  count: async (statement, values) => {
    const count = await session.count(statement, values);
    adopt(statement, values, count);
    return count;
  },
});

async function define(
  connection: SqliteConnection,
  statements: readonly string[],
  work: (writer: Writer) => Awaitable<void>,
): Promise<void> {
  // Instances that start together wait for each other.
  connection.execute('pragma busy_timeout = 5000; begin immediate; pragma busy_timeout = 0');
  try {
    for (const sql of statements) connection.execute(sql);
    await work(connection);
    connection.execute('commit');
  } catch (error) {
    if (connection.database.inTransaction) connection.execute('rollback');
    throw error;
  }
}

// Changes of tables on a connection of their own: foreign keys are off before the transaction begins, and checked in it.

/** Another process may write this long before the migration is given up, in milliseconds. */
const BUSY_TIMEOUT = 10_000;
const MAX_SHOWN = 10;

export async function migrate(file: string, migration: Migration): Promise<string | undefined> {
  const connection = connect(file, false);
  try {
    connection.execute(
      `pragma busy_timeout = ${BUSY_TIMEOUT}; pragma journal_mode = wal; pragma synchronous = full; pragma trusted_schema = off; pragma foreign_keys = off; begin immediate`,
    );
    const copy = await carryOut(connection, file, migration);
    connection.execute('commit');
    return copy;
  } catch (error) {
    // Busy, or full: said as it is.
    throw error instanceof Problem ? new StartError(`${error.message}. Nothing was changed.`, { cause: error }) : error;
  } finally {
    // Closing takes back what was not committed.
    connection.close();
  }
}

async function carryOut(connection: SqliteConnection, file: string, migration: Migration): Promise<string | undefined> {
  await migration.before(connection);
  const copy = migration.backup ? await backup(file) : undefined;
  for (const sql of migration.statements) make(connection, sql);
  await migration.after(connection);
  refuseBroken(connection);
  return copy;
}

/** What somebody else added to the file, a view for instance, may be in the way. */
function make(connection: SqliteConnection, sql: string): void {
  try {
    connection.execute(sql);
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

/** While the migration's connection holds the write lock, another one reads the state that it found. */
async function backup(file: string): Promise<string> {
  const name = `${file}.backup-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`;
  await backUp(file, name);
  return name;
}

// The tables of a file against their DDL: what SQLite itself makes of it, in a database that lives for a moment.

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

/** The definitions come from the file, which may come from anybody: nothing but one statement that creates is run. */
function definitionOfTable(scratch: Database.Database, sql: string): void {
  if (!/^create (unique index|index|table) /i.test(sql)) throw unknownDefinition();
  try {
    scratch.prepare(sql).run();
  } catch (error) {
    throw unknownDefinition(error);
  }
}

const unknownDefinition = (cause?: unknown): StartError =>
  new StartError('The database remembers a definition of a table that this engine has not made. Nothing was changed.', {
    cause,
  });

/** Everything that belongs to a table, by what people call it. */
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

/** SQL without what renames rewrite: quotes, case, space. */
const plain = (sql: string): string => sql.replaceAll(/[`"\s]/g, '').toLowerCase();
