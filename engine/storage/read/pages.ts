/** A page of a list: its records, the total, and the order values at both ends, all from one snapshot. */
import type { Caller } from '../../edge/caller.ts';
import type { CountMode } from '../../descriptor/descriptor.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json/json.ts';
import { memoized } from '../../memo.ts';
import { pageTooLong } from '../../problem.ts';
import type { ListQuery, View } from '../../query/list-query.ts';
import type { Driver, Reader, Row, Snapshot } from '../driver.ts';
import type { Page, Stream } from '../store.ts';
import { unavailable } from '../unavailable.ts';
import { type CompiledList, identifierOf, isUnlimited, LONG_MARK, MOST_UNLIMITED } from './lists.ts';
import { markedAmong } from './view-limits.ts';

/** A list with the values of one query. */
export interface BoundList {
  readonly query: ListQuery;
  readonly list: CompiledList;
  readonly values: readonly SqlValue[];
  readonly filterValues: readonly SqlValue[];
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
  { list, filterValues }: BoundList,
  { known, keep }: KnownTotal,
): Promise<number> {
  if (known !== undefined) return known;
  const total = Number(await reader.value(list.count, filterValues));
  keep(total);
  return total;
}

/** Whether `readPage` asks for nothing but the rows of the page. */
export const isSingle = ({ query: { cursor }, list: { limit, orderValuesIn } }: BoundList): boolean =>
  limit === undefined && orderValuesIn !== undefined && cursor?.direction !== 'before';

export async function readPage(reader: Reader, bound: BoundList, wanted: PageWanted): Promise<Page> {
  const { list, query, values } = bound;
  const { view, limit = 0, offset, cursor } = query;
  await list.limit?.(reader, view, [...values, limit, offset]);
  const { texts, total: counted } = await readTexts(reader, bound, wanted);
  const hasMore = texts.length > limit;
  const shown = hasMore ? texts.slice(0, limit) : texts;
  await refuseMarked(reader, bound, shown);
  const isBackwards = cursor?.direction === 'before';
  const records = isBackwards ? shown.toReversed() : shown;
  const hasPrevious = isBackwards ? hasMore : cursor !== undefined || offset > 0;
  // The last page of an offset tells the total.
  const isTold = cursor === undefined && !hasMore && (texts.length > 0 || offset === 0);
  const least = (texts.length > 0 ? offset : 0) + texts.length;
  const total = isTold ? least : counted;
  return {
    records,
    total: wanted.count === 'none' ? undefined : (total ?? (await totalOf(reader, bound, wanted, least))),
    first: hasPrevious ? await orderValues(reader, bound, records, 0) : undefined,
    last: isBackwards || hasMore ? await orderValues(reader, bound, records, -1) : undefined,
    hasPrevious,
    // What was there when the cursor was made may have been deleted since.
    hasNext: isBackwards ? (await reader.value(list.behind, list.behindValues(query))) !== undefined : hasMore,
  };
}

interface PageTexts {
  readonly texts: readonly string[];
  readonly total?: number | undefined;
}

/** One row more than asked for tells whether there is a next page. */
async function readTexts(
  reader: Reader,
  { list: { page, brief, counted }, query: { view, limit = 0, offset }, values, filterValues }: BoundList,
  { count, caller, total }: PageWanted,
): Promise<PageTexts> {
  const bound = [...values, limit + 1, offset];
  const onText = charging(caller);
  if (brief && limit + 1 <= mostShort(view)) {
    const texts = (await reader.column(brief, bound)) as readonly string[];
    if (!texts.includes(LONG_MARK)) {
      texts.forEach(onText);
      return { texts };
    }
  }
  if (!counted || count !== 'exact' || total.known !== undefined)
    return { texts: (await reader.column(page, bound, onText)) as readonly string[] };
  // The row of the total has no text.
  const onRow = ([text = null]: Row): void => (text === null ? undefined : onText(text));
  const rows = await reader.all(counted, [...bound, ...filterValues], onRow);
  const texts = rows.flatMap(([text = null]) => (text === null ? [] : String(text)));
  return { texts, total: rows.length > texts.length ? Number(rows.at(-1)?.[1]) : undefined };
}

/** Exact, or about as many: at least those that were found. */
async function totalOf(reader: Reader, bound: BoundList, { count, total }: PageWanted, least: number): Promise<number> {
  const { list, filterValues } = bound;
  if (count !== 'estimated') return readTotal(reader, bound, total);
  const { rows, isCheap } = list.readEstimate((await reader.get(list.estimate, filterValues)) ?? []);
  return Math.max(least, isCheap ? await readTotal(reader, bound, total) : rows);
}

/** Says which relation of a marked record is too large. */
async function refuseMarked(reader: Reader, { list, query }: BoundList, records: readonly string[]): Promise<void> {
  const marked = markedAmong(records);
  if (marked === undefined) return;
  await list.weigh(reader, query.view, marked);
  // It has changed since the page was read.
  throw unavailable('busy');
}

/** Of the first record, or the last. */
async function orderValues(
  reader: Reader,
  { list, query: { view, limit = 0, offset, cursor }, values }: BoundList,
  records: readonly string[],
  index: 0 | -1,
): Promise<readonly JsonValue[] | undefined> {
  const record = records.at(index);
  if (record === undefined) return undefined;
  if (list.orderValuesIn) return list.orderValuesIn(record);
  const hidden = async (): Promise<number> => {
    const found = await reader.column(list.identifiers, [...values, limit, offset]);
    return Number(found.at(cursor?.direction === 'before' ? -1 - index : index));
  };
  const identifier = view.type.identifier.inRecord ? identifierOf(record) : await hidden();
  const row = await reader.get(list.boundary, [identifier]);
  return row && list.decodeBoundary(row);
}

/** A whole list, streamed from a snapshot of its own. `values`: those of the page without a limit. */
export async function readWhole(
  driver: Driver,
  bound: BoundList,
  values: readonly SqlValue[],
  isHeavy: boolean,
  wanted: PageWanted,
): Promise<Stream> {
  const snapshot = await driver.snapshot(wanted.caller, isHeavy);
  try {
    const total = wanted.count === 'none' ? undefined : await totalOf(snapshot, bound, wanted, 0);
    await bound.list.limit?.(snapshot, bound.query.view, values);
    return { total, records: allOf(snapshot, bound, values) };
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

async function* allOf(
  snapshot: Snapshot,
  bound: BoundList,
  values: readonly SqlValue[],
): AsyncGenerator<readonly string[]> {
  try {
    for await (const records of snapshot.texts(bound.list.page, values)) {
      await refuseMarked(snapshot, bound, records);
      yield records;
    }
  } finally {
    await snapshot.close();
  }
}

// What an answer takes of the caller's memory: charged as its texts are received, or at once where they cannot be long.

/** A text is held twice: as it was read, and in the answer. */
const COPIES = 2;
/** Characters of a record that is not charged: most are shorter. */
const SHORT_RECORD = 16 * 1024;

/** The text of a record, once what it takes until it is sent is charged. */
export function chargedRecord(text: string | undefined, caller: Caller): string | undefined {
  if (text !== undefined && text.length > SHORT_RECORD) caller.take(COPIES * text.length);
  return text;
}

/** To be called with each text of a page as it is received. A page that is too long is refused before it is in memory. */
export function charging(caller: Caller): (text: SqlValue) => void {
  const { most } = caller;
  let total = 0;
  let longest = 0;
  return (text) => {
    const { length } = String(text);
    total += length;
    longest = Math.max(longest, length);
    // A single record is always answered, and one beyond the page is read to know whether there is a next page.
    if (total - longest > most) throw pageTooLong(most);
    caller.take(COPIES * length);
  };
}

/** Characters of a page that is read as a whole and charged afterwards: SQLite reads rows one by one at twice the price. */
const SHORT_PAGE = 16 * 1024 * 1024;
/** Characters that a byte becomes in JSON, at most. */
const ESCAPED = 6;
/** Quotes, colon and comma of a key. */
const KEY = 4;
/** A key of an identifier and its value, at most, and the braces. */
const IDENTIFIER = 100;

/** Records that are short together, as long as the columns without a limit are. */
const mostShort = memoized((view: View): number => {
  const fields = view.fields.filter((field) => !isUnlimited(field));
  const own = longestRecord({ ...view, openKeys: false, fields });
  return SHORT_PAGE / (own + ESCAPED * MOST_UNLIMITED);
});

/** Characters of a record's JSON text, at most; Infinity where that cannot be said. */
function longestRecord({ fields, relations, openKeys }: Pick<View, 'fields' | 'relations' | 'openKeys'>): number {
  if (openKeys) return Infinity;
  const own = fields.map((field) => field.name.length + KEY + field.type.longest(field));
  const related = relations.map(({ relation, view }) =>
    relation.toMany ? Infinity : relation.name.length + KEY + longestRecord(view),
  );
  return [...own, ...related].reduce((sum, length) => sum + length, IDENTIFIER);
}
