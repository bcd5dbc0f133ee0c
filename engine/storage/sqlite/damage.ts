/** What SQLite finds to be wrong with a file; nothing where it is whole. */
import type Database from 'better-sqlite3';

/** `quick_check` leaves out whether indexes have what their tables have, and takes a sixth of the time. */
export const damageOf = (
  database: Database.Database,
  check: 'quick_check' | 'integrity_check',
  most: number,
): readonly string[] =>
  database
    .prepare<[], string>(`pragma ${check}(${most})`)
    .pluck()
    .all()
    .filter((line) => line !== 'ok')
    .map((line) => line.replaceAll(/\s+/g, ' '));
