/** Starts the engine: read, check, resolve, plan, apply, compile, mount. */
import type { IncomingMessage } from 'node:http';
import { type Identify, isGuarded, openAccess, type Reports } from './access/access.ts';
import { checkRoles } from './access/checks.ts';
import { openIssuers } from './access/issuers.ts';
import { isOfRole } from './access/tokens.ts';
import { type Clients, createClients } from './clients.ts';
import { Budget, createSlowReaders } from './edge/budget.ts';
import { checkSchema } from './validation/check-schema.ts';
import { formatDiagnostics } from './descriptor/report.ts';
import { createChanges } from './http/changes.ts';
import { contentReader } from './http/request.ts';
import { createObservers } from './http/observers.ts';
import { createHandler, type HandlerOptions } from './http/handler.ts';
import { createAddressOf, createRateLimit } from './edge/admission.ts';
import type { Model } from './model/model.ts';
import { unknownTypes } from './model/rights.ts';
import { nearest } from './names.ts';
import { Problem, StartError } from './problem.ts';
import { createLog, type Log } from './log.ts';
import { readinessOf } from './storage/unavailable.ts';
import { AUTO_RATE, type Settings } from './settings/settings.ts';
import type { DatabaseObserver } from './storage/database.ts';
import type { PreparedTables } from './storage/migrate/apply.ts';
import { UNUSED_NAMES } from './storage/migrate/assess.ts';
import { openStorage } from './storage/open.ts';
import type { Clock } from './storage/columns.ts';

export type Engine = Awaited<ReturnType<typeof startEngine>>;

export type EngineSettings = Omit<Settings, 'host' | 'port' | 'workers' | 'shutdownTimeout'> & {
  /** A clock that tests set; default: the database's. */
  readonly clock?: Clock | undefined;
  readonly waits?: boolean | undefined;
  /** Names the client of a request; after undefined, its own credentials count. */
  readonly identify?: Identify | undefined;
};

export async function startEngine(settings: EngineSettings) {
  const { schemaDirectory, accessDirectory } = settings;
  const { model, diagnostics } = checkSchema(schemaDirectory);
  if (model === undefined) throw new StartError(formatDiagnostics(diagnostics));
  const log = createLog(settings);
  const budget = new Budget(settings.memoryLimit);
  // Loads the library on demand: a start saves 30 ms.
  const metrics = settings.metrics ? (await import('./metrics.ts')).createMetrics() : undefined;
  const { roles, issuers, diagnostics: faults } = checkRoles(accessDirectory, model);
  if (roles === undefined) throw new StartError(formatDiagnostics(faults));
  const names = new Set(roles.keys());
  const verifying = issuers.length > 0 ? await openIssuers(issuers, accessDirectory, log) : undefined;
  const access = isGuarded(settings) ? openAccess(settings, names, verifying, reportsTo(log, model)) : undefined;
  const addressOf = createAddressOf(settings.trustedProxies);
  const nameOf = (request: IncomingMessage): string | undefined => access?.nameOf(request);
  const { onStatement, watch } = createObservers(settings, { log, metrics, addressOf, nameOf });
  const served = { model };
  const observers: DatabaseObserver = {
    onStatement,
    log,
    onServed: (now) => void (served.model = now),
    onUnusable: schemaReporter(log),
    onWait: metrics?.wait,
  };
  const opening = openStorage(model, settings.databaseUrl, settings, observers);
  const { store, feed, prepared } = await opening.catch((error: unknown) => {
    access?.close();
    throw error;
  });
  reportTables(log, prepared);
  // After a failure, the next run tries again.
  const forget = (): void => {
    void store.forgetKeys(settings.idempotencyHours).catch(() => undefined);
    void feed.forget(settings.historyDays).catch(() => undefined);
  };
  const forgetting = setInterval(forget, MINUTE).unref();
  const readContent = contentReader(settings, budget);
  const changes = createChanges(feed);
  const clients = createClients(served, {
    access,
    changes,
    roles,
    onMissing: (claim, at) => log.warn({ claim, at }, 'a claim that this rule needs is missing or has no such value'),
    settings,
    store,
  });
  // A host application limits rates itself.
  const isLimited = ![AUTO_RATE, Infinity].includes(settings.rateLimit);
  const options: HandlerOptions = {
    ...settings,
    log,
    awaitReader: createSlowReaders(settings.slowReaderTimeout, budget),
    budget,
    readContent,
    addressOf,
    watch,
    guarded: access !== undefined,
    identify: access?.ready,
    isAmbient: settings.identify !== undefined,
    rateLimit: isLimited ? await createRateLimit(settings.rateLimit, nameOf, addressOf) : undefined,
  };
  const http = createHandler(clients.routesOf, options);
  const { ready } = store;
  metrics?.watch(
    () => store.usage(),
    () => readinessOf({ ...http, ready }),
  );
  return {
    ...http,
    get model() {
      return served.model;
    },
    /** The model as the client sees it; empty if the token is unknown. */
    modelFor: (request: IncomingMessage) => seenBy(request, clients.current),
    clients: clients.current,
    readContent,
    metrics,
    budget,
    ready,
    warnings: diagnostics,
    /** Closes each connection after its next response. */
    drain: () => {
      http.drain();
      changes.drain();
    },
    feed,
    /** Requires that no request is open. */
    close: async () => {
      clients.close();
      feed.close();
      clearInterval(forgetting);
      access?.close();
      await store.close();
    },
  };
}

const MINUTE = 60_000;

const NOTHING: Model = Object.freeze({ types: new Map(), joinTables: [] });
const reportsTo = (log: Log, model: Model): Reports => ({
  granted: (grants) => {
    for (const grant of grants) {
      const types = isOfRole(grant) ? [] : unknownTypes(model, grant);
      const near = types.flatMap((type) => nearest(type, model.types.keys()) ?? []);
      const meant = near.length > 0 ? { didYouMean: near } : {};
      if (types.length > 0)
        log.warn({ token: grant.name, types, ...meant }, 'a token names types that no descriptor has or had');
    }
  },
  changed: (grants) => log.info({ tokens: grants.map(({ name }) => name) }, 'tokens reloaded'),
  refused: (faults) => log.error({ faults }, 'the tokens have faults; faulty lines give no access'),
});

const schemaReporter =
  (log: Log): NonNullable<DatabaseObserver['onUnusable']> =>
  (tables, readOnly) => {
    if (tables.length > 0)
      log.error({ tables }, 'another version of the service changed these tables; requests that need them get 503');
    const narrower = 'the rules of these tables are narrower than the descriptors; writes to them get 503';
    if (readOnly.length > 0) log.warn({ tables: readOnly }, narrower);
    if (tables.length + readOnly.length === 0) log.info({}, 'the tables match the descriptors again');
  };

const MAX_NAMED = 20;

function reportTables(log: Log, { history: { state, last, own }, made, kept, others, unused }: PreparedTables): void {
  if (made.length > 0)
    log.info({ model: last, steps: made.length, made: made.slice(0, MAX_NAMED) }, 'the tables were changed');
  if (state === 'behind')
    log.warn(
      { database: last, serves: own?.number },
      'newer descriptors were applied to the database: this instance serves its own view of the tables, and changes none',
    );
  if (state === 'new')
    log.warn(
      { database: last },
      'the tables were made for other descriptors, and MIGRATE is off: this instance serves its own view of them; "records plan" shows what differs',
    );
  if (kept.length > 0)
    log.warn({ kept }, 'the database keeps what the descriptors do not name; "records plan" shows how to drop it');
  if (unused.length > 0) log.warn({ unused }, `names in descriptors have no effect: ${UNUSED_NAMES}`);
  if (others.length > 0)
    log.warn(
      { others },
      'the database has objects that this service did not make, and leaves alone; triggers and constraints among them hold for every write',
    );
}

function seenBy(request: IncomingMessage, clients: () => Clients): Model {
  try {
    return clients().of(request).seen();
  } catch (error) {
    if (error instanceof Problem) return NOTHING;
    throw error;
  }
}
