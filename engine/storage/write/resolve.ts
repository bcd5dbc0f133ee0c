/**
 * Resolves a body into nodes, depth first: the keys of a record before its nested records. Then what the body says is
 * checked as a whole, before anything asks for the records that it refers to.
 */
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import { enclosing, escapeStep, isObject, type JsonObject, type JsonValue, unescapedSteps } from '../../json/json.ts';
import { mergePatch, sameValue } from '../../json/raw.ts';
import type { RawMember, RawMembers } from '../../json/tokenizer.ts';
import { memoized } from '../../memo.ts';
import { compareIdentifiers, type Identifier } from '../../model/identifier.ts';
import {
  type Check,
  closingLinks,
  type Field,
  identifierIn,
  type Link,
  owningReferences,
  reached,
  type RecordType,
  type Reference,
  type Relation,
} from '../../model/model.ts';
import { can, canCreateThrough, canFollow, canWriteThrough, hiddenRequirement, showsLink } from '../../model/rights.ts';
import { shortened } from '../../names.ts';
import { type Fault, faultyRequest, Problem } from '../../problem.ts';
import { meets } from '../../query/operators.ts';
import { columnType, encode, encodedDefault, stampFor } from '../columns.ts';
import { Overtaken } from '../driver.ts';
import { tooManyRows } from './cascade.ts';
import { allowBody, giveValues, isSeenIn, isSent, knowsAll, setValue } from './allowed.ts';
import {
  assign,
  type Claim,
  contradict,
  finalValue,
  idOf,
  isCompared,
  isInBody,
  isNode,
  keptNodes,
  type LinkCheck,
  make,
  type Mention,
  nameOf,
  type Node,
  openKeysOf,
  refuse,
  seenAmong,
  storedValue,
  throwInOrder,
  throwRefused,
  touch,
  type WriteSession,
} from './session.ts';

interface BodyItem {
  readonly node: Node;
  readonly body: JsonObject;
  readonly mention: Mention;
}

/** Returns the records that the request names. Refuses faults of the body, records that are not there, and what a role may not do. */
export async function resolveBody(session: WriteSession, type: RecordType) {
  const roots: BodyItem[] = [];
  const seen = new Set<Identifier>();
  for (const { body, identifier, pointer } of session.records) {
    if (session.faulty.has(pointer)) continue;
    const known = identifier ?? identifierIn(body, type);
    if (known !== undefined && seen.has(known)) {
      const message = `${type.name} ${known} is in the array twice; list it once`;
      session.contradictions.push({ pointer: identifierAt(type, pointer), code: 'duplicate', message });
      continue;
    }
    if (known !== undefined) seen.add(known);
    const isNew = identifier === undefined;
    const node = isNew ? make(session, type, known, pointer) : await touch(session, type, identifier, pointer);
    roots.push({ node, body, mention: { pointer, writable: !node.isLost, isLost: node.isLost, via: undefined } });
  }
  const agenda = roots.toReversed();
  for (let item = agenda.pop(); item; item = agenda.pop())
    for (const nested of (await resolveRecord(session, item)).toReversed()) agenda.push(nested);
  const nodes = roots.map(({ node }) => node);
  await giveValues(session);
  checkBody(session);
  requireFound(session, nodes);
  const allowed = await allowBody(session);
  // A role hears of checks that stored values break only where it may change the record.
  if (session.rights.checked) holdToChecks(session, keptNodes(session));
  throwRefused(session, 'invalid-body');
  return { nodes, allowed };
}

const identifierAt = ({ identifier }: RecordType, pointer: string): string =>
  `${pointer}/${escapeStep(identifier.name)}`;

/** The key at a pointer of the body, as the client sent it. */
const keyOf = ({ records: [record] }: WriteSession, pointer: string): string =>
  unescapedSteps(record?.sent?.get(pointer) ?? pointer).at(-1) ?? '';

async function resolveRecord(session: WriteSession, { node, body, mention }: BodyItem): Promise<readonly BodyItem[]> {
  if (mention.writable) node.isWritten = true;
  const nested: BodyItem[] = [];
  for (const key of keysOf(body, session.raw.get(body))) {
    const pointer = `${mention.pointer}/${escapeStep(key)}`;
    const relation = node.type.relations.get(key);
    // Whether it differs would tell what is stored.
    if (!mention.writable && key !== node.type.identifier.name && !isSeenIn(session, node, key))
      refuseLinked(session, node, pointer);
    else if (!relation) resolveValue(session, node, body, key, { ...mention, pointer });
    else if (!session.faulty.has(pointer)) {
      const named: Named = { session, node, relation, mention: { ...mention, pointer }, targets: new Map() };
      for (const item of await resolveRelation(named, body[key] ?? null)) nested.push(item);
    }
  }
  return nested;
}

interface Named {
  readonly session: WriteSession;
  readonly node: Node;
  readonly relation: Relation;
  readonly mention: Mention;
  readonly targets: Map<Node, Mention>;
}

/** The validator ensures that to-one is an object or null, to-many an array of objects. */
async function resolveRelation(named: Named, value: JsonValue): Promise<readonly BodyItem[]> {
  const { session, node, relation, mention } = named;
  const { link, toMany } = relation;
  if (mention.via?.relation.inverse === relation && !toMany) return namesParent(named, value, mention.via.parent);
  const bodies = (toMany ? value : [value]) as readonly JsonValue[];
  const most = bodies.length + session.writeRows + 1;
  const { children } = link.at === 'target' ? session.tables.of(relation.target).linksIn(link.reference.column) : {};
  const bound = [JSON.stringify([node.identifier]), most];
  const rows = children && node.stored ? ((await session.writer.column(children, bound)) as readonly Identifier[]) : [];
  refuseCut(session, mention, rows.length, most);
  const isShown = link.at === 'target' && showsLink(session.rights, relation.target, link.reference);
  const current = isShown ? [...(await seenAmong(session, relation.target, rows))] : [];
  // Without a lock, the database returns them in any order, in which faults would name them.
  current.sort(compareIdentifiers);
  const items: BodyItem[] = [];
  for (const [index, body] of bodies.entries()) {
    const at = { ...mention, pointer: toMany ? `${mention.pointer}/${index}` : mention.pointer };
    if (!isObject(body) || session.faulty.has(at.pointer)) continue;
    const target = await targetOf(named, body, at, current);
    if (named.targets.has(target)) {
      const message = `${nameOf(target)} is in the set twice; list it once`;
      session.contradictions.push({ pointer: at.pointer, code: 'duplicate', message });
    } else named.targets.set(target, at);
    items.push(itemOf(named, target, body, at));
  }
  relate(named, mention.via);
  const isMissing = value !== null && !toMany && [...named.targets.keys()].every(({ isLost }) => isLost);
  if (link.at === 'join') await resolvePairs(named, link);
  else if (link.at === 'source') await resolveParent(named, link.reference);
  else await resolveChildren(named, link.reference, isMissing ? [] : current);
  return items;
}

function itemOf({ session, node: parent, relation }: Named, node: Node, body: JsonObject, at: Mention): BodyItem {
  const isLost = at.isLost || node.isLost;
  const isAllowed = (node.stored ? canWriteThrough : canCreateThrough)(session.rights, relation);
  const writable = at.writable && !isLost && isAllowed;
  return { node, body, mention: { pointer: at.pointer, writable, isLost, via: { relation, parent } } };
}

/** Notes the related records of a mention; other mentions must name the same. */
function relate({ session, node, relation, targets, mention: { pointer } }: Named, via: Mention['via']): void {
  const nodes = new Set(targets.keys());
  if (relation.toMany && via?.relation.inverse === relation) nodes.add(via.parent);
  const known = node.related.get(relation);
  if (known) {
    if (known.nodes.size !== nodes.size || [...nodes].some((one) => !known.nodes.has(one)))
      contradict(session, pointer, known.pointer);
    return;
  }
  const claim = { node, relation, nodes, pointer, order: session.claims.length };
  node.related.set(relation, claim);
  session.claims.push(claim);
}

/** The inverse key of a nested record must name its enclosing record, which is already linked. */
async function namesParent(named: Named, value: JsonValue, parent: Node): Promise<readonly BodyItem[]> {
  const { session, node, relation, mention, targets } = named;
  const { link, target: type } = relation;
  const body = isObject(value) ? value : undefined;
  const identifier = body && identifierIn(body, type);
  const isParent = identifier !== undefined && identifier === parent.identifier;
  const target = isParent ? parent : body && (await targetOf(named, body, mention, []));
  const claim = (child: Node, column: string, linked: Identifier | Node | null): void => {
    const before = child.assigned.get(column) ?? child.linked.get(column);
    if (before?.value !== linked) assign(session, child, column, linked, mention);
  };
  if (target) targets.set(target, mention);
  if (link.at === 'target') relate(named, undefined);
  if (link.at === 'source') claim(node, link.reference.column, target ? idOf(target) : null);
  else if (link.at === 'target' && target) claim(target, link.reference.column, idOf(node));
  return body && target ? [itemOf(named, target, body, mention)] : [];
}

async function targetOf(
  { session, node: parent, relation }: Named,
  body: JsonObject,
  { pointer, isLost }: Mention,
  [current]: readonly Identifier[],
): Promise<Node> {
  const { target, owned, toMany, nested } = relation;
  const isLink = nested === 'link';
  const isOwnChild = owned && !toMany && !isLink;
  const fault = session.unknown?.get(body);
  if (fault) session.refusals.push({ code: 'invalid-reference', fault });
  const named = identifierIn(body, target);
  const child = [...(parent.related.get(relation)?.nodes ?? [])].find((one) => one.isOwnChild);
  if (named === undefined && isOwnChild && child) return child;
  const identifier = named ?? (isOwnChild ? current : undefined);
  // A link that names no record is a fault already.
  const lost = isLost || isLink;
  if (identifier === undefined) return make(session, target, undefined, pointer, { isOwnChild, isLost: lost });
  const node = session.createdById.get(target)?.get(identifier) ?? (await touch(session, target, identifier, pointer));
  if (named === undefined || isLost) return node;
  // Clients that make identifiers name new records too.
  if (node.isLost && target.identifier.by === 'client' && canCreateThrough(session.rights, relation)) {
    session.existing.get(target)?.delete(named);
    return make(session, target, named, pointer, { isOwnChild });
  }
  const at = identifierAt(target, pointer);
  if (node.isLost) refuse(session, 'invalid-reference', at, 'not-found', `There is no ${target.name} ${identifier}`);
  else if (node.stored) session.named.push({ node, pointer: at });
  return node;
}

async function resolveParent(named: Named, { column, required }: Reference): Promise<void> {
  const { session, node, relation, mention, targets } = named;
  const [parent] = targets.keys();
  const link = parent ? idOf(parent) : null;
  const stored = (storedValue(node, column) ?? null) as Identifier | null;
  // A link to a hidden record is shown as null, which then says nothing of it.
  const isShownAsNull = link === null && stored !== null && isSeenIn(session, node, relation.name);
  if (isShownAsNull && (await seenAmong(session, relation.target, [stored])).length === 0) return;
  const isSame = (): boolean => link === stored || link === setValue(session, node, relation.name);
  if (!isSent(session, node, relation.name, mention, isSame)) return;
  if (link === null && session.rights.tables && required && mention.writable)
    refuse(session, 'invalid-body', mention.pointer, 'null', `"${keyOf(session, mention.pointer)}" must not be null`);
  assign(session, node, column, link, mention);
  const pointer = parent ? identifierAt(relation.target, mention.pointer) : mention.pointer;
  if (relation.inverse?.owned) await requireOwner(session, parent, node, column, pointer);
}

/** hasOne, hasMany: the children's rows store the link; the body names the whole new set. */
async function resolveChildren(named: Named, reference: Reference, current: readonly Identifier[]): Promise<void> {
  const { session, node, relation, mention, targets } = named;
  const { owned, target } = relation;
  const { column, required } = reference;
  const value = idOf(node);
  const compared = isCompared(node);
  for (const [child, { pointer, writable }] of targets) {
    if (!writable && compared && !child.stored)
      session.checks.push({ subject: node, pointer, expected: { node: child, column, value } });
    assign(session, child, column, value, { pointer, writable, compared });
    if (child.stored && writable && !showsLink(session.rights, target, reference)) child.isUnseen = true;
    if (owned) await requireOwner(session, node, child, column, identifierAt(target, pointer));
  }
  const known = session.existing.get(target);
  const identifiers = current.filter((identifier) => {
    const child = known?.get(identifier);
    return !(child && targets.has(child)) && !isImplied(named, identifier);
  });
  const isLinked = (child: Node): boolean => child.stored !== undefined && storedValue(child, column) === value;
  isSent(session, node, relation.name, mention, () => identifiers.length === 0 && [...targets.keys()].every(isLinked));
  if (identifiers.length === 0) return;
  const { pointer, writable } = mention;
  const left = { relation, reference, identifiers, pointer };
  if (writable && (owned || !required)) session.released.push(left);
  else session.leftOut.push({ ...left, writable });
}

/** The inverse set includes the parent of a nested record, even if it is not listed. */
const isImplied = ({ relation, mention: { via } }: Named, identifier: Identifier): boolean =>
  via?.relation.inverse === relation && via.parent.identifier === identifier;

/** manyToMany: a join table stores the links; the array is the whole new set. */
async function resolvePairs(named: Named, { table, sourceColumn }: Extract<Link, { at: 'join' }>): Promise<void> {
  const { session, node, relation, mention, targets } = named;
  const isLeft = table.left.column === sourceColumn;
  const before = new Set<Identifier>();
  if (node.stored) {
    const most = targets.size + session.writeRows + 1;
    const bound = [JSON.stringify([node.identifier]), most];
    for (const [left, right] of await session.writer.all(session.tables.rows(table).pairs(sourceColumn), bound))
      before.add((isLeft ? right : left) as Identifier);
    refuseCut(session, mention, before.size, most);
    const seen = new Set(await seenAmong(session, relation.target, [...before]));
    for (const identifier of before) if (!seen.has(identifier)) before.delete(identifier);
  }
  /** Also notes stored rows that stay, so that the other side cannot remove them. */
  let isSame = true;
  const note = (other: Identifier | Node, pointer: string, isStored: boolean, isWanted: boolean): void => {
    isSame &&= isStored === isWanted;
    const [left, right] = isLeft ? [idOf(node), other] : [other, idOf(node)];
    const [one, two] = [left, right].map((side) => (isNode(side) ? side.pointer : side));
    const pair = `${table.name} ${one ?? ''} ${two ?? ''}`;
    const known = session.pairs.get(pair);
    if (!mention.writable && !(isStored && isWanted)) {
      if (isCompared(node)) session.checks.push({ subject: node, pointer, expected: { pair, isWanted } });
    } else if (!known?.isWanted && (isWanted || !known))
      session.pairs.set(pair, { table, left, right, pointer, isStored, isWanted, holder: node });
  };
  for (const [other, { pointer }] of targets)
    if (!other.isLost) note(idOf(other), pointer, before.delete(other.identifier ?? 0), true);
  for (const identifier of before) if (!isImplied(named, identifier)) note(identifier, mention.pointer, true, false);
  isSent(session, node, relation.name, mention, () => isSame && [...targets.keys()].every((one) => !one.isLost));
}

/** Refuses a set of which not all records were read: those that the role sees could be missing. */
function refuseCut({ rights, writeRows }: WriteSession, { pointer }: Mention, count: number, most: number): void {
  if (rights.tables && count === most)
    throw tooManyRows(writeRows, { pointer }, 'This set, with what you may not read of it,');
}

/** Refuses to move an owned child to another parent, and cycles of ownership. */
async function requireOwner(
  session: WriteSession,
  parent: Node | undefined,
  child: Node,
  column: string,
  pointer: string,
): Promise<void> {
  const stored = storedValue(child, column) ?? null;
  if (parent?.isLost || child.isLost || (stored !== null && stored === parent?.identifier)) return;
  const isTaken = stored !== null;
  if (!isTaken && !(parent && (await isOwnedBy(session, parent, child)))) return;
  const how = isTaken
    ? 'belongs to another record and cannot change its parent'
    : 'cannot be owned by itself, or by what it owns';
  refuse(session, 'invalid-reference', pointer, 'owned', `${nameOf(child)} ${how}`);
  const refused = child.assigned.get(column);
  child.assigned.delete(column);
  if (refused) child.linked.set(column, refused);
}

/** Whether `node` is `owner`, or is owned by it. Locks, as two concurrent writes could make an unseen cycle. */
async function isOwnedBy(session: WriteSession, node: Node, owner: Node): Promise<boolean> {
  if (!typesAbove(node.type).has(owner.type)) return false;
  const { lockOwnership } = session.tables;
  if (lockOwnership) await session.writer.value(lockOwnership, []);
  const above = new Set([node]);
  for (const current of above) {
    if (current === owner) return true;
    for (const { column, target } of owningReferences(current.type)) {
      const value = current.assigned.get(column)?.value ?? storedValue(current, column) ?? null;
      if (value === null) continue;
      above.add(isNode(value) ? value : await touch(session, target, value, current.pointer));
    }
  }
  return false;
}

const typesAbove = memoized((type: RecordType) =>
  reached([type], (one) => owningReferences(one).map(({ target }) => target)),
);

/** Restores the document order of open keys, since JavaScript puts integer-like keys first. */
function keysOf(body: JsonObject, raw: RawMembers | undefined): readonly string[] {
  const keys = Object.keys(body);
  if (raw === undefined || !/^\d/.test(keys[0] ?? '')) return keys;
  return [...keys.filter((key) => !raw.has(key)), ...raw.keys()];
}

/** Host applications may parse bodies, so that `raw` is missing. */
const memberOf = (raw: RawMembers | undefined, key: string, value: JsonValue): RawMember =>
  raw?.get(key) ?? { name: JSON.stringify(key), text: JSON.stringify(value) };

export function encodedAs(field: Field, dialect: DialectName, raw: RawMembers | undefined, value: JsonValue): SqlValue {
  if (!field.type.keepsText) return encode(field, dialect, value);
  return value === null ? null : memberOf(raw, field.name, value).text;
}

function resolveValue(session: WriteSession, node: Node, body: JsonObject, key: string, mention: Mention): void {
  const { type } = node;
  const field = type.fields.get(key);
  if (session.faulty.has(mention.pointer)) {
    if (field) node.unusable.add(field.column);
    return;
  }
  const raw = session.raw.get(body);
  const value = body[key] ?? null;
  if (!field) {
    if (!type.identifier.inRecord || key !== type.identifier.name)
      resolveOpenKey(session, node, key, memberOf(raw, key, value), mention);
  } else if (field.generated === undefined || session.readOnlyToo)
    resolveField(session, node, field, encodedAs(field, session.dialect, raw, value), mention);
}

function resolveField(session: WriteSession, node: Node, field: Field, sent: SqlValue, mention: Mention): void {
  const { mergePatch: isPatch, readOnlyToo, dialect } = session;
  const { pointer, writable, isLost } = mention;
  const { column, name, sensitive } = field;
  const stored = storedValue(node, column) ?? null;
  const isMerged = field.type.keepsText && isPatch && sent !== null;
  const value = isMerged ? mergePatch(stored === null ? undefined : String(stored), String(sent)) : sent;
  // A copy of a stored value is no change, although the patch would remove its nulls.
  const isSame = (other: SqlValue): boolean =>
    isSameValue(session, field, other, value) || (isMerged === true && isSameValue(session, field, other, sent));
  if (field.readOnly && !readOnlyToo) {
    const fixed = node.stored ? stored : encodedDefault(field, dialect);
    if (isLost || isSame(fixed)) return undefined;
    const text = field.type.keepsText ? String(fixed) : JSON.stringify(decoded(session, field, fixed));
    const message = `"${name}" is read-only and holds ${sensitive ? 'another value' : shortened(text)}: leave it out`;
    return refuse(session, 'invalid-body', pointer, 'read-only', message);
  }
  const isKnown = (): boolean => {
    const set = setValue(session, node, name);
    return isSame(node.stored ? stored : encodedDefault(field, dialect)) || (set !== undefined && isSame(set));
  };
  if (!isSent(session, node, name, mention, isKnown)) return undefined;
  // A deep comparison costs more than a write.
  return assign(session, node, column, value, { pointer, writable, same: !writable && isSame(stored) });
}

function isSameValue(session: WriteSession, field: Field, one: SqlValue, other: SqlValue): boolean {
  if (one === other || one === null || other === null) return one === other;
  if (field.type.keepsText) return sameValue(String(one), String(other));
  const [a, b] = [decoded(session, field, one), decoded(session, field, other)];
  return a !== null && b !== null && field.type.equal(a, b);
}

const decoded = ({ dialect }: WriteSession, field: Field, value: unknown): JsonValue =>
  (value ?? null) === null ? null : columnType(field, dialect).decode(value as string | number);

function resolveOpenKey(session: WriteSession, node: Node, key: string, sent: RawMember, mention: Mention): void {
  const { pointer, writable } = mention;
  const before = openKeysOf(node).get(key);
  const member = session.mergePatch ? patched(before, sent) : sent;
  if (!isSent(session, node, key, mention, () => isSameMember(before, member))) return undefined;
  const known = node.openKeys.get(key);
  if (known && known.member?.text !== member?.text) return contradict(session, pointer, known.pointer);
  if (!known?.isWritten) node.openKeys.set(key, { member, pointer, isWritten: writable });
  if (!writable && isCompared(node) && !isSameMember(before, member) && !isSameMember(before, sent))
    session.checks.push({ subject: node, pointer, expected: { node, openKey: key } });
  return undefined;
}

const patched = (before: RawMember | undefined, { name, text }: RawMember): RawMember | undefined =>
  text === 'null' ? undefined : { name, text: mergePatch(before?.text, text) };

const isSameMember = (a: RawMember | undefined, b: RawMember | undefined): boolean =>
  a === undefined || b === undefined ? a === b : sameValue(a.text, b.text);

/** Refuses faults of the body itself, before other functions check the records that it refers to. */
function checkBody(session: WriteSession): void {
  for (const node of session.created)
    for (const field of node.table.filled.made) if (!isInBody(node, field.column)) fill(session, node, field);
  const refused = session.refusals.flatMap(({ fault }) => ('pointer' in fault ? fault.pointer : []));
  // A key with a refused value is not missing.
  const enclosed = new Set([...refused, ...session.faulty].flatMap(enclosing));
  for (const node of session.created) requireComplete(session, node, enclosed);
  holdToChecks(session, session.rights.checked && session.created);
  throwRefused(session, 'forbidden');
  throwRefused(session, 'invalid-body', session.faults);
  if (session.claims.length > 0) {
    compareSides(session);
    refuseRivals(session);
    refuseCycles(session);
  }
  throwInOrder(session, 'invalid-body', session.contradictions);
}

/** Checks the required keys of new owned to-one children: the validator cannot know whether they exist. */
function requireComplete(session: WriteSession, node: Node, refused: ReadonlySet<string>): void {
  const { type, table } = node;
  const demand = (key: string): void => {
    const pointer = `${node.pointer}/${escapeStep(key)}`;
    if (!refused.has(pointer))
      refuse(session, 'invalid-body', pointer, 'required', `"${keyOf(session, pointer)}" is required`);
  };
  for (const { name, key } of table.needed) {
    if (isInBody(node, name)) continue;
    const relation = type.relations.get(key);
    if (relation && !canFollow(session.rights, relation)) {
      const message = `You may not create records of ${type.name}${hiddenRequirement(session.rights, type)}; link an existing one by its "${type.identifier.name}"`;
      return refuse(session, 'forbidden', node.pointer, 'forbidden', message);
    }
    if (session.faults.length > 0 && !node.isOwnChild) return undefined;
    demand(key);
  }
  if (type.identifier.by === 'client' && node.identifier === undefined) demand(type.identifier.name);
  return undefined;
}

function compareSides(session: WriteSession): void {
  for (const claim of session.claims) {
    const { link, inverse } = claim.relation;
    if (!inverse || link.at === 'target' || (link.at === 'source' && !isOwnLink(claim, link.reference))) continue;
    for (const other of claim.nodes) {
      const back = other.related.get(inverse);
      if (back && !back.nodes.has(claim.node)) contradictLater(session, claim, back);
    }
  }
}

/** False if an earlier set that lists the record gave the link. */
const isOwnLink = ({ node: { assigned, linked }, pointer }: Claim, { column }: Reference): boolean =>
  assigned.get(column)?.pointer === pointer || linked.get(column)?.pointer === pointer;

/** Only one child may name the parent of a hasOne, unless the parent names its child. */
function refuseRivals(session: WriteSession): void {
  const first = new Map<Reference, Map<Node, Claim>>();
  for (const claim of session.claims) {
    const { link, inverse } = claim.relation;
    const [parent] = claim.nodes;
    if (link.at !== 'source' || !link.reference.unique || !parent || (inverse && parent.related.has(inverse))) continue;
    const claims = first.get(link.reference) ?? new Map<Node, Claim>();
    first.set(link.reference, claims);
    const rival = claims.get(parent);
    if (rival) contradictLater(session, rival, claim);
    else claims.set(parent, claim);
  }
}

function contradictLater(session: WriteSession, one: Claim, other: Claim): void {
  const [first, second] = one.order < other.order ? [one, other] : [other, one];
  contradict(session, second.pointer, first.pointer);
}

/** Refuses cycles of new records, since each is inserted after its targets. */
function refuseCycles({ awaits, contradictions }: WriteSession): void {
  const message = 'This link closes a cycle of new records; leave it out, and set it once they are there';
  const links = Map.groupBy(awaits, ({ from }) => from);
  for (const { pointer } of closingLinks(links.keys(), (node) => links.get(node) ?? []))
    contradictions.push({ pointer, code: 'cycle', message });
}

function requireFound(session: WriteSession, roots: readonly Node[]): void {
  const missing: Fault[] = [];
  for (const [index, node] of roots.entries()) {
    const pointer = session.records[index]?.pointer ?? '';
    // The URL, not the body, names the record.
    const at = pointer === '' ? '' : identifierAt(node.type, pointer);
    if (node.isLost) missing.push({ pointer: at, code: 'not-found', message: `There is no ${nameOf(node)}` });
    else if (node.stored) session.named.push({ node, pointer: at });
  }
  const [first] = missing;
  if (!first) return;
  // An upsert has just found it.
  if (session.unique) throw new Overtaken();
  throw session.records[0]?.pointer === ''
    ? new Problem('record-not-found', first.message)
    : faultyRequest('record-not-found', missing);
}

const MAX_NAMED = 1000;

export function checkLinks(session: WriteSession): void {
  for (const { subject, pointer, expected } of session.checks)
    if (!holds(session, expected)) refuseLinked(session, subject, pointer);
  for (const { relation, reference, identifiers, pointer, writable } of session.leftOut) {
    const { target, source } = relation;
    const staying = identifiers.filter((identifier) => !isLeaving(session, target, reference, identifier));
    for (const identifier of staying.slice(0, MAX_NAMED)) {
      const message = `${target.name} ${identifier} cannot be left out: it must belong to a record of ${source.name}`;
      if (writable) refuse(session, 'invalid-reference', pointer, 'required', message);
      else refuseLinked(session, { type: target, identifier }, pointer);
    }
  }
}

function holds({ pairs }: WriteSession, expected: LinkCheck['expected']): boolean {
  if ('pair' in expected) return pairs.get(expected.pair)?.isWanted === expected.isWanted;
  if ('openKey' in expected) return expected.node.openKeys.get(expected.openKey)?.isWritten === true;
  return finalValue(expected.node, expected.column) === expected.value;
}

function isLeaving({ existing, released }: WriteSession, type: RecordType, reference: Reference, child: Identifier) {
  const node = existing.get(type)?.get(child);
  const linked = node?.assigned.get(reference.column)?.value;
  if (node && linked !== undefined && linked !== storedValue(node, reference.column)) return true;
  return released.some((one) => one.reference === reference && one.identifiers.includes(child));
}

function refuseLinked(session: WriteSession, subject: Pick<Node, 'type' | 'identifier'>, pointer: string): void {
  const { type } = subject;
  const mayUpdate = can(session.rights, type, 'update');
  const own = type.operations.has('update') && mayUpdate ? 'change it at its own path, or ' : '';
  const why = mayUpdate ? 'is only linked here' : 'is only linked, as you may not change it,';
  const message = `${nameOf(subject)} ${why} and differs from this: ${own}leave the key out`;
  refuse(session, 'link-conflict', pointer, 'link-only', message);
}

/** Refuses records that do not meet a check; stored ones only if a field of the check changes. */
export function holdToChecks(session: WriteSession, some?: readonly Node[]): void {
  for (const node of some ?? [...session.created, ...keptNodes(session)]) {
    if (!node.isWritten) continue;
    for (const check of node.type.checks) {
      const concerns = !node.stored || check.fields.some((field) => isChanged(session, node, field));
      if (!concerns || check.fields.some((field) => isUnusable(node, field))) continue;
      if (meets(check, (field) => decoded(session, field, finalValue(node, field.column)))) continue;
      const isTold = knowsAll(session, node, check);
      const message = isTold ? check.message : 'The record does not meet a check of what you may not read';
      refuse(session, 'invalid-body', isTold ? pointerOf(node, check) : node.pointer, 'check', message);
    }
  }
}

/** Whether the value was refused or is missing, which is already a fault. */
function isUnusable({ unusable, stored, assigned, table }: Node, { column, nullable }: Field): boolean {
  if (unusable.has(column)) return true;
  return !nullable && !stored && !assigned.has(column) && (table.columnOf.get(column)?.default ?? null) === null;
}

function isChanged(session: WriteSession, node: Node, field: Field): boolean {
  const value = node.assigned.get(field.column)?.value;
  return (
    value !== undefined &&
    !isNode(value) &&
    !isSameValue(session, field, storedValue(node, field.column) ?? null, value)
  );
}

/** Faults of a check point to its field, beside other fields that the body gives. */
function pointerOf({ assigned, pointer }: Node, { at, fields }: Check): string {
  const own = assigned.get(at.column)?.pointer;
  if (own !== undefined) return own;
  const sibling = fields.flatMap(({ column }) => assigned.get(column)?.pointer ?? [])[0];
  const record = sibling === undefined ? pointer : sibling.slice(0, sibling.lastIndexOf('/'));
  return `${record}/${escapeStep(at.name)}`;
}

export function stampChanged(session: WriteSession, changed: readonly Node[]): void {
  for (const node of changed)
    for (const { stamp, isFolded } of node.table.filled.stamped) if (!isFolded) fill(session, node, stamp);
}

function fill(session: WriteSession, node: Node, field: Field): void {
  const pointer = `${node.pointer}/${escapeStep(field.name)}`;
  node.assigned.set(field.column, { value: stampFor(session, field), pointer, byOmission: false });
}
