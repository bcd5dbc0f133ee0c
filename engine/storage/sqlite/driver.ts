/** The driver for SQLite: one connection writes, one reads, and separate processes read many rows. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { PATIENT } from '../../caller.ts';
import { codeOf, makeOwnerOnly } from '../../files.ts';
import { reasonOf, StartError } from '../../start-error.ts';
import { type Awaitable, type Driver, type DriverOptions, type Reader, type Statement, UNLIMITED } from '../driver.ts';
import { unavailable } from '../unavailable.ts';
import { connect, type SqliteConnection } from './connection.ts';
import { LONG_LOG, sqliteDialect } from './dialect.ts';
import { createGroupCommit } from './group-commit.ts';
import { createScanner } from './scanner.ts';
import { createTurnReader, type TurnReader } from './turn-reader.ts';
import { define, migrate, rehearse, withTimeout } from './migrate.ts';

/** Characters that an answer of a reader process may have: they are copied several times while it is sent. */
const MAX_ANSWER = 16 * 1024 * 1024;
/** Rows of a table that are counted between the requests: without an index, 500,000 rows of 500 bytes take 400 ms. */
const MAX_COUNTED = 100_000;
const MAX_STREAMS = 64;
const EXISTING: Statement = {
  sql: `select name from sqlite_schema where type in ('table', 'index') and name not like 'sqlite\\_%' escape '\\'`,
};

/** Milliseconds that another process may hold the file when it is opened. */
const OPEN_TIMEOUT = 5000;

const PING: Statement = { sql: 'select 1 from sqlite_schema' };

const inodeOf = (file: string): bigint | undefined => statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;

export function openSqlite(file: string, { statementTimeout }: DriverOptions = UNLIMITED): Driver {
  const writer = writable(file, () => {
    mkdirSync(dirname(file), { recursive: true });
    makeOwnerOnly(file);
    return connect(file, false);
  });
  const readings = closedOnError(writer, () => {
    withTimeout(writer, OPEN_TIMEOUT, 'pragma journal_mode = wal');
    writer.execute(
      `pragma synchronous = full; pragma journal_size_limit = ${LONG_LOG}; pragma foreign_keys = on; pragma trusted_schema = off; pragma cell_size_check = on`,
    );
    return connect(file, true);
  });
  const inode = inodeOf(file);
  const reader = createTurnReader(readings);
  const longest = statementTimeout === Infinity ? Number.MAX_SAFE_INTEGER : MAX_ANSWER;
  const scanner = createScanner({ file, longest, patience: statementTimeout });
  const commits = createGroupCommit(writer, { refresh: reader.refresh });

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
    address: file,
    get: reader.get,
    all: reader.all,
    value: reader.value,
    page: reader.page,
    column: reader.column,
    count: reader.count,
    // The work waits only for this connection, so it ends in the turn in which it began.
    read: (work) => work(reader),
    write: commits.write,
    define: (statements) => apart(() => define(writer, statements)),
    // The first one that defines tables locks the file; the next one finds what was made.
    exclusively: async (work) => work(),
    // SQLite assumes so by itself.
    expectSmallSets: () => undefined,
    existing: () => reader.column(EXISTING, []),
    migrate: (migration) => apart(() => migrate(file, migration)),
    finishMigration: async () => undefined,
    abandonMigration: async () => false,
    rehearse: (migration) => rehearse(readings, migration),
    scan: (work, caller) => {
      const adopt = reader.watch();
      return scanner.scan((session) => work(adoptingCounts(session, adopt)), caller);
    },
    // Identifiers are never reused: there cannot be more rows than the greatest one.
    countsLong: (newest, counted) =>
      reader.count(newest, []) > MAX_COUNTED && !(counted && reader.isCounted(counted.statement, counted.values)),
    maxStreams: MAX_STREAMS,
    ping: () => {
      // A file that was moved or replaced can still be read and written here, but nobody would see it.
      if (inodeOf(file) !== inode) throw unavailable('moved');
      reader.value(PING, []);
    },
    snapshot: (caller = PATIENT, heavy = true) => scanner.snapshot(caller, heavy),
    close: async () => {
      scanner.close();
      await commits.drained();
      try {
        reader.close();
      } finally {
        writer.close();
      }
    },
  };
}

function writable<T>(file: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const cause = error instanceof StartError ? error.cause : error;
    const user = process.getuid === undefined ? '' : ` (uid ${process.getuid()})`;
    throw new StartError(
      `The database ${file} cannot be opened (${codeOf(cause)}: ${reasonOf(cause)}). The user of this process${user} must be able to write the file and its folder, ${resolve(dirname(file))}; DATABASE_URL names another file`,
      { cause },
    );
  }
}

function closedOnError<T>(connection: SqliteConnection, work: () => T): T {
  try {
    return work();
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** What a scan has counted is remembered for the requests. */
const adoptingCounts = (session: Reader, adopt: ReturnType<TurnReader['watch']>): Reader => ({
  ...session,
  count: async (statement, values) => {
    const count = await session.count(statement, values);
    adopt(statement, values, count);
    return count;
  },
});
