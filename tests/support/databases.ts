/** An empty database for a test: an SQLite file, or, where TEST_POSTGRES_URL names a server, a schema of its own there. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Client } from 'pg';
import type { SmallDisk } from './small-disk.ts';

export type DatabaseKind = 'sqlite' | 'postgres';

export interface TestDatabase {
  readonly kind: DatabaseKind;
  /** As DATABASE_URL takes it. */
  readonly url: string;
  remove(): Promise<void>;
}

export const POSTGRES_URL = process.env['TEST_POSTGRES_URL'] ?? '';
/** Behind a pooler statements have no names. */
const isPooled = POSTGRES_URL.includes('prepared=off');
const DIRECT_URL = process.env['TEST_DIRECT_URL'] ?? POSTGRES_URL;

export const databaseKind: DatabaseKind = POSTGRES_URL === '' ? 'sqlite' : 'postgres';

export const databaseKinds: readonly DatabaseKind[] = POSTGRES_URL === '' ? ['sqlite'] : ['sqlite', 'postgres'];

/** A file on this disk, which goes with it. */
export const onDisk = ({ directory }: Pick<SmallDisk, 'directory'>): TestDatabase => ({
  kind: 'sqlite',
  url: `sqlite:${join(directory, 'records.db')}`,
  remove: async () => undefined,
});

export const createDatabase = (kind = databaseKind): Promise<TestDatabase> => creators[kind]();

const creators: Readonly<Record<DatabaseKind, () => Promise<TestDatabase>>> = {
  sqlite: async () => {
    const directory = mkdtempSync(join(memory, 'records-'));
    const remove = async (): Promise<void> => rmSync(directory, { recursive: true });
    return { kind: 'sqlite', url: `sqlite:${join(directory, 'records.db')}`, remove };
  },
  postgres: () => (isPooled ? ownDatabase() : ownSchema()),
};

async function ownSchema(): Promise<TestDatabase> {
  const schema = `records_${randomUUID().replaceAll('-', '')}`;
  const worker = await workerDatabase();
  await administer(`create schema ${schema}`, worker);
  const url = new URL(worker);
  url.searchParams.set('options', `-c search_path=${schema}`);
  for (const [name, value] of Object.entries(PATIENT)) url.searchParams.set(name, value);
  const remove = (): Promise<void> =>
    administer(`set client_min_messages = error; drop schema ${schema} cascade`, worker);
  return { kind: 'postgres', url: url.href, remove };
}

/** Few connections, since many tests share a server; and on a busy machine, a lock may take long to come free. */
const PATIENT = { pool: '4', lock_timeout: '60000' };

let ofWorker: Promise<string> | undefined;

/**
 * Each worker of Jest has a database to itself, and runs one test file at a time. So what a test finds in catalogs, or
 * in views of the server's activity where `datname = current_database()`, is its own.
 */
const workerDatabase = (): Promise<string> => (ofWorker ??= prepareWorkerDatabase());

/** Once for each test file: settings that an earlier one has given the database do not hold for this one. */
async function prepareWorkerDatabase(): Promise<string> {
  const name = `worker_${process.env['JEST_WORKER_ID'] ?? '1'}`;
  const url = new URL(POSTGRES_URL);
  url.pathname = `/${name}`;
  await createSorted(name).catch((error: unknown) => {
    if ((error as { readonly code?: string }).code !== DUPLICATE_DATABASE) throw error;
  });
  await administer(`alter database ${name} reset all`);
  return url.href;
}

const DUPLICATE_DATABASE = '42P04';
const NOT_SUPPORTED = new Set(['0A000', '42601']);

/** A database that orders texts as a dictionary does: what the engine forgets to order by code points shows. */
async function createSorted(name: string): Promise<void> {
  try {
    await administer(`create database ${name} template template0 locale_provider icu icu_locale 'en-US'`);
  } catch (error) {
    if (!NOT_SUPPORTED.has((error as { readonly code?: string }).code ?? '')) throw error;
    await administer(`create database ${name}`);
  }
}

/** A pooler takes no search_path: connections to it are not connections to the server. */
async function ownDatabase(): Promise<TestDatabase> {
  const name = `records_${randomUUID().replaceAll('-', '')}`;
  await createSorted(name);
  const url = new URL(POSTGRES_URL);
  url.pathname = `/${name}`;
  for (const [parameter, value] of Object.entries(PATIENT)) url.searchParams.set(parameter, value);
  return { kind: 'postgres', url: url.href, remove: () => dropDatabase(name) };
}

/**
 * PostgreSQL waits until all backends of the server have closed the files of the database. One whose statement is
 * cancelled at that moment can miss the question, and answers when it is asked again.
 */
export async function dropDatabase(name: string): Promise<void> {
  const client = await connectTo(POSTGRES_URL);
  const drop = () => client.query(`drop database if exists ${name} with (force)`);
  try {
    await client.query(`set statement_timeout = '30s'`);
    await drop().catch(drop);
  } finally {
    await client.end();
  }
}

/** Where the system offers memory as files: thousands of commits need no disk. */
export const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

export const fileOf = ({ url }: Pick<TestDatabase, 'url'>): string => url.replace(/^sqlite:/, '');

/** A connection of the test's own, past a pooler; parameters of the engine's mean nothing to it. */
export async function connectTo(url: string): Promise<Client> {
  const plain = new URL(url);
  if (isPooled && plain.host === new URL(POSTGRES_URL).host) plain.host = new URL(DIRECT_URL).host;
  for (const name of ['pool', 'prepared', 'lock_timeout']) plain.searchParams.delete(name);
  const client = new Client({ connectionString: plain.href });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Statements of somebody else, one after the other. */
export async function runSql({ kind, url }: TestDatabase, ...statements: readonly string[]): Promise<void> {
  if (kind === 'postgres') return administer(statements.join(';'), url);
  const database = new Database(fileOf({ url }));
  for (const sql of statements) database.exec(sql);
  database.close();
}

async function administer(sql: string, url = POSTGRES_URL): Promise<void> {
  const client = await connectTo(url);
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
