/** Shared by commands that open the database: the connection, and a progress bar. */
import type { Model } from '../model/model.ts';
import { readSettings } from '../settings.ts';
import { databaseAt } from '../storage/open.ts';
import type { Driver } from '../storage/driver.ts';
import type { Progress } from '../storage/transfer/lines.ts';
import { readModel } from './command.ts';

/** The file of an SQLite database; undefined for PostgreSQL. */
export function databaseFile(): string | undefined {
  const { databaseUrl } = readSettings(process.env);
  return databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
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
/** Milliseconds between updates: of one line on a terminal, of new lines elsewhere. */
const INTERVAL = { line: 50, lines: 5000 };

/** Shows progress on standard error: a bar on a terminal, lines elsewhere. */
export function progressBar(): Progress {
  const { stderr } = process;
  const interval = stderr.isTTY ? INTERVAL.line : INTERVAL.lines;
  let shownAt = stderr.isTTY ? 0 : performance.now();
  return (done, all) => {
    if (performance.now() - shownAt < interval && (done < all || !stderr.isTTY)) return;
    shownAt = performance.now();
    const share = all === 0 ? 1 : Math.min(1, done / all);
    if (stderr.isTTY)
      stderr.write(
        `\r${'█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '·')} ${done}/${all}${done < all ? '' : '\n'}`,
      );
    else stderr.write(`${done} of ${all} lines (${Math.floor(share * 100)} %)\n`);
  };
}
