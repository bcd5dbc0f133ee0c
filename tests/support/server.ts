/** The service as `npm start` builds it, on a free port, with a database of its own. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Budget } from '../../engine/edge/budget.ts';
import type { EngineSettings } from '../../engine/engine.ts';
import { serve } from '../../engine/server/serve.ts';
import { readSettings, type Settings } from '../../engine/settings/settings.ts';
import { createDatabase, type DatabaseKind, type TestDatabase } from './databases.ts';

/** Types as those of the shipped store, which `schema/` may no longer have. */
export const STORE = 'tests/fixtures/store';

/** In milliseconds. On a busy machine, a statement may take long. */
const HOUR = 3_600_000;

/** `await using server = await startTestServer()` closes it at the end of the block. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly database: TestDatabase;
  readonly budget: Budget;
  /** Enters the draining state, without stopping. */
  drain(): void;
  close(): Promise<void>;
}

export type TestSettings = Partial<Settings> & Pick<EngineSettings, 'clock'>;

interface ServerOptions {
  /** From the root of the project; STORE where it is not given. */
  readonly schemaDirectory?: string;
  readonly settings?: TestSettings;
  readonly kind?: DatabaseKind;
  /** Where another database than a new one is served. */
  readonly database?: TestDatabase;
}

export async function startTestServer({
  schemaDirectory = STORE,
  settings = {},
  kind,
  database: given,
}: ServerOptions = {}): Promise<TestServer> {
  const database = given ?? (await createDatabase(kind));
  const own = {
    port: 0,
    schemaDirectory,
    databaseUrl: database.url,
    shutdownTimeout: 1000,
    statementTimeout: HOUR,
    logLevel: 'warn',
  } as const;
  const serving = await serve({ ...readSettings({}), ...own, ...settings });
  const close = async (): Promise<void> => {
    await serving.close();
    await database.remove();
  };
  const { budget } = serving.engine;
  return {
    url: serving.url,
    database,
    budget,
    drain: () => serving.engine.drain(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A service for the tests of a file, or of a `describe`; `files` are descriptors of its own, by the names of their files. */
export function useServer({
  files,
  ...options
}: ServerOptions & { readonly files?: Readonly<Record<string, string>> } = {}): Omit<
  TestServer,
  'close' | typeof Symbol.asyncDispose
> {
  let running: TestServer | undefined;
  let directory: string | undefined;
  beforeAll(async () => {
    if (files) directory = mkdtempSync(join(tmpdir(), 'schema-'));
    for (const [name, text] of Object.entries(files ?? {})) writeFileSync(join(directory ?? '', name), text);
    running = await startTestServer(directory === undefined ? options : { ...options, schemaDirectory: directory });
  });
  afterAll(() => running?.close());
  const started = (): TestServer => {
    if (running === undefined) throw new Error('the service has not started');
    return running;
  };
  return {
    get url() {
      return started().url;
    },
    get database() {
      return started().database;
    },
    get budget() {
      return started().budget;
    },
    drain: () => started().drain(),
  };
}
