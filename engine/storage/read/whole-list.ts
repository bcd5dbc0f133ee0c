/** A whole list: read at once where its table is small, else streamed from a snapshot of its own. */
import { andThen, type Awaitable } from '../../awaitable.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { Driver, Reader, Snapshot, Statement } from '../driver.ts';
import type { Stream } from '../store.ts';
import { type BoundList, readTotal } from './page.ts';

export async function readWhole(
  driver: Driver,
  query: ListQuery,
  bound: BoundList,
  newest: Statement,
  counted: boolean,
): Promise<Stream> {
  const values = [...bound.values, driver.dialect.unlimited, query.offset];
  if (await driver.isSmall(newest)) return driver.read((reader) => readAtOnce(reader, bound, values, counted));
  const snapshot = await driver.snapshot();
  try {
    const total = counted ? await readTotal(snapshot, bound) : undefined;
    await bound.list.limit?.(snapshot, values);
    return { total, chunks: jsonArray(snapshot, bound.list.stream, values) };
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

function readAtOnce(
  reader: Reader,
  bound: BoundList,
  values: readonly SqlValue[],
  counted: boolean,
): Awaitable<Stream> {
  const checked = bound.list.limit?.(reader, values);
  const rows = andThen(checked, () => reader.column(bound.list.stream, values));
  return andThen(rows, (texts) => {
    const total = counted ? readTotal(reader, bound) : undefined;
    return andThen(total, (count) => ({ total: count, chunks: once(`[${texts.join(',')}]`) }));
  });
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

async function* jsonArray(
  snapshot: Snapshot,
  statement: Statement,
  values: readonly SqlValue[],
): AsyncGenerator<string> {
  try {
    let separator = '[';
    for await (const text of snapshot.texts(statement, values)) {
      yield separator + text;
      separator = ',';
    }
    yield separator === '[' ? '[]' : ']';
  } finally {
    await snapshot.close();
  }
}
