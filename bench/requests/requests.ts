/** `bench -- requests`: groups, sets, totals, and many records at once, beside Fastify by hand with the same SQL. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { besideHand } from '../beside-hand.ts';
import { ROOT } from '../contenders.ts';
import type { Data } from '../data.ts';
import { insert } from '../database.ts';
import type { Options } from '../options.ts';
import { identifiers } from '../records.ts';
import type { Report } from '../report/report.ts';
import { GROUP, groupName, productOf, shelfIdOf, shelfOf, SHELVES } from './records.ts';
import { requestsWork } from './work.ts';

export const requests = (options: Options): Promise<Report> =>
  besideHand(
    {
      schema: join(ROOT, 'bench', 'requests', 'schema'),
      program: 'fastify-requests.js',
      work: requestsWork.filter(({ name }) => options.work.includes(name)),
      fill,
      dataOf: withGroups,
    },
    options,
  );

function fill(database: Database.Database, rows: number): void {
  insert(database, 'shelves', identifiers(SHELVES), shelfOf);
  insert(database, 'products', identifiers(rows), (id) => ({ ...productOf(id), shelf_id: shelfIdOf(id) }));
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
