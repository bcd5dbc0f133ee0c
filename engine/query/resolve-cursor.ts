/** `after=` and `before=`: a page that begins or ends at a place in the list, right while rows come and go. */
import type { Fault } from '../problem.ts';
import { decodeCursor } from './cursor.ts';
import { complainAbout } from './faults.ts';
import type { Cursor, ListQuery } from './list-query.ts';

/** To be called last: a cursor is bound to everything else, and not judged while that has faults. */
export function resolveCursor(
  query: ListQuery,
  plain: ReadonlyMap<string, string>,
  faults: Fault[],
): Cursor | undefined {
  const after = plain.get('after');
  const before = plain.get('before');
  const text = after ?? before;
  if (text === undefined || faults.length > 0) return undefined;
  const direction = after === undefined ? 'before' : 'after';
  const complain = complainAbout(faults, direction);
  if (after !== undefined && before !== undefined)
    return complain('contradiction', 'Either after or before can be given, not both');
  if (query.limit === undefined)
    return complain('needs-limit', `${direction} needs a limit: _cnd[limit]=0&_cnd[limit]=20`);
  if (query.offset > 0) return complain('contradiction', `${direction} takes the place of the offset, which must be 0`);
  return decodeCursor(query, direction, text, complain);
}
