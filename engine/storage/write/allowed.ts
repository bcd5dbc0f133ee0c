/**
 * What a role may write: which values of a body it may send, which ones it sets itself, and which conditions the records
 * must meet before the write and at its end. A plan cannot be made without `Allowed`, and `apply` confirms it.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { escapeStep, inDocumentOrder, isObject } from '../../json/json.ts';
import type { Filter } from '../../model/filters.ts';
import type { Identifier } from '../../model/identifier.ts';
import { documentOf, identifierIn, type OwnerLink, owningReferences, type RecordType } from '../../model/model.ts';
import { type Action, entryOf, has, isKnown, shows, takes } from '../../model/rights.ts';
import { failureOf, type Fault, faultyRequest, Problem } from '../../problem.ts';
import { encode } from '../columns.ts';
import { ConstraintError } from '../driver.ts';
import {
  finalValue,
  idOf,
  isChanged,
  isNode,
  isReplaced,
  keptNodes,
  type Mention,
  nameOf,
  type Node,
  storedValue,
  touch,
  valueAfter,
  type WriteSession,
} from './session.ts';

/** Records that a request creates, changes or deletes; a cascade needs no right. */
export interface Touched {
  readonly type: RecordType;
  readonly action: Exclude<Action, 'read'>;
  readonly records: readonly (Identifier | Node)[];
  readonly pointer: string;
  /** A field or relation that the change writes. */
  readonly member?: string | undefined;
}

/** A record that must meet conditions before the write, or at its end. `at`: the rule. */
export interface Expected<R> extends Pick<Touched, 'type' | 'action' | 'pointer'> {
  readonly record: R;
  readonly conditions: readonly Filter[];
  readonly at: string;
}

export interface Allowed {
  readonly expected: readonly Expected<Identifier | Node>[];
}

/** For clients whose rights hold for all records. */
export const ALL_ALLOWED: Allowed = Object.freeze({ expected: [] });

const actionOn = ({ stored }: Node): 'create' | 'update' => (stored ? 'update' : 'create');

/**
 * Whether a value of a body is to be written. Forbids what the role may not send, unless it equals what is there and the role
 * may know that. `isSame`: compares with what is stored, or would be without the value.
 */
export function isSent(
  session: WriteSession,
  node: Node,
  name: string,
  { pointer, writable }: Pick<Mention, 'pointer' | 'writable'>,
  isSame: () => boolean,
): boolean {
  const { rights, readOnlyToo } = session;
  if (rights.checked === undefined || readOnlyToo || !writable || node.isLost) return true;
  const isSeen = isSeenIn(session, node, name);
  if (takes(rights, node.type, actionOn(node), name)) {
    if (!isSeen) node.isUnseen = true;
    return true;
  }
  if (!isSeen || !isSame()) forbidValue(session, node, name, pointer);
  return false;
}

/** Whether the role sees the value, so that it may be compared with what is stored. */
export const isSeenIn = ({ rights }: WriteSession, { type, stored }: Node, name: string): boolean =>
  rights.checked === undefined || !stored || shows(rights, type, name);

/** Whether the role knows the fields, so that a fault may name them. */
export const knowsAll = ({ rights }: WriteSession, { type }: Node, { fields }: RecordType['checks'][number]): boolean =>
  fields.every(({ name }) => isKnown(rights, type, name));

function forbid({ forbidden }: WriteSession, pointer: string, message: string, at = ''): void {
  forbidden.push({ fault: { pointer, code: 'forbidden', message }, at });
}

function forbidValue(session: WriteSession, node: Node, name: string, pointer: string): void {
  const message = `You may not write this value of "${name}" of ${node.type.name}; leave it out`;
  forbid(session, pointer, message, entryOf(session.rights, node.type.name, actionOn(node))?.at);
}

/** The value that the role sets for a field or link, as its column holds it; undefined if it sets none. */
export function setValue(session: WriteSession, node: Node, name: string): SqlValue | undefined {
  const { set = {}, where } = entryOf(session.rights, node.type.name, actionOn(node)) ?? {};
  if (where === undefined || !Object.hasOwn(set, name)) return undefined;
  const value = set[name] ?? null;
  const [field, relation] = [node.type.fields.get(name), node.type.relations.get(name)];
  if (relation) return isObject(value) ? (identifierIn(value, relation.target) ?? null) : null;
  if (!field || value === null) return null;
  return field.type.keepsText ? JSON.stringify(value) : encode(field, session.dialect, value);
}

/** Gives new and changed records the values that the role sets. */
export async function giveValues(session: WriteSession): Promise<void> {
  if (session.rights.checked === undefined) return;
  for (const { relation, identifiers, pointer } of session.released) {
    const { set = {} } = entryOf(session.rights, relation.target.name, 'update') ?? {};
    if (relation.owned || Object.keys(set).length === 0) continue;
    for (const identifier of identifiers)
      await give(session, await touch(session, relation.target, identifier, pointer));
  }
  for (const node of [...session.created, ...changedIn(session)]) await give(session, node);
}

async function give(session: WriteSession, node: Node): Promise<void> {
  const { type, assigned } = node;
  const { set = {}, at = '' } = entryOf(session.rights, type.name, actionOn(node)) ?? {};
  for (const name of Object.keys(set)) {
    const value = setValue(session, node, name);
    const link = type.relations.get(name)?.link;
    const column = type.fields.get(name)?.column ?? (link?.at === 'source' ? link.reference.column : undefined);
    if (value === undefined || column === undefined) continue;
    const sent = assigned.get(column);
    if (sent && !sent.byOmission && sent.value !== value && isReplaced(node, column))
      forbidValue(session, node, name, sent.pointer);
    const target = link && value !== null ? type.relations.get(name)?.target : undefined;
    const { lock } = target ? session.tables.of(target).locking('key share') : {};
    if (lock && (await session.writer.column(lock, [JSON.stringify([value])])).length === 0)
      forbid(session, node.pointer, `You may not write records of ${type.name}`, at);
    else assigned.set(column, { value, pointer: `${node.pointer}/${escapeStep(name)}`, byOmission: false });
  }
}

/** Stored records that the body changes, in a column or in a many-to-many set. */
function changedIn(session: WriteSession): readonly Node[] {
  const pairs = [...session.pairs.values()].filter(({ isStored, isWanted }) => isStored !== isWanted);
  const holders = new Set(pairs.map(({ holder }) => holder));
  return keptNodes(session).filter((node) => node.stored && (isChanged(node) || holders.has(node)));
}

/** Refuses what the role may not do with the records of a body. */
export async function allowBody(session: WriteSession): Promise<Allowed> {
  if (session.rights.checked === undefined) return ALL_ALLOWED;
  const changed = changedIn(session);
  for (const node of [...session.created, ...changed]) forbidLinks(session, node);
  const one = (node: Node): Touched => {
    return { type: node.type, action: actionOn(node), records: [node], pointer: node.pointer };
  };
  const released = session.released.map(({ relation, reference, identifiers, pointer }): Touched => {
    const { target: type, owned } = relation;
    const how = owned ? { action: 'delete' as const } : { action: 'update' as const, member: reference.relation?.name };
    return { type, records: identifiers, pointer, ...how };
  });
  return allow(session, [...session.created.map(one), ...changed.map(one), ...released]);
}

/** A link belongs to the record that holds its column, whichever record's body gives it. */
function forbidLinks(session: WriteSession, node: Node): void {
  const { type, table, assigned, stored } = node;
  for (const [column, { value, pointer }] of assigned) {
    const reference = table.columnOf.get(column)?.reference;
    const name = reference?.relation?.name;
    const isSame = stored ? !isReplaced(node, column) : value === null;
    if (!reference || name === undefined || isSame || owningReferences(type).includes(reference)) continue;
    const isSet = setValue(session, node, name) === value;
    if (!isSet && !takes(session.rights, type, actionOn(node), name)) forbidValue(session, node, name, pointer);
  }
}

/** Throws `forbidden` with all that the role may not do. */
export async function allow(session: WriteSession, touched: readonly Touched[]): Promise<Allowed> {
  if (session.rights.checked === undefined) return ALL_ALLOWED;
  const all = [...touched];
  for (const one of all) {
    const { owners } = entryOf(session.rights, one.type.name, one.action) ?? {};
    if (owners) all.push(...(await ownersOf(session, one, owners)));
  }
  const before: Expected<Identifier | Node>[] = [];
  const expected: Expected<Identifier | Node>[] = [];
  for (const { type, action, pointer, member, records } of all) {
    const entry = entryOf(session.rights, type.name, action);
    const { where = NEVER, to = where, at = '' } = entry ?? {};
    const isWritten = member === undefined || has(entry, type, member);
    for (const record of records) {
      const one = { type, action, pointer, record, at };
      if (action !== 'create' || !isWritten || where === NEVER)
        before.push({ ...one, conditions: isWritten ? where : NEVER });
      if (action !== 'delete') expected.push({ ...one, conditions: action === 'update' ? to : where });
    }
  }
  const unmet = await unmetOf(session, before);
  for (const one of unmet) refuseRecord(session, one);
  const met = expected.filter(({ record }) => !unmet.some((one) => one.record === record));
  if (session.forbidden.length > 0) await confirmValues(session, { expected: met });
  return { expected: expected.filter(({ conditions }) => conditions.length > 0) };
}

/** The conditions of entries that allow nothing. */
const NEVER: readonly Filter[] = Object.freeze([]);

const idIn = (record: Identifier | Node): Identifier | undefined => (isNode(record) ? record.identifier : record);

async function unmetOf<R extends Identifier | Node>(
  { reads, writer, rights }: WriteSession,
  expected: readonly Expected<R>[],
): Promise<readonly Expected<R>[]> {
  const unmet: Expected<R>[] = [];
  for (const [conditions, some] of Map.groupBy(expected, (one) => one.conditions)) {
    const [{ type } = { type: undefined }] = some;
    const identifiers = new Set(some.flatMap(({ record }) => idIn(record) ?? []));
    const asked = conditions === NEVER ? undefined : conditions;
    const met = type && (await reads.meeting(writer, rights, type, asked, [...identifiers]));
    for (const one of some) if (!met?.has(idIn(one.record) ?? '')) unmet.push(one);
  }
  return unmet;
}

/** The owners of parts that the role does not name: to write the part is to update each of them. */
async function ownersOf(
  session: WriteSession,
  part: Touched,
  owners: readonly OwnerLink[],
): Promise<readonly Touched[]> {
  const { rights, writer, tables } = session;
  const { type, records, pointer } = part;
  const found: Touched[] = [];
  const owned = new Set<SqlValue | Node>();
  for (const { parts, column } of owners) {
    const { source: owner, name: member } = parts;
    const unread = records.filter((record) => !isNode(record));
    const rows = await writer.all(tables.of(type).linksIn(column).rows, [JSON.stringify(unread)]);
    const stored = rows.map(([record = null, link = null]) => ({ record, link, at: pointer }));
    const ofBody = records.filter(isNode).flatMap((record) => {
      const { value = null, pointer: at = pointer } = record.assigned.get(column) ?? {};
      return [...new Set([storedValue(record, column) ?? null, value])].map((link) => ({ record, link, at }));
    });
    for (const { record, link, at } of [...stored, ...ofBody]) {
      if (link === null) continue;
      owned.add(record);
      const identifier = isNode(link) ? idOf(link) : (link as Identifier);
      if (!isNode(identifier))
        found.push({ type: owner, action: 'update', records: [identifier], pointer: at, member });
      // A link to a record that is not there is refused later.
      else if (!identifier.isLost && !takes(rights, owner, 'create', member))
        forbid(session, at, `You may not create a record of ${owner.name} with "${member}"`);
    }
  }
  // What their conditions say must hold until the write ends.
  if (tables.locks)
    for (const [owner, some] of Map.groupBy(found, (one) => one.type)) {
      const identifiers = some.flatMap((one) => one.records.flatMap((record) => idIn(record) ?? []));
      await writer.column(tables.of(owner).locking('update').lock, [JSON.stringify(identifiers)]);
    }
  if (records.some((record) => !owned.has(record)))
    forbid(session, pointer, `You may not write records of ${type.name} that belong to no other record`);
  return found;
}

function refuseRecord(session: WriteSession, { type, action, pointer, record, at }: Expected<Identifier | Node>): void {
  const { records, unique } = session;
  const isFound = records.some((item) => item.pointer === pointer && item.identifier === idIn(record));
  if (unique && action === 'update' && isNode(record) && isFound) {
    const names = unique.members.map(({ name }) => name);
    const message = `Another record has this value of ${names.map((name) => `"${name}"`).join(' and ')} already`;
    const place = `${pointer}/${escapeStep(names[0] ?? '')}`;
    throw faultyRequest('unique-conflict', [{ pointer: place, code: 'unique', message }]);
  }
  const name = action === 'create' ? `records of ${type.name} here` : nameOf({ type, identifier: idIn(record) });
  forbid(session, pointer, `You may not ${action === 'update' ? 'change' : action} ${name}`, at);
}

function throwForbidden({ records, forbidden: all }: WriteSession): void {
  if (all.length === 0) return;
  const faults = [...new Map(all.map(({ fault }) => [JSON.stringify(fault), fault])).values()] as readonly Fault[];
  const rules = [...new Set(all.map(({ at }) => at))].filter((at) => at !== '');
  throw faultyRequest('forbidden', inDocumentOrder(faults, documentOf(records)), { rules });
}

/** Throws `forbidden` unless all records are as they must be at the end of the write. */
export async function confirm(session: WriteSession, expected: Allowed['expected']): Promise<void> {
  for (const one of await unmetOf(session, expected)) forbidResult(session, one);
  throwForbidden(session);
}

const forbidResult = (session: WriteSession, { type, pointer, at }: Omit<Expected<unknown>, 'record'>): void =>
  forbid(session, pointer, `You may not write a record of ${type.name} like this`, at);

/** Runs `work`. Before its refusal, throws `forbidden` if the trial does: the refusal could tell of hidden records. */
export const forbiddenFirst = <T>(
  { isSearched }: WriteSession,
  { expected }: Allowed,
  work: Promise<T>,
  trial: () => Promise<unknown>,
): Promise<T> =>
  work.catch(async (refusal: unknown) => {
    if (!(refusal instanceof Problem) || refusal.status >= 500 || expected.length === 0) throw refusal;
    const failure = await failureOf(trial());
    const isForbidden = failure instanceof Problem && failure.code === 'forbidden';
    // The search for conflicts may find that the role forbids the record.
    throw isForbidden || (failure instanceof ConstraintError && !isSearched) ? failure : refusal;
  });

/** Throws `forbidden` if values show that a record will not be as it must be at the end of the write. */
export async function confirmValues(session: WriteSession, { expected }: Allowed): Promise<void> {
  const { reads, writer, rights } = session;
  for (const one of expected) {
    const { record, type } = one;
    if (!isNode(record)) continue;
    const { identifier, table } = record;
    const conditions = one.conditions.filter((condition) => isOfValues(record, condition));
    const after = table.names.map((name) => valueAfter(record, name)).map((value) => (isNode(value) ? null : value));
    const row = { columns: table.columns, values: [identifier ?? null, ...after] };
    const met = await reads.meeting(writer, rights, type, conditions, [identifier ?? 0], row);
    if (met.size === 0) forbidResult(session, one);
  }
  throwForbidden(session);
}

/** Whether a condition concerns values that are known, and stored records that they link: no set of the record, no new one. */
function isOfValues(node: Node, condition: Filter): boolean {
  if ('items' in condition) return condition.items.flat().every((one) => isOfValues(node, one));
  const [first] = condition.path.relations;
  if (first) return first.link.at === 'source' && !isNode(finalValue(node, first.link.reference.column));
  return condition.kind === 'value' && condition.path.field?.generated === undefined;
}
