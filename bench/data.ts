/** One database for a run: the engine makes the tables of `schema/`, rows are put in, and each server gets a copy. */
import { randomUUID } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Client } from 'pg';
import { createEngine } from '../engine/index.ts';
import { amountsOf, imageOf, methodIdOf, methodOf, METHODS, zoneIdOf, zoneOf, ZONES } from './records.ts';

export interface Data {
  /** The URL of a copy. */
  copy(name: string): Promise<string>;
  remove(): Promise<void>;
}

/** Images beyond those that are read: each deletion uses one up. */
export const SPARE = 60_000;

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

const tables = (rows: number): readonly (readonly [table: string, identifier: string, rows: readonly object[]])[] => [
  ['shipping_methods', 'method_id', numbers(METHODS).map(methodOf)],
  ['zones', 'zone_id', numbers(ZONES).map(zoneOf)],
  ['content_images', 'id', numbers(rows + SPARE).map(imageOf)],
  [
    'shipping_markups',
    'markup_id',
    numbers(rows).map((id) => ({ ...amountsOf(id), shipping_method_id: methodIdOf(id), zone_id: zoneIdOf(id) })),
  ],
];

export async function sqliteData(folder: string, schema: string, rows: number): Promise<Data> {
  const original = join(folder, 'original.db');
  await (await createEngine({ databaseUrl: `sqlite:${original}`, schemaDirectory: schema })).close();
  const database = new Database(original);
  for (const [table, , values] of tables(rows)) {
    const names = Object.keys(values[0] ?? {});
    const columns = names.map((name) => `"${name}"`).join(', ');
    const insert = database.prepare(`insert into ${table} (${columns}) values (${names.map(() => '?').join(', ')})`);
    const all = database.transaction(() => {
      for (const row of values) insert.run(Object.values(row).map(stored));
    });
    all();
  }
  database.pragma('wal_checkpoint(truncate)');
  database.close();
  return {
    copy: async (name) => {
      const file = join(folder, `${name}.db`);
      copyFileSync(original, file);
      return `sqlite:${file}`;
    },
    remove: async () => {},
  };
}

/** SQLite has no booleans, and keeps arrays as JSON text. */
const stored = (value: unknown): unknown => {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'object' ? JSON.stringify(value) : value;
};

const BATCH = 5000;

/** On the server that TEST_POSTGRES_URL names. */
export async function postgresData(schema: string, rows: number): Promise<Data> {
  const server = process.env['TEST_POSTGRES_URL'] ?? '';
  const prefix = `bench_${randomUUID().slice(0, 8)}`;
  const made: string[] = [];
  const create = async (name: string, template: string): Promise<string> => {
    await query(server, (client) => client.query(`create database "${name}" template "${template}"`));
    made.push(name);
    const url = new URL(server);
    url.pathname = name;
    return url.href;
  };
  const original = await create(`${prefix}_original`, 'template1');
  await (await createEngine({ databaseUrl: original, schemaDirectory: schema })).close();
  await query(original, async (client) => {
    for (const [table, identifier, values] of tables(rows)) {
      const columns = Object.keys(values[0] ?? {})
        .map((name) => `"${name}"`)
        .join(', ');
      const sql = `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)`;
      for (let at = 0; at < values.length; at += BATCH)
        await client.query(sql, [JSON.stringify(values.slice(at, at + BATCH))]);
      await client.query(`select setval(pg_get_serial_sequence($1, $2), $3)`, [table, identifier, values.length]);
    }
    await client.query('vacuum analyze');
  });
  return {
    copy: (name) => create(`${prefix}_${name}`, `${prefix}_original`),
    remove: async () => {
      for (const name of made)
        await query(server, (client) => client.query(`drop database if exists "${name}" with (force)`));
    },
  };
}

async function query<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
