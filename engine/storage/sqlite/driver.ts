/** SQLite behind the driver's interface: one connection writes, one reads, and each streamed list has one of its own. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Awaitable, Driver, Snapshot, Statement, Values, Writer } from '../driver.ts';
import { type Connection, connect } from './connection.ts';
import { sqliteDialect } from './dialect.ts';
import { findDrift } from './drift.ts';
import { createGroupCommit } from './group-commit.ts';
import { migrate } from './migrate.ts';
import { createTurnReader } from './turn-reader.ts';

const BATCH = 256;
const TABLES: Statement = {
  sql: `select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'`,
};

export function openSqlite(file: string): Driver {
  mkdirSync(dirname(file), { recursive: true });
  const writer = connect(file, false);
  writer.execute(
    'pragma busy_timeout = 5000; pragma journal_mode = wal; pragma busy_timeout = 0; pragma synchronous = full; pragma foreign_keys = on; pragma trusted_schema = off',
  );
  const readings = connect(file, true);
  const reader = createTurnReader(readings);
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
    column: reader.column,
    count: reader.count,
    // It waits for nothing but this connection, and so ends within the turn in which it began.
    read: (work) => work(reader),
    write: commits.write,
    define: (statements, work) => apart(() => define(writer, statements, work)),
    // Whoever defines first, holds the file; the next one finds what was made.
    exclusively: async (work) => work(),
    tables: () => reader.column(TABLES, []),
    migrate: (migration) => apart(() => migrate(file, migration)),
    drift: (tables) => findDrift(readings.database, tables),
    snapshot: () => openSnapshot(file),
    close: async () => {
      await commits.drained();
      reader.close();
      writer.close();
    },
  };
}

async function define(
  connection: Connection,
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

function openSnapshot(file: string): Snapshot {
  const connection = connect(file, true);
  connection.execute('begin');
  let open = true;
  const close = (): void => {
    if (open) connection.close();
    open = false;
  };
  return {
    get: connection.get,
    all: connection.all,
    value: connection.value,
    column: connection.column,
    count: connection.count,
    batches: (statement, values) => batches(connection, statement, values),
    close,
  };
}

async function* batches(
  connection: Connection,
  statement: Statement,
  values: Values,
): AsyncGenerator<readonly SqlValue[]> {
  let batch: SqlValue[] = [];
  for (const value of connection.iterate(statement, values)) {
    batch.push(value);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
