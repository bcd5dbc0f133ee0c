/** The service as `npm start` builds it, on a free port, with a database file of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '../../engine/serve.ts';
import { readSettings, type Settings } from '../../engine/settings.ts';

export interface TestServer {
  /** Without a slash at its end. */
  readonly url: string;
  /** The SQLite file. */
  readonly databaseFile: string;
  close(): Promise<void>;
}

interface Options {
  /** From the root of the project; `schema` where it is not given. */
  readonly schemaDirectory?: string;
  readonly settings?: Partial<Settings>;
}

export async function startTestServer({
  schemaDirectory = 'schema',
  settings = {},
}: Options = {}): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'records-'));
  const databaseFile = join(directory, 'records.db');
  const own = { port: 0, schemaDirectory, databaseUrl: `sqlite:${databaseFile}`, shutdownTimeout: 1000 };
  const serving = await serve({ ...readSettings({}), ...own, ...settings });
  const close = async (): Promise<void> => {
    await serving.close();
    await rm(directory, { recursive: true });
  };
  return { url: serving.url, databaseFile, close };
}
