/** Reads of records: each answers JSON text that the database has put together, from one snapshot. */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json.ts';
import type { ListQuery, View } from '../../query/list-query.ts';
import type { Dialect, Driver, Reader, Snapshot, Statement } from '../driver.ts';
import type { Page, Store } from '../store.ts';
import { type CompiledList, compileList, shapeOf } from './compile-list.ts';
import { createDeepLimit, type DeepLimit } from './deep-limit.ts';
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

type LimitedList = CompiledList & { readonly limit: DeepLimit | undefined };

export function createReads(driver: Driver): Reads {
  const { dialect } = driver;
  const views = createShapeCache((view: View) => compileView(view, dialect));
  const lists = createShapeCache((query: ListQuery): LimitedList => {
    const list = compileList(query, dialect);
    return { ...list, limit: createDeepLimit(query.view, list.identifiers, dialect) };
  });
  const viewOf = (view: View): CompiledView => views(`${view.type.name}|${view.key}`, view);
  const listOf = (query: ListQuery): LimitedList => lists(shapeOf(query), query);

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
    page: (query, counted) => driver.read((reader) => readPage(reader, query, listOf(query), counted)),
    count: async (query) => {
      const list = listOf(query);
      return Number(await driver.value(list.count, list.filterValues(query)));
    },
    stream: async (query, counted) => {
      const list = listOf(query);
      const snapshot = await driver.snapshot();
      try {
        const total = await readTotal(snapshot, query, list, counted);
        const values = [...list.values(query), dialect.unlimited, query.offset];
        await list.limit?.(snapshot, values);
        return { total, chunks: jsonArray(snapshot, list.stream, values) };
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

async function readTotal(
  reader: Reader,
  query: ListQuery,
  list: CompiledList,
  counted: boolean,
): Promise<number | undefined> {
  return counted ? Number(await reader.value(list.count, list.filterValues(query))) : undefined;
}

async function readPage(reader: Reader, query: ListQuery, list: LimitedList, counted: boolean): Promise<Page> {
  const { limit = 0, offset, cursor } = query;
  const values = list.values(query);
  await list.limit?.(reader, [...values, limit, offset]);
  // One record more than asked for tells whether there is a next page.
  const rows = (await reader.column(list.page, [...values, limit + 1, offset])) as readonly string[];
  const more = rows.length > limit;
  const shown = more ? rows.slice(0, limit) : rows;
  const backwards = cursor?.direction === 'before';
  const records = backwards ? shown.toReversed() : shown;
  const hasPrevious = backwards ? more : cursor !== undefined || offset > 0;
  const hasNext = backwards || more;
  return {
    body: `[${records.map(withoutIdentifier).join(',')}]`,
    total: await readTotal(reader, query, list, counted),
    first: hasPrevious ? await boundary(reader, list, records[0]) : undefined,
    last: hasNext ? await boundary(reader, list, records.at(-1)) : undefined,
    hasPrevious,
    hasNext,
  };
}

// Rows are `12{"id":12,…}`: an identifier in a column of its own would cost a third more for each row.
const withoutIdentifier = (row: string): string => row.slice(row.indexOf('{'));

async function boundary(
  reader: Reader,
  list: CompiledList,
  row: string | undefined,
): Promise<readonly JsonValue[] | undefined> {
  if (row === undefined) return undefined;
  const values = await reader.get(list.boundary, [Number.parseInt(row, 10)]);
  return values && list.decodeBoundary(values);
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
