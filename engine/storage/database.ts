/**
 * Adds admission, timing and a log of outages to a driver, and checks that the tables still fit: on SQLite in each snapshot,
 * on PostgreSQL before each commit, for reads every SCHEMA_CHECK_INTERVAL_MS.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setInterval } from 'node:timers';
import { isDeepStrictEqual } from 'node:util';
import { type Caller, CallerGone, NO_CLIENT } from '../edge/caller.ts';
import type { SqlValue } from '../field-types/field-type.ts';
import type { Log } from '../log.ts';
import type { Model } from '../model/model.ts';
import { Problem, StartError } from '../problem.ts';
import { columnsOf } from './columns.ts';
import {
  type Around,
  type Awaitable,
  ConstraintError,
  type Driver,
  type Kind,
  Overtaken,
  type Reader,
  readerOf,
  type Row,
  type ServerUsage,
  type Slots,
  type Snapshot,
  type Statement,
} from './driver.ts';
import { type AppliedModel, NO_MODEL, readAppliedModel } from './migrate/applied.ts';
import { servedModel } from './migrate/served.ts';
import { createOutages } from './outages.ts';
import { MissingObject, Outdated, unavailable } from './unavailable.ts';

export interface Database extends Driver {
  /** Sets the model to compare the tables with: the descriptors' model, with the names in the tables. */
  hold(mapped: Model): Promise<void>;
  served(): Model;
  requireFit(): Promise<void>;
  usageOf(server: string): readonly ServerUsage[];
}

export type OnWait = (kind: Kind, milliseconds: number) => void;

export type OnStatement = (sql: string, milliseconds: number) => void;

export interface DatabaseObserver {
  readonly onWait?: OnWait | undefined;
  readonly onStatement?: OnStatement | undefined;
  /** Called when the lists change: `unfit` tables are unusable, `narrower` tables are read-only. */
  readonly onFit?: (unfit: readonly string[], narrower: readonly string[]) => void;
  readonly onServed?: (model: Model) => void;
  readonly log?: Log | undefined;
}

const through = (around: Around, { all, get, value, column }: Reader): Reader => ({
  all: around(all),
  get: around(get),
  value: around(value),
  column: around(column),
});

export function createDatabase(driver: Driver, observer: DatabaseObserver = {}): Database {
  const { onStatement, onWait, log } = observer;
  const { inEachSnapshot } = driver.dialect.revision;
  const admission = createAdmission(driver.slots, onWait);
  const outages = createOutages(driver.address, log, driver.causeOf);
  let timer: NodeJS.Timeout | undefined;

  /** `hasWritten`: whether the work of a write has changed rows, without which it shows no more than a read. */
  async function watched<T>(ask: () => Awaitable<T>, of?: 'read' | 'write', hasWritten = () => true): Promise<T> {
    const began = performance.now();
    try {
      const result = await ask();
      outages.succeeded(began, hasWritten() ? of : 'read');
      return result;
    } catch (error) {
      outages.failed(error, of);
      throw error;
    }
  }

  const check = (): Promise<void> => watched(() => driver.read(fit.check, NO_CLIENT));
  const recheck = (): Promise<void> => check().catch(() => undefined);
  const fit = createFit(driver, observer, recheck);
  const during = <T>(ask: () => Awaitable<T>, of: 'read' | 'write' = 'read', hasWritten?: () => boolean): Promise<T> =>
    watched(ask, of, hasWritten).catch(fit.explain);

  async function perform<T>(
    kind: Kind,
    caller: Caller,
    ask: () => Awaitable<T>,
    row?: string,
    hasWritten?: () => boolean,
  ): Promise<T> {
    const leave = await admission.take(kind, caller, row);
    try {
      return await during(ask, kind === 'write' ? 'write' : 'read', hasWritten);
    } finally {
      leave();
    }
  }

  const observed: Around =
    (ask) =>
    (...asked) => {
      const [statement] = asked;
      fit.requireUsable(statement);
      if (!onStatement) return ask(...asked);
      const started = performance.now();
      const tell = (): void => onStatement(statement.sql, performance.now() - started);
      const result = ask(...asked);
      if (result instanceof Promise) result.then(tell, tell);
      else tell();
      return result;
    };

  /** Keeps the request's context while its work waits, to log slow statements with that request. */
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
        return asked(through(observed, reader));
      };
      return perform(kind, caller, () => driver[kind](checked, caller, single));
    };
  const read = reading('read', () => fit.checkTurn());
  const alone = <T>(work: (reader: Reader) => Awaitable<T>): Awaitable<T> => read(work, NO_CLIENT, true);

  const write: Driver['write'] = (work, caller = NO_CLIENT, row) => {
    const asked = inContext(work);
    let before: SqlValue | undefined;
    let runs = 0;
    let hasWritten = false;
    const checked: typeof work = async (writer) => {
      runs += 1;
      // On PostgreSQL, the first run needs no check: COMMIT compares the revision; a change repeats the work.
      if (inEachSnapshot || runs > 1) await fit.check(writer);
      before = fit.revision();
      const run: typeof writer.run = (...changing) => {
        hasWritten = true;
        return writer.run(...changing);
      };
      return asked({ ...through(observed, writer), run: observed(run) });
    };
    const done = () => hasWritten;
    return perform('write', caller, () => driver.write(checked, caller, row, () => before), row, done);
  };

  async function* texts(opened: Snapshot, ...[statement, values]: Parameters<Snapshot['texts']>) {
    const iterator = opened.texts(statement, values)[Symbol.asyncIterator]();
    const next = observed<[Statement], Promise<IteratorResult<readonly string[]>>>(() => during(() => iterator.next()));
    try {
      for (let found = await next(statement); found.done !== true; found = await next(statement)) yield found.value;
    } finally {
      await iterator.return?.();
    }
  }

  async function snapshot(caller = NO_CLIENT, heavy?: boolean): Promise<Snapshot> {
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
  const observedValue = observed(driver.value);
  return {
    ...driver,
    ...readerOf(async (...asked) => alone((reader) => reader.all(...asked))),
    // Returns no promise if the driver does not, which makes GET of one record measurably faster.
    value: (statement, values) => {
      try {
        if (fit.checkTurn()) return alone((reader) => reader.value(statement, values));
        const found = observedValue(statement, values);
        return found instanceof Promise ? during(() => found) : found;
      } catch (error) {
        return during(() => Promise.reject(error));
      }
    },
    read,
    scan: reading('scan', (reader) => (inEachSnapshot ? fit.check(reader) : undefined)),
    write,
    writeAlone:
      writeAlone &&
      (async (statement, values, caller = NO_CLIENT, row, before = []) => {
        const revision = fit.revision();
        if (typeof revision !== 'string') return undefined;
        for (const one of before) fit.requireUsable(one.statement);
        const ask = observed(writeAlone);
        let written: Row | undefined;
        const work = async (): Promise<Row | undefined> =>
          (written = await ask(statement, [...values, revision], caller, row, before));
        return perform('write', caller, work, row, () => written !== undefined);
      }),
    snapshot,
    ping: () => watched(() => driver.ping()),
    hold: async (mapped) => {
      fit.hold(mapped);
      const watch = (): void => {
        if ((driver.lag?.() ?? 0) > MAX_LAG_S) outages.runShort('lag');
        void recheck();
      };
      if (!inEachSnapshot) timer = setInterval(watch, SCHEMA_CHECK_INTERVAL_MS).unref();
      await check();
    },
    served: fit.served,
    requireFit: async () => {
      await check();
      await fit.requireAll();
    },
    usageOf: (server) =>
      pools === undefined
        ? []
        : [
            {
              server,
              pools: pools(),
              waiting: admission.waiting(),
              shortages: outages.shortages(),
              lag: driver.lag?.(),
            },
          ],
    close: () => {
      clearInterval(timer);
      admission.close();
      return driver.close();
    },
  };
}

// Admission limits each kind of work; further work waits in a bounded queue, where clients take turns.

const TIMED_OUT = { read: 'busy', scan: 'crowded', write: 'busy', stream: 'streaming', slowList: 'crowded' } as const;
/** Maximum waiting requests per client and kind in QUEUED_KINDS; memory limits their sum, connections limit other kinds. */
const MAX_QUEUED_PER_CLIENT = 100;
const QUEUED_KINDS: ReadonlySet<Kind> = new Set(['scan', 'slowList', 'stream']);
const QUEUED_REQUEST_BYTES = 64 * 1024;
/** Running writes per row: one holds the lock, one waits for it; more would only occupy connections. */
const MAX_WRITES_PER_ROW = 2;

interface Work {
  readonly kind: Kind;
  readonly origin: string;
  readonly row: string | undefined;
}

interface Waiting extends Work {
  readonly begin: () => void;
  readonly refuse: (reason: Error) => void;
}

function createAdmission({ most, shared, waitMs }: Slots, onWait?: OnWait) {
  const taken = new Set<Work>();
  const busy: Record<Kind, number> = { read: 0, scan: 0, write: 0, stream: 0, slowList: 0 };
  const queue: Waiting[] = [];
  let closed = false;

  function isFree({ kind, row }: Work): boolean {
    if (busy[kind] >= (most[kind] ?? Infinity)) return false;
    for (const { kinds, most: all } of shared)
      if (kinds.includes(kind) && kinds.reduce((sum, one) => sum + busy[one], 0) >= all) return false;
    if (row === undefined || most.write === undefined) return true;
    return [...taken].filter((work) => work.row === row).length < MAX_WRITES_PER_ROW;
  }

  function enter(work: Work): () => void {
    taken.add(work);
    busy[work.kind] += 1;
    return () => {
      if (!taken.delete(work)) return;
      busy[work.kind] -= 1;
      if (queue.length > 0) next()?.begin();
    };
  }

  /** The first runnable work of a client that has none running, else the first runnable work. */
  function next(): Waiting | undefined {
    const served = new Set([...taken].map(({ origin }) => origin));
    const able = queue.filter(isFree);
    return able.find(({ origin }) => !served.has(origin)) ?? able[0];
  }

  function wait(work: Work, caller: Caller): Promise<() => void> {
    const { kind, origin } = work;
    if (QUEUED_KINDS.has(kind)) {
      const own = queue.filter((waiting) => waiting.kind === kind && waiting.origin === origin);
      if (own.length >= MAX_QUEUED_PER_CLIENT) throw unavailable(TIMED_OUT[kind]);
      caller.take(QUEUED_REQUEST_BYTES);
    }
    return new Promise((resolve, reject) => {
      const began = performance.now();
      const settle = (outcome: () => void): void => {
        clearTimeout(timer);
        stop();
        queue.splice(queue.indexOf(waiting), 1);
        onWait?.(kind, performance.now() - began);
        outcome();
      };
      const waiting: Waiting = {
        ...work,
        begin: () => settle(() => resolve(enter(work))),
        refuse: (reason) => settle(() => reject(reason)),
      };
      const limit = waitMs(kind);
      const timer =
        limit === Infinity ? undefined : setTimeout(() => waiting.refuse(unavailable(TIMED_OUT[kind])), limit);
      queue.push(waiting);
      const stop = caller.onGone(() => waiting.refuse(new CallerGone()));
    });
  }

  const countOf = (kind: Kind): number => queue.filter((waiting) => waiting.kind === kind).length;
  return {
    take: async (kind: Kind, caller: Caller, row?: string): Promise<() => void> => {
      if (caller.isGone) throw new CallerGone();
      if (closed) throw unavailable('stopping');
      const work: Work = { kind, origin: caller.origin, row };
      if (!isFree(work) || (queue.length > 0 && next() !== undefined)) return wait(work, caller);
      onWait?.(kind, 0);
      return enter(work);
    },
    waiting: (): ServerUsage['waiting'] => ({
      read: countOf('read'),
      scan: countOf('scan'),
      write: countOf('write'),
      stream: countOf('stream'),
    }),
    close: (): void => {
      closed = true;
      while (queue.length > 0) queue[0]?.refuse(unavailable('stopping'));
    },
  };
}

const CHANGES = ['insert into ', 'update ', 'delete from '];
const EXPECTED = [Problem, ConstraintError, CallerGone, Overtaken];
export const SCHEMA_CHECK_INTERVAL_MS = 1000;
/** A long transaction on the primary holds up a replica for moments. */
const MAX_LAG_S = 5;

function createFit(driver: Driver, { onFit, onServed }: DatabaseObserver, recheck: () => Promise<void>) {
  const { quote, name: dialect, revision } = driver.dialect;
  const current: Statement = { sql: revision.sql };
  let mapped: Model | undefined;
  let served: Model | undefined;
  let atStart: AppliedModel | undefined;
  let known: SqlValue | undefined;
  let misfits: ReturnType<typeof servedModel>['misfits'] = [];
  let isSame = true;
  let isSure = false;
  /** Whether a request lacked a table, column or privilege. */
  let isMissing = false;

  const misfitting = (isReadable: boolean): readonly string[] => [
    ...new Set(misfits.flatMap((misfit) => (misfit.isReadable === isReadable ? misfit.table : []))),
  ];

  function check(reader: Reader): Awaitable<void> {
    if (mapped === undefined) return;
    const changed = (now: SqlValue | undefined): Awaitable<void> => (now === known ? undefined : renew(now, reader));
    const now = reader.value(current, []);
    return now instanceof Promise ? now.then(changed) : changed(now);
  }

  async function renew(now: SqlValue | undefined, reader: Reader): Promise<void> {
    // A newer engine's model is unreadable, and counts as none.
    const tables = await readAppliedModel(reader).catch((error: unknown) => {
      if (error instanceof StartError) return NO_MODEL;
      throw error;
    });
    if (mapped === undefined) return;
    const before = [misfitting(false), misfitting(true)];
    known = now;
    ({ model: served, misfits } = servedModel(mapped, tables));
    const [unfit, narrower] = [misfitting(false), misfitting(true)];
    atStart ??= tables;
    isSame = isDeepStrictEqual(atStart, tables);
    if (!isDeepStrictEqual(before, [unfit, narrower])) onFit?.(unfit, narrower);
    onServed?.(served);
  }

  /** Throws if a table or column is missing. Called only after a request lacked one: migration locks block it. */
  async function requireObjects({ types, joinTables }: Model): Promise<void> {
    const tables = [
      ...[...types.values()].map((type) => [
        type.table,
        type.identifier.column,
        ...columnsOf(type, dialect).map(({ name }) => name),
      ]),
      ...joinTables.map(({ name, left, right }) => [name, left.column, right.column]),
    ];
    for (const [table = '', ...columns] of tables)
      await driver.all({ sql: `select ${columns.map(quote).join()} from ${quote(table)} limit 0` }, []);
    isMissing = false;
  }

  return {
    check,
    /** On SQLite, checks once per turn of the event loop; undefined if there is nothing to await. */
    checkTurn: (): Promise<void> | undefined => {
      if (isSure || !revision.inEachSnapshot) return undefined;
      isSure = true;
      setImmediate(() => (isSure = false));
      const checked = check(driver);
      return checked instanceof Promise ? checked : undefined;
    },
    requireUsable: ({ sql: text }: Statement): void => {
      for (const { table, isReadable } of misfits)
        if ((isReadable ? CHANGES : ['']).some((change) => text.includes(change + quote(table))))
          throw unavailable('changed');
    },
    revision: (): SqlValue | undefined => known,
    /** Throws a Problem if changed tables may be the cause, else the error. */
    explain: async (error: unknown): Promise<never> => {
      const lacks = error instanceof MissingObject;
      if (error instanceof Problem && error.code === 'missing-privilege') isMissing = true;
      // A newer version may have narrowed a column while the statement waited for its table.
      const isRefused = error instanceof Problem && error.code === 'refused-by-database';
      if (mapped === undefined || (!lacks && !isRefused && EXPECTED.some((kind) => error instanceof kind))) throw error;
      await recheck();
      isMissing ||= lacks && isSame;
      if (isSame || (isRefused && misfits.length === 0)) throw error;
      throw misfits.length > 0 ? unavailable('changed', error) : new Outdated(error);
    },
    hold: (model: Model): void => void (mapped = model),
    served: (): Model => {
      if (served === undefined) throw new Error('the tables have not been read yet');
      return served;
    },
    requireAll: async (): Promise<void> => {
      if (misfitting(false).length > 0) throw unavailable('changed');
      if (isMissing && served) await requireObjects(served);
    },
  };
}
