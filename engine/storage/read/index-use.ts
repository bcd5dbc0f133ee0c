/** Whether an index gives the records of a list in order, or the database has to sort. */
import type { ListQuery } from '../../query/list-query.ts';

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
