/** Copies an SQLite file while others write, verifies and restores copies. */
import { chmodSync, copyFileSync, existsSync, linkSync, realpathSync, renameSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { codeOf, COMPANIONS, newFile, NO_FILE } from '../../files.ts';
import { reasonOf, StartError } from '../../problem.ts';
import type { AppliedModel } from '../migrate/applied.ts';
import { isObject } from '../../json/json.ts';
import { engineTables, MODEL_TABLE, METADATA } from '../tables.ts';
import { CONTEXT_TABLE, LOG_TABLE, logTables } from '../log/recording.ts';
import { sqliteDialect } from './dialect.ts';
import { MAX_QUICK_CHECK_BYTES } from './tuning.ts';

/** Returns a name beside a file: `records.db.backup-20300131T120000000Z`. */
export const timestamped = (file: string, what: 'backup' | 'before'): string =>
  `${file}.${what}-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`;

export const refusedFile = (file: string, what: string): StartError =>
  new StartError(`DATABASE_URL names ${file}, which is ${what}; it needs a file`);

/** Copies a snapshot of `file`. Names the copy `to` once it is complete, verified and on the disk. */
export async function backUp(file: string, to: string, force = false) {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw new StartError(`There is no database ${file}`);
  if (!found.isFile()) throw refusedFile(file, NO_FILE);
  const made = newFile(to, { force, database: file });
  try {
    await copy(file, made.partial, to);
    const verified = verify(made.partial);
    made.finish();
    return verified;
  } finally {
    made.discard();
  }
}

async function copy(file: string, partial: string, to: string): Promise<void> {
  try {
    const source = new Database(file, { readonly: true });
    try {
      // An open snapshot stays the same: otherwise each commit of another connection would restart the copy.
      source.exec('begin; select 1 from sqlite_schema');
      await source.backup(partial);
    } catch (error) {
      // To read a file in WAL mode, SQLite makes others beside it. Without them, nobody has it open, and nothing is missing.
      if (codeOf(error) !== 'SQLITE_CANTOPEN' || COMPANIONS.some((suffix) => existsSync(file + suffix))) throw error;
      copyFileSync(file, partial);
    } finally {
      source.close();
    }
    // Leaving WAL mode makes the copy one file.
    const made = new Database(partial);
    made.pragma('journal_mode = delete');
    made.close();
  } catch (error) {
    throw new StartError(`${file} cannot be copied to ${to}: ${reasonOf(error)}`, { cause: error });
  }
}

export function verify(file: string) {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) throw new StartError(`There is no file ${file}`);
  return reading(file, (database) => {
    database.pragma('trusted_schema = off');
    database.pragma('cell_size_check = on');
    const tables = column(
      database,
      `select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'`,
    );
    if (!tables.includes(MODEL_TABLE)) throw new StartError(`${file} is not a database of this engine`);
    refuse(file, 'is damaged', damageOf(database, 'integrity_check(10)'));
    const broken = column(database, 'select distinct "table" from pragma_foreign_key_check');
    refuse(file, 'has records that refer to none', broken);
    const counts = tables.map((name) => column(database, `select count(*) from ${sqliteDialect.quote(name)}`));
    return {
      tables: tables.length,
      rows: counts.reduce((sum, [count]) => sum + Number(count), 0),
      foreign: foreignObjects(database),
    };
  });
}

function refuse(file: string, what: string, faults: readonly string[]): void {
  if (faults.length > 0) throw new StartError(`${file} ${what}: ${faults.join('; ')}`);
}

function reading<T>(file: string, work: (database: Database.Database) => T): T {
  try {
    const database = new Database(file, { readonly: true });
    try {
      return work(database);
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`${file} cannot be read as an SQLite database (${reasonOf(error)}); it was not touched`, {
      cause: error,
    });
  }
}

const column = (database: Database.Database, sql: string): readonly string[] =>
  database.prepare<[], string>(sql).pluck().all();

/** Replaces `file` by a copy of `from`, unless the copy is damaged, `approve` throws, or a process uses `file`. */
export async function restore(
  from: string,
  file: string,
  approve?: (copy: string, verified: ReturnType<typeof verify>) => Promise<void>,
) {
  verify(from);
  refuseInUse(file);
  // Keep a symbolic link: replace its target.
  const target = existsSync(file) ? realpathSync(file) : file;
  const next = newFile(target, { force: true, database: undefined });
  try {
    await copy(from, next.partial, target);
    const verified = verify(next.partial);
    await approve?.(next.partial, verified);
    renumberLog(next.partial);
    const former = keepFormer(target, next.partial);
    next.finish();
    return { ...verified, former };
  } finally {
    next.discard();
  }
}

/** Positions of the log that readers know are given again: another number tells them. */
function renumberLog(file: string): void {
  const database = new Database(file);
  const [found] = column(database, `select name from sqlite_schema where name = '${CONTEXT_TABLE}'`);
  if (found !== undefined) database.exec(`update ${CONTEXT_TABLE} set log = ${sqliteDialect.log.number}`);
  database.close();
}

/** Returns a new name of the file, which keeps the old name until the copy takes it. */
function keepFormer(file: string, next: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const former = timestamped(file, 'before');
  chmodSync(next, statSync(file).mode & 0o777);
  for (const suffix of COMPANIONS) if (existsSync(file + suffix)) renameSync(file + suffix, former + suffix);
  try {
    linkSync(file, former);
  } catch {
    // The file system has no hard links.
    renameSync(file, former);
  }
  return former;
}

/** Only the sole connection to a file, by whatever name, can end its WAL mode. */
export function refuseInUse(file: string, how = '; stop the service first'): void {
  if (!existsSync(file)) return;
  const database = new Database(file, { timeout: 0 });
  try {
    database.pragma('journal_mode = delete');
  } catch (error) {
    if (/^SQLITE_(BUSY|LOCKED)/.test(codeOf(error)))
      throw new StartError(`${file} is in use${how}. Nothing was changed.`);
    // A damaged file may be replaced: keepFormer keeps it.
  } finally {
    database.close();
  }
}

/** A trigger that does nothing but write to the log, whoever made it. */
const RECORDS = new RegExp(`^create trigger [^;]* begin (insert into ${LOG_TABLE} [^;]*; )+end$`, 'i');

function foreignObjects(database: Database.Database): readonly string[] {
  const [text] = column(database, METADATA.model.sql);
  const applied: unknown = text === undefined ? undefined : JSON.parse(text);
  const { types, joins } = isObject(applied) ? (applied as unknown as AppliedModel) : { types: {}, joins: [] };
  const own = new Set([
    ...engineTables(sqliteDialect).keys(),
    ...logTables(sqliteDialect).flatMap((made) => /_records_\w+/.exec(made) ?? []),
    ...[...Object.values(types), ...joins].flatMap(({ table, made }) => [table, ...Object.keys(made)]),
  ]);
  const schema = `select type, name, tbl_name, coalesce(sql, '') from sqlite_schema order by type, name`;
  const rows = database.prepare<[], readonly string[]>(schema).raw().all();
  return rows.flatMap(([type, name = '', table, sql = '']) => {
    const isVirtual = /^create virtual/i.test(sql);
    if (type === 'trigger') return RECORDS.test(sql) ? [] : `trigger "${name}" of "${table}"`;
    if (type === 'view') return `view "${name}"`;
    // Only SQLite itself makes such names.
    if (name.startsWith('sqlite_') || (own.has(name) && !isVirtual)) return [];
    return type === 'index' ? `index "${name}" of "${table}"` : `${isVirtual ? 'virtual ' : ''}table "${name}"`;
  });
}

/** Refuses a damaged file, or another program's file, before the engine writes to it. */
export function refuseUnusableFile(file: string): void {
  const { size } = statSync(file);
  if (size === 0) return;
  reading(file, (database) => {
    const names = column(database, `select name from sqlite_schema where type in ('table', 'view') order by name`);
    if (names.length > 0 && !names.includes(MODEL_TABLE))
      throw new StartError(
        `${file} is an SQLite database of something else (it has "${names[0]}" and none of this engine's tables); it was not touched`,
      );
    const damage = size <= MAX_QUICK_CHECK_BYTES ? damageOf(database, 'quick_check(3)') : [];
    if (damage.length > 0)
      throw new StartError(
        `${file} is damaged (${damage.join('; ')}); it was not touched. Put a backup back: restore FILE`,
      );
  });
}

/** `quick_check` does not compare indexes with their tables, and takes a sixth of the time. */
const damageOf = (database: Database.Database, check: 'quick_check(3)' | 'integrity_check(10)'): readonly string[] =>
  column(database, `pragma ${check}`)
    .filter((line) => line !== 'ok')
    .map((line) => line.replaceAll(/\s+/g, ' '));
