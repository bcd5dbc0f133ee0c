/**
 * Keeps an instance from using tables that a newer version has changed: compares the applied model with its own whenever
 * the tables' revision has changed.
 */
import { isDeepStrictEqual } from 'node:util';
import { CallerGone } from '../edge/caller.ts';
import { codeOf } from '../files.ts';
import type { SqlValue } from '../field-types/field-type.ts';
import type { Model } from '../model/model.ts';
import { innermost, Problem, StartError } from '../problem.ts';
import { type Awaitable, ConstraintError, type Driver, Overtaken, type Reader, type Statement } from './driver.ts';
import { type AppliedModel, NO_MODEL, readAppliedModel } from './migrate/applied.ts';
import { formatDrift } from './migrate/assess.ts';
import { driftOf, ownTables, readCatalogue } from './migrate/catalogue.ts';
import { servedModel } from './migrate/served.ts';
import { MissingObject, unavailable } from './unavailable.ts';

export interface SchemaObserver {
  /** Called when the lists change: requests cannot use the `unusable` tables, and only read the `readOnly` ones. */
  readonly onUnusable?: (unusable: readonly string[], readOnly: readonly string[]) => void;
  readonly onServed?: (model: Model) => void;
}

const EXPECTED = [Problem, ConstraintError, CallerGone, Overtaken];
const NONE: ReadonlySet<string> = new Set();

/** `recheck`: runs `check`, and ignores its errors. */
export function createSchemaGuard(
  driver: Driver,
  { onUnusable, onServed }: SchemaObserver,
  recheck: () => Promise<void>,
) {
  const { revision } = driver.dialect;
  const current: Statement = { sql: revision.sql };
  let mapped: Model | undefined;
  let served: Model | undefined;
  let atStart: AppliedModel | undefined;
  let applied = NO_MODEL;
  let known: SqlValue | undefined;
  let [unusable, readOnly] = [NONE, NONE];
  let isSame = true;
  let isSure = false;
  let checking: Promise<void> | undefined;
  let hasFailed = false;

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
    const before = [unusable, readOnly];
    const { model, incompatible } = servedModel(mapped, tables);
    const tablesThat = (isReadable: boolean): ReadonlySet<string> =>
      new Set(incompatible.flatMap((one) => (one.isReadable === isReadable ? one.table : [])));
    [known, applied, served, unusable, readOnly] = [now, tables, model, tablesThat(false), tablesThat(true)];
    atStart ??= tables;
    isSame = isDeepStrictEqual(atStart, tables);
    if (!isDeepStrictEqual(before, [unusable, readOnly])) onUnusable?.([...unusable], [...readOnly]);
    onServed?.(model);
  }

  return {
    check,
    /** On SQLite, checks once per turn of the event loop; undefined if there is nothing to await. */
    checkTurn: (): Promise<void> | undefined => {
      if (checking || isSure || !revision.inEachSnapshot) return checking;
      isSure = true;
      setImmediate(() => (isSure = false));
      const checked = check(driver);
      if (checked instanceof Promise) checking = checked.finally(() => (checking = undefined));
      return checking;
    },
    require: ({ reads = [], writes = [] }: Statement): void => {
      if (unusable.size + readOnly.size === 0) return;
      const isRefused =
        reads.some((table) => unusable.has(table)) ||
        writes.some((table) => unusable.has(table) || readOnly.has(table));
      if (isRefused) throw unavailable('changed');
    },
    revision: (): SqlValue | undefined => known,
    /** Throws a Problem if changed tables may be the cause, else the error. */
    explain: async (error: unknown): Promise<never> => {
      const lacks = error instanceof MissingObject;
      if (error instanceof Problem && error.code === 'missing-privilege') hasFailed = true;
      // A newer version may have narrowed a column while the statement waited for its table.
      const isRefused = error instanceof Problem && error.code === 'refused-by-database';
      if (mapped === undefined || (!lacks && !isRefused && EXPECTED.some((kind) => error instanceof kind))) throw error;
      await recheck();
      // Others may have changed the type of a column.
      const isMistyped = driver.dialect.mistyped?.test(codeOf(innermost(error))) === true;
      const mayBeDrift = isSame && (!isRefused || isMistyped);
      hasFailed ||= mayBeDrift;
      if (mayBeDrift && !lacks) await requireTables(driver, applied);
      const isChanged = unusable.size + readOnly.size > 0;
      if (isSame || (isRefused && !isChanged)) throw error;
      throw unavailable(isChanged ? 'changed' : 'outdated', error);
    },
    /** Sets the model to compare the tables with: the descriptors' model, with the names in the tables. */
    watch: (model: Model): void => void (mapped = model),
    served: (): Model => {
      if (served === undefined) throw new Error('the tables have not been read yet');
      return served;
    },
    requireAll: async (): Promise<void> => {
      if (unusable.size > 0) throw unavailable('changed');
      if (hasFailed) await requireTables(driver, applied);
      hasFailed = false;
    },
  };
}

/**
 * Throws if a table, a column or an index is not as the engine left it, or may not be read. Called only after a request
 * failed: migration locks block it.
 */
async function requireTables(driver: Driver, applied: AppliedModel): Promise<void> {
  const { quote } = driver.dialect;
  for (const { table, columns } of ownTables(applied)) {
    const names = columns.map(([column]) => quote(column)).join();
    await driver.all({ sql: `select ${names} from ${quote(table)} limit 0` }, []);
  }
  const drift = driftOf(applied, await readCatalogue(driver), driver.dialect);
  if (drift.length > 0) throw new MissingObject(new Error(formatDrift(drift)));
}
