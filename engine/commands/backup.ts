/** `backup FILE`: the database as it is now, in one file, while the service goes on writing. */
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { backUp, listed } from '../storage/sqlite/backup.ts';
import { print, printError } from '../terminal.ts';
import { type Command, readOptions } from './command.ts';

const USAGE =
  'records backup FILE [--force]: copies the database of DATABASE_URL to FILE, and verifies the copy; --force overwrites an existing file';

export const backup: Command = {
  usage: USAGE,
  run: async (args) => {
    const { values, positionals } = readOptions(args, { force: { type: 'boolean' } }, 1, USAGE);
    const [to] = positionals;
    if (to === undefined) throw new StartError(USAGE);
    const file = sqliteFile(`pg_dump --format=custom --file=${to} DATABASE_URL`);
    const { rows, tables, foreign } = await backUp(file, to, values.force ?? false);
    print(`${to}: ${rows} rows in ${tables} tables, verified`);
    if (foreign.length > 0)
      printError(`Not made by this engine, and refused by "records restore" without --force: ${listed(foreign)}`);
    return 0;
  },
};

/** Other databases have tools of their own: what this would be with them. */
export function sqliteFile(instead: string): string {
  const { databaseUrl } = readSettings(process.env);
  if (databaseUrl.startsWith('sqlite:')) return databaseUrl.slice('sqlite:'.length);
  throw new StartError(`This is for SQLite files. PostgreSQL has a program of its own for it: ${instead}`);
}
