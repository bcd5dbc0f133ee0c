/** The boot, on one screen: read, check, resolve, plan, apply, compile, mount. */
import { checkSchema } from './check.ts';
import { formatDiagnostics } from './descriptor/report.ts';
import type { Diagnostic } from './diagnostic.ts';
import { contentReader } from './http/content.ts';
import { createHandler, type Handler } from './http/handler.ts';
import { createRoutes, ROOT } from './http/routes.ts';
import type { Model } from './model/model.ts';
import { createQueryResolver } from './query/resolve.ts';
import type { Settings } from './settings.ts';
import { StartError } from './start-error.ts';
import { openStorage } from './storage/open.ts';

export interface Engine {
  /** Serves every record; in front of an http server, or mounted in an Express app. */
  readonly handler: Handler;
  readonly model: Model;
  /** What the descriptors may be asked about, though nothing is wrong. */
  readonly warnings: readonly Diagnostic[];
  /** From now on each answer closes its connection. */
  drain(): void;
  /** Closes the database. Requests must have been answered. */
  close(): Promise<void>;
}

export type EngineSettings = Omit<Settings, 'host' | 'port' | 'shutdownTimeout'>;

/** Throws a StartError where the descriptors, or the database, do not let it start. */
export async function startEngine(settings: EngineSettings): Promise<Engine> {
  const { schema, diagnostics } = checkSchema(settings.schemaDirectory);
  if (schema === undefined) throw new StartError(formatDiagnostics(diagnostics));
  const { model, validatorsOf } = schema;
  const store = await openStorage(model, settings.databaseUrl);
  const queriesOf = createQueryResolver(model);
  const readContent = contentReader(settings.bodyLimit);
  const routes = createRoutes(model.types.values(), (type) => ({
    type,
    path: ROOT + encodeURIComponent(type.path),
    store,
    readContent,
    idempotencyHours: settings.idempotencyHours,
    queries: queriesOf(type),
    validators: validatorsOf(type),
  }));
  let draining = false;
  return {
    handler: createHandler(routes, { ...settings, isDraining: () => draining }),
    model,
    warnings: diagnostics,
    drain: () => void (draining = true),
    close: () => store.close(),
  };
}
