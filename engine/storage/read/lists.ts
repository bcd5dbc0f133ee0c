/** Compiles statements for lists and summaries, which depend on the query's shape, not its values. */
import type { ColumnType, SqlValue } from '../../field-types/field-type.ts';
import { integer } from '../../field-types/integer.ts';
import type { JsonObject, JsonValue } from '../../json/json.ts';
import type { GroupKey, ListQuery, Measure, Path, SummaryQuery } from '../../query/list-query.ts';
import { columnType } from '../columns.ts';
import { type Dialect, jsonObject, jsonOptional } from '../dialect.ts';
import type { Row, Statement } from '../driver.ts';
import {
  all,
  any,
  createJoinedTables,
  type JoinedTables,
  type PathSql,
  shapeOfConditions,
  type SqlCondition,
  sqlOf,
  tablesOfConditions,
  valuesOf,
} from './conditions.ts';
import { greatestIdentifier, servedByIndex } from './heaviness.ts';
import {
  createDeepLimit,
  limitedJson,
  recordJson,
  ROOT_ALIAS,
  type ShownLimits,
  tablesOfPath,
  tablesOfView,
} from './views.ts';

/** Replaces long JSON, which never contains this character. */
export const LONG_MARK = '\u0002';
export const MAX_BRIEF_BYTES = 64 * 1024;

export function shapeOf({ view, filters, order, cursor, offset }: ListQuery): string {
  const orderShape = order.map(({ path, descending }) => `${path.name}${descending ? '-' : '+'}`);
  const cursorShape = cursor
    ? `${cursor.direction}${cursor.record ? ' near' : ''} ${cursor.values.map((value) => (value === null ? 'n' : 'v')).join('')}`
    : '';
  return `${view.type.statementKey}|${view.key}|${offset === 0}|${shapeOfConditions(filters)}|${orderShape.join(',')}|${cursorShape}`;
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
  const matching = sqlOf(query.filters, counted, dialect);
  const selectMatching = (columns: string, before = '', within = ''): string =>
    selectSql(columns, `${before}${counted.from} ${counted.joins()}`, all([{ sql: within, values: [] }, matching]));
  const tables = [
    ...tablesOfView(view),
    ...tablesOfConditions(query.filters),
    ...order.flatMap(({ path }) => tablesOfPath(path.relations)),
  ];
  const statement = (sql: string): Statement => ({ sql, reads: tables });
  const count = statement(selectMatching('count(*)'));

  const source = createJoinedTables(type, dialect);
  const filters = sqlOf(query.filters, source, dialect);
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
  const texts = isDirect ? page.sql : `${page.sql} limit -1`;
  const brief = `select case when ${long} then '${LONG_MARK}' else text$ end from (${texts}) where text$ is not null`;
  const identifiers = statement(ordered([identifier]));
  const estimate = dialect.estimate.sql({ table, identifier: id, rowIdentifier: identifier, select: selectMatching });
  const behind = selectSql('1', from, all([filters, cursorCondition(query, paths, true)]));
  const isBrief = dialect.readsRowsAtOnce && orderValuesIn !== undefined;
  return {
    /** The JSON, and the order values if the JSON lacks them. */
    page,
    /** The JSON, or LONG_MARK if it is long; missing if rows one by one cost no more. */
    brief: isBrief ? statement(brief) : undefined,
    /** Page and total. Bound: as the page, and `filterValues`. */
    counted:
      orderValuesIn &&
      dialect.counted?.(page, count, { values: where.values.length + 2, isFirstPage: cursor === undefined }),
    /** `row`: of a page that is not brief. */
    orderValues: (text: string, row: Row | undefined): readonly JsonValue[] =>
      orderValuesIn?.(text) ?? paths.map(({ decode }, index) => decode(row?.[index + 1] ?? null)),
    identifiers,
    count,
    estimate: statement(estimate),
    greatest: statement(
      greatestIdentifier(
        type,
        query.filters,
        order.map(({ path }) => path),
        dialect.quote,
      ),
    ),
    /** Returns a row if a record is on the other side of the cursor. Bound: `behindValues`. */
    behind: statement(`${behind} limit 1`),
    limit: createDeepLimit(view, identifiers.sql, dialect, most),
    filterValues: (asked: ListQuery) => valuesOf(asked.filters, dialect),
    values: (asked: ListQuery) => [...valuesOf(asked.filters, dialect), ...cursorCondition(asked, paths).values],
    behindValues: (asked: ListQuery) => [
      ...valuesOf(asked.filters, dialect),
      ...cursorCondition(asked, paths, true).values,
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
  // The identifier is the first key: avoid parsing.
  if (order.every(({ path }) => path.field === undefined))
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

// Summaries.

interface GroupColumn {
  readonly computed: readonly string[];
  /** SQL for its JSON, and for ORDER BY. */
  readonly json: string;
  readonly ordered: string;
}

export function shapeOfSummary({ type, filters, keys, measures, order }: SummaryQuery): string {
  const names = keys.map(({ name, shown }) => `${name} ${shown?.key ?? ''}`);
  const terms = order.map(({ column, descending }) => `${column}${descending ? '-' : '+'}`);
  const columns = [names, measures.map(({ name }) => name), terms].map((parts) => parts.join());
  return `${type.statementKey}|${shapeOfConditions(filters)}|${columns.join('|')}`;
}

const typeOf = ({ field }: Path, { name }: Dialect): ColumnType =>
  field ? columnType(field, name) : integer.columns[name];

/** Groups by the compared value; of different spellings, the group shows one. */
function keyColumn({ path, period, shown }: GroupKey, index: number, source: JoinedTables, dialect: Dialect) {
  const [group, text] = [`k${index}$`, `s${index}$`];
  const { stored, comparable } = source.path(path);
  const type = typeOf(path, dialect);
  const periodOf = period && type.periods?.[period];
  if (periodOf)
    return {
      computed: [`${periodOf(stored)} as ${group}`],
      json: jsonOptional(`'"' || ${group} || '"'`),
      ordered: group,
    };
  const spelling = path.field?.caseless ? (column: string) => `min(${column})` : type.spelling;
  if (spelling)
    return {
      computed: [`${comparable} as ${group}`, `${spelling(stored)} as ${text}`],
      json: jsonOptional(type.json(text)),
      ordered: group,
    };
  const json = shown
    ? jsonOptional(
        `(select ${recordJson(shown, 'r$', dialect)} from ${dialect.quote(shown.type.table)} as r$ where r$.${dialect.quote(shown.type.identifier.column)} = ${group})`,
      )
    : jsonOptional(type.json(group));
  return { computed: [`${stored} as ${group}`], json, ordered: type.comparable(group) };
}

function measureColumn({ aggregate, path }: Measure, index: number, source: JoinedTables, dialect: Dialect) {
  const alias = `m${index}$`;
  const whole = integer.columns[dialect.name];
  if (!path) return { computed: [`count(*) as ${alias}`], json: whole.json(alias), ordered: alias };
  const { stored, comparable } = source.path(path);
  if (aggregate === 'count')
    return { computed: [`count(${stored}) as ${alias}`], json: whole.json(alias), ordered: alias };
  const type = typeOf(path, dialect);
  if (path.field?.caseless && aggregate !== 'sum') {
    const { joined, text, folded } = dialect.spelled;
    const computed = `${aggregate}(${joined(comparable, stored)}) as ${alias}`;
    return { computed: [computed], json: jsonOptional(type.json(text(alias))), ordered: folded(alias) };
  }
  const computed = type.aggregates?.[aggregate]?.(stored) ?? `${aggregate}(${stored})`;
  const orderOf = (aggregate === 'sum' ? type.sumOrder : undefined) ?? type.comparable;
  return { computed: [`${computed} as ${alias}`], json: jsonOptional(type.json(alias)), ordered: orderOf(alias) };
}

/** `page`: the groups as JSON. Bound: filter values; for `page`, also limit and offset. */
export function compileSummary(
  query: SummaryQuery,
  dialect: Dialect,
): Readonly<Record<'page' | 'count' | 'greatest', Statement>> {
  const { type, filters, keys, measures, order } = query;
  const source = createJoinedTables(type, dialect);
  const columns = {
    keys: keys.map((key, index) => keyColumn(key, index, source, dialect)),
    measures: measures.map((measure, index) => measureColumn(measure, index, source, dialect)),
  };
  const where = sqlOf(filters, source, dialect).sql;
  const from = `from ${source.from} ${source.joins()}${where === '' ? '' : ` where ${where}`}`;
  // Keys come first, as GROUP BY refers to them by number.
  const groups = columns.keys.map(({ computed: [group = ''] }) => group);
  const others = [
    ...columns.keys.flatMap(({ computed }) => computed.slice(1)),
    ...columns.measures.flatMap(({ computed }) => computed),
  ];
  const groupBy = groups.length === 0 ? '' : ` group by ${groups.map((_, index) => index + 1).join(', ')}`;
  const found = `select ${[...groups, ...others].join(', ')} ${from}${groupBy}`;
  const count = `select ${groups.length === 0 ? 'count(*)' : groups.join(', ')} ${from}${groupBy}`;
  const ordered = [...columns.keys, ...columns.measures].map((one) => one.ordered);
  const terms = order.map(({ column, descending }) => dialect.orderBy(ordered[column] ?? '', descending, false));
  const orderBy = terms.length === 0 ? '' : ` order by ${terms.join(', ')}`;
  const objectOf = (items: readonly { readonly name: string }[], shown: readonly GroupColumn[]): string =>
    jsonObject(items.map(({ name }, index) => [name, shown[index]?.json ?? '']));
  const parts = [
    ['by', objectOf(keys, columns.keys)],
    ['measures', objectOf(measures, columns.measures)],
  ] as const;
  const select = `select ${jsonObject(parts)} from`;
  const tables = [
    type.table,
    ...tablesOfConditions(filters),
    ...[...keys, ...measures].flatMap(({ path }) => tablesOfPath(path?.relations ?? [])),
    ...keys.flatMap(({ shown }) => (shown ? tablesOfView(shown) : [])),
  ];
  const statement = (sql: string): Statement => ({ sql, reads: tables });
  return {
    page: statement(`${select} (select * from (${found}) as groups$${orderBy} ${dialect.limit}) as page$${orderBy}`),
    count: statement(`select count(*) from (${count}) as groups$`),
    greatest: statement(
      greatestIdentifier(
        type,
        filters,
        [...keys, ...measures].flatMap(({ path = [] }) => path),
        dialect.quote,
      ),
    ),
  };
}
