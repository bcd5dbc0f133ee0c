/** Relations of a body -> links, records to create, records to unlink. One function for each place where a link is stored. */
import { firstPlace, escapeStep, isObject, type JsonObject, type JsonValue } from '../../json/json.ts';
import { documentOf } from '../../model/bodies.ts';
import { identifierIn, type Link, type Relation } from '../../model/model.ts';
import { canWriteThrough } from '../../model/rights.ts';
import { assign, contradiction, isCompared, isOwnedBy, notePair, pairedWith, pairKey } from './members.ts';
import { noteOwnChild } from './rules.ts';
import { type BodyPlace, idOf, make, type Node, refuse, storedValue, touch, type WriteSession } from './session.ts';

type RelationLinkedAt<Where extends Link['at']> = Relation & { readonly link: Extract<Link, { at: Where }> };

/** A related record that a body names, or a new one. */
interface RelatedBody {
  readonly node: Node;
  readonly body: JsonObject;
  readonly pointer: string;
}

/** The body was accepted by its validator: to-one is an object or null, to-many an array of objects. */
export async function resolveRelation(
  session: WriteSession,
  node: Node,
  relation: Relation,
  value: JsonValue,
  place: BodyPlace,
): Promise<void> {
  const { via } = place;
  if (via && via.relation.inverse === relation && !relation.toMany)
    return namesParent(session, node, relation, value, place);
  const bodies = (relation.toMany ? value : [value]) as readonly JsonValue[];
  const most = bodies.length + session.writeRows + 1;
  const current = isAt(relation, 'target') ? await childrenOf(session, node, relation, most) : [];
  noteOwnChild(session, node, relation, value, current);
  const targets: RelatedBody[] = [];
  for (const [index, body] of bodies.entries()) {
    const pointer = relation.toMany ? `${place.pointer}/${index}` : place.pointer;
    if (!isObject(body) || session.faulty.has(pointer)) continue;
    const target =
      ownChildOf(session, node, relation, body, pointer) ?? (await nested(session, relation, body, pointer, current));
    if (target) targets.push({ node: target, body, pointer });
  }
  if (differs(session, node, relation, targets, place)) {
    for (const target of targets)
      later(session, relation, node, target.node, target.body, { ...place, pointer: target.pointer });
    return;
  }
  if (isAt(relation, 'source')) await resolveParent(session, node, relation, value, targets, place);
  else if (isAt(relation, 'join')) await resolvePairs(session, node, relation, targets, place);
  else if (isAt(relation, 'target')) await resolveChildren(session, node, relation, current, value, targets, place);
}

const isAt = <Where extends Link['at']>(relation: Relation, at: Where): relation is RelationLinkedAt<Where> =>
  relation.link.at === at;

/** Whether another part of the body gives this relation another value: then both places are refused. */
function differs(
  session: WriteSession,
  node: Node,
  relation: Relation,
  targets: readonly RelatedBody[],
  { pointer, via }: BodyPlace,
): boolean {
  const nodes = new Set(targets.map((target) => target.node));
  if (relation.toMany && via?.relation.inverse === relation) nodes.add(via.parent);
  const known = node.related?.get(relation);
  if (!known) (node.related ??= new Map()).set(relation, { nodes, pointer });
  else if (known.nodes.size !== nodes.size || [...nodes].some((one) => !known.nodes.has(one))) {
    contradiction(session, pointer, known.pointer);
    return true;
  }
  return false;
}

/** The inverse key of a nested record may only name the record that it is nested in. */
async function namesParent(
  session: WriteSession,
  node: Node,
  relation: Relation,
  value: JsonValue,
  place: BodyPlace,
): Promise<void> {
  const parent = place.via?.parent;
  const named = isObject(value) ? identifierIn(value, relation.target) : undefined;
  if (parent && isObject(value) && named !== undefined && named === parent.identifier)
    return later(session, relation, node, parent, value, place);
  const who =
    parent?.identifier === undefined
      ? 'be left out'
      : `be left out or name ${relation.target.name} ${parent.identifier}`;
  const message = `"${relation.name}" must ${who}: the record is nested in it`;
  refuse(session, 'invalid-body', place.pointer, 'contradiction', message);
  const other = isObject(value) ? await nested(session, relation, value, place.pointer, []) : undefined;
  if (other && isObject(value)) later(session, relation, node, other, value, place);
}

/** A nested body is resolved after the keys beside it. */
function later(
  session: WriteSession,
  relation: Relation,
  parent: Node,
  node: Node,
  body: JsonObject,
  place: BodyPlace,
): void {
  const writable = place.writable && canWriteThrough(session.rights, relation);
  session.agenda.push({ node, body, place: { pointer: place.pointer, writable, via: { relation, parent } } });
}

/** The one child of its owner that another part of the body creates. */
function ownChildOf(
  session: WriteSession,
  { related }: Node,
  relation: Relation,
  body: JsonObject,
  pointer: string,
): Node | undefined {
  if (relation.toMany || !relation.owned || identifierIn(body, relation.target) !== undefined) return undefined;
  const child = [...(related?.get(relation)?.nodes ?? [])].find(({ isOwnChild }) => isOwnChild);
  if (child) child.pointer = firstPlace(child.pointer, pointer, documentOf(session.records));
  return child;
}

/** The record that a nested body names, there or to be made, or a new one; undefined if it names one that does not exist. */
async function nested(
  session: WriteSession,
  relation: Relation,
  body: JsonObject,
  pointer: string,
  current: readonly number[],
): Promise<Node | undefined> {
  const { target, owned, toMany } = relation;
  const isOwnChild = owned && !toMany;
  const given = identifierIn(body, target);
  const identifier = given ?? (isOwnChild ? current[0] : undefined);
  if (identifier === undefined) return make(session, target, undefined, pointer, isOwnChild);
  const made = session.given.get(target)?.get(identifier);
  if (made) return made;
  const node = await touch(session, target, identifier, pointer);
  if (node && given !== undefined) noteName(session, node, identifierPointer(relation, pointer));
  if (node) return node;
  const message = `There is no ${target.name} ${identifier}`;
  refuse(session, 'invalid-reference', identifierPointer(relation, pointer), 'not-found', message);
  return undefined;
}

function noteName({ named }: WriteSession, node: Node, pointer: string): void {
  const pointers = named.get(node);
  if (pointers) pointers.push(pointer);
  else named.set(node, [pointer]);
}

const identifierPointer = ({ target }: Relation, pointer: string): string =>
  `${pointer}/${escapeStep(target.identifier.name)}`;

/** belongsTo: the row itself holds the link. */
async function resolveParent(
  session: WriteSession,
  node: Node,
  relation: RelationLinkedAt<'source'>,
  value: JsonValue,
  [target]: readonly RelatedBody[],
  place: BodyPlace,
): Promise<void> {
  const { column } = relation.link.reference;
  const { pointer, writable } = place;
  if (value !== null && !target) return;
  const link = target ? idOf(target.node) : null;
  const named = link === null ? pointer : identifierPointer(relation, pointer);
  if (!relation.inverse?.owned || (await mayOwn(session, target?.node, node, column, named)))
    assign(session, node, { column, value: link, pointer, writable });
  if (target) later(session, relation, node, target.node, target.body, place);
}

/** An owned child never changes its parent, and a record cannot be owned by what it owns. */
async function mayOwn(
  session: WriteSession,
  parent: Node | undefined,
  child: Node,
  column: string,
  pointer: string,
): Promise<boolean> {
  const stored = storedValue(child, column);
  const who = `${child.type.name} ${child.identifier ?? ''}`.trim();
  if (stored !== undefined && stored !== null) {
    if (stored === parent?.identifier) return true;
    refuse(
      session,
      'invalid-reference',
      pointer,
      'owned',
      `${who} belongs to another record and cannot change its parent`,
    );
    return false;
  }
  if (!parent || !(await isOwnedBy(session, parent, child))) return true;
  refuse(session, 'invalid-reference', pointer, 'owned', `${who} cannot be owned by itself, or by what it owns`);
  return false;
}

/** hasOne, hasMany: the children's rows hold the link; the body names the whole new set. */
async function resolveChildren(
  session: WriteSession,
  node: Node,
  relation: RelationLinkedAt<'target'>,
  current: readonly number[],
  value: JsonValue,
  targets: readonly RelatedBody[],
  place: BodyPlace,
): Promise<void> {
  // The record that is named does not exist: that is a fault, and the current child stays.
  if (!relation.toMany && value !== null && targets.length === 0) return;
  const kept = new Set(targets.map((target) => target.node));
  for (const target of targets)
    await adopt(session, node, relation, target.node, target.body, { ...place, pointer: target.pointer });
  const known = session.existing.get(relation.target);
  const isKept = (identifier: number): boolean => {
    const child = known?.get(identifier);
    return (child !== undefined && kept.has(child)) || isImplied(place, relation, identifier);
  };
  unlink(
    session,
    relation,
    current.filter((identifier) => !isKept(identifier)),
    place,
  );
}

/** The record that led here belongs to the inverse set without being listed. */
const isImplied = ({ via }: BodyPlace, relation: Relation, identifier: number): boolean =>
  via?.relation.inverse === relation && via.parent.identifier === identifier;

async function childrenOf(
  session: WriteSession,
  node: Node,
  relation: RelationLinkedAt<'target'>,
  most: number,
): Promise<readonly number[]> {
  if (!node.stored || node.identifier === undefined) return [];
  const { children } = session.tables.of(relation.target);
  return (await session.writer.column(children(relation.link.reference.column), [
    node.identifier,
    most,
  ])) as readonly number[];
}

async function adopt(
  session: WriteSession,
  parent: Node,
  relation: RelationLinkedAt<'target'>,
  child: Node,
  body: JsonObject,
  place: BodyPlace,
): Promise<void> {
  const { column } = relation.link.reference;
  const { pointer, writable } = place;
  const named = identifierPointer(relation, pointer);
  const compared = isCompared(parent);
  if (!writable && compared && !child.stored)
    session.checks.push({ subject: parent, pointer, node: child, column, value: idOf(parent) });
  if (!relation.owned || (await mayOwn(session, parent, child, column, named)))
    assign(session, child, { column, value: idOf(parent), pointer, writable, compared });
  later(session, relation, parent, child, body, place);
}

/** Children that the body leaves out: deleted where they are owned, else unlinked. */
function unlink(
  session: WriteSession,
  relation: RelationLinkedAt<'target'>,
  identifiers: readonly number[],
  { pointer, writable }: BodyPlace,
): void {
  const { owned, link } = relation;
  const { column, required } = link.reference;
  if (identifiers.length === 0) return;
  const left = { relation, column, identifiers, pointer };
  if (writable && (owned || !required)) session.released.push(left);
  else session.leftOut.push({ ...left, writable });
}

/** manyToMany: rows of a join table hold the links; the array is the whole new set. */
async function resolvePairs(
  session: WriteSession,
  node: Node,
  relation: RelationLinkedAt<'join'>,
  targets: readonly RelatedBody[],
  place: BodyPlace,
): Promise<void> {
  const { pointer, writable } = place;
  const before = new Set(await pairedWith(session, node, relation, targets.length + session.writeRows + 1));
  for (const { node: other, body, pointer: at } of targets) {
    const isStored = other.identifier !== undefined && before.delete(other.identifier);
    if (writable || isStored) notePair(session, relation, node, idOf(other), { pointer: at, isStored, isWanted: true });
    else if (isCompared(node)) {
      const pair = pairKey(session, relation, node, idOf(other));
      session.checks.push({ subject: node, pointer: at, pair, isWanted: true });
    }
    later(session, relation, node, other, body, { ...place, pointer: at });
  }
  for (const identifier of before) {
    if (isImplied(place, relation, identifier)) continue;
    const pair = pairKey(session, relation, node, identifier);
    if (writable) notePair(session, relation, node, identifier, { pointer, isStored: true, isWanted: false });
    else session.checks.push({ subject: node, pointer, pair, isWanted: false });
  }
}
