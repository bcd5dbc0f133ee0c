/** ListQuery -> statements. They depend on the query's shape, not on its values. */
import type { Knex } from 'knex';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../../json/json.ts';
import { type Field, MAX_SHOWN_BYTES } from '../../model/model.ts';
import type { Cursor, ListQuery, View } from '../../query/list-query.ts';
import type { Dialect } from '../dialect.ts';
import type { Row, Statement } from '../driver.ts';
import { compiled, escaped, raw } from '../knex.ts';
import { all, and, any, shapeOfConditions, type SqlCondition, sqlOf, valuesOf } from './conditions.ts';
import { MOST_UNLIMITED, unlimitedColumns } from './lengths.ts';
import { createJoinedTables, type JoinedTables, type PathSql, ROOT_ALIAS } from './views.ts';
import { limitedJson } from './view-limits.ts';

export interface CompiledList {
  /** The records' JSON texts. Bound: `values`, limit, offset. */
  readonly page: Statement;
  /** The same, but of records that are long only a mark; missing where rows one by one cost no more. */
  readonly brief: Statement | undefined;
  /** The same with the total, where one statement can tell both. Bound: as the page, and `filterValues`. */
  readonly counted: Statement | undefined;
  /** The same, without sorting again where the join keeps the order. Bound as the page. */
  readonly stream: Statement;
  /** How many records match the filters. Bound: `filterValues`. */
  readonly count: Statement;
  /** The greatest identifier of the table. */
  readonly newest: Statement;
  /** The identifiers of the page. Bound as the page. */
  readonly identifiers: Statement;
  /** About how many that is. Bound: `filterValues`. */
  readonly estimate: Statement;
  /** A row if there is any record on the other side of the cursor. Bound: `behindValues`. */
  readonly behind: Statement;
  /** The order values of the record with the identifier that is bound. */
  readonly boundary: Statement;
  decodeBoundary(row: Row): readonly JsonValue[];
  /** The order values of a record from its text; undefined if the text does not show all of them. */
  readonly orderValuesIn: ((record: string) => readonly JsonValue[]) | undefined;
  filterValues(query: ListQuery): readonly SqlValue[];
  values(query: ListQuery): readonly SqlValue[];
  behindValues(query: ListQuery): readonly SqlValue[];
}

/** Rows that are read and skipped as fast as a join would be. */
const FEW_SKIPPED = 100;

const skipsFew = ({ offset }: Pick<ListQuery, 'offset'>): boolean => offset <= FEW_SKIPPED;

/** Queries of the same shape have the same statements. */
export function shapeOf({ view, filters, order, cursor, offset }: ListQuery): string {
  const orderShape = order.map(({ path, descending }) => `${path.name}${descending ? '-' : '+'}`);
  const cursorShape = cursor
    ? `${cursor.direction} ${cursor.values.map((value) => (value === null ? 'n' : 'v')).join('')}`
    : '';
  return `${view.type.statementKey}|${view.key}|${skipsFew({ offset })}|${shapeOfConditions(filters)}|${orderShape.join(',')}|${cursorShape}`;
}

export function compileList(query: ListQuery, dialect: Dialect): CompiledList {
  const { view, order, cursor } = query;
  const { type } = view;
  const identifier = `${ROOT_ALIAS}.${dialect.quote(type.identifier.column)}`;
  const json = limitedJson(view, MAX_SHOWN_BYTES, dialect);

  const counted = createJoinedTables(type, dialect);
  const matching = sqlOf(query.filters, counted, dialect);
  const count = select(counted, 'count(*)', matching, dialect);
  const estimate = dialect.estimate.sql({
    table: dialect.quote(type.table),
    identifier: dialect.quote(type.identifier.column),
    rowIdentifier: identifier,
    select: (columns, from = '', where = '') => {
      const source = { ...counted, from: `${from}${counted.from}` };
      return compiled(select(source, columns, and([{ sql: where, values: [] }, matching]), dialect)).sql;
    },
  });

  const source = createJoinedTables(type, dialect);
  const paths = order.map(({ path }) => source.path(path));
  const where = and([sqlOf(query.filters, source, dialect), cursorCondition(query, paths)]);
  const backwards = cursor?.direction === 'before';
  const terms = order.map(({ descending }) => descending !== backwards);
  const orderedBy = (expression: (index: number, path: PathSql) => string): string =>
    paths
      .map((path, index) => dialect.orderBy(expression(index, path), terms[index] ?? false, path.present))
      .join(', ');
  const ordered = (columns: string): Knex.QueryBuilder =>
    select(source, columns, where, dialect).orderByRaw(
      `${orderedBy((_, { comparable }) => comparable)} ${dialect.limit}`,
      [1, 1],
    );
  // An index that gives the order finds the rows of the page; columns of many skipped rows are not even read.
  const direct = servedByIndex(query) && (skipsFew(query) || dialect.skipsUnbuilt);

  /** The JSON of the page alone, also where the columns of rows that are skipped would be computed. */
  function built(columns: string): Knex.QueryBuilder {
    if (dialect.skipsUnbuilt) return ordered(columns);
    const rows = ordered(`${ROOT_ALIAS}.*`).as(ROOT_ALIAS);
    return dialect.knex
      .select(raw(columns, dialect))
      .from(rows)
      .orderByRaw(orderedBy((_, { comparable }) => comparable));
  }

  /** Where the database has to sort, it does that with identifiers, and joins the rows of the page. */
  function late(columns: string, resorted: boolean): Knex.QueryBuilder {
    const keys = paths.map(({ comparable }, index) => `${comparable} as o${index}$`);
    const inner = ordered([`${identifier} as id$`, ...keys].join(', ')).as('page$');
    const outer = dialect.knex.select(raw(columns, dialect)).from(inner);
    outer.joinRaw(escaped(`${dialect.joined.words} ${source.from} on ${identifier} = page$.id$`));
    return resorted || !dialect.joined.inOrder ? outer.orderByRaw(orderedBy((index) => `o${index}$`)) : outer;
  }

  const behindSource = createJoinedTables(type, dialect);
  const behindPaths = order.map(({ path }) => behindSource.path(path));
  const behind = and([sqlOf(query.filters, behindSource, dialect), behindCondition(query, behindPaths)]);

  const boundarySource = createJoinedTables(type, dialect);
  const stored = order.map(({ path }) => boundarySource.path(path));
  const boundary = select(
    boundarySource,
    stored.map((path) => path.read).join(', '),
    { sql: `${identifier} = ?`, values: [0] },
    dialect,
  );

  const pageOf = (columns: string): Statement => compiled(direct ? built(columns) : late(columns, true));
  const page = pageOf(json);
  return {
    page,
    brief: dialect.readsRowsAtOnce ? pageOf(briefJson(query.view, json, dialect)) : undefined,
    counted: dialect.counted?.(page, compiled(count), {
      values: where.values.length + 2,
      isTold: cursor === undefined,
    }),
    stream: compiled(direct ? built(json) : late(json, false)),
    count: compiled(count),
    newest: {
      sql: `select coalesce(max(${dialect.quote(type.identifier.column)}), 0) from ${dialect.quote(type.table)}`,
    },
    estimate: { sql: estimate },
    identifiers: compiled(ordered(identifier)),
    behind: { sql: `${compiled(select(behindSource, '1', behind, dialect)).sql} limit 1` },
    boundary: compiled(boundary),
    decodeBoundary: (row) => stored.map((path, index) => path.decode(row[index] ?? null)),
    orderValuesIn: orderReader(query),
    filterValues: ({ filters }) => valuesOf(filters, dialect),
    values: (asked) => [...valuesOf(asked.filters, dialect), ...cursorCondition(asked, paths).values],
    behindValues: (asked) => [...valuesOf(asked.filters, dialect), ...behindCondition(asked, behindPaths).values],
  };
}

/** JSON texts never contain this character. */
export const LONG_MARK = '\u0002';

function briefJson(view: View, json: string, dialect: Dialect): string {
  const columns = unlimitedColumns(view);
  if (columns.length === 0) return json;
  const bytes = columns.map((name) => `coalesce(${dialect.bytes(`${ROOT_ALIAS}.${dialect.quote(name)}`, 'text')}, 0)`);
  return `case when ${bytes.join(' + ')} > ${MOST_UNLIMITED} then '${LONG_MARK}' else ${json} end`;
}

/** Reads the order values from records that show the identifier and all fields of the order. */
function orderReader({ view, order }: ListQuery): CompiledList['orderValuesIn'] {
  const { type, fields } = view;
  const isShown = order.every(
    ({ path: { relations, field } }) => relations.length === 0 && (field === undefined || fields.includes(field)),
  );
  if (!isShown || !type.identifier.inRecord) return undefined;
  if (order.every(({ path }) => path.field === undefined)) return (record) => order.map(() => identifierOf(record));
  const names = order.map(({ path: { field } }) => (field ?? type.identifier).name);
  return (record) => {
    const values = JSON.parse(record) as JsonObject;
    return names.map((name) => values[name] ?? null);
  };
}

/** The first key of a record is its identifier; a column for it would cost a fifth more for each row. */
export const identifierOf = (record: string): number => Number.parseInt(record.slice(record.indexOf(':') + 1), 10);

function select(source: JoinedTables, columns: string, where: SqlCondition, dialect: Dialect): Knex.QueryBuilder {
  const query = dialect.knex.select(raw(columns, dialect)).from(raw(source.from, dialect));
  const joins = source.joins();
  if (joins !== '') query.joinRaw(joins);
  if (where.sql !== '') query.whereRaw(where.sql, [...where.values]);
  return query;
}

const NO_CONDITION: SqlCondition = { sql: '', values: [] };

function cursorCondition({ order, cursor }: ListQuery, paths: readonly PathSql[]): SqlCondition {
  return cursor ? beyond(keysOf(order, cursor, cursor.direction === 'before', paths)) : NO_CONDITION;
}

/** What the cursor divides from the page: its own record, and all on its other side. */
function behindCondition({ order, cursor }: ListQuery, paths: readonly PathSql[]): SqlCondition {
  return cursor ? beyond(keysOf(order, cursor, cursor.direction === 'after', paths), true) : NO_CONDITION;
}

const keysOf = (
  order: ListQuery['order'],
  cursor: Cursor,
  backwards: boolean,
  paths: readonly PathSql[],
): readonly Key[] =>
  order.flatMap(({ descending }, index): Key[] => {
    const [path, value] = [paths[index], cursor.values[index] ?? null];
    return path
      ? [{ path, descending: descending !== backwards, operand: value === null ? null : path.operand(value) }]
      : [];
  });

// Cursor -> the condition that a record stands after it (or before it) in an order with nulls and directions.

export interface Key {
  readonly path: PathSql;
  /** In the direction of reading: reversed for `before`. */
  readonly descending: boolean;
  /** The cursor's value as it is bound; null where the record had none. */
  readonly operand: SqlValue;
}

/** Beyond in the first key, or equal there and beyond in the second, and so on; `inclusive`: or equal in all of them. */
export function beyond(keys: readonly Key[], inclusive = false): SqlCondition {
  const alternatives = keys.flatMap((key, index) => {
    const step = strictlyBeyond(key);
    return step ? [all([...keys.slice(0, index).map(equal), step])] : [];
  });
  if (inclusive) alternatives.push(all(keys.map(equal)));
  const [first] = keys;
  // The chain of ORs alone would scan; the bound of the first key lets its index start at the right place.
  const bound = first && keys.length > 1 ? notBefore(first) : undefined;
  const chain = any(alternatives);
  return bound ? all([bound, chain]) : chain;
}

function equal({ path, operand }: Key): SqlCondition {
  return operand === null
    ? { sql: `${path.comparable} is null`, values: [] }
    : { sql: `${path.comparable} = ?`, values: [operand] };
}

/** Null stands before every value ascending, after it descending; undefined where nothing stands beyond. */
function strictlyBeyond({ path, descending, operand }: Key): SqlCondition | undefined {
  const { comparable, nullable } = path;
  if (operand === null) return descending ? undefined : { sql: `${comparable} is not null`, values: [] };
  if (!descending) return { sql: `${comparable} > ?`, values: [operand] };
  return { sql: nullable ? `(${comparable} < ? or ${comparable} is null)` : `${comparable} < ?`, values: [operand] };
}

function notBefore({ path, descending, operand }: Key): SqlCondition | undefined {
  if (operand === null || (descending && path.nullable)) return undefined;
  return { sql: `${path.comparable} ${descending ? '<=' : '>='} ?`, values: [operand] };
}

// What indexes do for a list.

/** Whether its indexes compare its values as lists do: they ignore case if the tables do. */
export const isIndexedAlike = ({ caseless, folded }: Field): boolean => caseless === (folded !== undefined);

interface OrderedRecords extends Pick<ListQuery, 'order'> {
  readonly view: Pick<ListQuery['view'], 'type'>;
}

/** Whether an index gives the records in order, or the database has to sort. */
export function servedByIndex({ view: { type }, order }: OrderedRecords): boolean {
  const own = order.every(({ path }) => path.relations.length === 0);
  const oneDirection = order.every(({ descending }) => descending === order[0]?.descending);
  // The identifier, which ends every order, ends every index too.
  const fields = order.flatMap(({ path }) => path.field ?? []);
  const identifierLast = order.slice(0, -1).every(({ path }) => path.field !== undefined);
  if (!own || !oneDirection || !identifierLast || !fields.every(isIndexedAlike)) return false;
  return (
    fields.length === 0 ||
    type.indexes.some(
      ({ members }) => members.length === fields.length && fields.every((field, index) => members[index] === field),
    )
  );
}
