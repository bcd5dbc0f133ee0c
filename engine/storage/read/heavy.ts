/** Whether a list may take long: unless an index serves both its order and its filters. Decided when it is compiled. */
import type { Field, RecordType, Relation } from '../../model/model.ts';
import type { Filter, ListQuery, Path, ValueFilter } from '../../query/list-query.ts';
import { isIndexedAlike } from './lists.ts';

/** Rows that an index finds and that are skipped: a few milliseconds. */
const MAX_SKIPPED = 10_000;

/** A column that an index may have. Every index ends in the identifier. */
type Column = Field | Relation | 'identifier';

const RANGES: ReadonlySet<string> = new Set(['lt', 'lte', 'gt', 'gte']);

export function isHeavy(query: ListQuery): boolean {
  const { view, filters, order, offset } = query;
  if (filters.some((filter) => findsFew(view.type, filter))) return false;
  const conditions = filters.map(conditionOf);
  const terms = order.map(({ path }) => columnOf(path));
  const isOneDirection = order.every(({ descending }) => descending === order[0]?.descending);
  if (offset > MAX_SKIPPED || !isOneDirection || !conditions.every(isKnown) || !terms.every(isKnown)) return true;
  const equal = new Set(conditions.flatMap(({ column, isRange }) => (isRange ? [] : column)));
  const ordered = terms.filter((column) => !equal.has(column));
  const [first] = ordered;
  const isAtEnd = ordered.indexOf('identifier') === ordered.length - 1;
  const isInOrder = conditions.every(({ column, isRange }) => !isRange || column === first);
  return !isAtEnd || !isInOrder || !hasIndex(view.type, equal, ordered.slice(0, -1));
}

/** Whether an index begins with the columns of one set, in any order, and goes on with the others. */
const hasIndex = (type: RecordType, equal: ReadonlySet<Column>, ordered: readonly Column[]): boolean =>
  equal.size + ordered.length === 0 ||
  indexesOf(type).some(
    (members) =>
      members.length === equal.size + ordered.length &&
      members.slice(0, equal.size).every((member) => equal.has(member)) &&
      ordered.every((column, index) => members[equal.size + index] === column),
  );

const indexesOf = ({ indexes, references }: RecordType): readonly (readonly Column[])[] => [
  ...indexes.map(({ members }) => members),
  ...references.flatMap(({ relation }) => (relation ? [[relation]] : [])),
];

/** Whether the filter finds at most one record for each of its values. */
function findsFew({ indexes }: RecordType, filter: Filter): boolean {
  if (filter.kind !== 'value' || !('operator' in filter)) return false;
  const { path, operator } = filter;
  if (operator !== 'eq' && operator !== 'in') return false;
  const column = columnOf(path);
  return (
    column === 'identifier' ||
    indexes.some(({ unique, members }) => unique && members.length === 1 && members[0] === column)
  );
}

interface IndexCondition {
  readonly column: Column;
  /** Else it is equal to one value, or null. */
  readonly isRange: boolean;
}

/** Undefined if no index helps. */
function conditionOf(filter: Filter): IndexCondition | undefined {
  if (filter.kind !== 'value') return undefined;
  const { path, operator, value }: ValueFilter = filter;
  const column = columnOf(path);
  if (column === undefined) return undefined;
  if (operator === 'eq' || (operator === 'null' && value === true)) return { column, isRange: false };
  return RANGES.has(operator) ? { column, isRange: true } : undefined;
}

/** Undefined for what the type's own indexes do not have. */
function columnOf({ relations: [relation, ...others], field }: Path): Column | undefined {
  if (relation) return others.length === 0 && !field && relation.link.at === 'source' ? relation : undefined;
  if (!field) return 'identifier';
  return isIndexedAlike(field) ? field : undefined;
}

const isKnown = <T>(value: T | undefined): value is T => value !== undefined;
