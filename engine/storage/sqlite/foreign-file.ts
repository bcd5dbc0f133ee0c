/** A file that is not this engine's is refused before anything could be written to it. */
import { existsSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StartError } from '../../start-error.ts';
import { MODEL_TABLE } from '../applied-model.ts';

export function refuseForeignFile(file: string): void {
  if (file === ':memory:' || file === '')
    throw new StartError('An SQLite database needs a file: several connections share it');
  if (!existsSync(file) || statSync(file).size === 0) return;
  const tables = readTables(file);
  if (tables.length === 0 || tables.includes(MODEL_TABLE)) return;
  throw new StartError(
    `${file} is an SQLite database of something else (it has the table "${tables[0]}" and none of this engine's); it was not touched`,
  );
}

function readTables(file: string): readonly string[] {
  try {
    const database = new Database(file, { readonly: true });
    try {
      return database
        .prepare<[], string>(`select name from sqlite_schema where type = 'table' order by name`)
        .pluck()
        .all() as string[];
    } finally {
      database.close();
    }
  } catch (error) {
    throw new StartError(
      `${file} cannot be read as an SQLite database (${error instanceof Error ? error.message : String(error)}); it was not touched`,
    );
  }
}
