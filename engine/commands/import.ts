/** `import`: the records of an export, into a database that has none. */
import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { StartError } from '../start-error.ts';
import { prepare } from '../storage/prepare.ts';
import { importLines } from '../storage/transfer/import.ts';
import type { Command } from './command.ts';
import { fileIn, progressBar, withDatabase } from './transfer.ts';

const USAGE = 'records import FILE: reads the records that `records export` wrote, into an empty database';

export const importRecords: Command = {
  run: async (args) => {
    const file = fileIn(args, USAGE);
    if (!existsSync(file)) throw new StartError(`There is no file ${file}`);
    const lines = () => createInterface({ input: createReadStream(file), crlfDelay: Infinity });
    const count = await withDatabase((model, driver) =>
      driver.exclusively(async () => {
        await prepare(model, driver);
        return importLines(model, driver, lines, progressBar());
      }),
    );
    console.log(`${count} lines read from ${file}`);
    return 0;
  },
};
