/** A page of a list: its records, the total, and the order values at both ends, all from one snapshot. */
import { andThen, type Awaitable, together } from '../../awaitable.ts';
import type { Caller } from '../../caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { Driver, ListWork, Reader, Snapshot } from '../driver.ts';
import type { Page, Stream } from '../store.ts';
import type { CompiledList } from './lists.ts';
import type { ShapeWork } from './list-work.ts';
import { type DeepLimit, markedAmong, type Weigh } from './view-limits.ts';
import type { RecordType } from '../../model/model.ts';
import { isPageTooLong } from '../../problem.ts';

export type LimitedList = CompiledList & ShapeWork & { readonly weigh: Weigh; readonly limit: DeepLimit | undefined };

/** A list with the values of one query. */
export interface BoundList {
  readonly list: LimitedList;
  readonly values: readonly SqlValue[];
  readonly filterValues: readonly SqlValue[];
  /** Whether its page is short in any case: then its length is not checked. */
  readonly isShort: boolean;
}

export const readTotal = (reader: Reader, { list, filterValues }: BoundList): Awaitable<number> =>
  reader.count(list.count, filterValues);

interface PageWanted {
  readonly counted: boolean;
  readonly caller: Caller;
  /** Bytes that it may have. */
  readonly most: number;
}

export function readPage(
  reader: Reader,
  query: ListQuery,
  bound: BoundList,
  { counted, caller, most }: PageWanted,
): Awaitable<Page> {
  const { limit = 0, offset } = query;
  const { list, values } = bound;
  const checked = list.limit?.(reader, query.view, [...values, limit, offset]);
  // One record more than asked for tells whether there is a next page.
  const rows = andThen(checked, () => {
    const wanted = [...values, limit + 1, offset];
    return bound.isShort ? reader.column(list.page, wanted) : reader.page(list.page, wanted, caller, most);
  });
  return andThen(rows, (records) => describe(reader, query, bound, counted, records as readonly string[]));
}

function describe(
  reader: Reader,
  query: ListQuery,
  bound: BoundList,
  counted: boolean,
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
    counted ? readTotal(reader, bound) : undefined,
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
  const identifier = query.view.type.identifier.inRecord
    ? identifierOf(record)
    : hiddenIdentifier(reader, query, bound, place);
  const row = andThen(identifier, (found) => reader.get(list.boundary, [found]));
  return andThen(row, (values) => values && list.decodeBoundary(values));
}

/** The first key of a record is its identifier; a column for it would cost a fifth more for each row. */
const identifierOf = (record: string): number => Number.parseInt(record.slice(record.indexOf(':') + 1), 10);

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
  caller: Caller,
): Promise<Stream> {
  const { type } = query.view;
  const { values } = work;
  const counted = work.counted !== undefined;
  const heavy = driver.isHeavy(work);
  if (!heavy && !long.has(type) && (await driver.isSmall(work.newest))) {
    try {
      return await driver.read((reader) => readAtOnce(reader, query, bound, work, caller), caller);
    } catch (error) {
      if (!isPageTooLong(error)) throw error;
      long.add(type);
    }
  }
  const snapshot = await driver.snapshot(caller, heavy);
  try {
    const total = counted ? await readTotal(snapshot, bound) : undefined;
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
  { values, counted }: ListWork,
  caller: Caller,
): Awaitable<Stream> {
  const checked = bound.list.limit?.(reader, query.view, values);
  const rows = andThen(checked, () => reader.page(bound.list.stream, values, caller, MAX_AT_ONCE));
  return andThen(rows, (records) => {
    const marked = markedAmong(records);
    if (marked !== undefined) return refused(reader, query, bound, marked);
    const total = counted !== undefined ? readTotal(reader, bound) : undefined;
    return andThen(total, (count) => ({ total: count, records: atOnce(records) }));
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
