/** Bounds how many related records the filters and the order of one list lead to. */
import type { Fault } from '../problem.ts';
import { complainAbout } from './faults.ts';
import type { Filter, OrderBy, Path } from './list-query.ts';

/** Databases join some sixty tables in one statement, SQLite 64. */
export const MAX_JOINED = 30;

export function refuseManyRelations(filters: readonly Filter[], order: readonly OrderBy[], faults: Fault[]): void {
  const joined = new Set<string>();
  for (const { path } of filters) addRelations(path, joined);
  for (const { path } of order) addRelations(path, joined);
  if (joined.size <= MAX_JOINED) return;
  complainAbout(faults, '_cnd')('too-many', `Filters and order lead through at most ${MAX_JOINED} relations`);
}

function addRelations({ relations }: Path, joined: Set<string>): void {
  let name = '';
  for (const relation of relations) joined.add((name += `.${relation.name}`));
}
