/**
 * Adds admission, timing, a log of outages and the schema guard to a driver. The tables are checked on SQLite in each
 * snapshot, on PostgreSQL before each commit, for reads every SCHEMA_CHECK_INTERVAL_MS.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setInterval } from 'node:timers';
import { type Caller, NO_CLIENT } from '../edge/caller.ts';
import type { SqlValue } from '../field-types/field-type.ts';
import type { Log } from '../log.ts';
import type { Model } from '../model/model.ts';
import { createAdmission, type OnWait } from './admission.ts';
import {
  type Around,
  type Awaitable,
  type Driver,
  type Kind,
  type Reader,
  readerOf,
  type Row,
  type ServerUsage,
  type Snapshot,
  type Statement,
} from './driver.ts';
import { createSchemaGuard, type SchemaObserver } from './schema-guard.ts';
import { createOutages, type Purpose } from './unavailable.ts';

export interface Database extends Driver {
  /** Sets the model to compare the tables with: the descriptors' model, with the names in the tables. */
  watch(mapped: Model): Promise<void>;
  served(): Model;
  requireUsable(): Promise<void>;
  usageOf(server: string): readonly ServerUsage[];
  /** Sets what to call after each write, also one that failed or was a dry run. */
  onWrite(listener: () => void): void;
}

export type OnStatement = (sql: string, milliseconds: number) => void;

export interface DatabaseObserver extends SchemaObserver {
  readonly onWait?: OnWait | undefined;
  readonly onStatement?: OnStatement | undefined;
  readonly log?: Log | undefined;
}

export const SCHEMA_CHECK_INTERVAL_MS = 1000;
/** A long transaction on the primary holds up a replica for moments. */
const MAX_LAG_S = 5;

export function createDatabase(driver: Driver, observer: DatabaseObserver = {}): Database {
  const admission = createAdmission(driver.slots, observer.onWait);
  const outages = createOutages(driver.address, observer.log, driver.causeOf);
  const { watched } = outages;
  const check = (): Promise<void> => watched(() => driver.read(guard.check, NO_CLIENT));
  const recheck = (): Promise<void> => check().catch(() => undefined);
  const guard = createSchemaGuard(driver, observer, recheck);
  let timer: NodeJS.Timeout | undefined;
  let onWrite: (() => void) | undefined;

  const during: During = (...asked) => watched(...asked).catch(guard.explain);
  const performing: Performing = async ({ kind, caller, row }, ask, hasWritten) => {
    const leave = await admission.take(kind, caller, row);
    try {
      // A dry run takes the place of a write, but only reads.
      return await during(ask, hasWritten ? 'write' : 'read', hasWritten);
    } finally {
      leave();
      if (kind === 'write') onWrite?.();
    }
  };
  const observed = createObserved(observer.onStatement, guard.require);
  const parts: Parts = { driver, guard, during, performing, observed, onStatement: observer.onStatement };

  function watchServer(): void {
    if ((driver.lag?.() ?? 0) > MAX_LAG_S) outages.runShort('lag');
    void recheck();
  }

  return {
    ...driver,
    ...createReading(parts),
    ...createWriting(parts),
    snapshot: createSnapshots(parts, admission.take),
    ping: () => watched(() => driver.ping()),
    watch: async (mapped) => {
      guard.watch(mapped);
      if (!driver.dialect.revision.inEachSnapshot) timer = setInterval(watchServer, SCHEMA_CHECK_INTERVAL_MS).unref();
      await check();
    },
    served: guard.served,
    requireUsable: async () => {
      await check();
      await guard.requireAll();
    },
    usageOf: (server) => {
      if (driver.usage === undefined) return [];
      const [pools, waiting, shortages] = [driver.usage(), admission.waiting(), outages.shortages()];
      return [{ server, pools, waiting, shortages, lag: driver.lag?.() }];
    },
    onWrite: (listener) => void (onWrite = listener),
    close: () => {
      clearInterval(timer);
      admission.close();
      return driver.close();
    },
  };
}

type During = <T>(ask: () => Awaitable<T>, of: Purpose, hasWritten?: (result: T) => boolean) => Promise<T>;
type Performing = <T>(
  work: { readonly kind: Kind; readonly caller: Caller; readonly row?: string | undefined },
  ask: () => Awaitable<T>,
  hasWritten?: (result: T) => boolean,
) => Promise<T>;

interface Parts {
  readonly driver: Driver;
  readonly guard: ReturnType<typeof createSchemaGuard>;
  /** Runs work of a request, and explains its failure. */
  readonly during: During;
  /** Waits for admission, then runs the work. */
  readonly performing: Performing;
  readonly observed: Around;
  readonly onStatement: OnStatement | undefined;
}

/** Checks and times each statement. */
const createObserved =
  (onStatement: OnStatement | undefined, require: (statement: Statement) => void): Around =>
  (ask) =>
  (...asked) => {
    const [statement] = asked;
    require(statement);
    if (!onStatement) return ask(...asked);
    const started = performance.now();
    const tell = (): void => onStatement(statement.sql, performance.now() - started);
    const result = ask(...asked);
    if (result instanceof Promise) result.then(tell, tell);
    else tell();
    return result;
  };

const through = (around: Around, { all, get, value, column }: Reader): Reader => ({
  all: around(all),
  get: around(get),
  value: around(value),
  column: around(column),
});

/** Keeps the request's context while its work waits, to log slow statements with that request. */
function inContext<S, T>({ onStatement }: Parts, work: (subject: S) => Awaitable<T>): (subject: S) => Awaitable<T> {
  if (!onStatement) return work;
  const within = AsyncLocalStorage.snapshot();
  return (subject) => within(work, subject);
}

function createReading(parts: Parts) {
  const { driver, guard, during, performing, observed } = parts;
  const reading =
    (
      method: 'read' | 'scan' | 'preview',
      kind: Kind,
      checkOf: (reader: Reader) => Awaitable<void> = () => guard.checkTurn(),
    ): Driver['read'] =>
    <T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean) => {
      const asked = inContext(parts, work);
      const checked = async (reader: Reader): Promise<T> => {
        await checkOf(reader);
        return asked(through(observed, reader));
      };
      return performing({ kind, caller }, () => driver[method](checked, caller, single));
    };
  const read = reading('read', 'read');
  const single = <T>(work: (reader: Reader) => Awaitable<T>): Awaitable<T> => read(work, NO_CLIENT, true);
  const observedValue = observed(driver.value);
  const { inEachSnapshot } = driver.dialect.revision;
  return {
    ...readerOf(async (...asked) => single((reader) => reader.all(...asked))),
    // Returns no promise if the driver does not, which makes GET of one record measurably faster.
    value: (...asked: Parameters<Reader['value']>): ReturnType<Reader['value']> => {
      try {
        if (guard.checkTurn()) return single((reader) => reader.value(...asked));
        const found = observedValue(...asked);
        return found instanceof Promise ? during(() => found, 'read') : found;
      } catch (error) {
        return during(() => Promise.reject(error), 'read');
      }
    },
    read,
    preview: reading('preview', 'write'),
    scan: reading('scan', 'scan', (reader) => (inEachSnapshot ? guard.check(reader) : undefined)),
  };
}

function createWriting(parts: Parts): Pick<Driver, 'write' | 'writeSingle'> {
  const { driver, guard, performing, observed } = parts;
  const { writeSingle } = driver;
  return {
    write: (work, caller = NO_CLIENT, row) => {
      const asked = inContext(parts, work);
      let before: SqlValue | undefined;
      let runs = 0;
      let hasWritten = false;
      const checked: typeof work = async (writer) => {
        runs += 1;
        // On PostgreSQL, the first run needs no check: COMMIT compares the revision; a change repeats the work.
        if (driver.dialect.revision.inEachSnapshot || runs > 1) await guard.check(writer);
        before = guard.revision();
        const run: typeof writer.run = (...changing) => {
          hasWritten = true;
          return writer.run(...changing);
        };
        return asked({ ...through(observed, writer), run: observed(run) });
      };
      const ask = () => driver.write(checked, caller, row, () => before);
      return performing({ kind: 'write', caller, row }, ask, () => hasWritten);
    },
    writeSingle:
      writeSingle &&
      (async (statement, values, caller = NO_CLIENT, row, before = []) => {
        const revision = guard.revision();
        if (typeof revision !== 'string') return undefined;
        for (const one of before) guard.require(one.statement);
        const ask = (): Promise<Row | undefined> =>
          observed(writeSingle)(statement, [...values, revision], caller, row, before);
        return performing({ kind: 'write', caller, row }, ask, (written) => written !== undefined);
      }),
  };
}

type Take = ReturnType<typeof createAdmission>['take'];

function createSnapshots({ driver, guard, during, observed }: Parts, take: Take) {
  async function* texts(opened: Snapshot, ...[statement, values]: Parameters<Snapshot['texts']>) {
    const iterator = opened.texts(statement, values)[Symbol.asyncIterator]();
    const next = observed<[Statement], Promise<IteratorResult<readonly string[]>>>(() =>
      during(() => iterator.next(), 'read'),
    );
    try {
      for (let found = await next(statement); found.done !== true; found = await next(statement)) yield found.value;
    } finally {
      await iterator.return?.();
    }
  }

  return async (caller = NO_CLIENT, heavy?: boolean): Promise<Snapshot> => {
    const leaving = [await take('stream', caller)];
    let opened: Snapshot | undefined;
    const close = async (): Promise<void> => {
      for (const leave of leaving) leave();
      await opened?.close();
    };
    try {
      if (heavy) leaving.push(await take('slowList', caller));
      const found = (opened = await during(() => driver.snapshot(caller, heavy), 'read'));
      await guard.check(found);
      const around: Around = (ask) =>
        observed((...asked) => during(() => ask(...asked), 'read') as ReturnType<typeof ask>);
      return { ...through(around, found), texts: (...asked) => texts(found, ...asked), close };
    } catch (error) {
      await close();
      throw error;
    }
  };
}
