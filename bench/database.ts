/** SQLite: one file for all; the engine makes its tables, the rows are put in here, each contender gets a copy. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createEngine } from '../engine/index.ts';
import { SCHEMA } from './contenders.ts';
import type { Data, Original } from './data.ts';
import {
  customerOf,
  CUSTOMERS,
  identifiers,
  itemOf,
  purchaseOf,
  purchaseRow,
  warehouseOf,
  WAREHOUSES,
} from './records.ts';

export async function createDatabase(
  file: string,
  rows: number,
  schemaDirectory: string,
  purchases = rows,
): Promise<void> {
  const engine = await createEngine({ databaseUrl: `sqlite:${file}`, schemaDirectory });
  await engine.close();
  const database = new Database(file);
  database.pragma('synchronous = off');
  database.pragma('cache_size = -262144');
  withoutIndexes(database, () => {
    insert(database, 'customers', identifiers(CUSTOMERS), customerOf);
    insert(database, 'warehouses', identifiers(WAREHOUSES), warehouseOf);
    insert(database, 'items', identifiers(rows), itemOf);
    insert(database, 'purchases', identifiers(purchases), (id) => purchaseRow(purchaseOf(id)));
  });
  database.pragma('wal_checkpoint(truncate)');
  database.close();
}

/** A million rows are sorted at the end in half the time that it takes to keep them sorted. */
function withoutIndexes(database: Database.Database, work: () => void): void {
  const indexes = database
    .prepare<[], { name: string; sql: string }>(
      "select name, sql from sqlite_schema where type = 'index' and sql is not null",
    )
    .all();
  for (const { name } of indexes) database.exec(`drop index "${name}"`);
  work();
  for (const { sql } of indexes) database.exec(sql);
}

export async function sqliteOriginal(folder: string, rows: number): Promise<Original> {
  const original = join(folder, 'original.db');
  await createDatabase(original, rows, SCHEMA);
  return {
    copy: async (name) => copyDatabase(original, join(folder, `${name}.db`), rows),
    remove: async () => undefined,
  };
}

/** A copy of a database that nobody has open. */
export function copyDatabase(from: string, to: string, rows: number): Data {
  copyFileSync(from, to);
  return sqliteData(to, rows);
}

export const sqliteData = (file: string, rows: number): Data => ({
  url: `sqlite:${file}`,
  rows,
  addItems: async (count) => addItems(file, count),
});

function addItems(file: string, count: number): number {
  const database = new Database(file, { timeout: 5000 });
  const last = Number(database.prepare('select seq from sqlite_sequence where name = ?').pluck().get('items'));
  insert(
    database,
    'items',
    identifiers(count).map((index) => last + index),
    itemOf,
  );
  database.close();
  return last + 1;
}

/** SQLite has no booleans. */
const cellsOf = (row: object): readonly unknown[] =>
  Object.values(row).map((value: unknown) => (typeof value === 'boolean' ? Number(value) : value));

/** The keys of a row are the columns. */
export function insert(
  database: Database.Database,
  table: string,
  ids: readonly number[],
  row: (id: number) => object,
): void {
  const [first] = ids;
  if (first === undefined) return;
  const columns = Object.keys(row(first));
  const places = columns.map(() => '?').join(', ');
  const statement = database.prepare(`insert into ${table} (${columns.join(', ')}) values (${places})`);
  database.transaction(() => {
    for (const id of ids) statement.run(...cellsOf(row(id)));
  })();
}
