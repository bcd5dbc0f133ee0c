/**
 * A driver that notices when another process changes the tables: requests that they can no longer answer get 503, and a
 * write during which they changed is rolled back. SQLite tells in each snapshot whether its schema changed; on
 * PostgreSQL each write asks before it commits, while its locks keep the tables as they are, and reads notice within a
 * second.
 */
import { setInterval } from 'node:timers';
import { isDeepStrictEqual } from 'node:util';
import { andThen, type Awaitable } from '../awaitable.ts';
import { type Caller, CallerGone, PATIENT } from '../caller.ts';
import { type Model, OPEN_COLUMN } from '../model/model.ts';
import { Problem } from '../problem.ts';
import { StartError } from '../start-error.ts';
import { type AppliedModel, appliedModel, columnsIn, NO_MODEL, readAppliedModel } from './migrate/applied.ts';
import { servedModel } from './migrate/served.ts';
import { type AroundMethod, readerThrough, writerThrough } from './methods.ts';
import { MissingObject, Outdated, unavailable } from './unavailable.ts';
import {
  ConstraintError,
  type Driver,
  Overtaken,
  type Reader,
  type Row,
  type Snapshot,
  type Statement,
  type Values,
  type Writer,
} from './driver.ts';

export interface FittingDriver extends Driver {
  /**
   * From now on, the tables are compared with the model of the descriptors, where the tables have it. `served`: as it is
   * served over them.
   */
  hold(placed: Model, served: Model): Awaitable<void>;
  /** Throws a Problem if some tables can no longer be used. */
  requireFit(): Awaitable<void>;
}

export interface FitObserver {
  /** Called when tables stop, or start again, to fit this service. `narrower`: those that it only reads. */
  readonly onFit?: (unfit: readonly string[], narrower: readonly string[]) => void;
  /** Called with the model as the tables let it be served: at start, and whenever their rules have changed. */
  readonly onServed?: (model: Model) => void;
}

interface Fit {
  /** Tables that the service can no longer use. Additions to other tables do not matter. */
  readonly unfit: readonly string[];
  /** Tables that it can no longer write to: their rules became narrower. */
  readonly narrower: readonly string[];
  /** Whether the tables are those that the service started with. */
  readonly isSame: boolean;
}

/** What the service was started with. */
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

export function fittingDriver(driver: Driver, { onFit, onServed }: FitObserver = {}): FittingDriver {
  const { sql, inEachSnapshot } = driver.dialect.revision;
  const revision: Statement = { sql };
  let held: HeldModel | undefined;
  let known: unknown;
  let fit: Fit = { unfit: [], narrower: [], isSame: true };
  let touching = new WeakMap<Statement, boolean>();
  let names = /$^/;
  let isSure = false;
  let isMissing = false;
  let timer: NodeJS.Timeout | undefined;

  function check(reader: Reader): Awaitable<void> {
    if (held === undefined) return;
    return andThen(reader.value(revision, []), (now) => {
      if (now === known) return;
      return andThen(foundBy(reader), (found) => settle(now, found));
    });
  }

  function settle(now: unknown, found: AppliedModel): void {
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
    serve(held, model);
  }

  function serve(now: HeldModel, model: Model): void {
    const served = appliedModel(model, driver.dialect);
    if (isDeepStrictEqual(served, now.served)) return;
    now.served = served;
    onServed?.(model);
  }

  /** Once per turn of the event loop. */
  function checkTurn(): Awaitable<void> {
    if (isSure || !inEachSnapshot) return;
    isSure = true;
    setImmediate(() => (isSure = false));
    return check(driver);
  }

  function requireUsable(statement: Statement): void {
    const touches = touching.get(statement) ?? names.test(statement.sql);
    touching.set(statement, touches);
    if (touches) throw unavailable('changed');
  }

  const gate: AroundMethod = (ask, statementIn) => (first, second) => {
    if (!isFit()) requireUsable(statementIn(first));
    return ask(first, second);
  };
  const isFit = (): boolean => fit.unfit.length + fit.narrower.length === 0;
  // As long as all tables fit, there is no wrapper.
  const usableReader = (reader: Reader): Reader => (isFit() ? reader : readerThrough(gate, reader));
  const usableWriter = (writer: Writer): Writer => (isFit() ? writer : writerThrough(gate, writer));

  /** An unexpected error may be caused by changed tables. */
  function explain(error: unknown): Awaitable<never> {
    const lacks = error instanceof MissingObject;
    if (error instanceof Problem && error.code === 'missing-privilege') isMissing = true;
    if (held === undefined || (!lacks && EXPECTED.some((kind) => error instanceof kind))) throw error;
    return andThen(looked(), () => {
      isMissing ||= lacks && fit.isSame;
      if (fit.isSame) throw error;
      throw isFit() ? new Outdated(error) : unavailable('changed', error);
    });
  }

  function explained<T>(ask: () => Awaitable<T>): Awaitable<T> {
    try {
      const result = ask();
      return result instanceof Promise ? result.catch(explain) : result;
    } catch (error) {
      return explain(error);
    }
  }

  /** If the database does not answer, nothing is known about the tables. */
  function looked(): Awaitable<void> {
    try {
      const done = driver.read(check, PATIENT);
      return done instanceof Promise ? done.catch(() => undefined) : done;
    } catch {
      return undefined;
    }
  }

  const alone: AroundMethod = (ask, statementIn) => (first, second) =>
    explained(() =>
      andThen(checkTurn(), () => {
        if (!isFit()) requireUsable(statementIn(first));
        return ask(first, second);
      }),
    );

  async function write<T>(work: (writer: Writer) => Awaitable<T>, caller?: Caller, row?: string): Promise<T> {
    const overtaken = async (writer: Writer): Promise<T> => {
      // Where each snapshot tells, nothing changes before the write ends.
      if (inEachSnapshot) await check(writer);
      const before = { fit, served: held?.served };
      const result = await work(usableWriter(writer));
      if (inEachSnapshot) return result;
      await check(writer);
      if (fit !== before.fit && !isFit()) throw unavailable('changed');
      // What the tables want beside the texts must not be missing.
      if (held?.served !== before.served) throw new Overtaken();
      return result;
    };
    try {
      return await driver.write(overtaken, caller, row);
    } catch (error) {
      return explain(error);
    } finally {
      isSure = false;
    }
  }

  /** Before anything is known of the tables, nothing is written in this way. */
  async function writeAlone(
    ask: NonNullable<Driver['writeAlone']>,
    statement: Statement,
    values: Values,
    caller?: Caller,
    row?: string,
  ): Promise<Row | undefined> {
    if (typeof known !== 'string') return undefined;
    if (!isFit()) requireUsable(statement);
    try {
      return await ask(statement, [...values, known], caller, row);
    } catch (error) {
      return explain(error);
    }
  }

  async function snapshot(caller?: Caller, heavy?: boolean): Promise<Snapshot> {
    const opened = await driver.snapshot(caller, heavy);
    try {
      await check(opened);
    } catch (error) {
      await opened.close();
      throw error;
    }
    const texts: Snapshot['texts'] = (statement, values) => {
      if (!isFit()) requireUsable(statement);
      return explainedTexts(opened.texts(statement, values));
    };
    return { ...readerThrough(explaining, usableReader(opened)), texts, close: () => opened.close() };
  }

  const explaining: AroundMethod = (ask) => (first, second) => explained(() => ask(first, second));

  async function* explainedTexts(texts: AsyncIterable<readonly string[]>): AsyncGenerator<readonly string[]> {
    try {
      yield* texts;
    } catch (error) {
      await explain(error);
    }
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
    ...driver,
    ...readerThrough(alone, driver),
    read: (work, caller, single) =>
      explained(() => driver.read((reader) => andThen(checkTurn(), () => work(usableReader(reader))), caller, single)),
    // A scan on SQLite runs in another process, with a snapshot of its own.
    scan: (work, ...how) =>
      explained(() =>
        driver.scan(
          (reader) => andThen(inEachSnapshot ? check(reader) : undefined, () => work(usableReader(reader))),
          ...how,
        ),
      ),
    countsLong: (newest, counted) => {
      // Where tables are looked at in each snapshot, the database answers synchronously.
      void checkTurn();
      if (!isFit()) requireUsable(newest);
      return driver.countsLong(newest, counted);
    },
    write,
    writeAlone: driver.writeAlone && writeAlone.bind(undefined, driver.writeAlone),
    snapshot: (caller, heavy) => explained(() => snapshot(caller, heavy)),
    hold: (placed, served) => {
      held = { placed, served: appliedModel(served, driver.dialect), tables: undefined };
      if (!inEachSnapshot) timer = setInterval(looked, LOOK_MS).unref();
      return driver.read(check, PATIENT);
    },
    requireFit: () =>
      andThen(driver.read(check, PATIENT), () => {
        if (fit.unfit.length > 0) throw unavailable('changed');
        return isMissing ? requireObjects() : undefined;
      }),
    close: () => {
      clearInterval(timer);
      return driver.close();
    },
  };
}

/** A model of a newer engine counts as none. */
function foundBy(reader: Reader): Awaitable<AppliedModel> {
  const unknown = (error: unknown): AppliedModel => {
    if (error instanceof StartError) return NO_MODEL;
    throw error;
  };
  try {
    const found = readAppliedModel(reader);
    return found instanceof Promise ? found.catch(unknown) : found;
  } catch (error) {
    return unknown(error);
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
