/** An empty database for a test: an SQLite file, or, where TEST_POSTGRES_URL names a server, a schema of its own there. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
export const isPooled = POSTGRES_URL.includes('prepared=off');
/** The server behind the pooler. */
const DIRECT_URL = process.env['TEST_DIRECT_URL'] ?? POSTGRES_URL;

/** What the tests run on that run on one database at a time. */
export const databaseKind: DatabaseKind = POSTGRES_URL === '' ? 'sqlite' : 'postgres';

/** Every database that is there, for tests that run on each. */
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
  await administer(`create schema ${schema}`);
  const url = new URL(POSTGRES_URL);
  url.searchParams.set('options', `-c search_path=${schema}`);
  url.searchParams.set('pool', '4');
  const remove = (): Promise<void> => administer(`set client_min_messages = error; drop schema ${schema} cascade`);
  return { kind: 'postgres', url: url.href, remove };
}

/** A pooler takes no search_path: connections to it are not connections to the server. */
async function ownDatabase(): Promise<TestDatabase> {
  const name = `records_${randomUUID().replaceAll('-', '')}`;
  await administer(`create database ${name}`);
  const url = new URL(POSTGRES_URL);
  url.pathname = `/${name}`;
  url.searchParams.set('pool', '4');
  return { kind: 'postgres', url: url.href, remove: () => administer(`drop database ${name} with (force)`) };
}

/** Where the system offers memory as files: thousands of commits need no disk. */
const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

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

async function administer(sql: string): Promise<void> {
  const client = await connectTo(POSTGRES_URL);
  await client.query(sql);
  await client.end();
}
