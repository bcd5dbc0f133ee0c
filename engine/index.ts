/** The public API: serves records in any Node server, and offers them in process. */
import { isGuarded, ofHost } from './access/access.ts';
import type { Client } from './clients.ts';
import { settingsOf } from './embed/options.ts';
import { collectionOf, follow, inProcessCalls } from './embed/calls.ts';
import type { EngineOptions, MountableHandler, RecordEngine } from './embed/types.ts';
import { startEngine } from './engine.ts';
import { lazy } from './memo.ts';
import { nodeFault } from './process.ts';
import { StartError } from './problem.ts';

export type { Diagnostic } from './diagnostic.ts';
export type * from './embed/types.ts';
export type { JsonObject, JsonValue } from './json/json.ts';
export { type Fault, Problem, type ProblemCode, StartError } from './problem.ts';

/**
 * Reads and checks the descriptors, changes the database to match them where nothing can be lost, and serves the records.
 * Rejects with a StartError if a setting, a descriptor or the database prevents that; its message names every fault. It
 * does not read the environment.
 */
export async function createEngine(options: EngineOptions = {}): Promise<RecordEngine> {
  const fault = nodeFault();
  if (fault !== undefined) throw new StartError(fault);
  const { identify, ...others } = options;
  const settings = { ...settingsOf(others), identify };
  if (settings.corsOrigins.includes('*') && !isGuarded(settings))
    throw new StartError(
      'corsOrigins is "*", and there are no tokens: pages of every site could read and write. Name the origins, or set tokens (the environment variable TOKENS of the service)',
    );
  const engine = await startEngine(settings);
  const inProcess = inProcessCalls(engine.budget, () => engine.clients().unrestricted);
  // The pages import Express, which not every host needs.
  const lazily = (which: 'pages' | 'documents' | 'agents'): MountableHandler => {
    const load = lazy(async () => (await import('./server/app.ts')).createMounted(engine, settings, which));
    return (request, response, next) =>
      void load().then(
        (mounted) => mounted(request, response, next),
        (error: unknown) => engine.host.refuse(error, request, response),
      );
  };
  return {
    handler: engine.handler,
    pages: lazily('pages'),
    document: lazily('documents'),
    mcp: lazily('agents'),
    warnings: engine.warnings,
    records: (type) => collectionOf((name, call) => inProcess.call(type, name, call)),
    as: (given) => {
      const identity = ofHost(given);
      const client = (): Client => engine.clients().identified(identity);
      return { records: (type) => collectionOf((name, call) => inProcess.call(type, name, call, client)) };
    },
    changes: (given) => follow(engine.feed, () => engine.clients().unrestricted, given),
    ready: async () => void (await engine.ready()),
    drain: () => engine.drain(),
    close: lazy(async () => {
      await inProcess.close();
      await engine.close();
    }),
  };
}
