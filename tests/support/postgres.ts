/** What tests of PostgreSQL share. */
import { serve, type Serving } from '../../engine/server/serve.ts';
import { readSettings, type Settings } from '../../engine/settings/settings.ts';
import { connectTo, POSTGRES_URL } from './databases.ts';
import { STORE } from './server.ts';

export const onServer = POSTGRES_URL === '' ? describe.skip : describe;

if (POSTGRES_URL === '')
  it.todo('a PostgreSQL server is needed here: npm run test:postgres starts one, TEST_POSTGRES_URL names another');

/** PgBouncer before that server, where it could be had. */
export const POOLER_URL = process.env['TEST_POOLER_URL'] ?? '';

export const startInstance = (databaseUrl: string, settings: Partial<Settings> = {}): Promise<Serving> =>
  serve({
    ...readSettings({ SCHEMA_DIR: STORE }),
    port: 0,
    databaseUrl,
    shutdownTimeout: 1000,
    logLevel: 'warn',
    ...settings,
  });

export function withParameters(url: string, parameters: Readonly<Record<string, string>>): string {
  const changed = new URL(url);
  for (const [name, value] of Object.entries(parameters)) changed.searchParams.set(name, value);
  return changed.href;
}

/** Runs SQL on a connection of its own, and keeps that open for as long as the work takes. */
export async function administer<T>(
  url: string,
  sql: string,
  meanwhile: () => Promise<T>,
  end = 'rollback',
): Promise<T> {
  const client = await connectTo(url);
  try {
    await client.query(sql);
    const result = await meanwhile();
    await client.query(end);
    return result;
  } finally {
    await client.end();
  }
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));
