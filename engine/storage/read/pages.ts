/** A page of a list: its records, the total, and the order values at both ends, all from one snapshot. */
import { andThen, type Awaitable, together } from '../../awaitable.ts';
import type { Caller } from '../../caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { CountMode } from '../../descriptor/descriptor.ts';
import type { Estimate } from '../dialect.ts';
import {
  type Driver,
  type ListWork,
  NeedsSnapshot,
  type PageRange,
  type Reader,
  type Row,
  type Snapshot,
} from '../driver.ts';
import type { Page, Stream } from '../store.ts';
import { type CompiledList, identifierOf } from './lists.ts';
import type { PageAttempt } from './attempts.ts';
import type { ShapeWork } from './list-work.ts';
import { type DeepLimit, markedAmong, type Weigh } from './view-limits.ts';
import type { RecordType } from '../../model/model.ts';
import { isPageTooLong } from '../../problem.ts';

export type LimitedList = CompiledList &
  ShapeWork & {
    readonly weigh: Weigh;
    readonly limit: DeepLimit | undefined;
    /** What the database's row of `estimate` says. */
    readonly readEstimate: (row: Row) => Estimate;
  };

/** A list with the values of one query. */
export interface BoundList {
  readonly list: LimitedList;
  readonly values: readonly SqlValue[];
  readonly filterValues: readonly SqlValue[];
  /** Whether its page is short in any case: then its length is not checked. */
  readonly isShort: boolean;
  /** Whether one statement reads the page, as long as nothing in it is too long. */
  readonly isSingle: boolean;
}

export const readTotal = (reader: Reader, { list, filterValues }: BoundList): Awaitable<number> =>
  reader.count(list.count, filterValues);

/** Whether `readPage` asks for nothing but the rows of the page. */
export const isSingle = ({ cursor }: ListQuery, { limit, orderValuesIn }: LimitedList): boolean =>
  limit === undefined && orderValuesIn !== undefined && cursor?.direction !== 'before';

/** The total of a list that begins on this page and ends on it. */
export function toldBy({ limit, offset }: PageRange, rows: number): number | undefined {
  return offset === undefined || rows > limit || (rows === 0 && offset > 0) ? undefined : offset + rows;
}

function estimateTotal(reader: Reader, bound: BoundList): Awaitable<number> {
  const { list, filterValues } = bound;
  return andThen(reader.get(list.estimate, filterValues), (row = []) => {
    const { rows, isCheap } = list.readEstimate(row);
    return isCheap ? readTotal(reader, bound) : rows;
  });
}

interface PageWanted extends PageAttempt {
  readonly count: CountMode;
  readonly caller: Caller;
}

export function readPage(
  reader: Reader,
  query: ListQuery,
  bound: BoundList,
  { count, caller, most, single, expected, onLong }: PageWanted,
): Awaitable<Page> {
  const { limit = 0, offset, cursor } = query;
  const { list, values, filterValues, isShort } = bound;
  const range = { limit, offset: cursor ? undefined : offset };
  const checked = list.limit?.(reader, query.view, [...values, limit, offset]);
  // One record more than asked for tells whether there is a next page.
  const page = andThen(checked, () =>
    reader.page(
      {
        statement: list.page,
        values: [...values, limit + 1, offset],
        most,
        isShort,
        expected,
        count: count === 'exact' ? { statement: list.count, values: filterValues, range } : undefined,
      },
      caller,
    ),
  );
  return andThen(page, ({ texts, counted, bytes }) => {
    if (bytes !== undefined) onLong(bytes);
    // What is wrong with it is looked up in the same snapshot.
    if (single && markedAmong(texts) !== undefined) throw new NeedsSnapshot();
    const total = count === 'none' ? undefined : (toldBy(range, texts.length) ?? counted ?? count);
    return describe(reader, query, bound, total, texts);
  });
}

/** A total that is known, or how it is found out. */
type TotalWanted = number | Exclude<CountMode, 'none'> | undefined;

function totalOf(reader: Reader, bound: BoundList, wanted: TotalWanted, least: number): Awaitable<number | undefined> {
  if (wanted === 'exact') return readTotal(reader, bound);
  if (wanted !== 'estimated') return wanted;
  return andThen(estimateTotal(reader, bound), (rows) => Math.max(rows, least));
}

function describe(
  reader: Reader,
  query: ListQuery,
  bound: BoundList,
  wanted: TotalWanted,
  rows: readonly string[],
): Awaitable<Page> {
  const { limit = 0, offset, cursor } = query;
  const more = rows.length > limit;
  const shown = more ? rows.slice(0, limit) : rows;
  const marked = markedAmong(shown);
  if (marked !== undefined) return refused(reader, query, bound, marked);
  const backwards = cursor?.direction === 'before';
  const records = backwards ? shown.toReversed() : shown;
  const hasPrevious = backwards ? more : cursor !== undefined || offset > 0;
  const parts = together<[number | undefined, OrderValues, OrderValues, boolean]>([
    totalOf(reader, bound, wanted, (rows.length > 0 ? offset : 0) + rows.length),
    hasPrevious ? orderValues(reader, query, bound, records, 0) : undefined,
    backwards || more ? orderValues(reader, query, bound, records, -1) : undefined,
    backwards ? isAnythingBehind(reader, query, bound) : more,
  ]);
  return andThen(parts, ([total, first, last, hasNext]) => ({ records, total, first, last, hasPrevious, hasNext }));
}

/** Says which relation of a marked record is too large. */
async function refused(reader: Reader, { view }: ListQuery, { list }: BoundList, identifier: number): Promise<never> {
  await list.weigh(reader, view, identifier);
  throw new Error(`${view.type.name} ${identifier} was marked and is not too large`);
}

/** What was there when the cursor was made may have been deleted since. */
const isAnythingBehind = (reader: Reader, query: ListQuery, { list }: BoundList): Awaitable<boolean> =>
  andThen(reader.value(list.behind, list.behindValues(query)), (found) => found !== undefined);

type OrderValues = readonly JsonValue[] | undefined;

/** Of the first record, or the last. */
function orderValues(
  reader: Reader,
  query: ListQuery,
  bound: BoundList,
  records: readonly string[],
  place: 0 | -1,
): Awaitable<OrderValues> {
  const record = records.at(place);
  if (record === undefined) return undefined;
  const { list } = bound;
  if (list.orderValuesIn) return list.orderValuesIn(record);
  const identifier = query.view.type.identifier.inRecord
    ? identifierOf(record)
    : hiddenIdentifier(reader, query, bound, place);
  const row = andThen(identifier, (found) => reader.get(list.boundary, [found]));
  return andThen(row, (values) => values && list.decodeBoundary(values));
}

function hiddenIdentifier(
  reader: Reader,
  { limit = 0, offset, cursor }: ListQuery,
  { list, values }: BoundList,
  place: 0 | -1,
): Awaitable<number> {
  const identifiers = reader.column(list.identifiers, [...values, limit, offset]);
  const end = cursor?.direction === 'before' ? -1 - place : place;
  return andThen(identifiers, (found) => Number(found.at(end)));
}

// A whole list: read at once if its table is small, else streamed from a snapshot of its own.

/** Characters of a list that is read at once: a millisecond or two. */
const MAX_AT_ONCE = 1024 * 1024;

/** Types with few records that turned out to be long. */
const long = new WeakSet<RecordType>();

export async function readWhole(
  driver: Driver,
  query: ListQuery,
  bound: BoundList,
  work: ListWork,
  { count, caller }: Pick<PageWanted, 'count' | 'caller'>,
): Promise<Stream> {
  const { type } = query.view;
  const { values } = work;
  const heavy = driver.isHeavy(work);
  if (!heavy && !long.has(type) && (await driver.isSmall(work.newest))) {
    try {
      return await driver.read((reader) => readAtOnce(reader, query, bound, work, { count, caller }), caller);
    } catch (error) {
      if (!isPageTooLong(error)) throw error;
      long.add(type);
    }
  }
  const snapshot = await driver.snapshot(caller, heavy);
  try {
    const total = await totalOf(snapshot, bound, count === 'none' ? undefined : count, 0);
    await bound.list.limit?.(snapshot, query.view, values);
    return { total, records: allOf(snapshot, query, bound, values) };
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

function readAtOnce(
  reader: Reader,
  query: ListQuery,
  bound: BoundList,
  { values }: ListWork,
  { count, caller }: Pick<PageWanted, 'count' | 'caller'>,
): Awaitable<Stream> {
  const checked = bound.list.limit?.(reader, query.view, values);
  const page = andThen(checked, () =>
    reader.page({ statement: bound.list.stream, values, most: MAX_AT_ONCE, isShort: false }, caller),
  );
  return andThen(page, ({ texts: records }) => {
    const marked = markedAmong(records);
    if (marked !== undefined) return refused(reader, query, bound, marked);
    const range = { limit: Infinity, offset: query.cursor ? undefined : query.offset };
    const wanted = count === 'none' ? undefined : (toldBy(range, records.length) ?? count);
    const total = totalOf(reader, bound, wanted, records.length);
    return andThen(total, (known) => ({ total: known, records: atOnce(records) }));
  });
}

async function* atOnce(records: readonly string[]): AsyncGenerator<readonly string[]> {
  if (records.length > 0) yield records;
}

async function* allOf(
  snapshot: Snapshot,
  query: ListQuery,
  bound: BoundList,
  values: readonly SqlValue[],
): AsyncGenerator<readonly string[]> {
  try {
    for await (const records of snapshot.texts(bound.list.stream, values)) {
      const marked = markedAmong(records);
      if (marked !== undefined) await refused(snapshot, query, bound, marked);
      yield records;
    }
  } finally {
    await snapshot.close();
  }
}
