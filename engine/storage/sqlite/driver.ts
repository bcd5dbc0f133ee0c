/** The driver for SQLite: one connection writes, one reads, and separate processes search. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Caller, NO_CLIENT } from '../../edge/caller.ts';
import { codeOf, makeOwnerOnly } from '../../files.ts';
import { reasonOf, StartError } from '../../problem.ts';
import {
  type Awaitable,
  type Driver,
  type DriverOptions,
  type Snapshot,
  type Statement,
  UNLIMITED,
} from '../driver.ts';
import { unavailable } from '../unavailable.ts';
import { connect, createTurnReader, type OnPiece, openLightList, type SqliteConnection } from './connection.ts';
import { sqliteDialect } from './dialect.ts';
import { createGroupCommit } from './group-commit.ts';
import { define, migrate, dryRun, waitingForFile } from './migrate.ts';
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

const inodeOf = (file: string): bigint | undefined => statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;

export function openSqlite(
  file: string,
  { statementTimeout, maxStreams = MAX_STREAMS }: DriverOptions = UNLIMITED,
): Driver {
  const writer = openForWriting(file);
  const readings = openForReading(file, writer);
  const inode = inodeOf(file);
  const reader = createTurnReader(readings);
  const readers = createReaders(file, statementTimeout);
  const lightLists = new Set<Snapshot>();
  const commits = createGroupCommit(writer, reader.refresh);

  const afterReads = async <T>(work: () => Awaitable<T>): Promise<T> => {
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
    causeOf: reasonOf,
    ...reader,
    mostCounted: MAX_COUNTED_ROWS,
    // Only searches and lists need slots: reads do not wait, and writes share transactions.
    slots: {
      most: { stream: maxStreams, slowList: MAX_READERS - 1 },
      shared: [{ kinds: ['scan', 'slowList'], most: MAX_READERS }],
      waitMs: (kind) => (kind === 'stream' ? BUSY_TIMEOUT_MS : statementTimeout),
    },
    read: (work) => work(reader),
    write: commits.write,
    define: (statements) => afterReads(() => define(writer, statements)),
    // The first process that defines tables locks the file.
    exclusively: async (work) => work(),
    existing: () => reader.column(EXISTING_NAMES, []),
    migrate: (migration) => afterReads(() => migrate(file, migration)),
    finishMigration: async () => undefined,
    abandonMigration: async () => false,
    dryRun: (migration) => dryRun(readings, migration),
    scan: async (work, caller) => {
      const snapshot = readers.snapshot(caller, () => undefined);
      try {
        return await work(snapshot);
      } finally {
        await snapshot.close();
      }
    },
    ping: () => {
      // A moved or replaced file would still accept writes, but no reader would see them.
      if (inodeOf(file) !== inode) throw unavailable('moved');
      reader.value(PING, []);
    },
    snapshot: (caller = NO_CLIENT, heavy = true) => {
      if (heavy) return readers.snapshot(caller, holding(caller));
      const list = openLightList(file, holding(caller));
      lightLists.add(list);
      const close = (): Awaitable<void> => {
        lightLists.delete(list);
        return list.close();
      };
      return { ...list, close };
    },
    close: async () => {
      readers.close();
      for (const list of lightLists) void list.close();
      await commits.drained();
      try {
        reader.close();
      } finally {
        writer.close();
      }
    },
  };
}

/** Charges the memory that SQLite holds for the longest record so far: at most two pages. */
function holding(caller: Caller): OnPiece {
  let charged = 0;
  return (piece) => {
    const longest = piece.reduce((most, { length }) => Math.max(most, length), 0);
    const held = Math.min(COPIES_OF_RECORD * longest, 2 * caller.most);
    if (held > charged) caller.take(held - charged);
    charged = Math.max(charged, held);
  };
}

function openForWriting(file: string): SqliteConnection {
  try {
    mkdirSync(dirname(file), { recursive: true });
    makeOwnerOnly(file);
    return connect(file, false);
  } catch (error) {
    const cause = error instanceof StartError ? error.cause : error;
    const user = process.getuid === undefined ? '' : ` (uid ${process.getuid()})`;
    throw new StartError(
      `The database ${file} cannot be opened (${codeOf(cause)}: ${reasonOf(cause)}). The user of this process${user} must be able to write the file and its folder, ${resolve(dirname(file))}; DATABASE_URL names another file`,
      { cause },
    );
  }
}

function openForReading(file: string, writer: SqliteConnection): SqliteConnection {
  try {
    waitingForFile(writer, 'pragma journal_mode = wal');
    writer.execute(
      `pragma synchronous = full; pragma journal_size_limit = ${WAL_LIMIT_BYTES}; pragma foreign_keys = on; pragma trusted_schema = off; pragma cell_size_check = on`,
    );
    return connect(file, true);
  } catch (error) {
    writer.close();
    throw error;
  }
}
