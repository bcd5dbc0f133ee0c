/** A file that is not this engine's, or is damaged, is refused before anything could be written to it. */
import { existsSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { reasonOf, StartError } from '../../start-error.ts';
import { MODEL_TABLE } from '../applied-model.ts';
import { damageOf } from './damage.ts';

/** Bytes of a database that is looked through at each start: a fifth of a second. Of a larger one, a backup says it. */
const MAX_LOOKED_THROUGH = 128 * 1024 * 1024;

export function refuseUnusableFile(file: string): void {
  if (file === ':memory:' || file === '')
    throw new StartError('An SQLite database needs a file: several connections share it');
  const size = existsSync(file) ? statSync(file).size : 0;
  if (size === 0) return;
  const { names, damage } = lookAt(file, size <= MAX_LOOKED_THROUGH);
  if (names.length > 0 && !names.includes(MODEL_TABLE))
    throw new StartError(
      `${file} is an SQLite database of something else (it has "${names[0]}" and none of this engine's tables); it was not touched`,
    );
  if (damage.length > 0)
    throw new StartError(
      `${file} is damaged (${damage.join('; ')}); it was not touched. Put a backup back: restore FILE`,
    );
}

interface Found {
  /** Of tables and views. */
  readonly names: readonly string[];
  readonly damage: readonly string[];
}

function lookAt(file: string, through: boolean): Found {
  try {
    const database = new Database(file, { readonly: true });
    try {
      const names = database.prepare<[], string>(NAMES).pluck().all();
      return { names, damage: through ? damageOf(database, 'quick_check', 3) : [] };
    } finally {
      database.close();
    }
  } catch (error) {
    throw new StartError(`${file} cannot be read as an SQLite database (${reasonOf(error)}); it was not touched`);
  }
}

const NAMES = `select name from sqlite_schema where type in ('table', 'view') order by name`;
