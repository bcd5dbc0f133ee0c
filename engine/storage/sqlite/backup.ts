/** Copies of an SQLite file: made while others write, verified before they count, and put in place of another. */
import { chmodSync, existsSync, linkSync, realpathSync, renameSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { COMPANIONS, newFile } from '../../files.ts';
import { reasonOf, StartError } from '../../start-error.ts';
import { MODEL_TABLE } from '../applied-model.ts';
import { damageOf } from './damage.ts';
import { foreignObjects } from './foreign.ts';

/** What a copy was found to hold. */
export interface Verified {
  readonly tables: number;
  readonly rows: number;
  /** What the engine did not make: triggers, views, tables of others. */
  readonly foreign: readonly string[];
}

/** A snapshot of `file`, whoever writes meanwhile. `to` has its name once it is whole and was verified. */
export async function backUp(file: string, to: string, force = false): Promise<Verified> {
  if (!existsSync(file)) throw new StartError(`There is no database ${file}`);
  const made = newFile(to, { force, database: file });
  try {
    await copied(file, made.partial, to);
    const verified = verify(made.partial);
    made.finish();
    return verified;
  } finally {
    made.discard();
  }
}

async function copied(file: string, partial: string, to: string): Promise<void> {
  try {
    await copy(file, partial);
  } catch (error) {
    throw new StartError(`${file} cannot be copied to ${to}: ${reasonOf(error)}`, { cause: error });
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
    database.pragma('trusted_schema = off');
    database.pragma('cell_size_check = on');
    const tables = database
      .prepare<[], string>(
        `select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'`,
      )
      .pluck()
      .all();
    if (!tables.includes(MODEL_TABLE)) throw new StartError(`${file} is not a database of this engine`);
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
    return {
      tables: tables.length,
      rows: tables.reduce((sum, name) => sum + count(name), 0),
      foreign: foreignObjects(database),
    };
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

export interface Restored extends Verified {
  /** Where the database is that was there before; undefined where there was none. */
  readonly former: string | undefined;
}

/** Looks at the copy that is to be the database; what it throws ends the restoring. */
export type LookAt = (copy: string, verified: Verified) => Promise<void>;

/** Puts a copy of `from` in the place of `file`. Nothing is touched unless the copy is whole, is approved of, and nobody has `file` open. */
export async function restore(from: string, file: string, lookAt: LookAt = async () => undefined): Promise<Restored> {
  verify(from);
  refuseInUse(file);
  // Where a link leads to, so that it stays a link.
  const place = existsSync(file) ? realpathSync(file) : file;
  const next = newFile(place, { force: true, database: undefined });
  try {
    await copied(from, next.partial, place);
    const verified = verify(next.partial);
    await lookAt(next.partial, verified);
    const former = keepFormer(place, next.partial);
    next.finish();
    return { ...verified, former };
  } finally {
    next.discard();
  }
}

/** Answers where the file is that was there before. It has its name, too, until another one takes that. */
function keepFormer(file: string, next: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const former = `${file}.before-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`;
  chmodSync(next, statSync(file).mode & 0o777);
  for (const suffix of COMPANIONS) if (existsSync(file + suffix)) renameSync(file + suffix, former + suffix);
  try {
    linkSync(file, former);
  } catch {
    // This file system has no links.
    renameSync(file, former);
  }
  return former;
}

/** Only a connection that has the file for itself can take it out of WAL mode. */
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
