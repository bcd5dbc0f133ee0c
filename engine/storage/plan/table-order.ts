/** Types whose tables take new names come after those that still have these names. */
import { StartError } from '../../start-error.ts';
import type { TypeChange } from './draft.ts';

export function inFreeOrder(changes: readonly TypeChange[]): readonly TypeChange[] {
  const holders = new Map(changes.map((change) => [change.before.table.toLowerCase(), change]));
  const ordered = new Set<TypeChange>();
  const waiting = new Set<TypeChange>();
  const visit = (change: TypeChange): void => {
    if (ordered.has(change)) return;
    if (waiting.has(change))
      throw new StartError(
        `Types exchange their tables, ${change.type.table} among them; move one to a third table first`,
      );
    waiting.add(change);
    const holder = holders.get(change.type.table.toLowerCase());
    if (holder && holder !== change) visit(holder);
    ordered.add(change);
  };
  for (const change of changes) visit(change);
  return [...ordered];
}
