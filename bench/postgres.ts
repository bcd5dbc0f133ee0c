/** Databases on a PostgreSQL server that TEST_POSTGRES_URL names: the engine makes the tables, each contender gets a copy. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { createEngine } from '../engine/index.ts';
import { SCHEMA } from './contenders.ts';
import { cpuTimes } from './cpu.ts';
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

/** Of each contender. */
const POOL = 10;
/** Rows that are inserted by one statement. */
const BATCH = 5000;

export const postgresUrl = (): string => process.env['TEST_POSTGRES_URL'] ?? '';

/** What a reader must know of the server: whether commits wait for the disk decides what writes cost. */
export async function describeServer(): Promise<string> {
  return connected(postgresUrl(), async (client) => {
    const { rows } = await client.query<{ version: string; fsync: string; commit: string }>(
      `select current_setting('server_version') as version, current_setting('fsync') as fsync,
         current_setting('synchronous_commit') as commit`,
    );
    const [{ version, fsync, commit } = { version: '?', fsync: '?', commit: '?' }] = rows;
    return `PostgreSQL ${version}, fsync ${fsync}, synchronous_commit ${commit}, pools of ${POOL} connections`;
  });
}

export async function postgresOriginal(_folder: string, rows: number): Promise<Original> {
  const prefix = `bench_${randomUUID().slice(0, 8)}`;
  const original = `${prefix}_original`;
  const made: string[] = [];
  const administer = (sql: string): Promise<void> =>
    connected(postgresUrl(), async (client) => void (await client.query(sql)));
  const create = async (name: string, template = 'template1'): Promise<string> => {
    await administer(`create database "${name}" template "${template}"`);
    made.push(name);
    return urlOf(name);
  };
  const remove = async (): Promise<void> => {
    for (const name of made) await administer(`drop database "${name}" with (force)`);
  };
  const cpu = await serverTimes();
  try {
    await fill(await create(original), rows);
  } catch (error) {
    await remove();
    throw error;
  }
  return { copy: async (name) => ({ ...dataAt(await create(`${prefix}_${name}`, original), rows), cpu }), remove };
}

/** All processes of the server, if it runs on this machine. */
async function serverTimes(): Promise<Data['cpu']> {
  return connected(postgresUrl(), async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    try {
      const status = readFileSync(`/proc/${rows[0]?.pid ?? 0}/status`, 'utf8');
      const [, parent] = /^Name:\s+postgres$[\s\S]*^PPid:\s+(\d+)$/m.exec(status) ?? [];
      return parent === undefined ? undefined : () => cpuTimes(Number(parent));
    } catch {
      return undefined;
    }
  });
}

function urlOf(database: string): string {
  const url = new URL(postgresUrl());
  url.pathname = `/${database}`;
  return url.href;
}

function dataAt(plain: string, rows: number): Data {
  const url = new URL(plain);
  url.searchParams.set('pool', String(POOL));
  return { url: url.href, rows, addItems: (count) => connected(plain, (client) => addItems(client, count)) };
}

async function fill(url: string, rows: number): Promise<void> {
  const engine = await createEngine({ databaseUrl: url, schemaDirectory: SCHEMA });
  await engine.close();
  await connected(url, async (client) => {
    await insert(client, 'customers', identifiers(CUSTOMERS), customerOf);
    await insert(client, 'warehouses', identifiers(WAREHOUSES), warehouseOf);
    await insert(client, 'items', identifiers(rows), itemOf);
    await insert(client, 'purchases', identifiers(rows), (id) => purchaseRow(purchaseOf(id)));
    await client.query('vacuum analyze');
  });
}

/** Identifiers are given, and the sequence goes on behind them. */
async function insert(
  client: Client,
  table: string,
  ids: readonly number[],
  row: (id: number) => object,
): Promise<void> {
  for (let at = 0; at < ids.length; at += BATCH) {
    const rows = ids.slice(at, at + BATCH).map(row);
    const sql = `insert into ${table} select * from json_populate_recordset(null::${table}, $1)`;
    await client.query(sql, [JSON.stringify(rows)]);
  }
  await client.query(`select setval(pg_get_serial_sequence($1, 'id'), $2)`, [table, ids.at(-1)]);
}

async function addItems(client: Client, count: number): Promise<number> {
  const { rows } = await client.query<{ next: string }>(
    `select nextval(pg_get_serial_sequence('items', 'id')) as next`,
  );
  const first = Number(rows[0]?.next);
  const ids = identifiers(count).map((index) => first + index - 1);
  await insert(client, 'items', ids, itemOf);
  return first;
}

async function connected<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
