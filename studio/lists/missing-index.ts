/** Which words of a descriptor would give a list the index that it lacks. */
import type { OperatorName, TypeInfo } from '../data/model.ts';
import type { FilterTerm } from './filter-terms.ts';

const EXACT: ReadonlySet<OperatorName> = new Set(['eq', 'in', 'null']);

/** The index that the service would advise; undefined if an index serves the list, or none could. */
export function missingIndex(type: TypeInfo, sort: string, terms: readonly FilterTerm[]): string | undefined {
  const own = terms.flatMap(({ subject, operator }) =>
    subject?.field !== undefined && subject.path === subject.field.name && operator !== 'like' && operator !== 'ne'
      ? [{ field: subject.field, isExact: EXACT.has(operator) }]
      : [],
  );
  const exact = own.filter(({ isExact }) => isExact).map(({ field }) => field.name);
  const filtered = new Set(own.map(({ field }) => field.name));
  const led = [...type.indexes, ...type.unique].some(([first = '']) => filtered.has(first));
  // An indexed field that filters narrow down leaves few records to be sorted.
  const isNarrow = led || own.some(({ field }) => field.isOrderIndexed);
  if (isNarrow) return undefined;
  const order = isOrdered(type, sort) ? [] : sort === '' ? type.order : [sort];
  const ranged = own.filter(({ isExact }) => !isExact).map(({ field }) => field.name);
  const names = [...new Set([...exact, ...(order.length > 0 ? order : ranged.slice(0, 1))])];
  if (names.length === 0) return undefined;
  return names.length === 1 ? `${names.join()}: { index: true }` : `indexes: [[${names.join(', ')}]]`;
}

function isOrdered(type: TypeInfo, sort: string): boolean {
  if (sort === '') return type.isOrderIndexed;
  if (sort === type.identifier.name) return type.identifier.isOrderIndexed;
  return type.fields.find(({ name }) => name === sort)?.isOrderIndexed ?? true;
}
