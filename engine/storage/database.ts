/**
 * A driver with what surrounds every statement: its time, the outages of the database in the log, and whether the tables
 * are still those that this service knows. Requests that changed tables can no longer answer get 503, and a write during
 * which they changed is rolled back. SQLite tells in each snapshot whether its schema changed; on PostgreSQL each write
 * asks before it commits, while its locks keep the tables as they are, and reads notice within a second.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setInterval } from 'node:timers';
import { isDeepStrictEqual } from 'node:util';
import { type Caller, CallerGone, PATIENT } from '../edge/caller.ts';
import type { SqlValue } from '../field-types/field-type.ts';
import type { Log } from '../log.ts';
import { type Model, OPEN_COLUMN } from '../model/model.ts';
import { Problem, StartError } from '../problem.ts';
import { createAdmission, type Kind, type OnWait } from './admission.ts';
import {
  type Awaitable,
  ConstraintError,
  type Driver,
  type OnRow,
  Overtaken,
  type Reader,
  type ServerUsage,
  type Snapshot,
  type Statement,
  type Writer,
} from './driver.ts';
import { type AppliedModel, appliedModel, columnsIn, NO_MODEL, readAppliedModel } from './migrate/applied.ts';
import { servedModel } from './migrate/served.ts';
import { stateOf } from './postgres/errors.ts';
import { isOutage, MissingObject, Outdated, unavailable } from './unavailable.ts';

export interface Database extends Driver {
  /**
   * From now on, the tables are compared with the model of the descriptors, where the tables have it. `served`: as it is
   * served over them.
   */
  hold(placed: Model, served: Model): Promise<void>;
  /** Throws a Problem if some tables can no longer be used. */
  requireFit(): Promise<void>;
  /** How connections to the server are used; empty if there is no server. */
  usageOf(server: string): readonly ServerUsage[];
}

export type OnStatement = (sql: string, milliseconds: number) => void;

export interface FitObserver {
  /** Called when tables stop, or start again, to fit this service. `narrower`: those that it only reads. */
  readonly onFit?: (unfit: readonly string[], narrower: readonly string[]) => void;
  /** Called with the model as the tables let it be served: at start, and whenever their rules have changed. */
  readonly onServed?: (model: Model) => void;
}

export interface DatabaseObserver extends FitObserver {
  /** Called with how long each piece of work has waited to be admitted. */
  readonly onWait?: OnWait | undefined;
  readonly onStatement?: OnStatement | undefined;
  /** Gets a line when the database fails as a whole, and one when that is over. */
  readonly log?: Log | undefined;
}

interface During {
  readonly ofWrite?: boolean;
  /** Whether it is for a request. */
  readonly counts?: boolean;
}

/** Wraps a method that runs one statement. */
type Around = <V, O, T>(
  ask: (statement: Statement, values: V, onRow?: OnRow<O>) => T,
) => (statement: Statement, values: V, onRow?: OnRow<O>) => T;

const through = (around: Around, { all, get, value, column }: Reader): Reader => ({
  all: around(all),
  get: around(get),
  value: around(value),
  column: around(column),
});

export function createDatabase(driver: Driver, observer: DatabaseObserver = {}): Database {
  const { onStatement, onWait, log } = observer;
  const admission = createAdmission(driver.slots, onWait);
  const { inEachSnapshot } = driver.dialect.revision;
  const outages = createOutages(driver.address, log);
  let timer: NodeJS.Timeout | undefined;

  async function watched<T>(ask: () => Awaitable<T>, how: During = {}): Promise<T> {
    const before = outages.failures();
    try {
      const result = await ask();
      outages.succeeded(how.ofWrite ?? false, before);
      return result;
    } catch (error) {
      outages.failed(error, how);
      throw error;
    }
  }

  const check = (): Promise<void> => watched(() => driver.read(fit.check, PATIENT), { counts: false });
  /** If the database does not answer, nothing is known about the tables. */
  const look = (): Promise<void> => check().catch(() => undefined);
  const fit = createFit(driver, observer, look);
  const during = <T>(ask: () => Awaitable<T>, how?: During): Promise<T> => watched(ask, how).catch(fit.explain);

  /** All work of requests passes here once, before its statements. */
  async function perform<T>(kind: Kind, caller: Caller, ask: () => Awaitable<T>, row?: string): Promise<T> {
    const leave = await admission.take(kind, caller, row);
    try {
      return await during(ask, { ofWrite: kind === 'write', counts: caller !== PATIENT });
    } finally {
      leave();
    }
  }

  /** Every statement passes here once. */
  const observed: Around = (ask) => (statement, values, onRow) => {
    fit.requireUsable(statement);
    if (!onStatement) return ask(statement, values, onRow);
    const started = performance.now();
    const tell = (): void => onStatement(statement.sql, performance.now() - started);
    const result = ask(statement, values, onRow);
    if (result instanceof Promise) result.then(tell, tell);
    else tell();
    return result;
  };
  const isPlain = (): boolean => onStatement === undefined && fit.isFit();
  const observedReader = (reader: Reader): Reader => (isPlain() ? reader : through(observed, reader));
  const observedWriter = (writer: Writer): Writer =>
    isPlain() ? writer : { ...through(observed, writer), run: observed(writer.run) };
  const observedValue = observed(driver.value);

  /** Work that waits in a queue runs with the request that asked for it, and not with the one before it in the queue. */
  const inContext = <S, T>(work: (subject: S) => Awaitable<T>): ((subject: S) => Awaitable<T>) => {
    if (!onStatement) return work;
    const within = AsyncLocalStorage.snapshot();
    return (subject) => within(work, subject);
  };

  const reading =
    (kind: 'read' | 'scan', checkOf: (reader: Reader) => Awaitable<void>): Driver['read'] =>
    <T>(work: (reader: Reader) => Awaitable<T>, caller: Caller, single?: boolean) => {
      const asked = inContext(work);
      const checked = async (reader: Reader): Promise<T> => {
        await checkOf(reader);
        return asked(observedReader(reader));
      };
      return perform(kind, caller, () => driver[kind](checked, caller, single));
    };
  const read = reading('read', () => fit.checkTurn());
  const alone = <T>(work: (reader: Reader) => Awaitable<T>): Awaitable<T> => read(work, PATIENT, true);

  async function write<T>(work: (writer: Writer) => Awaitable<T>, caller: Caller = PATIENT, row?: string): Promise<T> {
    const asked = inContext(work);
    let before: SqlValue | undefined;
    let isFirst = true;
    const checked = async (writer: Writer): Promise<T> => {
      // Where each snapshot tells, nothing changes before the write ends; elsewhere, it may have changed if it runs again.
      if (inEachSnapshot || !isFirst) await fit.check(writer);
      isFirst = false;
      before = fit.revision();
      return asked(observedWriter(writer));
    };
    try {
      return await perform('write', caller, () => driver.write(checked, caller, row, () => before), row);
    } finally {
      fit.expire();
    }
  }

  async function* texts(opened: Snapshot, ...[statement, values]: Parameters<Snapshot['texts']>): ReturnType<Texts> {
    fit.requireUsable(statement);
    const iterator = opened.texts(statement, values)[Symbol.asyncIterator]();
    // Without the time in which the client reads.
    let milliseconds = 0;
    try {
      for (;;) {
        const started = performance.now();
        const found = await during(() => iterator.next()).finally(() => (milliseconds += performance.now() - started));
        if (found.done === true) return;
        yield found.value;
      }
    } finally {
      onStatement?.(statement.sql, milliseconds);
      await iterator.return?.();
    }
  }

  async function snapshot(caller = PATIENT, heavy?: boolean): Promise<Snapshot> {
    const leaving = [await admission.take('stream', caller)];
    let opened: Snapshot | undefined;
    const close = async (): Promise<void> => {
      for (const leave of leaving) leave();
      await opened?.close();
    };
    try {
      if (heavy) leaving.push(await admission.take('slowList', caller));
      const found = (opened = await during(() => driver.snapshot(caller, heavy)));
      await fit.check(found);
      const around: Around = (ask) => observed((...asked) => during(() => ask(...asked)) as ReturnType<typeof ask>);
      return { ...through(around, found), texts: (...asked) => texts(found, ...asked), close };
    } catch (error) {
      await close();
      throw error;
    }
  }

  const { writeAlone, usage: pools } = driver;
  return {
    ...driver,
    all: (...asked) => alone((reader) => reader.all(...asked)),
    get: (...asked) => alone((reader) => reader.get(...asked)),
    column: (...asked) => alone((reader) => reader.column(...asked)),
    // The one method that answers without a promise, where the driver does: it reads single records.
    value: (statement, values) => {
      if (fit.checkTurn()) return alone((reader) => reader.value(statement, values));
      const before = outages.failures();
      try {
        const found = observedValue(statement, values);
        if (found instanceof Promise) return during(() => found);
        outages.succeeded(false, before);
        return found;
      } catch (error) {
        return during(() => Promise.reject(error));
      }
    },
    read,
    // On SQLite, it runs in another process, with a snapshot of its own.
    scan: reading('scan', (reader) => (inEachSnapshot ? fit.check(reader) : undefined)),
    write,
    writeAlone:
      writeAlone &&
      (async (statement, values, caller = PATIENT, row) => {
        const revision = fit.revision();
        // Before anything is known of the tables, nothing is written in this way.
        if (typeof revision !== 'string') return undefined;
        const ask = observed((asked, bound: typeof values) => writeAlone(asked, bound, caller, row));
        return perform('write', caller, () => ask(statement, [...values, revision]), row);
      }),
    snapshot,
    ping: () => watched(() => driver.ping(), { counts: false }),
    hold: async (placed, served) => {
      fit.hold(placed, served);
      if (!inEachSnapshot) timer = setInterval(look, LOOK_MS).unref();
      await check();
    },
    requireFit: async () => {
      await check();
      await fit.requireAll();
    },
    usageOf: (server) => (pools === undefined ? [] : [{ server, pools: pools(), waiting: admission.waiting() }]),
    close: () => {
      clearInterval(timer);
      admission.close();
      return driver.close();
    },
  };
}

type Texts = (...asked: Parameters<Snapshot['texts']>) => AsyncGenerator<readonly string[]>;

// Whether the tables fit what this service was started with.

interface Fit {
  /** Tables that the service can no longer use. Additions to other tables do not matter. */
  readonly unfit: readonly string[];
  /** Tables that it can no longer write to: their rules became narrower. */
  readonly narrower: readonly string[];
  /** Whether the tables are those that the service started with. */
  readonly isSame: boolean;
}

interface HeldModel {
  /** The model of the descriptors, where the tables have it. */
  readonly placed: Model;
  /** What of the served model the tables decide. */
  served: AppliedModel;
  tables: AppliedModel | undefined;
}

const EXPECTED = [Problem, ConstraintError, CallerGone, Overtaken];
/** Milliseconds between two looks where not every snapshot tells. */
export const LOOK_MS = 1000;

/** `look`: looks whether the tables have changed. */
function createFit(driver: Driver, { onFit, onServed }: FitObserver, look: () => Promise<void>) {
  const { sql, inEachSnapshot } = driver.dialect.revision;
  const revision: Statement = { sql };
  let held: HeldModel | undefined;
  let known: SqlValue | undefined;
  let fit: Fit = { unfit: [], narrower: [], isSame: true };
  let touching = new WeakMap<Statement, boolean>();
  let names = /$^/;
  let isSure = false;
  let isMissing = false;
  const isFit = (): boolean => fit.unfit.length + fit.narrower.length === 0;

  /** Looks whether the tables have changed. */
  function check(reader: Reader): Awaitable<void> {
    if (held === undefined) return;
    const changed = (now: SqlValue | undefined): Awaitable<void> => (now === known ? undefined : renew(now, reader));
    const now = reader.value(revision, []);
    return now instanceof Promise ? now.then(changed) : changed(now);
  }

  async function renew(now: SqlValue | undefined, reader: Reader): Promise<void> {
    const found = await foundBy(reader);
    if (held === undefined) return;
    const before = fit;
    const { model, misfits } = servedModel(held.placed, found);
    known = now;
    held.tables ??= found;
    const tablesOf = (isNarrower: boolean): readonly string[] => [
      ...new Set(misfits.flatMap(({ table, isReadable }) => (isReadable === isNarrower ? table : []))),
    ];
    fit = { unfit: tablesOf(false), narrower: tablesOf(true), isSame: isDeepStrictEqual(held.tables, found) };
    touching = new WeakMap();
    names = namesOf(fit);
    if (!isDeepStrictEqual([before.unfit, before.narrower], [fit.unfit, fit.narrower]))
      onFit?.(fit.unfit, fit.narrower);
    const served = appliedModel(model, driver.dialect);
    if (isDeepStrictEqual(served, held.served)) return;
    held.served = served;
    onServed?.(model);
  }

  /** Only after a request has missed one: a table that a migration has locked would keep probes waiting. */
  async function requireObjects(): Promise<void> {
    const { types, joins } = held?.served ?? NO_MODEL;
    const columns = [
      ...Object.values(types).map(
        (type) => [type.table, columnsIn(type).filter((name) => name !== OPEN_COLUMN)] as const,
      ),
      ...joins.map(({ table, left, right }) => [table, [left.column, right.column]] as const),
    ];
    const { quote } = driver.dialect;
    for (const [table, wanted] of columns)
      await driver.all({ sql: `select ${wanted.map(quote).join()} from ${quote(table)} limit 0` }, []);
    isMissing = false;
  }

  return {
    check,
    /** The same once per turn of the event loop, where that is cheap; undefined if nothing has to be awaited. */
    checkTurn: (): Promise<void> | undefined => {
      if (isSure || !inEachSnapshot) return undefined;
      isSure = true;
      setImmediate(() => (isSure = false));
      const checked = check(driver);
      return checked instanceof Promise ? checked : undefined;
    },
    /** The next request looks again. */
    expire: (): void => void (isSure = false),
    isFit,
    /** Throws a Problem if the statement touches a table that can no longer be used. */
    requireUsable: (statement: Statement): void => {
      if (isFit()) return;
      const touches = touching.get(statement) ?? names.test(statement.sql);
      touching.set(statement, touches);
      if (touches) throw unavailable('changed');
    },
    revision: (): SqlValue | undefined => known,
    /** An unexpected error may be caused by changed tables. */
    explain: async (error: unknown): Promise<never> => {
      const lacks = error instanceof MissingObject;
      if (error instanceof Problem && error.code === 'missing-privilege') isMissing = true;
      if (held === undefined || (!lacks && EXPECTED.some((kind) => error instanceof kind))) throw error;
      await look();
      isMissing ||= lacks && fit.isSame;
      if (fit.isSame) throw error;
      throw isFit() ? new Outdated(error) : unavailable('changed', error);
    },
    hold: (placed: Model, served: Model): void => {
      held = { placed, served: appliedModel(served, driver.dialect), tables: undefined };
    },
    /** Throws a Problem if a table cannot be used, or is missing. */
    requireAll: async (): Promise<void> => {
      if (fit.unfit.length > 0) throw unavailable('changed');
      if (isMissing) await requireObjects();
    },
  };
}

/** A model of a newer engine counts as none. */
async function foundBy(reader: Reader): Promise<AppliedModel> {
  try {
    return await readAppliedModel(reader);
  } catch (error) {
    if (error instanceof StartError) return NO_MODEL;
    throw error;
  }
}

/** Tables as statements name them, letters, digits and underscores in quotes; the narrower ones where they are changed. */
const namesOf = ({ unfit, narrower }: Fit): RegExp =>
  new RegExp(
    [
      ...(unfit.length === 0 ? [] : [`["\`](?:${unfit.join('|')})["\`]`]),
      ...(narrower.length === 0 ? [] : [`(?:insert into|update|delete from) ["\`](?:${narrower.join('|')})["\`]`]),
    ].join('|') || '$^',
    'u',
  );

// What an operator is told of a database that fails as a whole: one line when it begins, and one when it is over.

interface Outages {
  /** How often the database failed: work that began before the last failure does not show that it works again. */
  failures(): number;
  failed(error: unknown, how: During): void;
  succeeded(ofWrite: boolean, before: number): void;
}

function createOutages(database: string, log: Log | undefined): Outages {
  /** `ofWrite`: found by a write, so that only a write shows that it is over. */
  let outage: { readonly since: number; readonly ofWrite: boolean; requests: number } | undefined;
  let failures = 0;
  return {
    failures: () => failures,
    failed: (error, { ofWrite = false, counts = true }) => {
      if (!log || !isOutage(error)) return;
      failures += 1;
      if (outage === undefined) {
        outage = { since: performance.now(), ofWrite: ofWrite && error.code === 'storage-full', requests: 0 };
        log.error(
          { database, problem: error.code, cause: lastCause(error) },
          error.message.replace(/; try again$/, ''),
        );
      }
      if (counts) outage.requests += 1;
    },
    succeeded: (ofWrite, before) => {
      if (outage === undefined || before !== failures || (outage.ofWrite && !ofWrite)) return;
      const milliseconds = Math.round(performance.now() - outage.since);
      log?.info({ database, failedRequests: outage.requests, milliseconds }, 'the database works again');
      outage = undefined;
    },
  };
}

/** Milliseconds in which lost connections are counted before they are logged. */
const GATHER = 1000;

/** Logs connections that a server has closed, though nothing may have failed because of it. */
export function lostConnections(database: string, log: Log): (error: unknown) => void {
  let connections = 0;
  return (error) => {
    connections += 1;
    if (connections > 1) return;
    const tell = (): void => {
      log.warn({ database, connections, cause: lastCause(error) }, 'the database closed connections');
      connections = 0;
    };
    setTimeout(tell, GATHER).unref();
  };
}

/** Without values of records. */
function lastCause(error: unknown): string {
  let cause = error;
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause;
  return stateOf(cause);
}
