/** How much work a list is for the database. Drivers decide by it where the list runs. */
import { numeric } from '../../field-types/field-type.ts';
import { type Field, OPEN_COLUMN, type RecordType, type Relation } from '../../model/model.ts';
import type { CountMode } from '../../descriptor/descriptor.ts';
import type { Filter, ListQuery, SetPath, SummaryQuery, View } from '../../query/list-query.ts';
import { operators } from '../../query/operators.ts';
import { memoized } from '../../memo.ts';
import { columnType } from '../columns.ts';
import type { Dialect, ListWork, SetWork, Statement, TextWork, Values } from '../driver.ts';
import { filteredByIndex, servedByIndex } from './lists.ts';
import type { BoundList } from './pages.ts';

/** Bytes of a character, at most. */
const UTF8 = 4;
/** Code points that one becomes at most where case is ignored. */
const MOST_FOLDED = 3;
/** Rows of a set that are counted to judge a list. */
const MAX_COUNTED = 20_001;

/** Filters that take as long as looking for records of a set. */
const SET_WEIGHT = 20;

/** Filters that take as long as a key or a measure of a summary, at worst. */
const COLUMN_WEIGHT = 20;

/** How many filters the conditions count as. Sets of sets can lead to the same records again and again. */
const weightOf = (conditions: readonly Filter[], isInSet = false): number =>
  conditions.reduce((sum, condition) => {
    if ('items' in condition) return condition.items.reduce((all, item) => all + weightOf(item, isInSet), sum);
    if (condition.kind === 'value') return sum + 1;
    const inner = 'conditions' in condition ? weightOf(condition.conditions, true) : 0;
    return sum + inner + (isInSet ? Infinity : SET_WEIGHT);
  }, 0);

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
  summary(query: SummaryQuery, summary: { readonly page: Statement; readonly values: Values }): ListWork;
  /** The tables that a view joins, if it shows more than one level. */
  deep(view: View): readonly Statement[];
}

export function createWorkOf(dialect: Dialect): WorkOf {
  const { quote, unlimited } = dialect;
  const newestOf = memoized((type: RecordType) => newestIn(type, dialect));
  const lengthOf = (columns: readonly string[], table: string): Statement => ({
    sql: `select coalesce(sum(${columns.map((column) => `coalesce(octet_length(${quote(column)}), 0)`).join(' + ') || '0'}), 0) from ${quote(table)}`,
  });
  const bytesOfField = memoized((field: Field, { table }: RecordType) =>
    lengthOf([(field.caseless ? field.folded : undefined) ?? field.column], table),
  );
  const bytesOf = memoized(({ fields, open, table }: RecordType) => {
    const texts = [...fields.values()].filter((field) => /text|json/i.test(columnType(field, dialect.name).sqlType));
    return lengthOf([...texts.map(({ column }) => column), ...(open ? [OPEN_COLUMN] : [])], table);
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
    sql: `select count(*) from (select 1 from ${quote(table)}${where} limit ${MAX_COUNTED}) as counted`,
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
    summary: ({ type, filters, keys, measures, limit, offset }, { page, values }) => ({
      newest: newestOf(type),
      rows: page,
      values: [...values, limit ?? unlimited, offset],
      filters: 2 + weightOf(filters) + COLUMN_WEIGHT * (keys.length + measures.length),
      texts: textsOf(filters),
      offset: 0,
      whole: true,
      continued: true,
      bytes: bytesOf(type),
      isIndexed: false,
      sets: [],
      deep: searched(filters),
      counted: undefined,
    }),
  };
}
