/** Opens connections to an SQLite file. Each prepares a statement once. */
import { lstatSync, realpathSync, statSync, utimesSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Caller } from '../../edge/caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { SQLITE_AGGREGATES, SQLITE_FUNCTIONS, type Total } from '../../field-types/totals.ts';
import { codeOf } from '../../files.ts';
import { memoized } from '../../memo.ts';
import { answerTooLong, attempted, tooNested } from '../../problem.ts';
import { foldedText } from '../columns.ts';
import {
  type Around,
  ConstraintError,
  type OnRow,
  type Row,
  type Snapshot,
  type Statement,
  type Values,
  type Writer,
} from '../driver.ts';
import { diskFull, MissingObject, RefusedByOthers, unavailable } from '../unavailable.ts';
import { BATCH_CHARS, BATCH_ROWS } from './tuning.ts';

export interface SqliteConnection extends Writer {
  readonly database: Database.Database;
  iterate(statement: Statement, values: Values): IterableIterator<Row>;
  command(statement: Statement): void;
  execute(sql: string): void;
  close(): void;
}

export const BEGIN: Statement = { sql: 'begin' };
export const COMMIT: Statement = { sql: 'commit' };
export const ROLLBACK: Statement = { sql: 'rollback' };

export const FOLDED = 'records_folded';
/** SQL function: checks, collations and ON CONFLICT in a CREATE TABLE as a JSON array, since SQLite does not list them. */
export const CHECKS = 'records_checks';

const CHECK_TOKENS =
  /'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--.*|\/\*[^]*?\*\/|\b(?:collate|on\s+conflict)\s+\w+|\bcheck\b|[()]/gi;

function checksIn(sql: string): string {
  const checks: string[] = [];
  let began: number | undefined;
  let depth = 0;
  for (const { 0: token, index } of sql.matchAll(CHECK_TOKENS)) {
    if (token.toLowerCase() === 'check') [began, depth] = [index, 0];
    else if (began === undefined && /^(collate|on)\b/i.test(token)) checks.push(token);
    else if (token === '(') depth += 1;
    else if (token === ')') depth -= 1;
    if (token !== ')' || depth > 0 || began === undefined) continue;
    checks.push(sql.slice(began, index + 1));
    began = undefined;
  }
  return JSON.stringify(checks);
}

/** SQL function: the words of the check in a CREATE TABLE that has this name or text, as a JSON array. */
export const CHECK_WORDS = 'records_check_words';

const NAMED_CHECK = /\bconstraint\s+(?:"([^"]*)"|`([^`]*)`|\[([^\]]*)\]|(\w+))\s+check\b/gi;

function checkWords(sql: string, named: string): string {
  const own = [...sql.matchAll(NAMED_CHECK)].find(([, ...names]) => names.includes(named));
  const [text = named] = own ? (JSON.parse(checksIn(sql.slice(own.index))) as string[]) : [];
  return JSON.stringify(wordsIn(text.replaceAll(/'[^']*'/g, '')));
}

const wordsIn = (sql: string): readonly string[] => sql.match(/[\p{L}_][\p{L}\p{N}_]*/gu) ?? [];

/** SQL function: words of a CREATE TRIGGER, among them the columns that it sets or that fire it, as a JSON array. */
export const SETS = 'records_sets';

const setIn = (sql: string): string =>
  JSON.stringify(wordsIn((sql.toLowerCase().match(/\b(?:update|into)\b[^;]*/g) ?? []).join(' ')));

/** Third-party triggers and views cannot call these functions. */
const IN_STATEMENTS = { deterministic: true, directOnly: true };

export function connect(file: string, readonly: boolean): SqliteConnection {
  const database = new Database(file, { readonly, timeout: 0 });
  for (const [name, work] of [
    [FOLDED, foldedText],
    [CHECKS, checksIn],
    [CHECK_WORDS, checkWords],
    [SETS, setIn],
    ...Object.entries(SQLITE_FUNCTIONS),
  ] as const)
    database.function(name, IN_STATEMENTS, work);
  for (const [name, aggregate] of Object.entries<Total<unknown>>(SQLITE_AGGREGATES))
    database.aggregate<unknown>(name, { ...IN_STATEMENTS, ...aggregate });
  const prepare = memoized((statement: Statement) => {
    const prepared = database.prepare<SqlValue[]>(statement.sql);
    return prepared.reader ? prepared.raw() : prepared;
  });

  const translated =
    <A extends readonly unknown[], T>(work: (...args: A) => T): ((...args: A) => T) =>
    (...args) => {
      try {
        return work(...args);
      } catch (error) {
        throw translate(error, file);
      }
    };
  const all = translated((statement: Statement, values: Values, onRow?: OnRow<Row>): readonly Row[] => {
    const found = prepare(statement);
    if (!onRow) return found.all(...values) as Row[];
    const rows: Row[] = [];
    for (const row of found.iterate(...values) as Iterable<Row>) {
      onRow(row);
      rows.push(row);
    }
    return rows;
  });
  const get = translated(
    (statement: Statement, values: Values) => prepare(statement).get(...values) as Row | undefined,
  );
  return {
    database,
    all,
    get,
    value: (statement, values) => get(statement, values)?.[0],
    column: (statement, values, onRow) =>
      all(statement, values, onRow && ((row) => onRow(row[0] ?? null))).map((row) => row[0] ?? null),
    iterate: translated((statement, values) => prepare(statement).iterate(...values) as IterableIterator<Row>),
    run: translated((statement, values) => {
      const { changes, lastInsertRowid } = prepare(statement).run(...values);
      return { changes, identifier: Number(lastInsertRowid) };
    }),
    command: translated((statement: Statement) => void prepare(statement).run()),
    execute: translated((sql: string) => void database.exec(sql)),
    close: () => void database.close(),
  };
}

/** Never throws, since another error is being handled. If the disk fails, the transaction stays open. */
export function rollBack({ database, command }: SqliteConnection): void {
  attempted(() => {
    if (database.inTransaction) command(ROLLBACK);
  });
}

/** A check costs more than reading a record: reads share one for so long. */
const PLACE_CHECK_MS = 5;

const PAGES: Statement = { sql: 'pragma page_count' };
/** Copies nothing into the file, and returns how many pages the log has. */
const LOG_PAGES: Statement = { sql: 'pragma wal_checkpoint(noop)' };
const LOG_HEAD_BYTES = 32;
const LOG_PAGE_HEAD_BYTES = 24;

/**
 * Throws unless the file and its log are where they were opened, as long as SQLite has made them. A file that was removed,
 * moved, replaced or cut off would still accept writes, but no other process, and no later one, would see them.
 */
export function watchPlace(file: string, { database, get, value }: SqliteConnection): () => void {
  const real = realpathSync(file);
  const look = () => [file, `${real}-wal`, `${real}-shm`].map((one) => statSync(one, { throwIfNoEntry: false }));
  // By a link in its place, others would find another log.
  const inodes = (): string =>
    [...look(), lstatSync(real, { throwIfNoEntry: false })].map((found) => found?.ino).join();
  const atStart = inodes();
  const pageBytes = Number(value({ sql: 'pragma page_size' }, []));
  let before: { readonly version: unknown; readonly size: number } | undefined;
  let isCut = false;

  function isCutOff(): boolean {
    // In a transaction, the statements tell of its beginning.
    if (database.inTransaction) return false;
    const version = value(VERSION, []);
    const bytes = Number(value(PAGES, [])) * pageBytes;
    const [, pages = 0] = get(LOG_PAGES, []) as readonly number[];
    const [data, log] = look();
    if (!data || !log) return false;
    if (pages > 0 && log.size < LOG_HEAD_BYTES + pages * (LOG_PAGE_HEAD_BYTES + pageBytes)) return true;
    // Without a commit, the file only grows, or shrinks to its pages, when the log is copied.
    if (before && version === before.version && data.size < Math.min(before.size, bytes)) return true;
    before = { version, size: data.size };
    return false;
  }

  return () => {
    // Another process may write during the first look.
    if (inodes() !== atStart || (isCut ||= isCutOff() && isCutOff())) throw unavailable('moved');
  };
}

const VERSION: Statement = { sql: 'pragma data_version' };

/** Reads of one event-loop turn share a snapshot: beginning and ending it costs as much as reading a record. */
export function createTurnReader(connection: SqliteConnection, checkPlace: () => void) {
  let open = false;
  let version: unknown;
  let checkedAt = -Infinity;

  function requirePlace(): void {
    if (performance.now() - checkedAt < PLACE_CHECK_MS) return;
    checkPlace();
    checkedAt = performance.now();
  }

  function begin(): void {
    if (open) return;
    requirePlace();
    // A snapshot that failed to end would return old records.
    if (connection.database.inTransaction) connection.command(ROLLBACK);
    connection.command(BEGIN);
    open = true;
    setImmediate(end);
  }

  /** COMMIT fails on a damaged file: the reads have reported that, and the next read rolls back. */
  function end(): void {
    if (!open) return;
    [open, version] = [false, undefined];
    try {
      if (connection.database.inTransaction) connection.command(COMMIT);
    } catch {
      return;
    }
  }

  const within: Around =
    (ask) =>
    (...asked) => {
      begin();
      return ask(...asked);
    };
  return {
    all: within(connection.all),
    get: within(connection.get),
    value: within(connection.value),
    column: within(connection.column),
    requirePlace,
    /** Ends the snapshot, so that later reads see new commits, and a checkpoint can copy the log. */
    refresh: end,
    /** Changes after each commit of any process. */
    version: (): unknown => {
      begin();
      return (version ??= connection.value(VERSION, []));
    },
    close: (): void => {
      end();
      connection.close();
    },
  };
}

export type OnPiece = (texts: readonly string[]) => void;

/** Reads a list that an index serves, in turns of long work, on its own connection. */
export function openLightList(file: string, caller: Caller, onPiece: OnPiece, onClose: () => void): Snapshot {
  const connection = connect(file, true);
  connection.command(BEGIN);
  let rows: IterableIterator<Row> | undefined;
  let isOpen = true;

  async function* texts(statement: Statement, values: Values): AsyncGenerator<readonly string[]> {
    let [some, length]: [string[], number] = [[], 0];
    rows = connection.iterate(statement, values);
    for (const row of rows) {
      const text = String(row[0]);
      some.push(text);
      length += text.length;
      if (some.length < BATCH_ROWS && length < BATCH_CHARS) continue;
      onPiece(some);
      yield some;
      await caller.turn();
      if (!isOpen) throw unavailable('stopping');
      [some, length] = [[], 0];
    }
    onPiece(some);
    if (some.length > 0) yield some;
  }

  return {
    ...connection,
    texts,
    close: () => {
      if (!isOpen) return;
      isOpen = false;
      rows?.return?.();
      connection.close();
      onClose();
    },
  };
}

// Translates SQLite's result codes to problems. Other errors are bugs of the engine and pass unchanged.

const broken = (cause: unknown): Error => unavailable('broken', cause);
const locked = (cause: unknown): Error => unavailable('locks', cause);
const unique = (cause: unknown): Error =>
  new ConstraintError('unique', cause, { column: / failed: [^,]*\.([^,]*)$/.exec(messageOf(cause))?.[1] });
const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : '');
/** The message of a check names it, or quotes its text; that of NOT NULL names table and column. */
function refused(cause: unknown): Error {
  const message = messageOf(cause);
  const [, constraint] = /^CHECK constraint failed: (.*)/s.exec(message) ?? [];
  const [, column] = /^NOT NULL constraint failed: .*\.(.*)/s.exec(message) ?? [];
  return new RefusedByOthers(message, cause, { constraint, column });
}
const CANNOT_GROW = 'The file of the database cannot grow: its disk, a quota or a limit of the process is full';
/** The error for cascades over 1,000 levels, each a trigger. */
const TOO_DEEP = 'triggers nested too deep';
/** The conditions of a role come on top of those of the query. */
const NESTED_TOO_DEEP = /subqueries nested too deep|maximum depth|too many FROM clause terms|at most 64 tables/;

const translations: Readonly<Record<string, (cause: unknown) => unknown>> = {
  SQLITE_CONSTRAINT_UNIQUE: unique,
  SQLITE_CONSTRAINT_PRIMARYKEY: unique,
  SQLITE_CONSTRAINT_ROWID: unique,
  SQLITE_CONSTRAINT_FOREIGNKEY: (cause) => new ConstraintError('reference', cause),
  // A third-party trigger called RAISE, or a table is not as the engine made it.
  SQLITE_CONSTRAINT: refused,
  SQLITE_BUSY: locked,
  SQLITE_LOCKED: locked,
  SQLITE_CANTOPEN: broken,
  SQLITE_IOERR: broken,
  SQLITE_CORRUPT: broken,
  SQLITE_NOTADB: broken,
  // SQLite reports ENOSPC as SQLITE_FULL, but EFBIG (a limit of the process), EDQUOT and others as this code.
  SQLITE_IOERR_WRITE: (cause) => diskFull(cause, CANNOT_GROW),
  SQLITE_READONLY: (cause) => unavailable('readOnly', cause),
  SQLITE_FULL: (cause) => diskFull(cause),
  SQLITE_TOOBIG: answerTooLong,
  SQLITE_ERROR: (cause) => {
    if (!(cause instanceof Error)) return cause;
    if (/^no such (table|column)/.test(cause.message)) return new MissingObject(cause);
    // Expressions and triggers of others cause these.
    if (/^(malformed JSON|integer overflow|no such function)/.test(cause.message)) return refused(cause);
    if (NESTED_TOO_DEEP.test(cause.message)) return tooNested(cause);
    return cause.message === TOO_DEEP ? new ConstraintError('too-deep', cause) : cause;
  },
};

export function translate(error: unknown, file: string): unknown {
  const code = codeOf(error);
  // Shortens `SQLITE_IOERR_READ` to `SQLITE_IOERR`.
  const primary = code.split('_', 2).join('_');
  if (primary === 'SQLITE_IOERR' && isReadOnly(file)) return unavailable('readOnly', error);
  return (translations[code] ?? translations[primary])?.(error) ?? error;
}

/** File systems become read-only after disk errors; SQLite only reports that it cannot write. */
function isReadOnly(file: string): boolean {
  try {
    const { atime, mtime } = statSync(file);
    utimesSync(file, atime, mtime);
    return false;
  } catch (error) {
    return codeOf(error) === 'EROFS';
  }
}
