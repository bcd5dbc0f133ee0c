/** A page of a list: its records, the total, and the order values at both ends, all from one snapshot. */
import { andThen, type Awaitable, together } from '../../awaitable.ts';
import type { Caller } from '../../caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { CountMode } from '../../descriptor/descriptor.ts';
import type { Estimate } from '../dialect.ts';
import type { Driver, PageRange, Reader, Row, Snapshot } from '../driver.ts';
import type { Page, Stream } from '../store.ts';
import { type CompiledList, identifierOf } from './lists.ts';
import { type DeepLimit, markedAmong, type Weigh } from './view-limits.ts';
import { unavailable } from '../unavailable.ts';

export type LimitedList = CompiledList & {
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
  /** Whether it may take long. */
  readonly isHeavy: boolean;
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

interface PageWanted {
  readonly count: CountMode;
  readonly caller: Caller;
}

export function readPage(
  reader: Reader,
  query: ListQuery,
  bound: BoundList,
  { count, caller }: PageWanted,
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
        most: caller.most,
        isShort,
        count: count === 'exact' ? { statement: list.count, values: filterValues, range } : undefined,
      },
      caller,
    ),
  );
  return andThen(page, ({ texts, counted }) => {
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
  // It has changed since the page was read.
  throw unavailable('busy');
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

/** A whole list, streamed from a snapshot of its own. `values`: those of the stream. */
export async function readWhole(
  driver: Driver,
  query: ListQuery,
  bound: BoundList,
  values: readonly SqlValue[],
  { count, caller }: PageWanted,
): Promise<Stream> {
  const snapshot = await driver.snapshot(caller, bound.isHeavy);
  try {
    const total = await totalOf(snapshot, bound, count === 'none' ? undefined : count, 0);
    await bound.list.limit?.(snapshot, query.view, values);
    return { total, records: allOf(snapshot, query, bound, values) };
  } catch (error) {
    await snapshot.close();
    throw error;
  }
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
