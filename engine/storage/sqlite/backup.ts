/** Copies of an SQLite file: made while others write, looked through before they count, and put in place of another. */
import { existsSync, fsyncSync, openSync, closeSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { reasonOf, StartError } from '../../start-error.ts';
import { MODEL_TABLE } from '../applied-model.ts';
import { damageOf } from './damage.ts';

/** What a copy was found to hold. */
export interface Verified {
  readonly tables: number;
  readonly rows: number;
}

/** A snapshot of `file`, whoever writes meanwhile. `to` has its name once it is whole and was looked through. */
export async function backUp(file: string, to: string): Promise<Verified> {
  if (!existsSync(file)) throw new StartError(`There is no database ${file}`);
  if (existsSync(to)) throw new StartError(`${to} is there already; choose another name`);
  const partial = `${to}.partial`;
  refuseOwnName(file, [partial]);
  rmSync(partial, { force: true });
  try {
    await copied(file, partial);
    const verified = verify(partial);
    synced(partial);
    renameSync(partial, to);
    synced(dirname(to));
    return verified;
  } finally {
    for (const suffix of ['', '-wal', '-shm']) rmSync(partial + suffix, { force: true });
  }
}

/** These names are for files that are made here, and removed. */
function refuseOwnName(file: string, own: readonly string[]): void {
  if (own.some((name) => resolve(name) === resolve(file)))
    throw new StartError(
      `${file} has the name that is used for a copy on its way; rename it first. Nothing was changed.`,
    );
}

async function copied(file: string, to: string): Promise<void> {
  try {
    await copy(file, to);
  } catch (error) {
    const reason = reasonOf(error);
    throw new StartError(`${file} cannot be copied to ${to}: ${reason}`, { cause: error });
  }
}

async function copy(file: string, to: string): Promise<void> {
  const source = new Database(file, { readonly: true });
  try {
    await source.backup(to);
  } finally {
    source.close();
  }
  // A copy of a file in WAL mode is in WAL mode: without it, the copy is one file.
  const made = new Database(to);
  made.pragma('journal_mode = delete');
  made.close();
}

/** Throws a StartError where the file is not a whole database of this engine. It is only read. */
export function verify(file: string): Verified {
  if (!existsSync(file)) throw new StartError(`There is no file ${file}`);
  const database = new Database(file, { readonly: true });
  try {
    const tables = database
      .prepare<[], string>(
        `select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'`,
      )
      .pluck()
      .all();
    if (!tables.includes(MODEL_TABLE)) throw new StartError(`${file} is no database of this engine`);
    refuse(file, 'is damaged', damageOf(database, 'integrity_check', 10));
    const broken = database.prepare<[], string>('select distinct "table" from pragma_foreign_key_check').pluck().all();
    refuse(file, 'has records that refer to none', broken);
    const count = (name: string): number =>
      Number(
        database
          .prepare(`select count(*) from "${name.replaceAll('"', '""')}"`)
          .pluck()
          .get(),
      );
    return { tables: tables.length, rows: tables.reduce((sum, name) => sum + count(name), 0) };
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`${file} cannot be read as an SQLite database`, { cause: error });
  } finally {
    database.close();
  }
}

function refuse(file: string, what: string, places: readonly string[]): void {
  if (places.length > 0) throw new StartError(`${file} ${what}: ${places.join('; ')}`);
}

/** A file, or a folder and with it the names in it. */
function synced(path: string): void {
  const handle = openSync(path, 'r');
  fsyncSync(handle);
  closeSync(handle);
}

export interface Restored extends Verified {
  /** Where the database is that was there before; undefined where there was none. */
  readonly former: string | undefined;
}

/** Looks at the copy that is to be the database; what it throws ends the restoring. */
export type LookAt = (copy: string) => Promise<void>;

/** Puts a copy of `from` in the place of `file`. Nothing is touched unless the copy is whole, is approved of, and nobody has `file` open. */
export async function restore(from: string, file: string, lookAt: LookAt = async () => undefined): Promise<Restored> {
  const next = `${file}.restoring`;
  refuseOwnName(from, [next, `${next}.partial`]);
  verify(from);
  refuseInUse(file);
  rmSync(next, { force: true });
  try {
    const verified = await backUp(from, next);
    await lookAt(next);
    return { ...verified, former: putInPlace(next, file) };
  } finally {
    for (const suffix of ['', '-wal', '-shm']) rmSync(next + suffix, { force: true });
  }
}

/** Answers where the file is that was there before. */
function putInPlace(next: string, file: string): string | undefined {
  const former = `${file}.before-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`;
  const wasThere = existsSync(file);
  for (const suffix of ['-wal', '-shm', '']) if (existsSync(file + suffix)) renameSync(file + suffix, former + suffix);
  renameSync(next, file);
  synced(dirname(file));
  return wasThere ? former : undefined;
}

/** Only who has a file for himself may take it out of WAL mode. */
function refuseInUse(file: string): void {
  if (!existsSync(file)) return;
  const database = new Database(file, { timeout: 0 });
  try {
    database.pragma('journal_mode = delete');
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
    if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'))
      throw new StartError(`${file} is in use; stop the service first. Nothing was changed.`);
    // What cannot be read may be replaced: it is kept beside the new one.
  } finally {
    database.close();
  }
}
