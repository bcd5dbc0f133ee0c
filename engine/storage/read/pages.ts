/** A page of a list: its records in one text, the total, and the order values at its ends, all from one snapshot. */
import { andThen, type Awaitable, together } from '../../awaitable.ts';
import type { Caller } from '../../caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json.ts';
import type { ListQuery, View } from '../../query/list-query.ts';
import type { Driver, ListWork, Reader, Snapshot } from '../driver.ts';
import type { Page, Stream } from '../store.ts';
import type { CompiledList } from './lists.ts';
import type { ShapeWork } from './list-work.ts';
import { type DeepLimit, isMarked, markedIn, type Weigh } from './view-limits.ts';
import type { RecordType } from '../../model/model.ts';
import { isPageTooLong } from '../../problem.ts';

export type LimitedList = CompiledList & ShapeWork & { readonly weigh: Weigh; readonly limit: DeepLimit | undefined };

/** A list with the values of one query. */
export interface BoundList {
  readonly list: LimitedList;
  readonly values: readonly SqlValue[];
  readonly filterValues: readonly SqlValue[];
  /** Whether its page is short whatever the records hold: it is read at once then, and needs no look at its length. */
  readonly isShort: boolean;
}

/** Characters. */
const SHORT_PAGE = 256 * 1024;

export const isShort = ({ view, limit }: ListQuery): boolean =>
  limit !== undefined && (limit + 1) * longestRecord(view) <= SHORT_PAGE;

/** Characters of a record's JSON text, at most; Infinity where that cannot be said. */
function longestRecord({ fields, relations, openKeys }: View): number {
  if (openKeys) return Infinity;
  const own = fields.map((field) => field.name.length + KEY + field.type.longest(field));
  const related = relations.map(({ relation, view }) =>
    relation.toMany ? Infinity : relation.name.length + KEY + longestRecord(view),
  );
  return [...own, ...related].reduce((sum, length) => sum + length, IDENTIFIER);
}

/** Quotes, colon and comma. */
const KEY = 4;
/** A key of an identifier and its value, at most, and the braces. */
const IDENTIFIER = 100;

export const readTotal = (reader: Reader, { list, filterValues }: BoundList): Awaitable<number> =>
  reader.count(list.count, filterValues);

export interface PageWanted {
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
  const marked = shown.find(isMarked);
  if (marked !== undefined) return refused(reader, query, bound, markedIn(marked));
  const backwards = cursor?.direction === 'before';
  const records = backwards ? shown.toReversed() : shown;
  const hasPrevious = backwards ? more : cursor !== undefined || offset > 0;
  const parts = together<[number | undefined, OrderValues, OrderValues, boolean]>([
    counted ? readTotal(reader, bound) : undefined,
    hasPrevious ? orderValues(reader, query, bound, records, 0) : undefined,
    backwards || more ? orderValues(reader, query, bound, records, -1) : undefined,
    backwards ? isAnythingBehind(reader, query, bound) : more,
  ]);
  const body = bound.isShort ? arrayOf(records) : arrayInPieces(records);
  return andThen(parts, ([total, first, last, hasNext]) => ({ body, total, first, last, hasPrevious, hasNext }));
}

/** The brackets first: a text that is put together at once is in memory once. */
export function arrayOf(records: readonly string[]): string {
  if (records.length === 0) return '[]';
  const texts = [...records];
  texts[0] = `[${texts[0]}`;
  texts[texts.length - 1] += ']';
  return texts.join(',');
}

/** Characters of a text that is sent at once, and about as many of each piece of a longer one. */
const LONG = 512 * 1024;
const PIECE = 64 * 1024;

/** Pieces are put together when they are sent, not here: V8 joins texts when they are read. */
function arrayInPieces(records: readonly string[]): string | readonly string[] {
  if (records.reduce((sum, { length }) => sum + length, 0) <= LONG) return arrayOf(records);
  const pieces: string[] = [];
  let piece = '[';
  for (const [index, record] of records.entries()) {
    piece += index === 0 ? record : `,${record}`;
    if (piece.length < PIECE) continue;
    pieces.push(piece);
    piece = '';
  }
  pieces.push(`${piece}]`);
  return pieces;
}

/** Says which relation of a marked record is too large. */
export async function refused(
  reader: Reader,
  { view }: ListQuery,
  { list }: BoundList,
  identifier = 0,
): Promise<never> {
  await list.weigh(reader, view, identifier);
  throw new Error(`${view.type.name} ${identifier} was marked and is not too large`);
}

/** What was there when the cursor was made may be gone. */
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

// A whole list: read at once where its table is small, else streamed from a snapshot of its own.

/** Characters of a list that is read at once: a millisecond or two. */
const MAX_AT_ONCE = 1024 * 1024;

/** Types with few records, which turned out to be long ones. */
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
    return { total, chunks: jsonArray(snapshot, query, bound, values) };
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
  return andThen(rows, (texts) => {
    const total = counted !== undefined ? readTotal(reader, bound) : undefined;
    const text = arrayOf(texts);
    const marked = markedIn(text);
    if (marked !== undefined) return refused(reader, query, bound, marked);
    return andThen(total, (count) => ({ total: count, chunks: once(text) }));
  });
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

async function* jsonArray(
  snapshot: Snapshot,
  query: ListQuery,
  bound: BoundList,
  values: readonly SqlValue[],
): AsyncGenerator<string> {
  try {
    let separator = '[';
    for await (const text of snapshot.texts(bound.list.stream, values)) {
      const marked = markedIn(text);
      if (marked !== undefined) await refused(snapshot, query, bound, marked);
      yield separator + text;
      separator = ',';
    }
    yield separator === '[' ? '[]' : ']';
  } finally {
    await snapshot.close();
  }
}
