/** The service as `npm start` builds it, on a free port, with a database of its own. */
import type { Budget } from '../../engine/edge/budget.ts';
import type { EngineSettings } from '../../engine/engine.ts';
import { serve } from '../../engine/server/serve.ts';
import { readSettings, type Settings } from '../../engine/settings/settings.ts';
import { createDatabase, type DatabaseKind, type TestDatabase } from './databases.ts';

/** Types as those of the shipped store, which `schema/` may no longer have. */
export const STORE = 'tests/fixtures/store';

/** In milliseconds. On a busy machine, a statement may take long. */
const HOUR = 3_600_000;

export interface TestServer {
  /** Without a slash at its end. */
  readonly url: string;
  readonly database: TestDatabase;
  readonly budget: Budget;
  /** As if it were told to stop: it goes on, and says that it will not for long. */
  drain(): void;
  close(): Promise<void>;
}

export type TestSettings = Partial<Settings> & Pick<EngineSettings, 'clock'>;

interface Options {
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
}: Options = {}): Promise<TestServer> {
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
  return { url: serving.url, database, budget, drain: () => serving.engine.drain(), close };
}
