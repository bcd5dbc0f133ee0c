/** ListQuery -> statements. What they are depends on the query's shape alone, not on its values. */
import type { Knex } from 'knex';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json.ts';
import { MAX_SHOWN_BYTES } from '../../model/model.ts';
import type { Cursor, Filter, ListQuery } from '../../query/list-query.ts';
import { operators } from '../../query/operators.ts';
import type { Dialect, Row, Statement } from '../driver.ts';
import { servedByIndex } from './index-use.ts';
import { beyond, type Condition, type Key } from './keyset.ts';
import { createSource, type PathSql, ROOT, type Source } from './paths.ts';
import { limitedJson } from './view-limits.ts';

export interface CompiledList {
  /** The records' JSON texts. Bound: `values`, limit, offset. */
  readonly page: Statement;
  /** The same, in an order of which the database need not be reminded at the end. Bound as the page. */
  readonly stream: Statement;
  /** How many records match the filters. Bound: `filterValues`. */
  readonly count: Statement;
  /** The identifiers of the page. Bound as the page. */
  readonly identifiers: Statement;
  /** A row where there is anything from the cursor on, away from the page. Bound: `behindValues`. */
  readonly behind: Statement;
  /** The order values of the record with the identifier that is bound. */
  readonly boundary: Statement;
  decodeBoundary(row: Row): readonly JsonValue[];
  filterValues(query: ListQuery): readonly SqlValue[];
  values(query: ListQuery): readonly SqlValue[];
  behindValues(query: ListQuery): readonly SqlValue[];
}

/** Queries of the same shape have the same statements. */
export function shapeOf({ view, filters, order, cursor }: ListQuery): string {
  const filterShape = filters.map(
    ({ path, operator, value }) => `${path.name} ${operator} ${operators[operator].count(value)}`,
  );
  const orderShape = order.map(({ path, descending }) => `${path.name}${descending ? '-' : '+'}`);
  const cursorShape = cursor
    ? `${cursor.direction} ${cursor.values.map((value) => (value === null ? 'n' : 'v')).join('')}`
    : '';
  return `${view.type.name}|${view.key}|${filterShape.join(',')}|${orderShape.join(',')}|${cursorShape}`;
}

export function compileList(query: ListQuery, dialect: Dialect): CompiledList {
  const { view, order, cursor } = query;
  const { type } = view;
  const identifier = `${ROOT}.${dialect.quote(type.identifier.column)}`;
  const json = limitedJson(view, MAX_SHOWN_BYTES, dialect);

  const counted = createSource(type, dialect);
  const count = select(counted, 'count(*)', filterCondition(query, counted, dialect), dialect);

  const source = createSource(type, dialect);
  const filterPaths = query.filters.map(({ path }) => source.path(path));
  const paths = order.map(({ path }) => source.path(path));
  const where = and([filterCondition(query, source, dialect), cursorCondition(query, paths)]);
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
  // Where the database has to sort, it sorts identifiers, and builds the JSON of the page alone.
  const direct = servedByIndex(query);

  function late(columns: string, resorted: boolean): Knex.QueryBuilder {
    const keys = paths.map(({ comparable }, index) => `${comparable} as o${index}`);
    const inner = ordered([`${identifier} as page_id`, ...keys].join(', ')).as('page');
    const outer = dialect.knex.select(dialect.knex.raw(escaped(columns))).from(inner);
    outer.joinRaw(escaped(`${dialect.joined.words} ${source.from} on ${identifier} = page.page_id`));
    return resorted || !dialect.joined.inOrder ? outer.orderByRaw(orderedBy((index) => `o${index}`)) : outer;
  }

  const behindSource = createSource(type, dialect);
  const behindPaths = order.map(({ path }) => behindSource.path(path));
  const behind = and([filterCondition(query, behindSource, dialect), behindCondition(query, behindPaths)]);

  const boundarySource = createSource(type, dialect);
  const stored = order.map(({ path }) => boundarySource.path(path));
  const boundary = select(
    boundarySource,
    stored.map((path) => path.stored).join(', '),
    { sql: `${identifier} = ?`, values: [0] },
    dialect,
  );

  return {
    page: compiled(direct ? ordered(json) : late(json, true)),
    stream: compiled(direct ? ordered(json) : late(json, false)),
    count: compiled(count),
    identifiers: compiled(ordered(identifier)),
    behind: { sql: `${compiled(select(behindSource, '1', behind, dialect)).sql} limit 1` },
    boundary: compiled(boundary),
    decodeBoundary: (row) => stored.map((path, index) => path.decode(row[index] ?? null)),
    filterValues: (asked) => filterValues(asked, filterPaths),
    values: (asked) => [...filterValues(asked, filterPaths), ...cursorCondition(asked, paths).values],
    behindValues: (asked) => [...filterValues(asked, filterPaths), ...behindCondition(asked, behindPaths).values],
  };
}

const compiled = (query: Knex.QueryBuilder): Statement => ({ sql: query.toSQL().toNative().sql });

/** SQL that is ready, for Knex: its own placeholders are the ones that come with values. */
const escaped = (sql: string): string => sql.replaceAll('?', '\\?');

function select(source: Source, columns: string, where: Condition, { knex }: Dialect): Knex.QueryBuilder {
  const query = knex.select(knex.raw(escaped(columns))).from(knex.raw(source.from));
  const joins = source.joins();
  if (joins !== '') query.joinRaw(joins);
  if (where.sql !== '') query.whereRaw(where.sql, [...where.values]);
  return query;
}

function and(conditions: readonly Condition[]): Condition {
  const present = conditions.filter(({ sql }) => sql !== '');
  return { sql: present.map(({ sql }) => sql).join(' and '), values: present.flatMap(({ values }) => values) };
}

const filterCondition = ({ filters }: ListQuery, source: Source, dialect: Dialect): Condition =>
  and(filters.map((filter) => oneFilter(filter, source.path(filter.path), dialect)));

function oneFilter(filter: Filter, path: PathSql, { like }: Dialect): Condition {
  const { count, condition } = operators[filter.operator];
  return { sql: condition(path.comparable, count(filter.value), like), values: operandsOf(filter, path) };
}

const operandsOf = ({ operator, value }: Filter, path: PathSql): readonly SqlValue[] =>
  operators[operator].operands(value).map((operand) => path.operand(operand));

const filterValues = ({ filters }: ListQuery, paths: readonly PathSql[]): readonly SqlValue[] =>
  filters.flatMap((filter, index) => {
    const path = paths[index];
    return path ? operandsOf(filter, path) : [];
  });

const NO_CONDITION: Condition = { sql: '', values: [] };

function cursorCondition({ order, cursor }: ListQuery, paths: readonly PathSql[]): Condition {
  return cursor ? beyond(keysOf(order, cursor, cursor.direction === 'before', paths)) : NO_CONDITION;
}

/** What the cursor divides from the page: its own record, and all on its other side. */
function behindCondition({ order, cursor }: ListQuery, paths: readonly PathSql[]): Condition {
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
