/** `bench -- requests`: groups, sets, totals, and many records at once, beside Fastify by hand with the same SQL. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createEngine } from '../../engine/index.ts';
import { type Contender, engine, ROOT } from '../contenders.ts';
import { chooseCores } from '../cores.ts';
import type { Data } from '../data.ts';
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
import { GROUP, groupName, productOf, shelfIdOf, shelfOf, SHELVES } from './records.ts';
import { requestsWork } from './work.ts';

const SCHEMA = join(ROOT, 'bench', 'requests', 'schema');

const contenders: readonly Contender[] = [
  { ...engine, environment: { SCHEMA_DIR: SCHEMA } },
  {
    name: 'fastify',
    description: 'Fastify 5 and better-sqlite3, by hand, with schemas',
    database: 'sqlite',
    dialect: 'plain',
    program: join(__dirname, '..', 'hand', 'fastify-requests.js'),
    environment: { NODE_ENV: 'production' },
  },
];

export async function requests(options: Options): Promise<Report> {
  const {
    rows: [rows = 0],
    connections: counts,
    rounds,
    seconds,
  } = options;
  const cores = chooseCores();
  const wanted = requestsWork.filter(({ name }) => options.work.includes(name));
  const progress = createProgress(wanted.length * counts.length * contenders.length * (rounds + 1));
  const data = await inFolder(async (folder) => {
    const original = join(folder, 'original.db');
    await createDatabase(original, rows);
    const starts = contenders.map((contender) => () => {
      const file = join(folder, `${contender.name}.db`);
      return start(contender, withGroups(copyDatabase(original, file, rows), file), [cores.server]);
    });
    return served(starts, cores, async ({ servers, driver }) => {
      const measured: Measured[] = [];
      for (const work of wanted)
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
  insert(database, 'shelves', identifiers(SHELVES), shelfOf);
  insert(database, 'products', identifiers(rows), (id) => ({ ...productOf(id), shelf_id: shelfIdOf(id) }));
  database.pragma('wal_checkpoint(truncate)');
  database.close();
}

/** What a request uses up is a group of products. */
function withGroups(data: Data, file: string): Data {
  let next = 1;
  return {
    ...data,
    addItems: async (count) => {
      const database = new Database(file, { timeout: 5000 });
      const first = next;
      next += count;
      const rows = identifiers(count * GROUP).map((index) => (first - 1) * GROUP + index);
      insert(database, 'products', rows, (index) => {
        const { id: _, ...product } = productOf(index);
        return {
          ...product,
          code: `G-${index}`,
          category: groupName(first + Math.floor((index - 1) / GROUP) - (first - 1)),
        };
      });
      database.close();
      return first;
    },
  };
}
