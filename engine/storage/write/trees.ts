/** Links that must not lead back to where they begin: each that a write moves is followed before anything is written. */
import type { RecordType, Reference } from '../../model/model.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { idOf, type Node, refuse, type Released, storedValue, type WriteSession } from './session.ts';

/** Records above those that a write moves. */
const MOST_ABOVE = 100_000;

/** A record that is there by its identifier, one that is to be made by its node. */
type TreePlace = number | Node;

/** Refuses what would make a cycle, at the links that would. */
export async function checkTrees(session: WriteSession, released: readonly Released[]): Promise<void> {
  for (const type of new Set([...session.existing.keys(), ...session.given.keys()]))
    for (const reference of type.references) {
      if (!reference.acyclic) continue;
      const named = [session.existing, session.given].flatMap((nodes) => [...(nodes.get(type)?.values() ?? [])]);
      const moved = named.filter((node) => isMoved(session, node, reference));
      if (moved.length > 0) await checkMoved(session, type, reference, moved, released);
    }
}

/** Only a record that is there, or that the body can name, can be above another one already. */
function isMoved({ deleted }: WriteSession, node: Node, { column }: Reference): boolean {
  const link = node.assigned.get(column)?.value ?? null;
  return link !== null && link !== storedValue(node, column) && !deleted.has(node);
}

async function checkMoved(
  session: WriteSession,
  type: RecordType,
  reference: Reference,
  moved: readonly Node[],
  released: readonly Released[],
): Promise<void> {
  const links = linksToBe(session, type, reference, released);
  const stored = await storedAbove(session, type, reference, links);
  if (stored === undefined) {
    const message = `More than ${MOST_ABOVE} records are above this one`;
    return refuse(session, 'invalid-reference', pointerOf(moved[0], reference), 'too-deep', message);
  }
  const above = (place: TreePlace): TreePlace | null =>
    links.get(place) ?? (links.has(place) || typeof place !== 'number' ? null : (stored.get(place) ?? null));
  const cycles = inCycles(moved.map(idOf), above);
  for (const node of moved) {
    if (!cycles.has(idOf(node))) continue;
    const message = `${type.name} ${node.identifier ?? ''} would be below itself; link a record that is not below it`;
    refuse(session, 'invalid-reference', pointerOf(node, reference), 'cycle', message);
  }
}

const pointerOf = (node: Node | undefined, { column }: Reference): string =>
  node?.assigned.get(column)?.pointer ?? node?.pointer ?? '';

/** The links that the body sets, as they will be; null for links that it cuts. */
function linksToBe(
  { existing, made, deleted }: WriteSession,
  type: RecordType,
  reference: Reference,
  released: readonly Released[],
): ReadonlyMap<TreePlace, TreePlace | null> {
  const { column } = reference;
  const links = new Map<TreePlace, TreePlace | null>();
  const say = (node: Node): void => {
    const said = node.assigned.get(column);
    if (deleted.has(node)) links.set(idOf(node), null);
    else if (said) links.set(idOf(node), placeOf(said.value));
  };
  for (const node of existing.get(type)?.values() ?? []) say(node);
  for (const node of made) if (node.type === type) say(node);
  for (const { relation, identifiers } of released)
    if (relation.target === type && (relation.owned || isLinkOf(relation, reference)))
      for (const identifier of identifiers) links.set(identifier, null);
  return links;
}

const placeOf = (value: SqlValue | Node): TreePlace | null =>
  value === null || typeof value === 'object' ? value : Number(value);

const isLinkOf = ({ link }: Released['relation'], reference: Reference): boolean =>
  link.at === 'target' && link.reference === reference;

/** By identifier, what is stored of the records that the links lead to, and of all above them. */
async function storedAbove(
  { tables, writer }: WriteSession,
  type: RecordType,
  { column }: Reference,
  links: ReadonlyMap<TreePlace, TreePlace | null>,
): Promise<ReadonlyMap<number, number | null> | undefined> {
  // No other write can change them before this one ends: two at once could make a cycle that neither of them sees.
  if (tables.lockOwnership) await writer.value(tables.lockOwnership, []);
  const parents = [...new Set(links.values())].filter((place) => typeof place === 'number');
  const rows = await writer.all(tables.of(type).above(column), [JSON.stringify(parents), MOST_ABOVE + 1]);
  if (rows.length > MOST_ABOVE) return undefined;
  return new Map(
    rows.map(([identifier, parent = null]) => [Number(identifier), parent === null ? null : Number(parent)]),
  );
}

/** The places, of these and those above them, from which the way up leads back to themselves. Each is passed once. */
function inCycles(starts: readonly TreePlace[], above: (place: TreePlace) => TreePlace | null): ReadonlySet<TreePlace> {
  const cycles = new Set<TreePlace>();
  const done = new Set<TreePlace>();
  for (const start of starts) {
    const way: TreePlace[] = [];
    const onWay = new Map<TreePlace, number>();
    let place: TreePlace | null = start;
    while (place !== null && !done.has(place) && !onWay.has(place)) {
      onWay.set(place, way.length);
      way.push(place);
      place = above(place);
    }
    const met = place === null ? undefined : onWay.get(place);
    if (met !== undefined) for (const one of way.slice(met)) cycles.add(one);
    for (const one of way) done.add(one);
  }
  return cycles;
}
