/** How much work a list is for the database. Drivers decide by it where the list runs. */
import { type ColumnType, numeric } from '../../field-types/field-type.ts';
import { type Field, OPEN_COLUMN, type RecordType, type Relation } from '../../model/model.ts';
import type { CountMode } from '../../descriptor/descriptor.ts';
import type { Filter, ListQuery, Path, SetPath, SummaryQuery, ValueFilter, View } from '../../query/list-query.ts';
import { operators } from '../../query/operators.ts';
import { createShapeCache, memoized } from '../../memo.ts';
import { columnType } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { ListWork, SetWork, Statement, TextWork, Values } from '../driver.ts';
import { filteredByIndex, indexedFilter, servedByIndex } from './lists.ts';
import { shapeOfConditions, sqlOf, valuesOf } from './conditions.ts';
import type { BoundList } from './pages.ts';
import { createJoinedTables, ROOT_ALIAS } from './views.ts';

/** Bytes of a character, at most. */
const UTF8 = 4;
/** Code points that one becomes at most where case is ignored. */
const MOST_FOLDED = 3;
/** Rows of a set that are counted to judge a list. */
const MAX_COUNTED = 20_001;

/** Filters that take as long as looking for records of a set. */
const SET_WEIGHT = 20;

/** Filters that take as long as a key or a measure of a summary that JavaScript computes, and as a look into another table. */
const COMPUTED_WEIGHT = 20;
const JOINED_WEIGHT = 5;

/** How many filters the conditions count as. Sets of sets can lead to the same records again and again. */
const weightOf = (conditions: readonly Filter[], isInSet = false): number =>
  conditions.reduce((sum, condition) => {
    if ('items' in condition) return condition.items.reduce((all, item) => all + weightOf(item, isInSet), sum);
    if (condition.kind === 'value') return sum + 1;
    const inner = 'conditions' in condition ? weightOf(condition.conditions, true) : 0;
    return sum + inner + (isInSet ? Infinity : SET_WEIGHT);
  }, 0);

/** How many filters the keys and measures count as. */
function weightOfColumns({ keys, measures }: SummaryQuery, { name }: Dialect, slowly: boolean): number {
  const typeOf = ({ field }: Path): ColumnType | undefined => field && columnType(field, name);
  const isComputed = [
    ...keys.map(({ path, period }) => (period ?? typeOf(path)?.spelling ?? (path.field?.caseless || false)) !== false),
    ...measures.map(({ path, aggregate }) => {
      if (!path || aggregate === 'count') return false;
      const type = typeOf(path);
      if (aggregate === 'sum') return slowly || type?.quickSum === undefined;
      return path.field?.caseless === true || type?.aggregates?.[aggregate] !== undefined;
    }),
  ];
  const joined = [...keys, ...measures].reduce((sum, { path }) => sum + (path?.relations.length ?? 0), 0);
  return joined * JOINED_WEIGHT + isComputed.reduce((sum, is) => sum + (is ? COMPUTED_WEIGHT : 1), 0);
}

/** The greatest identifier of a table. */
export const newestIn = ({ table, identifier }: RecordType, { quote }: Dialect): Statement => ({
  sql: `select coalesce(max(${quote(identifier.column)}), 0) from ${quote(table)}`,
});

/** The part that depends on the shape of the list only. */
export type ShapeWork = Pick<ListWork, 'sets' | 'deep' | 'isIndexed'>;

export interface WorkOf {
  /** `identifiers` selects the identifiers of the records that are answered. */
  shape(query: ListQuery, identifiers: Statement): ShapeWork;
  list(query: ListQuery, bound: BoundList, count: CountMode): ListWork;
  /** `slowly`: sums are added up by the way that takes all numbers. */
  summary(
    query: SummaryQuery,
    summary: { readonly page: Statement; readonly values: Values },
    slowly: boolean,
  ): ListWork;
  /** The tables that a view joins, if it shows more than one level. */
  deep(view: View): readonly Statement[];
}

export function createWorkOf(dialect: Dialect): WorkOf {
  const { quote, unlimited } = dialect;
  const newestOf = memoized((type: RecordType) => newestIn(type, dialect));
  const octetsOf = (columns: readonly string[], from = ''): string =>
    columns.map((column) => `coalesce(octet_length(${from}${quote(column)}), 0)`).join(' + ') || '0';
  const lengthOf = (columns: readonly string[], table: string): Statement => ({
    sql: `select coalesce(sum(${octetsOf(columns)}), 0) from ${quote(table)}`,
  });
  const bytesOfField = memoized((field: Field, { table }: RecordType) =>
    lengthOf([(field.caseless ? field.folded : undefined) ?? field.column], table),
  );
  const textColumnsOf = ({ fields, open }: RecordType): readonly string[] => {
    const texts = [...fields.values()].filter((field) => /text|json/i.test(columnType(field, dialect.name).sqlType));
    return [...texts.map(({ column }) => column), ...(open ? [OPEN_COLUMN] : [])];
  };
  const bytesOf = memoized((type: RecordType) => lengthOf(textColumnsOf(type), type.table));

  /** The same for the rows that the filter finds, up to a limit. */
  const compileFound = createShapeCache(({ type, only }: { readonly type: RecordType; readonly only: ValueFilter }) => {
    const source = createJoinedTables(type, dialect);
    const { sql: where } = sqlOf([only], source, dialect);
    const counting = (what: string, octets: string): Statement => ({
      sql: `select ${what} from (select ${octets} as octets$ from ${source.from} where ${where} limit ${MAX_COUNTED}) as found$`,
    });
    return {
      rows: counting('count(*)', '1'),
      bytes: counting('coalesce(sum(octets$), 0)', octetsOf(textColumnsOf(type), `${ROOT_ALIAS}.`)),
    };
  });
  const foundBy = memoized(({ type, filters }: SummaryQuery): ListWork['found'] => {
    const only = indexedFilter(type, filters);
    if (only === undefined) return undefined;
    const { rows, bytes } = compileFound(`${type.statementKey}|${shapeOfConditions([only])}`, { type, only });
    const values = valuesOf([only], dialect);
    return { rows: { statement: rows, values }, bytes: { statement: bytes, values } };
  });

  /** `within`: the set that the conditions are about. */
  function textsOf(conditions: readonly Filter[], within?: SetPath): readonly TextWork[] {
    return conditions.flatMap((condition) => {
      if ('items' in condition) return condition.items.flatMap((item) => textsOf(item, within));
      if ('conditions' in condition) return textsOf(condition.conditions, condition.path);
      if (condition.kind === 'count') return [];
      const { field, type, relations } = condition.path;
      const { perByte } = operators[condition.operator];
      if (!field || perByte === 0) return [];
      const isOwn = relations.length === 0 && within?.set.link.at !== 'join';
      const most = (field.caseless ? MOST_FOLDED : 1) * UTF8 * numeric(field, 'maxLength', Infinity);
      const longest = within ? Infinity : most;
      return [{ longest, total: isOwn ? bytesOfField(field, type) : undefined, perByte }];
    });
  }

  const counted = (table: string, where: string): Statement => ({
    sql: `select count(*) from (select 1 from ${quote(table)}${where} limit ${MAX_COUNTED}) as counted$`,
  });
  /** About how many rows hold the records of the set, or the links to them. */
  const sizeOf = memoized(({ link, target }: Relation) =>
    link.at === 'join' ? counted(link.table.name, '') : newestOf(target),
  );

  function setOf(relation: Relation, identifiers: string): readonly SetWork[] {
    const { link, target } = relation;
    if (link.at === 'source') return [];
    const [table, column] =
      link.at === 'target' ? [target.table, link.reference.column] : [link.table.name, link.sourceColumn];
    return [{ size: sizeOf(relation), shown: counted(table, ` where ${quote(column)} in (${identifiers})`) }];
  }

  /** The tables of the sets that the conditions are about. */
  const searched = (conditions: readonly Filter[]): readonly Statement[] =>
    conditions.flatMap((condition) => {
      if ('items' in condition) return condition.items.flatMap(searched);
      if (condition.kind === 'value') return [];
      const { set } = condition.path;
      return [sizeOf(set), ...('conditions' in condition ? searched(condition.conditions) : [])];
    });

  const tablesOf = ({ type, relations }: View): readonly Statement[] => [
    newestOf(type),
    ...relations.flatMap(({ view }) => tablesOf(view)),
  ];
  const deep = (view: View): readonly Statement[] =>
    view.relations.some((shown) => shown.view.relations.length > 0) ? tablesOf(view) : [];

  return {
    deep,
    shape: (query, { sql }) => ({
      deep: [...deep(query.view), ...searched(query.filters)],
      isIndexed: servedByIndex(query) && filteredByIndex(query),
      sets: query.view.relations.flatMap(({ relation }) => (relation.toMany ? setOf(relation, sql) : [])),
    }),
    list: ({ view: { type }, filters, limit, offset, cursor }, { list, values, filterValues }, count) => ({
      newest: newestOf(type),
      rows: limit === undefined ? list.stream : list.page,
      values: [...values, limit ?? unlimited, offset],
      filters: weightOf(filters),
      texts: textsOf(filters),
      offset,
      whole: limit === undefined,
      continued: cursor !== undefined,
      bytes: bytesOf(type),
      isIndexed: list.isIndexed,
      sets: list.sets,
      deep: list.deep,
      counted: count === 'exact' ? { statement: list.count, values: filterValues } : undefined,
    }),
    // All records that it finds are read, whatever the limit.
    summary: (query, { page, values }, slowly) => {
      const { type, filters, limit, offset } = query;
      return {
        newest: newestOf(type),
        rows: page,
        values: [...values, limit ?? unlimited, offset],
        filters: 2 + weightOf(filters) + weightOfColumns(query, dialect, slowly),
        texts: textsOf(filters),
        offset: 0,
        whole: true,
        continued: true,
        bytes: bytesOf(type),
        isIndexed: false,
        sets: [],
        deep: searched(filters),
        counted: undefined,
        found: foundBy(query),
      };
    },
  };
}
