/** A whole list: read at once where its table is small, else streamed from a snapshot of its own. */
import { andThen, type Awaitable } from '../../awaitable.ts';
import type { Caller } from '../../caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { RecordType } from '../../model/model.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { Driver, ListWork, Reader, Snapshot } from '../driver.ts';
import type { Stream } from '../store.ts';
import { isPageTooLong } from '../../problem.ts';
import { arrayOf, type BoundList, readTotal, refused } from './page.ts';
import { markedIn } from './view-limits.ts';

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
