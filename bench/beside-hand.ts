/** The engine beside one program by hand, on copies of one SQLite database that has the tables of a schema. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createEngine } from '../engine/index.ts';
import { type Contender, engine } from './contenders.ts';
import { chooseCores } from './cores.ts';
import type { Data } from './data.ts';
import { copyDatabase } from './database.ts';
import { type Measured, measure } from './measure.ts';
import type { Options } from './options.ts';
import { start } from './process.ts';
import { comparison } from './report/comparison.ts';
import { comparisonChart } from './report/comparison-chart.ts';
import { createProgress } from './report/progress.ts';
import type { Report } from './report/report.ts';
import { inFolder, served } from './servers.ts';
import type { Work } from './work.ts';

interface BesideHand {
  /** The folder of descriptors. */
  readonly schema: string;
  /** The program by hand, in its folder. */
  readonly program: string;
  readonly work: readonly Work[];
  /** Fills the tables. */
  fill(database: Database.Database, rows: number): void;
  /** What requests need of a copy. Default: what every copy has. */
  dataOf?(data: Data, file: string): Data;
}

const contendersOf = ({ schema, program }: BesideHand): readonly Contender[] => [
  { ...engine, environment: { SCHEMA_DIR: schema } },
  {
    name: 'fastify',
    description: 'Fastify 5 and better-sqlite3, by hand, with schemas',
    database: 'sqlite',
    dialect: 'plain',
    program: join(__dirname, 'hand', program),
    environment: { NODE_ENV: 'production' },
  },
];

export async function besideHand(
  beside: BesideHand,
  { rows: [rows = 0], connections: counts, rounds, seconds }: Options,
): Promise<Report> {
  const { work: all, dataOf = (data) => data } = beside;
  const contenders = contendersOf(beside);
  const cores = chooseCores();
  const progress = createProgress(all.length * counts.length * contenders.length * (rounds + 1));
  const data = await inFolder(async (folder) => {
    const original = join(folder, 'original.db');
    await createDatabase(original, rows, beside);
    const starts = contenders.map((contender) => () => {
      const file = join(folder, `${contender.name}.db`);
      return start(contender, dataOf(copyDatabase(original, file, rows), file), [cores.server]);
    });
    return served(starts, cores, async ({ servers, driver }) => {
      const measured: Measured[] = [];
      for (const work of all)
        for (const connections of counts)
          measured.push(
            ...(await measure(servers, { work, connections, plan: { rounds, seconds }, driver, progress })),
          );
      return measured;
    });
  });
  progress.end();
  return { text: comparison(data), data, chart: comparisonChart(data) };
}

async function createDatabase(file: string, rows: number, { schema, fill }: BesideHand): Promise<void> {
  await (await createEngine({ databaseUrl: `sqlite:${file}`, schemaDirectory: schema })).close();
  const database = new Database(file);
  fill(database, rows);
  database.pragma('wal_checkpoint(truncate)');
  database.close();
}
