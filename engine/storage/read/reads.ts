/** Reads of records: each answers JSON text that the database has put together, from one snapshot. */
import { andThen, type Awaitable } from '../../awaitable.ts';
import { type Caller, PATIENT } from '../../caller.ts';
import { numeric } from '../../field-types/field-type.ts';
import type { Field, RecordType } from '../../model/model.ts';
import type { Filter, ListQuery, View } from '../../query/list-query.ts';
import { operators } from '../../query/operators.ts';
import { perQuery } from '../../query/per-query.ts';
import type { Dialect, Driver, ListWork, Reader, Statement, TextWork } from '../driver.ts';
import type { Store } from '../store.ts';
import { compileList, shapeOf } from './compile-list.ts';
import { createDeepLimit, createWeigh, type DeepLimit, isMarked, limitedJson, type Weigh } from './view-limits.ts';
import { type BoundList, type LimitedList, readPage, readTotal } from './page.ts';
import { ROOT } from './paths.ts';
import { filteredByIndex, servedByIndex } from './index-use.ts';
import { createShapeCache } from './shape-cache.ts';
import { recordJson } from './views.ts';
import { readWhole } from './whole-list.ts';

/** Bytes of a character, at most. */
const UTF8 = 4;

export interface Reads extends Pick<Store, 'get' | 'page' | 'stream' | 'count'> {
  /** The record as JSON text, as this reader sees it. */
  record(reader: Reader, view: View, identifier: number, caller?: Caller): Promise<string | undefined>;
}

interface CompiledView {
  /** The record, or its mark where its relations have many bytes. */
  readonly record: Statement;
  /** The record, whatever it has. */
  readonly whole: Statement;
  readonly weigh: Weigh;
  readonly limit: DeepLimit | undefined;
}

/** Bytes of relations that a record may have without a closer look. */
const LIGHT = 1024 * 1024;

export function createReads(driver: Driver): Reads {
  const { dialect } = driver;
  const views = createShapeCache((view: View) => compileView(view, dialect));
  const lists = createShapeCache((query: ListQuery): LimitedList => {
    const list = compileList(query, dialect);
    const weigh = createWeigh(query.view, dialect);
    return { ...list, weigh, limit: createDeepLimit(query.view, list.identifiers, dialect) };
  });
  const viewOf = perQuery((view: View): CompiledView => views(`${view.type.name}|${view.key}`, view));
  const boundOf = perQuery((query: ListQuery): BoundList => {
    const list = lists(shapeOf(query), query);
    return { list, values: list.values(query), filterValues: list.filterValues(query) };
  });

  const newestOf = perQuery((type: RecordType) => newestIn(type, dialect));
  const bytesOf = perQuery((field: Field, { table }: RecordType) => ({
    sql: `select coalesce(sum(octet_length(${dialect.quote(field.column)})), 0) from ${dialect.quote(table)}`,
  }));

  const textsOf = (filters: readonly Filter[]): readonly TextWork[] =>
    filters.flatMap(({ path: { field, type, relations }, operator }) => {
      const { perByte } = operators[operator];
      if (!field || perByte === 0) return [];
      const longest = UTF8 * numeric(field, 'maxLength', Infinity);
      return [{ longest, total: relations.length === 0 ? bytesOf(field, type) : undefined, perByte }];
    });

  async function record(reader: Reader, view: View, identifier: number, caller = PATIENT): Promise<string | undefined> {
    const { record: statement, limit } = viewOf(view);
    if (limit) await limit(reader, view, [identifier]);
    const text = (await reader.value(statement, [identifier])) as string | undefined;
    return drawn(text !== undefined && isMarked(text) ? await heavy(reader, view, identifier) : text, caller);
  }

  async function heavy(reader: Reader, view: View, identifier: number): Promise<string | undefined> {
    const { whole, weigh } = viewOf(view);
    await weigh(reader, view, identifier);
    return (await reader.value(whole, [identifier])) as string | undefined;
  }

  return {
    record,
    get: (view, identifier, caller = PATIENT) => {
      const { record: statement, limit } = viewOf(view);
      if (limit) return driver.read((reader) => record(reader, view, identifier, caller), caller);
      return andThen(driver.value(statement, [identifier]) as Awaitable<string | undefined>, (text) =>
        text !== undefined && isMarked(text)
          ? driver.read(async (reader) => drawn(await heavy(reader, view, identifier), caller), caller)
          : drawn(text, caller),
      );
    },
    page: (query, counted, caller = PATIENT) => {
      const bound = boundOf(query);
      const run = driver.isHeavy(workOf(query, bound, counted)) ? driver.scan : driver.read;
      return run((reader) => readPage(reader, query, bound, counted, caller), caller);
    },
    count: (query) => readTotal(driver, boundOf(query)),
    stream: (query, counted, caller = PATIENT) => {
      const bound = boundOf(query);
      return readWhole(driver, query, bound, workOf(query, bound, counted), caller);
    },
  };

  function workOf(query: ListQuery, bound: BoundList, counted: boolean): ListWork {
    const { view, filters, limit, offset } = query;
    const { list, values, filterValues } = bound;
    return {
      newest: newestOf(view.type),
      rows: limit === undefined ? list.stream : list.page,
      values: [...values, limit ?? dialect.unlimited, offset],
      filters: filters.length,
      texts: textsOf(filters),
      offset,
      isIndexed: servedByIndex(query) && filteredByIndex(query),
      whole: limit === undefined,
      limited: list.limit !== undefined,
      counted: counted ? { statement: list.count, values: filterValues } : undefined,
    };
  }
}

/** Characters of a record that draw nothing from the budget: most are shorter. */
const SHORT = 16 * 1024;

/** The text, and what it takes until it is sent. */
function drawn(text: string | undefined, caller: Caller): string | undefined {
  if (text !== undefined && text.length > SHORT) caller.take(2 * text.length);
  return text;
}

const newestIn = ({ table, identifier }: RecordType, { quote }: Dialect): Statement => ({
  sql: `select coalesce(max(${quote(identifier.column)}), 0) from ${quote(table)}`,
});

function compileView(view: View, dialect: Dialect): CompiledView {
  const table = `${dialect.quote(view.type.table)} as ${ROOT}`;
  const identified = `${ROOT}.${dialect.quote(view.type.identifier.column)} = ?`;
  const select = (json: string): Statement => ({ sql: `select ${json} from ${table} where ${identified}` });
  return {
    record: select(limitedJson(view, LIGHT, dialect)),
    whole: select(recordJson(view, ROOT, dialect)),
    weigh: createWeigh(view, dialect),
    limit: createDeepLimit(view, { sql: 'select cast(? as bigint)' }, dialect),
  };
}
