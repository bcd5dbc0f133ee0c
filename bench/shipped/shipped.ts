/** `bench -- shipped`: the shipped types as they are, beside Fastify by hand on the same tables. */
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { besideHand } from '../beside-hand.ts';
import { ROOT } from '../contenders.ts';
import { insert } from '../database.ts';
import type { Options } from '../options.ts';
import { identifiers } from '../records.ts';
import type { Report } from '../report/report.ts';
import { amountsOf, imageOf, methodIdOf, methodOf, METHODS, zoneIdOf, zoneOf, ZONES } from './records.ts';
import { shippedWork } from './work.ts';

export const shipped = (options: Options): Promise<Report> =>
  besideHand({ schema: join(ROOT, 'schema'), program: 'fastify-shipped.js', work: shippedWork, fill }, options);

function fill(database: Database.Database, rows: number): void {
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
}
