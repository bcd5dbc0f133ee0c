/** What indexes do for a list. */
import type { ListQuery } from '../../query/list-query.ts';

/** Whether an index gives the records in order, or the database has to sort. */
export function servedByIndex({ view: { type }, order }: ListQuery): boolean {
  const own = order.every(({ path }) => path.relations.length === 0);
  const oneDirection = order.every(({ descending }) => descending === order[0]?.descending);
  // The identifier, which ends every order, ends every index too.
  const fields = order.flatMap(({ path }) => path.field ?? []);
  const identifierLast = order.slice(0, -1).every(({ path }) => path.field !== undefined);
  if (!own || !oneDirection || !identifierLast) return false;
  return (
    fields.length === 0 ||
    type.indexes.some(
      ({ members }) => members.length === fields.length && fields.every((field, index) => members[index] === field),
    )
  );
}

/** Whether an index finds the records that the filters ask for, or the database has to look for them. */
export function filteredByIndex({ view: { type }, filters }: ListQuery): boolean {
  const [only, ...others] = filters;
  if (only === undefined) return true;
  const { path, operator } = only;
  if (others.length > 0 || path.relations.length > 0 || (operator !== 'eq' && operator !== 'in')) return false;
  return path.field === undefined || type.indexes.some(({ members }) => members[0] === path.field);
}
