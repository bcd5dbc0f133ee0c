/** Relations of a body -> links, records to make, records to let go. One function for each place a link is kept in. */
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../../json.ts';
import type { Link, Relation } from '../../model/model.ts';
import { assign, linkedOnly } from './assign.ts';
import { livesWith } from './owners.ts';
import { pair, pairedWith, unpair } from './pairs.ts';
import { make, type Node, type Place, refuse, type Session, storedValue, touch } from './session.ts';

type At<Where extends Link['at']> = Relation & { readonly link: Extract<Link, { at: Where }> };

/** The body was accepted by its validator: to-one is an object or null, to-many an array of objects. */
export async function resolveRelation(
  session: Session,
  node: Node,
  relation: Relation,
  value: JsonValue,
  place: Place,
): Promise<void> {
  const { via } = place;
  if (via && via.relation.inverse === relation && !relation.toMany)
    return namesParent(session, node, relation, value, place);
  const items = Array.isArray(value) ? (value as readonly JsonObject[]) : [];
  if (isAt(relation, 'source')) return resolveParent(session, node, relation, value, place);
  if (isAt(relation, 'join')) return resolvePairs(session, node, relation, items, place);
  if (!isAt(relation, 'target')) return undefined;
  return relation.toMany
    ? resolveChildren(session, node, relation, items, place)
    : resolveChild(session, node, relation, value, place);
}

const isAt = <Where extends Link['at']>(relation: Relation, at: Where): relation is At<Where> =>
  relation.link.at === at;

/** The way back: a nested record's inverse key may only name the record that it is nested in. */
async function namesParent(
  session: Session,
  node: Node,
  relation: Relation,
  value: JsonValue,
  place: Place,
): Promise<void> {
  const parent = place.via?.parent;
  const named = isObject(value) ? identifierIn(value, relation) : undefined;
  if (!parent || !isObject(value) || named === undefined || named !== parent.identifier) {
    const who =
      parent?.identifier === undefined
        ? 'be left out'
        : `be left out or name ${relation.target.name} ${parent.identifier}`;
    return refuse(
      session,
      'invalid-reference',
      place.pointer,
      'inverse',
      `"${relation.name}" must ${who}: the record is nested in it`,
    );
  }
  later(session, relation, node, parent, value, place);
}

/** The identifier in a nested body; null counts as absent. */
function identifierIn(body: JsonObject, { target: { identifier } }: Relation): number | undefined {
  const value = body[identifier.name];
  return typeof value === 'number' ? value : undefined;
}

/** What a nested body says of its own record is worked out after what stands beside it. */
function later(session: Session, relation: Relation, parent: Node, node: Node, body: JsonObject, place: Place): void {
  const writable = place.writable && relation.nested === 'write';
  session.agenda.push({ node, body, place: { pointer: place.pointer, writable, via: { relation, parent } } });
}

/** The record that a nested body names, or one that is to be made; undefined where it names one that is not there. */
async function nested(
  session: Session,
  relation: Relation,
  body: JsonObject,
  pointer: string,
): Promise<Node | undefined> {
  const identifier = identifierIn(body, relation);
  if (identifier === undefined) return make(session, relation.target, body, pointer);
  const node = await touch(session, relation.target, identifier, pointer);
  if (!node) {
    const message = `There is no ${relation.target.name} ${identifier}`;
    refuse(session, 'invalid-reference', identifierPointer(relation, pointer), 'not-found', message);
  }
  if (node) session.named.set(node, identifierPointer(relation, pointer));
  return node;
}

const identifierPointer = ({ target }: Relation, pointer: string): string =>
  `${pointer}/${escapeStep(target.identifier.name)}`;

const idOf = (node: Node): number | Node => node.identifier ?? node;

/** belongsTo: the row itself holds the link. */
async function resolveParent(
  session: Session,
  node: Node,
  relation: At<'source'>,
  value: JsonValue,
  place: Place,
): Promise<void> {
  const { column } = relation.link.reference;
  const { pointer, writable } = place;
  const target = isObject(value) ? await nested(session, relation, value, pointer) : undefined;
  if (isObject(value) && !target) return;
  const link = target ? idOf(target) : null;
  const named = link === null ? pointer : identifierPointer(relation, pointer);
  if (relation.inverse?.owned && !(await mayOwn(session, target, node, column, named))) return;
  assign(session, node, { column, value: link, pointer, writable });
  if (isObject(value) && target) later(session, relation, node, target, value, place);
}

/** An owned child never changes its parent, and nobody is owned by what lives and dies with him. */
async function mayOwn(
  session: Session,
  parent: Node | undefined,
  child: Node,
  column: string,
  pointer: string,
): Promise<boolean> {
  const stored = storedValue(child, column);
  const same = stored !== undefined && stored !== null && stored === parent?.identifier;
  if (same || stored === undefined) return true;
  const who = `${child.type.name} ${child.identifier ?? ''}`;
  if (stored !== null) {
    refuse(
      session,
      'invalid-reference',
      pointer,
      'owned',
      `${who} belongs to another record and cannot change its parent`,
    );
    return false;
  }
  if (!parent || !(await livesWith(session, parent, child))) return true;
  refuse(session, 'invalid-reference', pointer, 'owned', `${who} cannot be owned by itself, or by what it owns`);
  return false;
}

/** hasOne: the one child's row holds the link. */
async function resolveChild(
  session: Session,
  node: Node,
  relation: At<'target'>,
  value: JsonValue,
  place: Place,
): Promise<void> {
  const [current] = await childrenOf(session, node, relation);
  if (!isObject(value)) {
    if (current !== undefined) await letGo(session, relation, current, place);
    return;
  }
  const updatesOwned = relation.owned && current !== undefined && identifierIn(value, relation) === undefined;
  const child = updatesOwned
    ? await touch(session, relation.target, current, place.pointer)
    : await nested(session, relation, value, place.pointer);
  if (!child) return;
  if (current !== undefined && child.identifier !== current) await letGo(session, relation, current, place);
  await adopt(session, node, relation, child, value, place);
}

/** hasMany: the children's rows hold the link; the array is the whole new set. */
async function resolveChildren(
  session: Session,
  node: Node,
  relation: At<'target'>,
  items: readonly JsonObject[],
  place: Place,
): Promise<void> {
  const kept = new Set<Node>();
  for (const [index, item] of items.entries()) {
    const pointer = `${place.pointer}/${index}`;
    const child = await nested(session, relation, item, pointer);
    if (!child || isTwice(session, kept, child, pointer)) continue;
    await adopt(session, node, relation, child, item, { ...place, pointer });
  }
  for (const identifier of await childrenOf(session, node, relation)) {
    const child = session.existing.get(relation.target)?.get(identifier);
    if ((child && kept.has(child)) || isImplied(place, relation, identifier)) continue;
    await letGo(session, relation, identifier, place);
  }
}

function isTwice(session: Session, kept: Set<Node>, child: Node, pointer: string): boolean {
  if (!kept.has(child)) {
    kept.add(child);
    return false;
  }
  refuse(
    session,
    'invalid-body',
    pointer,
    'duplicate',
    `${child.type.name} ${child.identifier ?? ''} stands twice in the set`,
  );
  return true;
}

/** The record that led here belongs to the inverse set without being listed. */
const isImplied = ({ via }: Place, relation: Relation, identifier: number): boolean =>
  via?.relation.inverse === relation && via.parent.identifier === identifier;

async function childrenOf(session: Session, node: Node, relation: At<'target'>): Promise<readonly number[]> {
  if (!node.stored || node.identifier === undefined) return [];
  const { children } = session.tables.of(relation.target);
  return (await session.writer.column(children(relation.link.reference.column), [
    node.identifier,
  ])) as readonly number[];
}

async function adopt(
  session: Session,
  parent: Node,
  relation: At<'target'>,
  child: Node,
  body: JsonObject,
  place: Place,
): Promise<void> {
  const { column } = relation.link.reference;
  const { pointer, writable } = place;
  const named = identifierPointer(relation, pointer);
  if (relation.owned && !(await mayOwn(session, parent, child, column, named))) return;
  if (!writable && !child.stored) return linkedOnly(session, parent, pointer);
  assign(session, child, { column, value: idOf(parent), pointer, writable });
  later(session, relation, parent, child, body, place);
}

/** A child that the body leaves out: deleted where it is owned, else unlinked. */
async function letGo(
  session: Session,
  relation: At<'target'>,
  identifier: number,
  { pointer, writable }: Place,
): Promise<void> {
  const child = await touch(session, relation.target, identifier, pointer);
  if (!child) return;
  if (!writable) return linkedOnly(session, child, pointer);
  if (relation.owned) return void session.deleted.set(child, pointer);
  const { column, required } = relation.link.reference;
  if (!required) return assign(session, child, { column, value: null, pointer, writable, byOmission: true });
  const message = `${relation.target.name} ${identifier} cannot be left out: it must belong to a ${relation.source.name}`;
  return refuse(session, 'invalid-reference', pointer, 'required', message);
}

/** manyToMany: rows of a table of their own hold the links; the array is the whole new set. */
async function resolvePairs(
  session: Session,
  node: Node,
  relation: At<'join'>,
  items: readonly JsonObject[],
  place: Place,
): Promise<void> {
  const { pointer, writable } = place;
  const before = new Set(await pairedWith(session, node, relation));
  const kept = new Set<Node>();
  for (const [index, item] of items.entries()) {
    const at = `${pointer}/${index}`;
    const other = await nested(session, relation, item, at);
    if (!other || isTwice(session, kept, other, at)) continue;
    const isNew = other.identifier === undefined || !before.delete(other.identifier);
    if (isNew && !writable) linkedOnly(session, node, at);
    else pair(session, relation, node, other, at, isNew);
    later(session, relation, node, other, item, { ...place, pointer: at });
  }
  for (const identifier of before) {
    if (isImplied(place, relation, identifier)) continue;
    if (writable) unpair(session, relation, node, identifier, pointer);
    else linkedOnly(session, node, pointer);
  }
}
