/** Bounds how many related records the filters and the order of one list lead to. */
import type { Complain } from './faults.ts';
import type { Path } from './list-query.ts';

/** Databases join some sixty tables in one statement, SQLite 64. */
export const MAX_JOINED = 30;

export function refuseManyRelations(paths: readonly Path[], complain: Complain): void {
  const joined = new Set<string>();
  for (const { relations } of paths) {
    let name = '';
    for (const relation of relations) joined.add((name += `.${relation.name}`));
  }
  if (joined.size > MAX_JOINED) complain('too-many', `Filters and order lead through at most ${MAX_JOINED} relations`);
}
