/** The driver for SQLite: one connection writes, one reads, and separate processes search. */
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Caller, NO_CLIENT } from '../../edge/caller.ts';
import { codeOf, COMPANIONS, isOfSystem, makeFolder, makeOwnerOnly, NO_FILE } from '../../files.ts';
import { reasonOf, StartError } from '../../problem.ts';
import { type Driver, type DriverOptions, type Snapshot, type Statement, UNLIMITED } from '../driver.ts';
import { Unavailable } from '../unavailable.ts';
import { refusedFile, refuseInUse, refuseUnusableFile } from './backup.ts';
import {
  connect,
  createTurnReader,
  type OnPiece,
  openLightList,
  type SqliteConnection,
  watchPlace,
} from './connection.ts';
import { sqliteDialect } from './dialect.ts';
import { GroupCommit } from './group-commit.ts';
import { dryRun, migrate } from './migrate.ts';
import { createReaders } from './readers.ts';
import {
  BUSY_TIMEOUT_MS,
  COPIES_OF_RECORD,
  MAX_COUNTED_ROWS,
  MAX_READERS,
  MAX_STREAMS,
  WAL_LIMIT_BYTES,
} from './tuning.ts';

const EXISTING_NAMES: Statement = {
  sql: `select name from sqlite_schema where type in ('table', 'index') and name not like 'sqlite\\_%' escape '\\'`,
};

const PING: Statement = { sql: 'select 1 from sqlite_schema' };

export function openSqlite(
  file: string,
  { statementTimeout, maxStreams = MAX_STREAMS, serves = false }: DriverOptions = UNLIMITED,
): Driver {
  const writer = openForWriting(file);
  refuseUnusableFile(file);
  const lock = serves ? lockService(file) : undefined;
  const readings = openForReading(file, writer);
  const checkPlace = watchPlace(file, readings);
  const reader = createTurnReader(readings, checkPlace);
  const readers = createReaders(file, statementTimeout);
  const lightLists = new Set<Snapshot>();
  const commits = new GroupCommit(writer, reader.refresh, { ...reader, checkPlace });

  return {
    dialect: sqliteDialect,
    address: file,
    causeOf: reasonOf,
    ...reader,
    mostCounted: MAX_COUNTED_ROWS,
    // Only searches and lists need slots: reads do not wait, and writes share transactions.
    slots: {
      limits: { stream: maxStreams, slowList: MAX_READERS - 1 },
      shared: [{ kinds: ['scan', 'slowList'], limit: MAX_READERS }],
      waitMs: (kind) => (kind === 'stream' ? BUSY_TIMEOUT_MS : statementTimeout),
    },
    read: (work) => work(reader),
    preview: (work) => work(reader),
    write: commits.write,
    define: (statements) =>
      commits.write(async (own) => {
        for (const sql of statements) await own.run({ sql }, []);
      }),
    // The first process that defines tables locks the file.
    exclusively: async (work) => work(),
    existing: () => reader.column(EXISTING_NAMES, []),
    migrate: (migration) => {
      reader.refresh();
      return migrate(file, migration).finally(reader.refresh);
    },
    finishMigration: async () => undefined,
    abandonMigration: async () => false,
    dryRun: (migration) => dryRun(readings, migration),
    scan: async (work, caller) => {
      reader.requirePlace();
      const snapshot = readers.snapshot(caller, () => undefined);
      try {
        return await work(snapshot);
      } finally {
        await snapshot.close();
      }
    },
    ping: () => {
      checkPlace();
      reader.value(PING, []);
    },
    snapshot: (caller = NO_CLIENT, heavy = true) => {
      reader.requirePlace();
      if (heavy) return readers.snapshot(caller, holding(caller));
      const list: Snapshot = openLightList(file, caller, holding(caller), () => lightLists.delete(list));
      lightLists.add(list);
      return list;
    },
    close: async () => {
      readers.close();
      for (const list of lightLists) void list.close();
      await commits.drained();
      try {
        reader.close();
      } finally {
        writer.close();
        lock?.close();
      }
    },
  };
}

/** Charges the memory that SQLite holds for the longest record so far: at most two pages. */
function holding(caller: Caller): OnPiece {
  let charged = 0;
  return (piece) => {
    const longest = piece.reduce((most, { length }) => Math.max(most, length), 0);
    const held = Math.min(COPIES_OF_RECORD * longest, 2 * caller.pageBytes);
    if (held > charged) caller.take(held - charged);
    charged = Math.max(charged, held);
  };
}

function openForWriting(file: string, parts: readonly string[] = [...COMPANIONS, '-lock']): SqliteConnection {
  const isPart = parts.some((suffix) => file.endsWith(suffix) && existsSync(file.slice(0, -suffix.length)));
  const what = isPart ? 'a part of another database' : NO_FILE;
  if (isPart || statSync(file, { throwIfNoEntry: false })?.isFile() === false) throw refusedFile(file, what);
  try {
    makeFolder(dirname(file));
    makeOwnerOnly(file);
    // SQLite opens what it may only read, and names no file that it may not open.
    for (const path of [dirname(file), file, ...COMPANIONS.map((suffix) => file + suffix)])
      if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
    return connect(file, false);
  } catch (error) {
    const cause = error instanceof StartError ? error.cause : error;
    // Errors of the system begin with their code.
    const code = isOfSystem(cause) ? '' : `${codeOf(cause)}: `;
    const user = process.getuid === undefined ? '' : ` (uid ${process.getuid()})`;
    throw new StartError(
      `The database ${file} cannot be opened (${code}${reasonOf(cause)}). The user of this process${user} must be able to write the file and its folder, ${resolve(dirname(file))}; DATABASE_URL names another file`,
      { cause },
    );
  }
}

/**
 * Keeps other services away while it is open, but no commands and no other programs, all of which lock the file itself:
 * so the lock is on a file beside it.
 */
function lockService(file: string): SqliteConnection {
  const served = realpathSync(file);
  // A log belongs to a name: under two names, two processes would not see each other's writes.
  if (statSync(served).nlink > 1) refuseInUse(file, ' under another name, a hard link; stop the other process');
  const lock = openForWriting(`${served}-lock`, COMPANIONS);
  try {
    // A journal on the disk would need space, and a service starts on a full disk, too.
    lock.execute('pragma journal_mode = memory; begin exclusive');
    return lock;
  } catch (error) {
    lock.close();
    const message = `${file} is served by another process; one process serves an SQLite file. Stop it first.`;
    throw error instanceof Unavailable && error.reason === 'locks' ? new StartError(message, { cause: error }) : error;
  }
}

function openForReading(file: string, writer: SqliteConnection): SqliteConnection {
  try {
    writer.execute(
      `pragma busy_timeout = ${BUSY_TIMEOUT_MS}; pragma journal_mode = wal; pragma busy_timeout = 0; pragma synchronous = full; pragma journal_size_limit = ${WAL_LIMIT_BYTES}; pragma foreign_keys = on; pragma trusted_schema = off; pragma cell_size_check = on; select 1 from sqlite_schema`,
    );
    return connect(file, true);
  } catch (error) {
    writer.close();
    throw error;
  }
}
