/** `restore FILE`: a backup takes the place of the database, which is kept beside it. */
import { StartError } from '../start-error.ts';
import { restore } from '../storage/sqlite/backup.ts';
import { sqliteFile } from './backup.ts';
import type { Command } from './command.ts';
import { readOptions } from './options.ts';

const USAGE = 'records restore FILE: looks through FILE, and puts a copy of it in the place of the database';

export const restoreBackup: Command = {
  run: async (args) => {
    const [from] = readOptions(args, {}, 1, USAGE).positionals;
    if (from === undefined) throw new StartError(USAGE);
    const file = sqliteFile('pg_restore');
    const { rows, tables, former } = await restore(from, file);
    console.log(`${file} is ${from} now: ${rows} rows in ${tables} tables, looked through, no fault`);
    if (former !== undefined) console.log(`What was there before: ${former}`);
    return 0;
  },
};
