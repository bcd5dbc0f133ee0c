/** `backup FILE`: the database as it is now, in one file, while the service goes on writing. */
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { backUp } from '../storage/sqlite/backup.ts';
import type { Command } from './command.ts';
import { readOptions } from './options.ts';

const USAGE = 'records backup FILE: copies the database of DATABASE_URL to FILE, and looks through the copy';

export const backup: Command = {
  run: async (args) => {
    const [to] = readOptions(args, {}, 1, USAGE).positionals;
    if (to === undefined) throw new StartError(USAGE);
    const { rows, tables } = await backUp(sqliteFile(`pg_dump --format=custom --file=${to} DATABASE_URL`), to);
    console.log(`${to}: ${rows} rows in ${tables} tables, looked through, no fault`);
    return 0;
  },
};

/** Other databases have tools of their own: what this would be with them. */
export function sqliteFile(instead: string): string {
  const { databaseUrl } = readSettings(process.env);
  if (databaseUrl.startsWith('sqlite:')) return databaseUrl.slice('sqlite:'.length);
  throw new StartError(`This is for SQLite files. PostgreSQL has a program of its own for it: ${instead}`);
}
