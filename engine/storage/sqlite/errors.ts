/** SQLite's result codes, translated in one place. What is not listed is a fault of ours and stays as it is. */
import { answerTooLong, Problem } from '../../problem.ts';
import { ConstraintError } from '../driver.ts';

const busy = (cause: unknown): Error => new Problem('storage-busy', 'The database is busy; try again', { cause });
const full = (cause: unknown): Error =>
  new Problem('storage-full', 'The database has no space left on its disk', { cause });
const limited = (cause: unknown): Error =>
  new Problem(
    'storage-full',
    'The file of the database cannot grow: its disk, a quota or a limit of the process is full',
    {
      cause,
    },
  );
const readOnly = (cause: unknown): Error =>
  new Problem('storage-busy', 'The database takes no writes at the moment: its file or its disk is read-only', {
    cause,
  });
const unique = (cause: unknown): Error => new ConstraintError('unique', cause);

const translations: ReadonlyMap<string, (cause: unknown) => Error> = new Map([
  ['SQLITE_CONSTRAINT_UNIQUE', unique],
  ['SQLITE_CONSTRAINT_PRIMARYKEY', unique],
  ['SQLITE_CONSTRAINT_ROWID', unique],
  ['SQLITE_CONSTRAINT_FOREIGNKEY', (cause: unknown) => new ConstraintError('reference', cause)],
  ['SQLITE_BUSY', busy],
  ['SQLITE_BUSY_SNAPSHOT', busy],
  ['SQLITE_BUSY_RECOVERY', busy],
  ['SQLITE_LOCKED', busy],
  ['SQLITE_IOERR', busy],
  // SQLite itself tells only ENOSPC apart from EFBIG (a limit of the process), EDQUOT and the like.
  ['SQLITE_IOERR_WRITE', limited],
  ['SQLITE_IOERR_FSYNC', busy],
  ['SQLITE_READONLY', readOnly],
  ['SQLITE_CANTOPEN', busy],
  ['SQLITE_FULL', full],
  ['SQLITE_TOOBIG', answerTooLong],
]);

/** Of `SQLITE_IOERR_READ`, `SQLITE_IOERR`. */
const primaryOf = (code: string): string => code.split('_', 2).join('_');

/** The error that callers of the driver see. */
export function translate(error: unknown): unknown {
  // By its code, not its class: the native module keeps the first class it was loaded with.
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  const known = translations.get(code) ?? translations.get(primaryOf(code));
  return known?.(error) ?? error;
}

export function translated<A extends readonly unknown[], T>(work: (...args: A) => T): (...args: A) => T {
  return (...args) => {
    try {
      return work(...args);
    } catch (error) {
      throw translate(error);
    }
  };
}
