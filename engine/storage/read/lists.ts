/** Compiles statements for lists, which depend on the query's shape, not its values. */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../../json/json.ts';
import { memoized } from '../../memo.ts';
import type { ListQuery, View } from '../../query/list-query.ts';
import type { Dialect, RecordStatement } from '../dialect.ts';
import type { Row } from '../driver.ts';
import {
  all,
  any,
  createJoinedTables,
  type PathSql,
  perRecord,
  shapeOfConditions,
  type SqlCondition,
  sqlOf,
  valuesOf,
} from './conditions.ts';
import { setsOfRole } from './clause.ts';
import { findsFew, greatestIdentifier, relationsIn, servedByIndex, setsIn } from './heaviness.ts';
import {
  createDeepLimit,
  limitedJson,
  pathsOf,
  ROOT_ALIAS,
  type ShownLimits,
  tablesOfPath,
  tablesOfView,
} from './views.ts';

/** Replaces long JSON, which never contains this character. */
export const LONG_MARK = '\u0002';
export const MAX_BRIEF_BYTES = 64 * 1024;

/** Roles with the same names have views of the same key, but may read other sets. */
const numberOfSets = memoized((view: View): number => setsOfRole(view.rights, tablesOfView(view)).length);

export function shapeOf({ view, filters, order, cursor, offset }: ListQuery): string {
  const orderShape = order.map(({ path, descending }) => `${path.name}${descending ? '-' : '+'}`);
  const cursorShape = cursor
    ? `${cursor.direction}${cursor.record ? ' near' : ''} ${cursor.values.map((value) => (value === null ? 'n' : 'v')).join('')}`
    : '';
  return `${view.key}|${numberOfSets(view)}|${offset === 0}|${shapeOfConditions(filters)}|${orderShape.join(',')}|${cursorShape}`;
}

const selectSql = (columns: string, from: string, where: SqlCondition): string =>
  `select ${columns} from ${from}${where.sql === '' ? '' : ` where ${where.sql}`}`;

/** Statements bind `values`, limit and offset; counts bind `filterValues`. */
export function compileList(query: ListQuery, dialect: Dialect, most: ShownLimits) {
  const { view, order, cursor, offset } = query;
  const { type } = view;
  const [table, id] = [dialect.quote(type.table), dialect.quote(type.identifier.column)];
  const identifier = `${ROOT_ALIAS}.${id}`;

  const counted = createJoinedTables(type, dialect);
  const readsMany = !query.filters.some((filter) => findsFew(type, filter));
  const asking = readsMany ? dialect : perRecord(dialect);
  const matching = sqlOf(query.filters, counted, asking);
  const selectMatching = (columns: string, before = '', within = ''): string =>
    selectSql(columns, `${before}${counted.from} ${counted.joins()}`, all([{ sql: within, values: [] }, matching]));
  const followed = [...relationsIn(query.filters), ...order.flatMap(({ path }) => path.relations)];
  const named = [...tablesOfView(view), ...tablesOfPath(followed)];
  const setsAtOnce = asking.plansSets ? [] : setsOfRole(view.rights, named);
  const relations = [...followed, ...setsAtOnce];
  const tables = [...named, ...tablesOfPath(setsAtOnce)];
  const shownSets = pathsOf(view).flatMap((path) => path.relations.filter(({ toMany }) => toMany));
  const sets = setsIn(query.filters);
  const statement = (text: string): RecordStatement => ({ query: text, reads: tables, readsMany, sets });
  const count = statement(selectMatching('count(*)'));

  const source = createJoinedTables(type, dialect);
  const filters = sqlOf(query.filters, source, asking);
  const paths = order.map(({ path }) => source.path(path));
  const where = all([filters, cursorCondition(query, paths)]);
  const from = `${source.from} ${source.joins()}`;
  const orderedBy = (expressions: readonly string[]): string =>
    order
      .map(({ descending }, index) => {
        const isDescending = descending !== (cursor?.direction === 'before');
        return dialect.orderBy(expressions[index] ?? '', isDescending, paths[index]?.present ?? false);
      })
      .join(', ');
  const ordered = (columns: readonly string[]): string => {
    const orderBy = orderedBy(paths.map(({ comparable }) => comparable));
    return `${selectSql(columns.join(', '), from, where)} order by ${orderBy} ${dialect.limit}`;
  };

  /** Sorts only identifiers, then joins the rows of the page, so that sorting moves no JSON. */
  function late(columns: readonly string[], reads: readonly string[]): string {
    const { words, inOrder } = dialect.joined;
    const keys = paths.map(({ comparable }, index) => `${comparable} as o${index}$`);
    const others = reads.map((read, index) => `${read} as r${index}$`);
    const inner = ordered([`${identifier} as id$`, ...keys, ...others]);
    const shown = [...columns, ...reads.map((_, index) => `r${index}$`)].join(', ');
    const joined = `select ${shown} from (${inner}) as page$ ${words} ${source.from} on ${identifier} = page$.id$`;
    return inOrder ? joined : `${joined} order by ${orderedBy(paths.map((_, index) => `o${index}$`))}`;
  }

  const orderValuesIn = orderReader(query);
  const reads = orderValuesIn ? [] : paths.map(({ read }) => read);
  const json = `${limitedJson(view, dialect, most)} as text$`;
  // If an index gives the order, no sort is needed; but skipped rows must not build JSON.
  const isDirect = servedByIndex(query) && offset === 0;
  const page = statement(isDirect ? ordered([json, ...reads]) : late([json], reads));
  const long = `octet_length(text$) > ${MAX_BRIEF_BYTES}`;
  // This LIMIT and WHERE keep SQLite from building the JSON each time that the outer SELECT names it.
  const texts = isDirect ? page.query : `${page.query} limit -1`;
  const brief = `select case when ${long} then '${LONG_MARK}' else text$ end from (${texts}) where text$ is not null`;
  const identifiers = statement(ordered([identifier]));
  const estimate = dialect.estimate.sql({
    table,
    identifier: id,
    rowIdentifier: identifier,
    isCounted: type.identifier.kind.isCounted === true,
    select: selectMatching,
  });
  const behind = selectSql('1', from, all([filters, cursorCondition(query, paths, true)]));
  const isBrief = dialect.readsRowsAtOnce && orderValuesIn !== undefined;
  return {
    /** The JSON, and the order values if the JSON lacks them. */
    page,
    /** The JSON, or LONG_MARK if it is long; missing if rows one by one cost no more. */
    brief: isBrief ? statement(brief) : undefined,
    counted: orderValuesIn && dialect.counted?.(page, count, cursor === undefined),
    /** `row`: of a page that is not brief. */
    orderValues: (text: string, row: Row | undefined): readonly JsonValue[] =>
      orderValuesIn?.(text) ?? paths.map(({ decode }, index) => decode(row?.[index + 1] ?? null)),
    identifiers,
    readsSetsAtOnce: setsAtOnce.length > 0,
    count,
    estimate: statement(estimate),
    greatest: greatestIdentifier(type, relations, dialect, statement),
    shownSets: shownSets.length > 0 && { greatest: greatestIdentifier(type, shownSets, dialect, statement) },
    /** Returns a row if a record is on the other side of the cursor. Bound: `values` of what is behind. */
    behind: statement(`${behind} limit 1`),
    limit: createDeepLimit(view, identifiers, dialect, most),
    filterValues: (asked: ListQuery) => valuesOf(asked.filters, dialect),
    values: (asked: ListQuery, isBehind = false) => [
      ...valuesOf(asked.filters, dialect),
      ...cursorCondition(asked, paths, isBehind).values,
    ],
  };
}

/** Reads the order values from records that show the identifier and all fields of the order. */
function orderReader({ view, order }: ListQuery): ((record: string) => readonly JsonValue[]) | undefined {
  const { type, fields } = view;
  const isShown = order.every(
    ({ path: { relations, field } }) => relations.length === 0 && (field === undefined || fields.includes(field)),
  );
  if (!isShown || !type.identifier.inRecord) return undefined;
  // The identifier is the first key: avoid parsing, if it is a number.
  if (type.identifier.kind.isCounted && order.every(({ path }) => path.field === undefined))
    return (record) => order.map(() => Number.parseInt(record.slice(record.indexOf(':') + 1), 10));
  return (record) => {
    const values = JSON.parse(record) as JsonObject;
    return order.map(({ path: { field } }) => values[(field ?? type.identifier).name] ?? null);
  };
}

// A cursor is a condition: the record comes after (or before) it in an order with nulls and directions.

interface Key {
  readonly path: PathSql;
  /** The direction of reading: reversed for `before`. */
  readonly descending: boolean;
  /** The bound value of the cursor; null if the record had none. */
  readonly operand: SqlValue;
}

/** Beyond in the first key, or equal and beyond in the second, etc. `behind`: the cursor's record and its other side. A cursor with few values includes what has these. */
function cursorCondition({ order, cursor }: ListQuery, paths: readonly PathSql[], behind = false): SqlCondition {
  if (!cursor) return { sql: '', values: [] };
  const backwards = (cursor.direction === 'before') !== behind;
  const keys = paths.slice(0, cursor.values.length).map((path, index): Key => {
    const value = cursor.values[index] ?? null;
    const descending = (order[index]?.descending ?? false) !== backwards;
    return { path, descending, operand: value === null ? null : path.operand(value) };
  });
  const alternatives = keys.flatMap((key, index) => {
    const step = strictlyBeyond(key);
    return step ? [all([...keys.slice(0, index).map(equal), step])] : [];
  });
  if (behind || cursor.record) alternatives.push(all(keys.map(equal)));
  const [first] = keys;
  // The ORs would cause a scan; this bound lets an index of the first key start at the cursor.
  const bound = first && keys.length > 1 ? notBefore(first) : undefined;
  return bound ? all([bound, any(alternatives)]) : any(alternatives);
}

const equal = ({ path: { comparable }, operand }: Key): SqlCondition =>
  operand === null ? { sql: `${comparable} is null`, values: [] } : { sql: `${comparable} = ?`, values: [operand] };

/** Nulls come first in ascending order, last in descending order; undefined if no value can lie beyond. */
function strictlyBeyond({ path: { comparable, nullable }, descending, operand }: Key): SqlCondition | undefined {
  if (operand === null) return descending ? undefined : { sql: `${comparable} is not null`, values: [] };
  if (!descending) return { sql: `${comparable} > ?`, values: [operand] };
  return { sql: nullable ? `(${comparable} < ? or ${comparable} is null)` : `${comparable} < ?`, values: [operand] };
}

function notBefore({ path: { comparable, nullable }, descending, operand }: Key): SqlCondition | undefined {
  if (operand === null || (descending && nullable)) return undefined;
  return { sql: `${comparable} ${descending ? '<=' : '>='} ?`, values: [operand] };
}
