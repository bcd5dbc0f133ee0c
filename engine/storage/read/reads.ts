/** Reads of records: each returns JSON text that the database puts together, from one snapshot. */
import { type Caller, PATIENT } from '../../edge/caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { createShapeCache, memoized } from '../../memo.ts';
import { isPageTooLong, manyTooLong } from '../../problem.ts';
import { identifiedBy } from '../../query/filters.ts';
import type { ListQuery, View } from '../../query/list-query.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Reader, Statement, Values } from '../driver.ts';
import type { Store } from '../store.ts';
import { unavailable } from '../unavailable.ts';
import { compileList, isHeavy, shapeOf } from './lists.ts';
import {
  type BoundList,
  chargedRecord,
  charging,
  isSingle,
  type KnownTotal,
  readPage,
  readTotal,
  readWhole,
} from './pages.ts';
import { createSummaries } from './summaries.ts';
import {
  createDeepLimit,
  createFindViewRows,
  createWeigh,
  type DeepLimit,
  type FindViewRows,
  isMarked,
  limitedJson,
  markedAmong,
  type Weigh,
} from './view-limits.ts';
import { ROOT_ALIAS } from './views.ts';

export interface Reads extends Pick<Store, 'get' | 'page' | 'stream' | 'summary' | 'count'> {
  /** The record as JSON text, as this reader sees it. */
  record(reader: Reader, view: View, identifier: number, caller?: Caller): Promise<string | undefined>;
  /** The same for many, in this order. They must be there. */
  records(
    reader: Reader,
    view: View,
    identifiers: readonly number[],
    caller?: Caller,
  ): Promise<readonly (string | undefined)[]>;
  readonly shown: FindViewRows;
  /** The identifiers that a query finds, up to its limit. */
  found(query: ListQuery, caller?: Caller): Promise<readonly number[]>;
  /** Those of some identifiers, as this reader sees them. */
  among(reader: Reader, query: ListQuery, identifiers: readonly number[]): Promise<readonly number[]>;
}

/** The texts of records; a record that shows too much is only a mark. */
interface CompiledView {
  readonly record: Statement;
  readonly limit: DeepLimit | undefined;
  /** Many records. Bound: JSON array of identifiers. */
  readonly some: Statement;
  readonly limitOfSome: DeepLimit | undefined;
  readonly weigh: Weigh;
}

function compileView(view: View, dialect: Dialect): CompiledView {
  const column = `${ROOT_ALIAS}.${dialect.quote(view.type.identifier.column)}`;
  const select = `select ${limitedJson(view, dialect)} from ${dialect.quote(view.type.table)} as ${ROOT_ALIAS} where ${column}`;
  return {
    record: { sql: `${select} = ?` },
    limit: createDeepLimit(view, { sql: 'select cast(? as bigint)' }, dialect),
    // As a subselect of each: the database would not always find them by their identifiers.
    some: { sql: `select (${select} = listed$.value) from ${dialect.listed} order by listed$.key` },
    limitOfSome: createDeepLimit(view, { sql: `select value from ${dialect.listed}` }, dialect),
    weigh: createWeigh(view, dialect),
  };
}

export function createReads(driver: Driver): Reads {
  const { dialect } = driver;
  const views = createShapeCache((view: View) => compileView(view, dialect));
  const lists = createShapeCache((query: ListQuery) => compileList(query, dialect));
  const viewOf = memoized((view: View): CompiledView => views(`${view.type.statementKey}|${view.key}`, view));
  const boundOf = memoized((query: ListQuery): BoundList & { readonly isHeavy: boolean } => {
    const list = lists(shapeOf(query), query);
    const [values, filterValues] = [list.values(query), list.filterValues(query)];
    return { query, list, values, filterValues, isHeavy: isHeavy(query) };
  });
  const totals = rememberedTotals(driver.version);

  /** Whether counting takes so long that it must not be done between the requests. */
  const countsLong = async ({ list }: BoundList): Promise<boolean> =>
    driver.mostCounted < Infinity && Number(await driver.value(list.newest, [])) > driver.mostCounted;

  async function record(reader: Reader, view: View, identifier: number, caller = PATIENT): Promise<string | undefined> {
    const { record: statement, limit } = viewOf(view);
    await limit?.(reader, view, [identifier]);
    const text = (await reader.value(statement, [identifier])) as string | undefined;
    if (text !== undefined) await refuseMarked(reader, view, [text]);
    return chargedRecord(text, caller);
  }

  async function refuseMarked(reader: Reader, view: View, texts: readonly string[]): Promise<void> {
    const marked = markedAmong(texts);
    if (marked === undefined) return;
    await viewOf(view).weigh(reader, view, marked);
    // It has changed since it was read.
    throw unavailable('busy');
  }

  async function records(
    reader: Reader,
    view: View,
    wanted: readonly number[],
    caller = PATIENT,
  ): Promise<readonly (string | undefined)[]> {
    const [only] = wanted;
    if (wanted.length < 2) return only === undefined ? [] : [await record(reader, view, only, caller)];
    const { some, limitOfSome } = viewOf(view);
    const values = [JSON.stringify(wanted)];
    await limitOfSome?.(reader, view, values);
    try {
      const texts = (await reader.column(some, values, charging(caller))) as readonly string[];
      await refuseMarked(reader, view, texts);
      return texts;
    } catch (error) {
      throw isPageTooLong(error) ? manyTooLong(caller.most) : error;
    }
  }

  async function identifiers(reader: Reader, query: ListQuery): Promise<readonly number[]> {
    const { list, values } = boundOf(query);
    return (await reader.column(list.identifiers, [...values, query.limit ?? dialect.unlimited, 0])).map(Number);
  }

  return {
    record,
    records,
    found: async (query, caller = PATIENT) => {
      const read = boundOf(query).isHeavy ? driver.scan : driver.read;
      return read((reader) => identifiers(reader, query), caller, true);
    },
    among: (reader, query, some) =>
      identifiers(reader, {
        ...query,
        filters: [identifiedBy(query.view.type, some), ...query.filters],
        limit: some.length,
      }),
    shown: createFindViewRows(dialect),
    summary: createSummaries(driver),
    // On SQLite, a record is read without a promise: that is a tenth of what the request costs.
    get: (view, identifier, caller = PATIENT) => {
      const { record: statement, limit } = viewOf(view);
      const inSnapshot = async (): Promise<string | undefined> =>
        driver.read((reader) => record(reader, view, identifier, caller), caller);
      const finish = (text: SqlValue | undefined): string | undefined | Promise<string | undefined> => {
        if (typeof text !== 'string') return undefined;
        return isMarked(text) ? inSnapshot() : chargedRecord(text, caller);
      };
      if (limit) return inSnapshot();
      const text = driver.value(statement, [identifier]);
      return text instanceof Promise ? text.then(finish) : finish(text);
    },
    page: async (query, count, caller = PATIENT) => {
      const bound = boundOf(query);
      const total = totals(bound.list.count, bound.filterValues);
      const needed = count === 'exact' && total.known === undefined;
      if (!bound.isHeavy && !(needed && (await countsLong(bound))))
        return driver.read((reader) => readPage(reader, bound, { count, caller, total }), caller, isSingle(bound));
      // What is remembered may be newer than the snapshot of a search.
      const own = { count, caller, total: { ...total, known: undefined } };
      return driver.scan((reader) => readPage(reader, bound, own), caller, isSingle(bound));
    },
    count: async (query) => {
      const bound = boundOf(query);
      const total = totals(bound.list.count, bound.filterValues);
      return driver.read((reader) => readTotal(reader, bound, total), PATIENT, true);
    },
    stream: async (query, count, caller = PATIENT) => {
      const bound = boundOf(query);
      const isLong = bound.isHeavy || (count === 'exact' && (await countsLong(bound)));
      const values = [...bound.values, query.limit ?? dialect.unlimited, query.offset];
      return readWhole(driver, bound, values, isLong, { count, caller, total: UNKNOWN });
    },
  };
}

const UNKNOWN: KnownTotal = { known: undefined, keep: () => undefined };
/** Totals of one statement with different values. */
const MOST_KEPT = 100;

/** Remembers totals until something is committed; nothing where the driver does not tell that without asking. */
function rememberedTotals(version: Driver['version']): (count: Statement, values: Values) => KnownTotal {
  if (!version) return () => UNKNOWN;
  let known = new WeakMap<Statement, Map<string, number>>();
  let seen: unknown;
  return (statement, values) => {
    const now = version();
    if (now !== seen) [seen, known] = [now, new WeakMap()];
    const totals = known.get(statement) ?? new Map<string, number>();
    known.set(statement, totals);
    const key = JSON.stringify(values);
    return {
      known: totals.get(key),
      keep: (total) => {
        if (version() === now && totals.size < MOST_KEPT) totals.set(key, total);
      },
    };
  };
}
