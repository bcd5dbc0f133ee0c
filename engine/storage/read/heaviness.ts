/** A list is heavy, so it may take long, unless an index serves its order and filters, or its tables are small. */
import { perKey } from '../../memo.ts';
import type { Dialect, RecordStatement } from '../dialect.ts';
import type { Field, RecordType, Relation } from '../../model/model.ts';
import type { Filter, ListQuery, Path, View } from '../../query/list-query.ts';

/** Skipping this many index rows takes a few milliseconds. */
const MAX_SKIPPED_ROWS = 10_000;
const RANGES: ReadonlySet<string> = new Set(['lt', 'lte', 'gt', 'gte']);

type IndexedColumn = Field | Relation | 'identifier';

type ListShape = Pick<ListQuery, 'filters' | 'order' | 'offset'> & { readonly view: Pick<View, 'type'> };

/** Whether an index gives all records in order, without a sort. */
export const servedByIndex = (list: Pick<ListShape, 'view' | 'order'>): boolean =>
  !isHeavy({ ...list, filters: [], offset: 0 });

export function isHeavy({ view: { type }, filters, order, offset }: ListShape): boolean {
  if (filters.some((filter) => findsFew(type, filter))) return false;
  const conditions = filters.map(conditionOf);
  const terms = order.map(({ path }) => columnOf(path));
  const isOneDirection = order.every(({ descending }) => descending === order[0]?.descending);
  if (offset > MAX_SKIPPED_ROWS || !isOneDirection || !conditions.every((condition) => condition !== undefined))
    return true;
  const fixed = new Set(conditions.flatMap(({ column, isRange }) => (isRange ? [] : column)));
  const ordered = terms.filter((column) => column === undefined || !fixed.has(column));
  if (!conditions.every(({ column, isRange }) => !isRange || column === ordered[0])) return true;
  // An index serves the list if it begins with the fixed columns, in any order, followed by the ordered columns.
  return !indexesOf(type).some(
    (columns) =>
      columns.length === fixed.size + ordered.length &&
      columns.slice(0, fixed.size).every((column) => fixed.has(column)) &&
      ordered.every((column, index) => columns[fixed.size + index] === column),
  );
}

/** Every index ends in the identifier. */
const indexesOf = ({ indexes, references }: RecordType): readonly (readonly IndexedColumn[])[] => [
  ['identifier'],
  ...indexes.map(({ members }) => [...members, 'identifier' as const]),
  ...references.flatMap(({ relation }) => (relation ? [[relation, 'identifier' as const]] : [])),
];

export function findsFew({ indexes }: RecordType, filter: Filter): boolean {
  if (filter.kind !== 'value' || (filter.operator !== 'eq' && filter.operator !== 'in')) return false;
  const column = columnOf(filter.path);
  return (
    column === 'identifier' ||
    indexes.some(({ unique, members }) => unique && members.length === 1 && members[0] === column)
  );
}

/** `isRange`: false if the column equals a value, or is null. Undefined if no index helps. */
function conditionOf(filter: Filter): { readonly column: IndexedColumn; readonly isRange: boolean } | undefined {
  if (filter.kind !== 'value') return undefined;
  const { path, operator, value } = filter;
  const column = columnOf(path);
  if (column === undefined) return undefined;
  if (operator === 'eq' || (operator === 'null' && value === true)) return { column, isRange: false };
  return RANGES.has(operator) ? { column, isRange: true } : undefined;
}

function columnOf({ relations: [relation, ...others], field }: Path): IndexedColumn | undefined {
  if (relation) return others.length === 0 && !field && relation.link.at === 'source' ? relation : undefined;
  if (!field) return 'identifier';
  // Indexes ignore case if the tables have a case-folded column.
  return field.caseless === (field.folded !== undefined) ? field : undefined;
}

/** A condition on own columns of another copy of the type, as one on this copy. */
export function ownFilter(filter: Filter, type: RecordType): Filter {
  if (filter.kind !== 'value') return filter;
  const { field, relations } = filter.path;
  const own = relations.flatMap(({ name }) => type.relations.get(name) ?? []);
  const path = { ...filter.path, field: field && (type.fields.get(field.name) ?? field) };
  return { ...filter, path: { ...path, relations: own.length === relations.length ? own : relations } };
}

/** Reading this many rows takes a few milliseconds. */
export const MAX_SMALL_ROWS = 5000;

/** Reads the greatest identifier of these tables, none of which has more rows. What has no numbers is counted, up to `most`. */
export const greatestIdentifier = (
  type: RecordType,
  relations: readonly Relation[],
  { quote }: Pick<Dialect, 'quote'>,
  statement: (sql: string) => RecordStatement,
) =>
  perKey((most: number): RecordStatement => {
    const counted = (table: string): string =>
      `select count(*) as id$ from (select 1 from ${quote(table)} limit ${most + 1})`;
    const ends = [type, ...relations.map(({ target }) => target)].map(({ table, identifier: { kind, column } }) =>
      kind.isCounted ? `select max(${quote(column)}) as id$ from ${quote(table)}` : counted(table),
    );
    const pairs = relations.flatMap(({ link }) => (link.at === 'join' ? counted(link.table.name) : []));
    const all = [...new Set([...ends, ...pairs])].join(' union all ');
    return { ...statement(`select max(id$) from (${all}) as ends$`), isOfData: true };
  });

/** How many sets filters read. Other relations of a filter lead to one record. */
export const setsIn = (filters: readonly Filter[]): number =>
  relationsIn(filters).filter(({ toMany }) => toMany).length;

/** The relations that filters follow. */
export const relationsIn = (filters: readonly Filter[]): readonly Relation[] =>
  filters.flatMap((filter): readonly Relation[] => {
    if ('items' in filter) return relationsIn(filter.items.flat());
    if (filter.kind === 'value') return filter.path.relations;
    const { relations, set } = filter.path;
    return [...relations, set, ...('conditions' in filter ? relationsIn(filter.conditions) : [])];
  });
