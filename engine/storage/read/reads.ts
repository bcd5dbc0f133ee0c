/** Reads records: each read returns JSON that the database builds from one snapshot. */
import type { CountMode } from '../../descriptor/descriptor.ts';
import { type Identifier, identifierSql } from '../../model/identifier.ts';
import type { RecordType } from '../../model/model.ts';
import type { Rights } from '../../model/rights.ts';
import { type Caller, NO_CLIENT } from '../../edge/caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { createShapeCache, memoized } from '../../memo.ts';
import { answerTooLong, faultyRequest, Problem } from '../../problem.ts';
import { identifiedBy } from '../../query/filters.ts';
import type { Filter, ListQuery, SummaryQuery, View } from '../../query/list-query.ts';
import { digestOf } from '../../query/paging.ts';
import { ownFields } from '../../query/paths.ts';
import { MAX_GROUPS } from '../../query/summary.ts';
import type { Column } from '../columns.ts';
import type { Dialect, RecordStatement } from '../dialect.ts';
import {
  type Awaitable,
  COPIES_OF_TEXT,
  type Driver,
  type Reader,
  type RecordReader,
  type Row,
  type Snapshot,
  type Values,
} from '../driver.ts';
import type { Page, Store, Summary } from '../store.ts';
import { conditionsOn, createVisible } from './clause.ts';
import { valuesOf } from './conditions.ts';
import { isHeavy, MAX_SMALL_ROWS, ownFilter } from './heaviness.ts';
import { compileList, LONG_MARK, MAX_BRIEF_BYTES, shapeOf } from './lists.ts';
import { compileSummary, shapeOfSummary } from './summaries.ts';
import {
  createDeepLimit,
  createFindViewRows,
  limitedJson,
  pathsOf,
  MARK,
  ROOT_ALIAS,
  SHOWN_LIMITS,
  type ShownLimits,
  tablesOfView,
  tooMany,
} from './views.ts';

/** Maximum rows of a page to read at once and charge afterwards: on SQLite, rows one by one cost twice as much. */
const MAX_UNCHARGED_ROWS = (16 * 1024 * 1024) / MAX_BRIEF_BYTES;

export interface Reads extends Pick<Store, 'get' | 'page' | 'stream' | 'summary'> {
  record(reader: Reader, view: View, identifier: Identifier, caller?: Caller): Promise<string | undefined>;
  /** Problem: `record-not-found`. */
  records(reader: Reader, view: View, identifiers: readonly Identifier[], caller?: Caller): Promise<readonly string[]>;
  /** Which of the records meet conditions of a role; none do if these are undefined. `row`: of one that has other values. */
  meeting(
    reader: Reader,
    rights: Rights,
    type: RecordType,
    conditions: readonly Filter[] | undefined,
    identifiers: readonly Identifier[],
    row?: { readonly columns: readonly Column[]; readonly values: Values },
  ): Promise<ReadonlySet<Identifier>>;
  readonly shown: ReturnType<typeof createFindViewRows>;
  found(query: ListQuery, caller?: Caller): Promise<readonly Identifier[]>;
  among(reader: Reader, query: ListQuery, identifiers: readonly Identifier[]): Promise<readonly Identifier[]>;
}

/** On SQLite, what is larger is read by a search process: building 1,000 related rows takes two milliseconds. */
const QUICK_RECORD: ShownLimits = { rows: 1000, bytes: 1024 * 1024, deep: 1000 };
const QUICK_PAGE: ShownLimits = { ...SHOWN_LIMITS, rows: 100, bytes: 128 * 1024 };

function compileView(view: View, dialect: Dialect, most: ShownLimits) {
  const column = `${ROOT_ALIAS}.${dialect.quote(view.type.identifier.column)}`;
  const select = `select ${limitedJson(view, dialect, most)} from ${dialect.quote(view.type.table)} as ${ROOT_ALIAS} where ${column}`;
  const reads = tablesOfView(view);
  const { identifier } = view.type;
  const { kind } = identifier;
  const sqlType = identifierSql(identifier, dialect.name);
  const listed = dialect.listed(sqlType);
  return {
    record: { query: `${select} = ?`, reads },
    limit: createDeepLimit(view, { query: `select cast(? as ${kind.isCounted ? 'bigint' : sqlType})` }, dialect, most),
    // Bound: JSON array of identifiers. A join with the array might not use the primary key.
    some: { query: `select (${select} = listed$.value) from ${listed} order by listed$.key`, reads },
    limitOfSome: createDeepLimit(view, { query: `select value from ${listed}` }, dialect),
  };
}

/** The role's conditions on the records of a list, as filters of its type. */
const conditionsOf = ({ view: { rights, type } }: ListQuery): readonly Filter[] =>
  rights.tables === undefined ? [] : (conditionsOn(rights, type) ?? []).map((filter) => ownFilter(filter, type));

/** What the reads of one database are compiled to, each once. */
function createCompiled(driver: Driver) {
  const { dialect } = driver;
  const isSqlite = driver.mostCounted < Infinity;
  const views = createShapeCache((view: View) => compileView(view, dialect, SHOWN_LIMITS));
  const quickViews = createShapeCache((view: View) => compileView(view, dialect, QUICK_RECORD));
  const lists = createShapeCache((query: ListQuery) => compileList(query, dialect, SHOWN_LIMITS));
  const quickLists = createShapeCache((query: ListQuery) => compileList(query, dialect, QUICK_PAGE));
  const summaries = createShapeCache((query: SummaryQuery) => compileSummary(query, dialect));
  const viewOf = memoized((view: View) => views(view.key, view));
  const quickViewOf = isSqlite ? memoized((view: View) => quickViews(view.key, view)) : viewOf;
  /** A list with the values of one query. `keys`, by count mode: equal for queries with the same total. */
  const boundOf = memoized((query: ListQuery) => {
    const shape = shapeOf(query);
    const list = lists(shape, query);
    const filterValues = list.filterValues(query);
    const { rights } = query.view;
    const key = `${rights.tables ? rights.key : ''}${shape} ${JSON.stringify(filterValues)}`;
    return {
      query,
      keys: { none: '', exact: `exact ${key}`, estimated: `estimated ${key}` },
      list,
      quick: isSqlite && query.view.relations.length > 0 ? quickLists(shape, query) : list,
      values: list.values(query),
      filterValues,
      isHeavy: list.readsSetsAtOnce || isHeavy({ ...query, filters: [...conditionsOf(query), ...query.filters] }),
    };
  });
  const summaryOf = (query: SummaryQuery) => summaries(shapeOfSummary(query), query);
  return { dialect, isSqlite, visible: createVisible(dialect), viewOf, quickViewOf, boundOf, summaryOf };
}

type Compiled = ReturnType<typeof createCompiled>;
type BoundList = ReturnType<Compiled['boundOf']>;

async function readRecord(
  { record: statement, limit }: ReturnType<Compiled['viewOf']>,
  reader: RecordReader,
  view: View,
  identifier: Identifier,
  caller: Caller,
): Promise<string | undefined> {
  await limit?.(reader, view, [identifier]);
  return answered(view, await reader.value(statement, [identifier]), caller);
}

async function readRecords(
  { some, limitOfSome }: ReturnType<Compiled['viewOf']>,
  reader: RecordReader,
  view: View,
  wanted: readonly Identifier[],
  caller: Caller,
): Promise<readonly (string | null)[]> {
  const values = [JSON.stringify(wanted)];
  await limitOfSome?.(reader, view, values);
  const found = (await reader.column(some, values, charging(caller))) as readonly (string | null)[];
  refuseMarked(view, found);
  return found;
}

export function notFound({ name }: RecordType, identifier: Identifier): never {
  throw new Problem('record-not-found', `There is no ${name} ${identifier}`);
}

function answered(view: View, text: SqlValue | undefined, caller: Caller): string | undefined {
  if (typeof text !== 'string') return undefined;
  refuseMarked(view, [text]);
  if (text.length > UNCHARGED_CHARS) caller.take(COPIES_OF_TEXT * text.length);
  return text;
}

async function identifiers(reader: RecordReader, { list, values, query }: BoundList): Promise<readonly Identifier[]> {
  const bound = [...values, query.limit ?? Number.MAX_SAFE_INTEGER, 0];
  return (await reader.column(list.identifiers, bound)) as readonly Identifier[];
}

/** `least`: records found already, the minimum of an estimate. */
async function totalOf(
  { dialect }: Compiled,
  reader: RecordReader,
  { list, filterValues, query }: BoundList,
  count: CountMode,
  least = 0,
) {
  // The estimate of a role would need another statement.
  if (count === 'estimated' && query.view.rights.tables === undefined) {
    const { rows, isCheap } = dialect.estimate.read((await reader.get(list.estimate, filterValues)) ?? []);
    if (!isCheap) return Math.max(least, rows);
  }
  return Number(await reader.value(list.count, filterValues));
}

/** The records of a page, and one more if a page follows. `rows`: for order values that the JSON lacks. */
async function readRows(reader: RecordReader, asked: BoundList, count: CountMode, caller: Caller) {
  const { list, query, values, filterValues } = asked;
  const { limit = 0, offset } = query;
  const page = [limit + 1, offset];
  const bound = [...values, ...page];
  const onText = charging(caller);
  if (list.brief && limit < MAX_UNCHARGED_ROWS) {
    const texts = (await reader.column(list.brief, bound)) as readonly string[];
    if (!texts.includes(LONG_MARK)) {
      texts.forEach(onText);
      return { texts };
    }
  }
  const onRow = ([text = null]: Row): void => (text === null ? undefined : onText(text));
  const rows = await (list.counted && count === 'exact'
    ? reader.all(list.counted, [...bound, ...filterValues, ...(query.cursor ? [] : page)], onRow)
    : reader.all(list.page, bound, onRow));
  // The total follows the records, in a row without JSON.
  const texts = rows.flatMap(([text]) => (text === null ? [] : [text as string]));
  return { texts, rows, counted: texts.length < rows.length ? Number(rows.at(-1)?.[1]) : undefined };
}

/** Replaces the place of a cursor by the values of its record, if these have not changed. */
async function placed(
  { boundOf }: Compiled,
  reader: RecordReader,
  { query }: BoundList,
  caller: Caller,
): Promise<BoundList | undefined> {
  const { view, cursor, ...rest } = query;
  if (!cursor?.record) return undefined;
  const filters = [identifiedBy(view.type, [cursor.record.identifier])];
  const sole = boundOf({ ...rest, view: ownFields(view), filters, cursor: undefined });
  const { texts, rows } = await readRows(reader, sole, 'none', caller);
  const [values = []] = texts.map((text) => sole.list.orderValues(text, rows?.[0]));
  if (digestOf(values) !== cursor.record.digest) return undefined;
  return boundOf({ ...query, cursor: { direction: cursor.direction, values } });
}

async function readPage(
  compiled: Compiled,
  reader: RecordReader,
  asked: BoundList,
  count: CountMode,
  caller: Caller,
  totals = new Map<string, number>(),
): Promise<Page> {
  const bound = (asked.query.cursor?.record && (await placed(compiled, reader, asked, caller))) ?? asked;
  const { list, query, values } = bound;
  const { view, limit = 0, offset, cursor } = query;
  if (list.limit) await list.limit(reader, view, [...values, limit, offset]);
  const { texts, rows, counted } = await readRows(reader, bound, count, caller);
  const hasMore = texts.length > limit;
  const isBackwards = cursor?.direction === 'before';
  const records = texts.slice(0, limit);
  refuseMarked(view, records);
  const hasPrevious = isBackwards ? hasMore : cursor !== undefined || offset > 0;
  const isTotalKnown = cursor === undefined && !hasMore && (texts.length > 0 || offset === 0);
  const least = (texts.length > 0 ? offset : 0) + texts.length;
  let total = isTotalKnown ? least : counted;
  if (total === undefined && count !== 'none') {
    total = totals.get(bound.keys[count]) ?? (await totalOf(compiled, reader, bound, count, least));
    totals.set(bound.keys[count], total);
  }
  const first = isBackwards ? records.length - 1 : 0;
  const last = records.length - 1 - first;
  const hasRecords = records.length > 0;
  return {
    records: isBackwards ? records.toReversed() : records,
    total: count === 'none' ? undefined : total,
    first: hasPrevious && hasRecords ? list.orderValues(records[first] ?? '', rows?.[first]) : undefined,
    last: (isBackwards || hasMore) && hasRecords ? list.orderValues(records[last] ?? '', rows?.[last]) : undefined,
    hasPrevious,
    // The cursor's record may have been deleted.
    hasNext: isBackwards ? (await reader.value(list.behind, list.values(query, true))) !== undefined : hasMore,
  };
}

/** Whether a page is read by one statement, which needs no snapshot. */
const isOneStatement = ({ list: { limit, counted }, query: { cursor } }: BoundList, count: CountMode): boolean =>
  limit === undefined &&
  cursor?.direction !== 'before' &&
  cursor?.record === undefined &&
  (count !== 'exact' || counted !== undefined);

async function readGroups(
  { summaryOf, dialect }: Compiled,
  reader: RecordReader,
  query: SummaryQuery,
  count: CountMode,
  caller: Caller,
): Promise<Summary> {
  const { page, count: counting } = summaryOf(query);
  const values = valuesOf(query.filters, dialect);
  // A summary without limit reads from the first group, to detect too many groups.
  const { limit = MAX_GROUPS, offset } = query.limit === undefined ? { offset: 0 } : query;
  const bound = [...values, limit + 1, offset];
  const texts = (await reader.column(page, bound, charging(caller))) as readonly string[];
  const hasNext = texts.length > limit;
  if (query.limit === undefined && hasNext) throw faultyRequest('too-many-groups', [TOO_MANY_GROUPS]);
  const isTotalKnown = !hasNext && (texts.length > 0 || offset === 0);
  const total = isTotalKnown ? offset + texts.length : undefined;
  return {
    groups: texts.slice(query.offset - offset, limit),
    total: count === 'none' ? undefined : (total ?? Number(await reader.value(counting, values))),
    hasNext,
  };
}

async function* textsOf(
  { visible }: Compiled,
  snapshot: Snapshot,
  { query, list }: BoundList,
  given: readonly SqlValue[],
) {
  const { statement, values } = visible.bind(query.view.rights, list.page);
  try {
    for await (const records of snapshot.texts(statement, [...values, ...given])) {
      refuseMarked(query.view, records);
      yield records;
    }
  } finally {
    await snapshot.close();
  }
}

interface Reading {
  readonly rights: Rights;
  readonly caller: Caller;
  readonly isSearch?: boolean;
  readonly isSingle?: boolean;
}

/** On SQLite, a search process reads what takes too long between requests. */
function createSearches(driver: Driver, { isSqlite, visible }: Compiled) {
  const totalsNow = rememberedTotals(driver.version);

  type Bounded = { greatest(most: number): RecordStatement };
  const isAbove = async (most: number, { greatest }: Bounded, rights: Rights): Promise<boolean> =>
    !isSqlite || Number(await visible.to(rights, driver).value(greatest(most), [])) > most;

  async function isLong({ isHeavy: heavy, list, keys, query }: BoundList, count: CountMode): Promise<boolean> {
    if (heavy) return isAbove(MAX_SMALL_ROWS, list, query.view.rights);
    // SQLite estimates by numbers.
    const isCounted = count === 'exact' || (count === 'estimated' && !query.view.type.identifier.kind.isCounted);
    return (
      isSqlite && isCounted && !totalsNow().has(keys.exact) && isAbove(driver.mostCounted, list, query.view.rights)
    );
  }

  /** Returns no promise if `quick` makes none. */
  function reading<T>(
    { rights, caller, isSearch = false, isSingle }: Reading,
    read: (reader: RecordReader, isQuick: boolean) => Promise<T>,
    quick = (): Awaitable<T> => driver.read((reader) => read(visible.to(rights, reader), true), caller, isSingle),
  ): Awaitable<T> {
    const search = () => driver.scan((reader) => read(visible.to(rights, reader), false), caller, isSingle);
    const searched = async (error: unknown): Promise<T> => {
      if (isSqlite && error instanceof Problem && error.code === 'too-many-related') return search();
      throw error;
    };
    if (isSearch) return search();
    try {
      const found = quick();
      return found instanceof Promise ? found.catch(searched) : found;
    } catch (error) {
      return searched(error);
    }
  }

  return { totalsNow, isAbove, isLong, reading };
}

export function createReads(driver: Driver): Reads {
  const compiled = createCompiled(driver);
  const { visible, viewOf, quickViewOf, boundOf, summaryOf } = compiled;
  const { totalsNow, isAbove, isLong, reading } = createSearches(driver, compiled);

  const record: Reads['record'] = (reader, view, identifier, caller = NO_CLIENT) =>
    readRecord(viewOf(view), visible.to(view.rights, reader), view, identifier, caller);

  return {
    record,
    records: async (reader, view, wanted, caller = NO_CLIENT) => {
      const [only = 0] = wanted;
      const texts =
        wanted.length === 1
          ? [await record(reader, view, only, caller)]
          : await readRecords(viewOf(view), visible.to(view.rights, reader), view, wanted, caller);
      return wanted.map((identifier, index) => texts[index] ?? notFound(view.type, identifier));
    },
    found: async (query, caller = NO_CLIENT) => {
      const bound = boundOf(query);
      const how = { rights: query.view.rights, caller, isSearch: await isLong(bound, 'none'), isSingle: true };
      return reading(how, (reader) => identifiers(reader, bound));
    },
    among: (reader, query, some) =>
      identifiers(
        visible.to(query.view.rights, reader),
        boundOf({
          ...query,
          filters: [identifiedBy(query.view.type, some), ...query.filters],
          limit: some.length,
        }),
      ),
    meeting: async (reader, rights, type, conditions, some, row) => {
      const table = rights.checked?.get(type.table);
      if (conditions?.length === 0 || table === undefined) return new Set(some);
      if (conditions === undefined || some.length === 0) return new Set();
      const { statement, values } = row
        ? visible.meetingRow(conditions, table, rights, row.columns)
        : visible.meeting(conditions, table, rights);
      const bound = row ? [...row.values, ...values] : [...values, JSON.stringify(some)];
      return new Set((await reader.column(statement, bound)) as readonly Identifier[]);
    },
    shown: createFindViewRows(driver.dialect, visible.to),
    summary: async (query, count, caller = NO_CLIENT) => {
      const { rights } = query;
      const isSearch = await isAbove(MAX_SMALL_ROWS, summaryOf(query), rights);
      const how = { rights, caller, isSearch, isSingle: query.limit === undefined || count === 'none' };
      return reading(how, (reader) => readGroups(compiled, reader, query, count, caller));
    },
    get: (view, identifier, caller = NO_CLIENT) => {
      const { limit, record: statement } = quickViewOf(view);
      // On SQLite, this reads a record without a promise, which would cost a tenth of the request.
      const value = (): Awaitable<string | undefined> => {
        const text = visible.to(view.rights, driver).value(statement, [identifier]);
        return text instanceof Promise
          ? text.then((found) => answered(view, found, caller))
          : answered(view, text, caller);
      };
      return reading(
        { rights: view.rights, caller },
        (reader, isQuick) => readRecord((isQuick ? quickViewOf : viewOf)(view), reader, view, identifier, caller),
        limit ? undefined : value,
      );
    },
    page: async (query, count, caller = NO_CLIENT) => {
      const bound = boundOf(query);
      const quick = { ...bound, list: bound.quick };
      const { rights } = query.view;
      const how = { rights, caller, isSearch: await isLong(bound, count), isSingle: isOneStatement(bound, count) };
      return reading(how, (reader, isQuick) =>
        // A search's snapshot may be older than the remembered totals.
        isQuick
          ? readPage(compiled, reader, quick, count, caller, totalsNow())
          : readPage(compiled, reader, bound, count, caller),
      );
    },
    stream: async (query, count, caller = NO_CLIENT) => {
      const bound = boundOf(query);
      const { list } = bound;
      const { rights } = query.view;
      const values = [...bound.values, query.limit ?? Number.MAX_SAFE_INTEGER, query.offset];
      // To leave out the rows that a role does not see, SQLite reads them.
      const isHiding = pathsOf(query.view).some(({ type }) => conditionsOn(rights, type)?.length);
      const isHeld = isHiding && list.shownSets && (await isAbove(MAX_SMALL_ROWS, list.shownSets, rights));
      const snapshot = await driver.snapshot(caller, isHeld || (await isLong(bound, count)));
      try {
        const reader = visible.to(rights, snapshot);
        const total = count === 'none' ? undefined : await totalOf(compiled, reader, bound, count);
        await list.limit?.(reader, query.view, values);
        return { total, records: textsOf(compiled, snapshot, bound, values) };
      } catch (error) {
        await snapshot.close();
        throw error;
      }
    },
  };
}

const MAX_TOTALS = 1000;

/** Remembers totals until the next commit, since counting a table costs ten times as much as reading a page. */
function rememberedTotals(version: Driver['version']): () => Map<string, number> {
  let known = new Map<string, number>();
  let seen: unknown;
  return () => {
    const now = version?.();
    if (!version || now !== seen || known.size > MAX_TOTALS) [known, seen] = [new Map(), now];
    return known;
  };
}

const TOO_MANY_GROUPS = {
  parameter: 'by',
  code: 'too-many',
  message: `There are more than ${MAX_GROUPS} groups; ask for some of them with a limit (over HTTP _cnd[limit]), filter the records, or group by less`,
};

/** Throws `too-many-related` if a string starts with MARK; see `limitedJson`. */
function refuseMarked(view: View, texts: readonly (string | null)[]): void {
  const marked = texts.find((text) => text?.startsWith(MARK));
  if (marked === undefined || marked === null) return;
  const [, identifier = '', index, what = ''] = /^(.*),(\d+),(.*)$/s.exec(marked.slice(MARK.length)) ?? [];
  const path = view.relations[Number(index)]?.relation.name ?? '';
  throw tooMany(view, path, `more than ${what} of ${view.type.name} ${identifier}`);
}

/** Longer records are charged; most are shorter. */
export const UNCHARGED_CHARS = 16 * 1024;

/** Charges each record to the caller's budget when it arrives, so that a page that is too long is never in memory. */
export function charging(caller: Caller): (text: SqlValue) => void {
  const { pageBytes: most } = caller;
  let total = 0;
  let longest = 0;
  return (text) => {
    const { length } = String(text);
    total += length;
    longest = Math.max(longest, length);
    // The longest record does not count: a single record is always returned, and the last may follow the page.
    if (total - longest > most) throw answerTooLong();
    caller.take(COPIES_OF_TEXT * length);
  };
}
