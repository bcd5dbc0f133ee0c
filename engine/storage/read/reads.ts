/** Reads of records: each answers JSON text that the database has put together, from one snapshot. */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { ListQuery, View } from '../../query/list-query.ts';
import { perQuery } from '../../query/per-query.ts';
import type { Dialect, Driver, Reader, Snapshot, Statement } from '../driver.ts';
import type { Store } from '../store.ts';
import { compileList, shapeOf } from './compile-list.ts';
import { createDeepLimit, type DeepLimit } from './deep-limit.ts';
import { type BoundList, type LimitedList, readPage, readTotal } from './page.ts';
import { ROOT } from './paths.ts';
import { createShapeCache } from './shape-cache.ts';
import { recordJson } from './views.ts';

export interface Reads extends Pick<Store, 'get' | 'page' | 'stream' | 'count'> {
  /** The record as JSON text, as this reader sees it. */
  record(reader: Reader, view: View, identifier: number): Promise<string | undefined>;
}

interface CompiledView {
  readonly record: Statement;
  readonly limit: DeepLimit | undefined;
}

export function createReads(driver: Driver): Reads {
  const { dialect } = driver;
  const views = createShapeCache((view: View) => compileView(view, dialect));
  const lists = createShapeCache((query: ListQuery): LimitedList => {
    const list = compileList(query, dialect);
    return { ...list, limit: createDeepLimit(query.view, list.identifiers, dialect) };
  });
  const viewOf = perQuery((view: View): CompiledView => views(`${view.type.name}|${view.key}`, view));
  const boundOf = perQuery((query: ListQuery): BoundList => {
    const list = lists(shapeOf(query), query);
    return { list, values: list.values(query), filterValues: list.filterValues(query) };
  });

  async function record(reader: Reader, view: View, identifier: number): Promise<string | undefined> {
    const { record: statement, limit } = viewOf(view);
    if (limit) await limit(reader, [identifier]);
    return (await reader.value(statement, [identifier])) as string | undefined;
  }

  return {
    record,
    get: (view, identifier) => {
      const { record: statement, limit } = viewOf(view);
      if (limit) return driver.read((reader) => record(reader, view, identifier));
      return driver.value(statement, [identifier]) as string | undefined;
    },
    page: (query, counted) => driver.read((reader) => readPage(reader, query, boundOf(query), counted)),
    count: (query) => readTotal(driver, boundOf(query)),
    stream: async (query, counted) => {
      const bound = boundOf(query);
      const snapshot = await driver.snapshot();
      try {
        const total = counted ? await readTotal(snapshot, bound) : undefined;
        const values = [...bound.values, dialect.unlimited, query.offset];
        await bound.list.limit?.(snapshot, values);
        return { total, chunks: jsonArray(snapshot, bound.list.stream, values) };
      } catch (error) {
        await snapshot.close();
        throw error;
      }
    },
  };
}

function compileView(view: View, dialect: Dialect): CompiledView {
  const table = `${dialect.quote(view.type.table)} as ${ROOT}`;
  const identified = `${ROOT}.${dialect.quote(view.type.identifier.column)} = ?`;
  const record = dialect.knex.select(dialect.knex.raw(recordJson(view, ROOT, dialect).replaceAll('?', '\\?')));
  record.from(dialect.knex.raw(table)).whereRaw(identified, [0]);
  const identifiers = { sql: 'select cast(? as bigint)' };
  return { record: { sql: record.toSQL().toNative().sql }, limit: createDeepLimit(view, identifiers, dialect) };
}

async function* jsonArray(
  snapshot: Snapshot,
  statement: Statement,
  values: readonly SqlValue[],
): AsyncGenerator<string> {
  try {
    let separator = '[';
    for await (const batch of snapshot.batches(statement, values)) {
      yield `${separator}${batch.join(',')}`;
      separator = ',';
    }
    yield separator === '[' ? '[]' : ']';
  } finally {
    await snapshot.close();
  }
}
