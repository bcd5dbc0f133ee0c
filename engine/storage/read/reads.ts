/** Reads of records: each returns JSON text that the database puts together, from one snapshot. */
import { append } from '../../append.ts';
import { andThen, type Awaitable, orElse } from '../../awaitable.ts';
import { type Caller, PATIENT } from '../../caller.ts';
import type { CountMode } from '../../descriptor/descriptor.ts';
import { identifiedBy } from '../../query/filters.ts';
import type { ListQuery, View } from '../../query/list-query.ts';
import { createShapeCache, memoized } from '../../memo.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, PageRequest, Reader, Statement } from '../driver.ts';
import { drawn, isShortPage, longestRecord, SHORT_PAGE, weighing } from '../lengths.ts';
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
import { type BoundList, isSingle, type LimitedList, readPage, readTotal, readWhole } from './pages.ts';
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

/** Records of a page that is worth a statement of its own. */
const FEW = 100;

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
      isShort: isShortPage(query),
      isSingle: isSingle(query, list),
      isHeavy: isHeavy(query),
    };
  });

  const readingFor = ({ isHeavy: isSearch, list, filterValues }: BoundList, count: CountMode): Driver['read'] => {
    const counted = { statement: list.count, values: filterValues };
    return isSearch || (count === 'exact' && driver.countsLong(list.newest, counted)) ? driver.scan : driver.read;
  };

  async function record(reader: Reader, view: View, identifier: number, caller = PATIENT): Promise<string | undefined> {
    const { record: statement, limit } = viewOf(view);
    if (limit) await limit(reader, view, [identifier]);
    const text = (await reader.value(statement, [identifier])) as string | undefined;
    return drawn(text !== undefined && isMarked(text) ? await heavy(reader, view, identifier, caller) : text, caller);
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
    const together = Math.floor(SHORT_PAGE / longestRecord(view));
    const page = { statement: some, values, most: caller.most, isShort: wanted.length <= together };
    const isOne = page.isShort || together < FEW;
    const texts = await orElse(
      async () =>
        isOne ? (await reader.page(page, caller)).texts : readShort(reader, page, { wanted, together }, caller),
      (error) => {
        throw isPageTooLong(error) ? manyTooLong(caller.most) : error;
      },
    );
    const marked = markedAmong(texts);
    if (marked !== undefined) await weigh(reader, view, marked);
    return texts;
  }

  /** Several pages that are short whatever the records hold: each is read at once, and then weighed. */
  async function readShort(
    reader: Reader,
    page: PageRequest,
    { wanted, together }: { readonly wanted: readonly number[]; readonly together: number },
    caller: Caller,
  ): Promise<readonly string[]> {
    const weigh = weighing(caller);
    const all: string[] = [];
    for (let from = 0; from < wanted.length; from += together) {
      const values = [JSON.stringify(wanted.slice(from, from + together))];
      const { texts } = await reader.page({ ...page, values, isShort: true }, caller);
      for (const text of texts) weigh(text);
      append(all, texts);
    }
    return all;
  }

  /** Draws the memory for the text before it is read. */
  async function heavy(reader: Reader, view: View, identifier: number, caller: Caller): Promise<string | undefined> {
    const { whole, weigh } = viewOf(view);
    caller.take(2 * (await weigh(reader, view, identifier)));
    return (await reader.value(whole, [identifier])) as string | undefined;
  }

  async function identifiers(reader: Reader, query: ListQuery): Promise<readonly number[]> {
    const { list, values } = boundOf(query);
    return (await reader.column(list.identifiers, [...values, query.limit ?? dialect.unlimited, 0])).map(Number);
  }

  return {
    record,
    records: readMany,
    found: async (query, caller = PATIENT) =>
      readingFor(boundOf(query), 'none')((reader) => identifiers(reader, query), caller, true),
    among: (reader, query, some) =>
      identifiers(reader, {
        ...query,
        filters: [identifiedBy(query.view.type, some), ...query.filters],
        limit: some.length,
      }),
    shown: createFindViewRows(dialect),
    ...createSummaries(driver),
    get: (view, identifier, caller = PATIENT) => {
      const { record: statement, limit } = viewOf(view);
      if (limit) return driver.read((reader) => record(reader, view, identifier, caller), caller);
      return andThen(driver.value(statement, [identifier]) as Awaitable<string | undefined>, (text) =>
        text !== undefined && isMarked(text)
          ? driver.read(async (reader) => drawn(await heavy(reader, view, identifier, caller), caller), caller)
          : drawn(text, caller),
      );
    },
    page: (query, count, caller = PATIENT) => {
      const bound = boundOf(query);
      return readingFor(bound, count)(
        (reader) => readPage(reader, query, bound, { count, caller }),
        caller,
        bound.isSingle,
      );
    },
    count: (query) => readTotal(driver, boundOf(query)),
    stream: (query, count, caller = PATIENT) => {
      const bound = boundOf(query);
      const isLong = bound.isHeavy || (count === 'exact' && driver.countsLong(bound.list.newest));
      const values = [...bound.values, query.limit ?? dialect.unlimited, query.offset];
      return readWhole(driver, query, { ...bound, isHeavy: isLong }, values, { count, caller });
    },
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
