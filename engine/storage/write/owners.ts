/** Who owns whom, as it is stored and as the body will have it. */
import type { RecordType, Reference } from '../../model/model.ts';
import { type Node, type Session, storedValue, touch } from './session.ts';

/** Whether `node` is `owner`, or is owned by it, however far above. */
export async function livesWith(session: Session, node: Node, owner: Node): Promise<boolean> {
  const above = [node];
  const seen = new Set<Node>();
  for (const current of above) {
    if (current === owner) return true;
    if (seen.has(current)) continue;
    seen.add(current);
    for (const reference of ownedBy(current.type)) above.push(...(await ownerOf(session, current, reference)));
  }
  return false;
}

/** The references of a type whose targets own its records. */
const ownedBy = ({ references }: RecordType): readonly Reference[] =>
  references.filter((reference) =>
    [...reference.target.relations.values()].some(
      ({ owned, link }) => owned && link.at === 'target' && link.reference === reference,
    ),
  );

async function ownerOf(session: Session, node: Node, { column, target }: Reference): Promise<readonly Node[]> {
  const value = node.assigned.get(column)?.value ?? storedValue(node, column) ?? null;
  if (typeof value === 'object') return value === null ? [] : [value];
  const owner = await touch(session, target, Number(value), node.pointer);
  return owner ? [owner] : [];
}
