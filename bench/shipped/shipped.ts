/** `bench -- shipped`: the shipped types as they are, beside Fastify by hand on the same tables. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createEngine } from '../../engine/index.ts';
import { type Contender, engine, ROOT } from '../contenders.ts';
import { chooseCores } from '../cores.ts';
import { copyDatabase, insert } from '../database.ts';
import { type Measured, measure } from '../measure.ts';
import type { Options } from '../options.ts';
import { start } from '../process.ts';
import { identifiers } from '../records.ts';
import { comparison } from '../report/comparison.ts';
import { comparisonChart } from '../report/comparison-chart.ts';
import { createProgress } from '../report/progress.ts';
import type { Report } from '../report/report.ts';
import { inFolder, served } from '../servers.ts';
import { amountsOf, imageOf, methodIdOf, methodOf, METHODS, zoneIdOf, zoneOf, ZONES } from './records.ts';
import { shippedWork } from './work.ts';

const SCHEMA = join(ROOT, 'schema');

const contenders: readonly Contender[] = [
  { ...engine, environment: { SCHEMA_DIR: SCHEMA } },
  {
    name: 'fastify',
    description: 'Fastify 5 and better-sqlite3, by hand, with schemas',
    database: 'sqlite',
    dialect: 'plain',
    program: join(__dirname, '..', 'hand', 'fastify-shipped.js'),
    environment: { NODE_ENV: 'production' },
  },
];

export async function shipped({ rows: [rows = 0], connections: counts, rounds, seconds }: Options): Promise<Report> {
  const cores = chooseCores();
  const progress = createProgress(shippedWork.length * counts.length * contenders.length * (rounds + 1));
  const data = await inFolder(async (folder) => {
    const original = join(folder, 'original.db');
    await createDatabase(original, rows);
    const starts = contenders.map(
      (contender) => () =>
        start(contender, copyDatabase(original, join(folder, `${contender.name}.db`), rows), [cores.server]),
    );
    return served(starts, cores, async ({ servers, driver }) => {
      const measured: Measured[] = [];
      for (const work of shippedWork)
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

async function createDatabase(file: string, rows: number): Promise<void> {
  await (await createEngine({ databaseUrl: `sqlite:${file}`, schemaDirectory: SCHEMA })).close();
  const database = new Database(file);
  insert(database, 'shipping_methods', identifiers(METHODS), methodOf);
  insert(database, 'zones', identifiers(ZONES), zoneOf);
  insert(database, 'content_images', identifiers(rows), (id) => {
    const image = imageOf(id);
    return { ...image, cloudicons: JSON.stringify(image.cloudicons) };
  });
  insert(database, 'shipping_markups', identifiers(rows), (id) => ({
    ...amountsOf(id),
    shipping_method_id: methodIdOf(id),
    zone_id: zoneIdOf(id),
  }));
  database.pragma('wal_checkpoint(truncate)');
  database.close();
}
