/** What `export` and `import` share: their one word, a database that fits the descriptors, and a bar that grows. */
import type { Model } from '../model/model.ts';
import { readSettings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { databaseAt } from '../storage/database.ts';
import type { Driver } from '../storage/driver.ts';
import type { Progress } from '../storage/transfer/lines.ts';
import { readOptions } from './options.ts';
import { readModel } from './schema.ts';

export function fileIn(args: readonly string[], usage: string): string {
  const [file] = readOptions(args, {}, 1, usage).positionals;
  if (file === undefined) throw new StartError(`The name of the file is missing\n${usage}`);
  return file;
}

export async function withDatabase<T>(work: (model: Model, driver: Driver) => Promise<T>): Promise<T> {
  const { schemaDirectory, databaseUrl } = readSettings(process.env);
  const model = readModel(schemaDirectory);
  const driver = await databaseAt(databaseUrl).open();
  try {
    return await work(model, driver);
  } finally {
    await driver.close();
  }
}

const WIDTH = 30;
const INTERVAL = 50;

/** In one line of a terminal; silent where there is none. */
export function progressBar(): Progress {
  const { stderr } = process;
  let shownAt = 0;
  return (done, all) => {
    if (!stderr.isTTY || (performance.now() - shownAt < INTERVAL && done < all)) return;
    shownAt = performance.now();
    const share = all === 0 ? 1 : done / all;
    stderr.write(
      `\r${'█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '·')} ${done}/${all}${done < all ? '' : '\n'}`,
    );
  };
}
