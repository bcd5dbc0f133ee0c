/** A page of a list: its records, the total, and the order values at both ends, all from one snapshot. */
import type { Caller } from '../../edge/caller.ts';
import type { CountMode } from '../../descriptor/descriptor.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json/json.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { Estimate } from '../dialect.ts';
import type { Driver, Reader, Row, Snapshot, Statement } from '../driver.ts';
import type { Page, Stream } from '../store.ts';
import { unavailable } from '../unavailable.ts';
import { charge, charging } from './lengths.ts';
import { type CompiledList, identifierOf, LONG_MARK } from './lists.ts';
import { type DeepLimit, markedAmong, type Weigh } from './view-limits.ts';

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
  /** Whether its page is short as long as no record is marked as long: then it is charged as a whole. */
  readonly isShort: boolean;
  /** Whether one statement reads the page, as long as nothing in it is too long. */
  readonly isSingle: boolean;
  /** Whether it may take long. */
  readonly isHeavy: boolean;
}

/** The total of a list: what is remembered of it, and where a new count goes. */
export interface KnownTotal {
  readonly known: number | undefined;
  readonly keep: (total: number) => void;
}

export interface PageWanted {
  readonly count: CountMode;
  readonly caller: Caller;
  readonly total: KnownTotal;
}

export async function readTotal(
  reader: Reader,
  { list, filterValues }: Pick<BoundList, 'filterValues'> & { readonly list: Pick<CompiledList, 'count'> },
  { known, keep }: KnownTotal,
): Promise<number> {
  if (known !== undefined) return known;
  const total = Number(await reader.value(list.count, filterValues));
  keep(total);
  return total;
}

/** Whether `readPage` asks for nothing but the rows of the page. */
export const isSingle = ({ cursor }: ListQuery, { limit, orderValuesIn }: LimitedList): boolean =>
  limit === undefined && orderValuesIn !== undefined && cursor?.direction !== 'before';

interface PageSql {
  readonly page: Statement;
  readonly brief: Statement | undefined;
  readonly counted: Statement | undefined;
}

interface PageRange {
  readonly limit: number;
  /** undefined behind a cursor. */
  readonly offset: number | undefined;
}

interface PageTexts {
  readonly texts: readonly string[];
  /** Undefined if the page does not tell. */
  readonly total: number | undefined;
}

/** One row more than asked for tells whether there is a next page. */
export async function readTexts(
  reader: Reader,
  { page, brief, counted }: PageSql,
  { values, filterValues, isShort }: Pick<BoundList, 'values' | 'filterValues' | 'isShort'>,
  { limit, offset }: PageRange,
  { count, caller, total }: PageWanted,
): Promise<PageTexts> {
  const bound = [...values, limit + 1, offset ?? 0];
  const toldBy = (rows: number): number | undefined =>
    offset === undefined || rows > limit || (rows === 0 && offset > 0) ? undefined : offset + rows;
  if (brief && isShort) {
    const texts = (await reader.column(brief, bound)) as readonly string[];
    if (!texts.includes(LONG_MARK)) {
      charge(texts, caller);
      return { texts, total: toldBy(texts.length) };
    }
  }
  const onText = charging(caller);
  if (counted && count === 'exact' && total.known === undefined) {
    // The row of the total has no text.
    const onRow = ([text = null]: Row): void => (text === null ? undefined : onText(text));
    const rows = await reader.all(counted, [...bound, ...filterValues], onRow);
    const texts = rows.flatMap(([text = null]) => (text === null ? [] : String(text)));
    const told = rows.length > texts.length ? Number(rows.at(-1)?.[1]) : undefined;
    return { texts, total: told ?? toldBy(texts.length) };
  }
  const texts = (await reader.column(page, bound, onText)) as readonly string[];
  return { texts, total: toldBy(texts.length) };
}

export async function readPage(reader: Reader, query: ListQuery, bound: BoundList, wanted: PageWanted): Promise<Page> {
  const { limit = 0, offset, cursor } = query;
  const { list, values } = bound;
  await list.limit?.(reader, query.view, [...values, limit, offset]);
  const range = { limit, offset: cursor ? undefined : offset };
  const { texts, total: told } = await readTexts(reader, list, bound, range, wanted);
  const more = texts.length > limit;
  const shown = more ? texts.slice(0, limit) : texts;
  const marked = markedAmong(shown);
  if (marked !== undefined) return refused(reader, query, bound, marked);
  const total =
    wanted.count === 'none' || told !== undefined
      ? told
      : await totalOf(reader, bound, wanted, (texts.length > 0 ? offset : 0) + texts.length);
  const backwards = cursor?.direction === 'before';
  const records = backwards ? shown.toReversed() : shown;
  const hasPrevious = backwards ? more : cursor !== undefined || offset > 0;
  return {
    records,
    total: wanted.count === 'none' ? undefined : total,
    first: hasPrevious ? await orderValues(reader, query, bound, records, 0) : undefined,
    last: backwards || more ? await orderValues(reader, query, bound, records, -1) : undefined,
    hasPrevious,
    hasNext: backwards ? await isAnythingBehind(reader, query, bound) : more,
  };
}

/** Exact, or about as many: at least those that were found. */
async function totalOf(reader: Reader, bound: BoundList, { count, total }: PageWanted, least: number): Promise<number> {
  if (count !== 'estimated') return readTotal(reader, bound, total);
  const { rows, isCheap } = bound.list.readEstimate((await reader.get(bound.list.estimate, bound.filterValues)) ?? []);
  return Math.max(least, isCheap ? await readTotal(reader, bound, total) : rows);
}

/** Says which relation of a marked record is too large. */
async function refused(reader: Reader, { view }: ListQuery, { list }: BoundList, identifier: number): Promise<never> {
  await list.weigh(reader, view, identifier);
  // It has changed since the page was read.
  throw unavailable('busy');
}

/** What was there when the cursor was made may have been deleted since. */
const isAnythingBehind = async (reader: Reader, query: ListQuery, { list }: BoundList): Promise<boolean> =>
  (await reader.value(list.behind, list.behindValues(query))) !== undefined;

/** Of the first record, or the last. */
async function orderValues(
  reader: Reader,
  query: ListQuery,
  bound: BoundList,
  records: readonly string[],
  place: 0 | -1,
): Promise<readonly JsonValue[] | undefined> {
  const record = records.at(place);
  if (record === undefined) return undefined;
  const { list } = bound;
  if (list.orderValuesIn) return list.orderValuesIn(record);
  const identifier = query.view.type.identifier.inRecord
    ? identifierOf(record)
    : await hiddenIdentifier(reader, query, bound, place);
  const values = await reader.get(list.boundary, [identifier]);
  return values && list.decodeBoundary(values);
}

async function hiddenIdentifier(
  reader: Reader,
  { limit = 0, offset, cursor }: ListQuery,
  { list, values }: BoundList,
  place: 0 | -1,
): Promise<number> {
  const found = await reader.column(list.identifiers, [...values, limit, offset]);
  return Number(found.at(cursor?.direction === 'before' ? -1 - place : place));
}

/** A whole list, streamed from a snapshot of its own. `values`: those of the stream. */
export async function readWhole(
  driver: Driver,
  query: ListQuery,
  bound: BoundList,
  values: readonly SqlValue[],
  wanted: PageWanted,
): Promise<Stream> {
  const snapshot = await driver.snapshot(wanted.caller, bound.isHeavy);
  try {
    const total = wanted.count === 'none' ? undefined : await totalOf(snapshot, bound, wanted, 0);
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
