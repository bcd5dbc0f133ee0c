/** Reads of records: each returns JSON text that the database puts together, from one snapshot. */
import { type Caller, PATIENT } from '../../edge/caller.ts';
import { identifiedBy } from '../../query/filters.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { ListQuery, View } from '../../query/list-query.ts';
import { createShapeCache, memoized } from '../../memo.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Reader, Statement, Values } from '../driver.ts';
import { areShort, chargedRecord, charging } from './lengths.ts';
import { MAX_SHOWN_BYTES } from '../../model/model.ts';
import { isPageTooLong, manyTooLong } from '../../problem.ts';
import type { Store } from '../store.ts';
import { compileList, shapeOf } from './lists.ts';
import {
  createDeepLimit,
  createWeigh,
  type DeepLimit,
  isMarked,
  limitedJson,
  markedAmong,
  type Weigh,
} from './view-limits.ts';
import {
  type BoundList,
  isSingle,
  type KnownTotal,
  type LimitedList,
  readPage,
  readTotal,
  readWhole,
} from './pages.ts';
import { createFindViewRows, type FindViewRows } from './view-rows.ts';
import { recordJson, ROOT_ALIAS } from './views.ts';
import { isHeavy } from './heavy.ts';
import { createSummaries } from './summaries.ts';

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

interface CompiledView {
  /** The record, or its mark if its relations have many bytes. */
  readonly record: Statement;
  /** The record, however long it is. */
  readonly whole: Statement;
  readonly weigh: Weigh;
  readonly limit: DeepLimit | undefined;
  /** Many records, or their marks. Bound: JSON array of identifiers. */
  readonly some: Statement;
  readonly limitOfSome: DeepLimit | undefined;
}

/** Bytes of relations that a record may have without a closer look. */
const LIGHT = 1024 * 1024;

export function createReads(driver: Driver): Reads {
  const { dialect } = driver;
  const views = createShapeCache((view: View) => compileView(view, dialect));
  const lists = createShapeCache((query: ListQuery): LimitedList => {
    const list = compileList(query, dialect);
    const weigh = createWeigh(query.view, dialect);
    const limit = createDeepLimit(query.view, list.identifiers, dialect);
    return { ...list, weigh, limit, readEstimate: dialect.estimate.read };
  });
  const viewOf = memoized((view: View): CompiledView => views(`${view.type.statementKey}|${view.key}`, view));
  const boundOf = memoized((query: ListQuery): BoundList => {
    const list = lists(shapeOf(query), query);
    const [values, filterValues] = [list.values(query), list.filterValues(query)];
    return {
      list,
      values,
      filterValues,
      isShort: areShort(query.view, (query.limit ?? Infinity) + 1),
      isSingle: isSingle(query, list),
      isHeavy: isHeavy(query),
    };
  });
  const counts = rememberedCounts(driver.version);

  /** Whether counting takes so long that it must not be done between the requests. */
  const countsLong = async ({ list }: BoundList): Promise<boolean> =>
    driver.mostCounted < Infinity && Number(await driver.value(list.newest, [])) > driver.mostCounted;

  async function record(reader: Reader, view: View, identifier: number, caller = PATIENT): Promise<string | undefined> {
    const { record: statement, limit } = viewOf(view);
    if (limit) await limit(reader, view, [identifier]);
    const text = (await reader.value(statement, [identifier])) as string | undefined;
    return text !== undefined && isMarked(text) ? heavy(reader, view, identifier, caller) : chargedRecord(text, caller);
  }

  async function readMany(
    reader: Reader,
    view: View,
    wanted: readonly number[],
    caller = PATIENT,
  ): Promise<readonly (string | undefined)[]> {
    const [only] = wanted;
    if (wanted.length < 2) return only === undefined ? [] : [await record(reader, view, only, caller)];
    const { some, limitOfSome, weigh } = viewOf(view);
    const values = [JSON.stringify(wanted)];
    await limitOfSome?.(reader, view, values);
    try {
      const texts = (await reader.column(some, values, charging(caller))) as readonly string[];
      const marked = markedAmong(texts);
      if (marked !== undefined) await weigh(reader, view, marked);
      return texts;
    } catch (error) {
      throw isPageTooLong(error) ? manyTooLong(caller.most) : error;
    }
  }

  /** Charges the memory for the text before it is read. */
  async function heavy(reader: Reader, view: View, identifier: number, caller: Caller): Promise<string | undefined> {
    const { whole, weigh } = viewOf(view);
    caller.take(2 * (await weigh(reader, view, identifier)));
    return chargedRecord((await reader.value(whole, [identifier])) as string | undefined, caller);
  }

  async function identifiers(reader: Reader, query: ListQuery): Promise<readonly number[]> {
    const { list, values } = boundOf(query);
    return (await reader.column(list.identifiers, [...values, query.limit ?? dialect.unlimited, 0])).map(Number);
  }

  return {
    record,
    records: readMany,
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
    ...createSummaries(driver),
    // On SQLite, a record is read without a promise: that is a tenth of what the request costs.
    get: (view, identifier, caller = PATIENT) => {
      const { record: statement, limit } = viewOf(view);
      const whole = (): Promise<string | undefined> =>
        Promise.resolve(driver.read((reader) => record(reader, view, identifier, caller), caller));
      const finish = (text: SqlValue | undefined): string | undefined | Promise<string | undefined> => {
        if (typeof text !== 'string') return undefined;
        return isMarked(text) ? whole() : chargedRecord(text, caller);
      };
      if (limit) return whole();
      const text = driver.value(statement, [identifier]);
      return text instanceof Promise ? text.then(finish) : finish(text);
    },
    page: async (query, count, caller = PATIENT) => {
      const bound = boundOf(query);
      const total = counts(bound.list.count, bound.filterValues);
      const needed = count === 'exact' && total.known === undefined;
      if (!bound.isHeavy && !(needed && (await countsLong(bound))))
        return driver.read(
          (reader) => readPage(reader, query, bound, { count, caller, total }),
          caller,
          bound.isSingle,
        );
      // What is remembered may be newer than the snapshot of a search.
      const own = { count, caller, total: { ...total, known: undefined } };
      return driver.scan((reader) => readPage(reader, query, bound, own), caller, bound.isSingle);
    },
    count: async (query) => {
      const bound = boundOf(query);
      const total = counts(bound.list.count, bound.filterValues);
      return driver.read((reader) => readTotal(reader, bound, total), PATIENT, true);
    },
    stream: async (query, count, caller = PATIENT) => {
      const bound = boundOf(query);
      const isLong = bound.isHeavy || (count === 'exact' && (await countsLong(bound)));
      const values = [...bound.values, query.limit ?? dialect.unlimited, query.offset];
      const wanted = { count, caller, total: NEVER_KNOWN };
      return readWhole(driver, query, { ...bound, isHeavy: isLong }, values, wanted);
    },
  };
}

const NEVER_KNOWN: KnownTotal = { known: undefined, keep: () => undefined };
/** Totals of one statement with different values. */
const MOST_KEPT = 100;

/** Remembers totals until something is committed; nothing where the driver does not tell that without asking. */
function rememberedCounts(version: Driver['version']): (count: Statement, values: Values) => KnownTotal {
  if (!version) return () => NEVER_KNOWN;
  let known = new WeakMap<Statement, Map<string, number>>();
  let seen: unknown;
  return (statement, values) => {
    const now = version();
    if (now !== seen) [seen, known] = [now, new WeakMap()];
    const totals = known.get(statement) ?? new Map<string, number>();
    known.set(statement, totals);
    const key = values.length === 0 ? '' : JSON.stringify(values);
    return {
      known: totals.get(key),
      keep: (total) => {
        if (version() === now && totals.size < MOST_KEPT) totals.set(key, total);
      },
    };
  };
}

function compileView(view: View, dialect: Dialect): CompiledView {
  const table = `${dialect.quote(view.type.table)} as ${ROOT_ALIAS}`;
  const column = `${ROOT_ALIAS}.${dialect.quote(view.type.identifier.column)}`;
  const identified = `${column} = ?`;
  const select = (json: string): Statement => ({ sql: `select ${json} from ${table} where ${identified}` });
  // As a subselect of each: the database would not always find them by their identifiers.
  const json = limitedJson(view, MAX_SHOWN_BYTES, dialect);
  const one = `(select ${json} from ${table} where ${column} = listed$.value)`;
  return {
    record: select(limitedJson(view, LIGHT, dialect)),
    whole: select(recordJson(view, ROOT_ALIAS, dialect)),
    weigh: createWeigh(view, dialect),
    limit: createDeepLimit(view, { sql: 'select cast(? as bigint)' }, dialect),
    some: { sql: `select ${one} from ${dialect.listed} order by listed$.key` },
    limitOfSome: createDeepLimit(view, { sql: `select value from ${dialect.listed}` }, dialect),
  };
}
