/** ListQuery -> statements. They depend on the query's shape, not on its values. */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../../json/json.ts';
import { type Field, OPEN_COLUMN, type RecordType, type Relation } from '../../model/model.ts';
import type { Filter, ListQuery, Path, View } from '../../query/list-query.ts';
import type { Dialect, Estimate } from '../dialect.ts';
import type { Row, Statement } from '../driver.ts';
import { all, and, any, shapeOfConditions, type SqlCondition, sqlOf, valuesOf } from './conditions.ts';
import { createDeepLimit, createWeigh, type DeepLimit, limitedJson, type Weigh } from './view-limits.ts';
import { createJoinedTables, type PathSql, ROOT_ALIAS } from './views.ts';

export interface CompiledList {
  /** The records' JSON texts. Bound: `values`, limit, offset. */
  readonly page: Statement;
  /** The same, but of records that are long only a mark; missing where rows one by one cost no more. */
  readonly brief: Statement | undefined;
  /** The same with the total, where one statement can tell both. Bound: as the page, and `filterValues`. */
  readonly counted: Statement | undefined;
  /** The identifiers of the page. Bound as the page. */
  readonly identifiers: Statement;
  /** How many records match the filters. Bound: `filterValues`. */
  readonly count: Statement;
  /** About how many that is. Bound: `filterValues`. */
  readonly estimate: Statement;
  readEstimate(row: Row): Estimate;
  /** The greatest identifier of the table. */
  readonly newest: Statement;
  /** A row if there is any record on the other side of the cursor. Bound: `behindValues`. */
  readonly behind: Statement;
  /** The order values of the record with the identifier that is bound. */
  readonly boundary: Statement;
  decodeBoundary(row: Row): readonly JsonValue[];
  /** The order values of a record from its text; undefined if the text does not show all of them. */
  readonly orderValuesIn: ((record: string) => readonly JsonValue[]) | undefined;
  /** Throws if a record that is marked in the page shows too much. */
  readonly weigh: Weigh;
  /** Bound as the page. */
  readonly limit: DeepLimit | undefined;
  filterValues(query: ListQuery): readonly SqlValue[];
  values(query: ListQuery): readonly SqlValue[];
  behindValues(query: ListQuery): readonly SqlValue[];
}

/** Queries of the same shape have the same statements. */
export function shapeOf({ view, filters, order, cursor, offset }: ListQuery): string {
  const orderShape = order.map(({ path, descending }) => `${path.name}${descending ? '-' : '+'}`);
  const cursorShape = cursor
    ? `${cursor.direction} ${cursor.values.map((value) => (value === null ? 'n' : 'v')).join('')}`
    : '';
  return `${view.type.statementKey}|${view.key}|${offset === 0}|${shapeOfConditions(filters)}|${orderShape.join(',')}|${cursorShape}`;
}

const selectSql = (columns: string, from: string, where: SqlCondition): string =>
  `select ${columns} from ${from}${where.sql === '' ? '' : ` where ${where.sql}`}`;

export function compileList(query: ListQuery, dialect: Dialect): CompiledList {
  const { view, order, cursor, offset } = query;
  const { type } = view;
  const [table, id] = [dialect.quote(type.table), dialect.quote(type.identifier.column)];
  const identifier = `${ROOT_ALIAS}.${id}`;

  // Counting needs no joins for the order.
  const counted = createJoinedTables(type, dialect);
  const matching = sqlOf(query.filters, counted, dialect);
  const selectMatching = (columns: string, before = '', within = ''): string =>
    selectSql(columns, `${before}${counted.from} ${counted.joins()}`, and([{ sql: within, values: [] }, matching]));
  const count = { sql: selectMatching('count(*)') };

  const source = createJoinedTables(type, dialect);
  const filters = sqlOf(query.filters, source, dialect);
  const paths = order.map(({ path }) => source.path(path));
  const where = and([filters, cursorCondition(query, paths)]);
  const from = `${source.from} ${source.joins()}`;
  const orderedBy = (expression: (path: PathSql, index: number) => string): string =>
    order
      .flatMap(({ descending }, index) => {
        const path = paths[index];
        if (!path) return [];
        return dialect.orderBy(expression(path, index), descending !== (cursor?.direction === 'before'), path.present);
      })
      .join(', ');
  const ordered = (columns: string): string =>
    `${selectSql(columns, from, where)} order by ${orderedBy(({ comparable }) => comparable)} ${dialect.limit}`;

  /** Where the database has to sort, it does that with identifiers, and joins the rows of the page. */
  function late(columns: string): string {
    const { words, inOrder } = dialect.joined;
    const keys = paths.map(({ comparable }, index) => `${comparable} as o${index}$`);
    const inner = ordered([`${identifier} as id$`, ...keys].join(', '));
    const joined = `select ${columns} from (${inner}) as page$ ${words} ${source.from} on ${identifier} = page$.id$`;
    return inOrder ? joined : `${joined} order by ${orderedBy((_, index) => `o${index}$`)}`;
  }

  // An index that gives the order finds the rows of the page; the JSON of rows that are skipped must not be built.
  const isDirect = servedByIndex(query) && (offset === 0 || dialect.skipsUnbuilt);
  const pageOf = (columns: string): Statement => ({ sql: isDirect ? ordered(columns) : late(columns) });
  const json = limitedJson(view, dialect);
  const page = pageOf(json);
  const identifiers = { sql: ordered(identifier) };
  const boundary = paths.map(({ read }) => read).join(', ');
  return {
    page,
    brief: dialect.readsRowsAtOnce ? pageOf(briefJson(view, json, dialect)) : undefined,
    counted: dialect.counted?.(page, count, { values: where.values.length + 2, isTold: cursor === undefined }),
    identifiers,
    count,
    estimate: {
      sql: dialect.estimate.sql({ table, identifier: id, rowIdentifier: identifier, select: selectMatching }),
    },
    readEstimate: dialect.estimate.read,
    newest: { sql: `select coalesce(max(${id}), 0) from ${table}` },
    behind: { sql: `${selectSql('1', from, and([filters, cursorCondition(query, paths, true)]))} limit 1` },
    boundary: { sql: selectSql(boundary, from, { sql: `${identifier} = ?`, values: [] }) },
    decodeBoundary: (row) => paths.map(({ decode }, index) => decode(row[index] ?? null)),
    orderValuesIn: orderReader(query),
    weigh: createWeigh(view, dialect),
    limit: createDeepLimit(view, identifiers, dialect),
    filterValues: (asked) => valuesOf(asked.filters, dialect),
    values: (asked) => [...valuesOf(asked.filters, dialect), ...cursorCondition(asked, paths).values],
    behindValues: (asked) => [...valuesOf(asked.filters, dialect), ...cursorCondition(asked, paths, true).values],
  };
}

/** JSON texts never contain this character. */
export const LONG_MARK = '\u0002';
/** Bytes that the values of a record which have no limit may have in a brief page. */
export const MOST_UNLIMITED = 16 * 1024;

export const isUnlimited = (field: Field): boolean => field.type.longest(field) === Infinity;

function briefJson({ fields, openKeys }: View, json: string, dialect: Dialect): string {
  const columns = [...fields.filter(isUnlimited).map(({ column }) => column), ...(openKeys ? [OPEN_COLUMN] : [])];
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

// Cursor -> the condition that a record stands after it (or before it) in an order with nulls and directions.

interface Key {
  readonly path: PathSql;
  /** In the direction of reading: reversed for `before`. */
  readonly descending: boolean;
  /** The cursor's value as it is bound; null where the record had none. */
  readonly operand: SqlValue;
}

/** `behind`: the cursor's own record and all on its other side. */
function cursorCondition({ order, cursor }: ListQuery, paths: readonly PathSql[], behind = false): SqlCondition {
  if (!cursor) return { sql: '', values: [] };
  const backwards = (cursor.direction === 'before') !== behind;
  const keys = paths.map((path, index): Key => {
    const value = cursor.values[index] ?? null;
    const descending = (order[index]?.descending ?? false) !== backwards;
    return { path, descending, operand: value === null ? null : path.operand(value) };
  });
  return beyond(keys, behind);
}

/** Beyond in the first key, or equal there and beyond in the second, and so on; `inclusive`: or equal in all of them. */
function beyond(keys: readonly Key[], inclusive: boolean): SqlCondition {
  const alternatives = keys.flatMap((key, index) => {
    const step = strictlyBeyond(key);
    return step ? [all([...keys.slice(0, index).map(equal), step])] : [];
  });
  if (inclusive) alternatives.push(all(keys.map(equal)));
  const [first] = keys;
  // The chain of ORs alone would scan; the bound of the first key lets its index start at the right place.
  const bound = first && keys.length > 1 ? notBefore(first) : undefined;
  return bound ? all([bound, any(alternatives)]) : any(alternatives);
}

const equal = ({ path: { comparable }, operand }: Key): SqlCondition =>
  operand === null ? { sql: `${comparable} is null`, values: [] } : { sql: `${comparable} = ?`, values: [operand] };

/** Null stands before every value ascending, after it descending; undefined where nothing stands beyond. */
function strictlyBeyond({ path: { comparable, nullable }, descending, operand }: Key): SqlCondition | undefined {
  if (operand === null) return descending ? undefined : { sql: `${comparable} is not null`, values: [] };
  if (!descending) return { sql: `${comparable} > ?`, values: [operand] };
  return { sql: nullable ? `(${comparable} < ? or ${comparable} is null)` : `${comparable} < ?`, values: [operand] };
}

function notBefore({ path: { comparable, nullable }, descending, operand }: Key): SqlCondition | undefined {
  if (operand === null || (descending && nullable)) return undefined;
  return { sql: `${comparable} ${descending ? '<=' : '>='} ?`, values: [operand] };
}

// Whether a list may take long: unless an index serves both its order and its filters.

/** Rows that an index finds and that are skipped: a few milliseconds. */
const MAX_SKIPPED = 10_000;
const RANGES: ReadonlySet<string> = new Set(['lt', 'lte', 'gt', 'gte']);

/** A column that an index may have. Every index ends in the identifier. */
type IndexedColumn = Field | Relation | 'identifier';

type ListShape = Pick<ListQuery, 'filters' | 'order' | 'offset'> & { readonly view: Pick<View, 'type'> };

/** Whether an index gives all records in order, or the database has to sort. */
export const servedByIndex = (list: Pick<ListShape, 'view' | 'order'>): boolean =>
  !isHeavy({ ...list, filters: [], offset: 0 });

export function isHeavy({ view: { type }, filters, order, offset }: ListShape): boolean {
  if (filters.some((filter) => findsFew(type, filter))) return false;
  const conditions = filters.map(conditionOf);
  const terms = order.map(({ path }) => columnOf(path));
  const isOneDirection = order.every(({ descending }) => descending === order[0]?.descending);
  if (offset > MAX_SKIPPED || !isOneDirection || !conditions.every(isKnown) || !terms.every(isKnown)) return true;
  const fixed = new Set(conditions.flatMap(({ column, isRange }) => (isRange ? [] : column)));
  const [...ordered] = terms.filter((column) => !fixed.has(column));
  const [first] = ordered;
  if (ordered.at(-1) === 'identifier') ordered.pop();
  const isInOrder = conditions.every(({ column, isRange }) => !isRange || column === first);
  return !isInOrder || !hasIndex(type, fixed, ordered);
}

/** Whether an index begins with the columns of one set, in any order, and goes on with the others. */
const hasIndex = (
  { indexes, references }: RecordType,
  fixed: ReadonlySet<IndexedColumn>,
  ordered: readonly IndexedColumn[],
): boolean =>
  fixed.size + ordered.length === 0 ||
  [...indexes.map(({ members }) => members), ...references.map(({ relation }) => (relation ? [relation] : []))].some(
    (members) =>
      members.length === fixed.size + ordered.length &&
      members.slice(0, fixed.size).every((member) => fixed.has(member)) &&
      ordered.every((column, index) => members[fixed.size + index] === column),
  );

/** Whether the filter finds at most one record for each of its values. */
function findsFew({ indexes }: RecordType, filter: Filter): boolean {
  if (filter.kind !== 'value' || (filter.operator !== 'eq' && filter.operator !== 'in')) return false;
  const column = columnOf(filter.path);
  return (
    column === 'identifier' ||
    indexes.some(({ unique, members }) => unique && members.length === 1 && members[0] === column)
  );
}

/** `isRange`: else the column is equal to one value, or null. Undefined if no index helps. */
function conditionOf(filter: Filter): { readonly column: IndexedColumn; readonly isRange: boolean } | undefined {
  if (filter.kind !== 'value') return undefined;
  const { path, operator, value } = filter;
  const column = columnOf(path);
  if (column === undefined) return undefined;
  if (operator === 'eq' || (operator === 'null' && value === true)) return { column, isRange: false };
  return RANGES.has(operator) ? { column, isRange: true } : undefined;
}

/** Undefined for what the type's own indexes do not have. */
function columnOf({ relations: [relation, ...others], field }: Path): IndexedColumn | undefined {
  if (relation) return others.length === 0 && !field && relation.link.at === 'source' ? relation : undefined;
  if (!field) return 'identifier';
  // Its indexes ignore case if the tables keep the folded text.
  return field.caseless === (field.folded !== undefined) ? field : undefined;
}

const isKnown = <T>(value: T | undefined): value is T => value !== undefined;
