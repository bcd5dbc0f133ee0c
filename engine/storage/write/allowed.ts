/**
 * What a role may write: which values of a body it may send, which ones it sets itself, and which conditions the records
 * must meet before the write and at its end. A plan cannot be made without `Allowed`, and `apply` confirms it.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { inDocumentOrder } from '../../json/fault-order.ts';
import { escapeStep, isObject, type JsonValue } from '../../json/json.ts';
import type { Filter } from '../../model/filters.ts';
import type { Identifier } from '../../model/identifier.ts';
import { documentOf, identifierIn, type RecordType, type Reference } from '../../model/model.ts';
import { type Action, type Entry, entryOf, type Owner, shows, takes } from '../../model/rights.ts';
import { type Fault, faultyRequest } from '../../problem.ts';
import { encode } from '../columns.ts';
import {
  type Forbidden,
  isChanged,
  isNode,
  isReplaced,
  keptNodes,
  type Mention,
  nameOf,
  type Node,
  storedValue,
  touch,
  type WriteSession,
} from './session.ts';

type WriteAction = Exclude<Action, 'read'>;

/** Records that a request creates, changes or deletes; a cascade needs no right. */
export interface Touched {
  readonly type: RecordType;
  readonly action: WriteAction;
  readonly records: readonly (Identifier | Node)[];
  readonly pointer: string;
  /** A field or relation that the change writes. */
  readonly member?: string | undefined;
}

/** A record that must meet conditions at the end of the write. */
export interface Expected<R> {
  readonly type: RecordType;
  readonly record: R;
  readonly conditions: readonly Filter[];
  readonly pointer: string;
  readonly at: string;
}

export interface Allowed {
  readonly expected: readonly Expected<Identifier | Node>[];
}

/** For clients whose rights hold for all records. */
export const ALL_ALLOWED: Allowed = Object.freeze({ expected: [] });

const actionOn = ({ stored }: Node): 'create' | 'update' => (stored ? 'update' : 'create');

const entryFor = ({ rights }: Pick<WriteSession, 'rights'>, { name }: RecordType, action: WriteAction) =>
  entryOf(rights, name, action);

// Values of bodies.

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
  const { type } = node;
  const isSeen = shows(rights, type, name);
  if (takes(rights, type, actionOn(node), name)) {
    if (!isSeen && node.stored) node.isUnseen = true;
    return true;
  }
  if ((!isSeen && node.stored) || !isSame()) forbidValue(session, node, name, pointer);
  return false;
}

export const takesOpen = ({ rights, readOnlyToo }: WriteSession, node: Node): boolean =>
  rights.checked === undefined || readOnlyToo || entryOf(rights, node.type.name, actionOn(node))?.openKeys === true;

export const seesOpen = ({ rights }: WriteSession, { type, stored }: Node): boolean =>
  rights.checked === undefined || !stored || entryOf(rights, type.name, 'read')?.openKeys === true;

export function forbidValue(session: WriteSession, node: Node, name: string, pointer: string): void {
  const { at = '' } = entryFor(session, node.type, actionOn(node)) ?? {};
  const message = `You may not write this value of "${name}" of ${node.type.name}; leave it out`;
  session.forbidden.push({ fault: { pointer, code: 'forbidden', message }, at });
}

/** Whether the role sees the value, so that it may be compared with what is stored. */
export const isSeenIn = ({ rights }: WriteSession, { type, stored }: Node, name: string): boolean =>
  rights.checked === undefined || !stored || shows(rights, type, name);

/** The value that the role sets for a field or link, as its column holds it; undefined if it sets none. */
export function setValue(session: WriteSession, node: Node, name: string): SqlValue | undefined {
  const { set = {}, where } = entryFor(session, node.type, actionOn(node)) ?? {};
  if (where === undefined || !Object.hasOwn(set, name)) return undefined;
  return encoded(session, node.type, name, set[name] ?? null);
}

function encoded({ dialect }: WriteSession, type: RecordType, name: string, value: JsonValue): SqlValue {
  const [field, relation] = [type.fields.get(name), type.relations.get(name)];
  if (relation) return isObject(value) ? (identifierIn(value, relation.target) ?? null) : null;
  if (!field || value === null) return null;
  return field.type.keepsText ? JSON.stringify(value) : encode(field, dialect, value);
}

/** Gives new and changed records the values that the role sets. */
export async function giveValues(session: WriteSession): Promise<void> {
  if (session.rights.checked === undefined) return;
  for (const { relation, identifiers, pointer } of session.released) {
    const { set = {} } = entryFor(session, relation.target, 'update') ?? {};
    if (relation.owned || Object.keys(set).length === 0) continue;
    for (const identifier of identifiers)
      await give(session, await touch(session, relation.target, identifier, pointer));
  }
  for (const node of [...session.created, ...changedIn(session)]) await give(session, node);
}

async function give(session: WriteSession, node: Node): Promise<void> {
  const { type, assigned } = node;
  const { set = {}, at = '' } = entryFor(session, type, actionOn(node)) ?? {};
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
    if (lock && (await session.writer.column(lock, [JSON.stringify([value])])).length === 0) {
      const message = `You may not write records of ${type.name}`;
      session.forbidden.push({ fault: { pointer: node.pointer, code: 'forbidden', message }, at });
    } else assigned.set(column, { value, pointer: `${node.pointer}/${escapeStep(name)}`, byOmission: false });
  }
}

/** Stored records that the body changes, in a column or in a many-to-many set. */
function changedIn(session: WriteSession): readonly Node[] {
  const pairs = [...session.pairs.values()].filter(({ isStored, isWanted }) => isStored !== isWanted);
  const holders = new Set(pairs.map(({ holder }) => holder));
  return keptNodes(session).filter((node) => node.stored && (isChanged(node) || holders.has(node)));
}

// Records, before the write.

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
    if (!reference || name === undefined || isSame || isOwning(reference)) continue;
    const isSet = setValue(session, node, name) === value;
    if (!isSet && !takes(session.rights, type, actionOn(node), name)) forbidValue(session, node, name, pointer);
  }
}

/** Whether the link says which record owns this one. */
export const isOwning = (reference: Reference): boolean =>
  [...reference.target.relations.values()].some(
    ({ owned, link }) => owned && link.at === 'target' && link.reference === reference,
  );

/** Throws `forbidden` with all that the role may not do. */
export async function allow(session: WriteSession, touched: readonly Touched[]): Promise<Allowed> {
  if (session.rights.checked === undefined) return ALL_ALLOWED;
  const all = [...touched];
  for (const one of all) {
    const { owners } = entryFor(session, one.type, one.action) ?? {};
    if (owners) all.push(...(await ownersOf(session, one, owners)));
  }
  const expected: Expected<Identifier | Node>[] = [];
  const groups = Map.groupBy(all, ({ type, action }) => `${action} ${type.name}`);
  for (const group of groups.values()) {
    const [{ type, action } = { type: undefined, action: 'update' as const }] = group;
    const entry = type && entryFor(session, type, action);
    const met = type && entry ? await meetingBefore(session, type, action, entry, group) : new Set();
    for (const one of group) {
      const isMember = one.member === undefined || (entry?.members?.has(one.member) ?? true);
      for (const record of one.records) {
        if (!entry?.where || !isMember || (action !== 'create' && !met.has(idIn(record))))
          refuseRecord(session, one, record, entry);
        const conditions = action === 'update' ? (entry?.to ?? entry?.where) : entry?.where;
        if (action !== 'delete' && entry && conditions && conditions.length > 0)
          expected.push({ type: one.type, record, conditions, pointer: one.pointer, at: entry.at });
      }
    }
  }
  throwForbidden(session, session.forbidden);
  return { expected };
}

const idIn = (record: Identifier | Node): Identifier | undefined => (isNode(record) ? record.identifier : record);

async function meetingBefore(
  { reads, writer, rights }: WriteSession,
  type: RecordType,
  action: WriteAction,
  { where }: Entry,
  group: readonly Touched[],
): Promise<ReadonlySet<unknown>> {
  if (action === 'create') return new Set();
  const identifiers = group.flatMap(({ records }) => records.flatMap((record) => idIn(record) ?? []));
  return reads.meeting(writer, rights, type, where, [...new Set(identifiers)]);
}

/** The owners of parts that the role does not name: to write the part is to update each of them. */
async function ownersOf(session: WriteSession, part: Touched, owners: readonly Owner[]): Promise<readonly Touched[]> {
  const { rights, writer, tables, forbidden } = session;
  const { type, records, pointer } = part;
  const found: Touched[] = [];
  const owned = new Set<Identifier | Node>();
  const own = (record: Identifier | Node, owner: Owner, link: SqlValue | Node): void => {
    if (link === null) return;
    owned.add(record);
    const isNew = isNode(link) && !link.stored;
    if (!isNew) {
      const identifier = isNode(link) ? (link.identifier ?? link) : (link as Identifier);
      found.push({ type: owner.type, action: 'update', records: [identifier], pointer, member: owner.parts });
    } else if (!takes(rights, owner.type, 'create', owner.parts)) forbidValue(session, link, owner.parts, pointer);
  };
  for (const owner of owners) {
    const unread = records.filter((record) => !isNode(record));
    const rows = await writer.all(tables.of(type).linksIn(owner.column).rows, [JSON.stringify(unread)]);
    for (const [identifier, link = null] of rows) own(identifier as Identifier, owner, link);
    for (const record of records)
      if (isNode(record)) {
        const links = new Set([storedValue(record, owner.column), record.assigned.get(owner.column)?.value]);
        for (const link of links) if (link !== undefined) own(record, owner, link);
      }
  }
  // What their conditions say must hold until the write ends.
  if (tables.locks)
    for (const [owner, some] of Map.groupBy(found, (one) => one.type)) {
      const identifiers = some.flatMap((one) => one.records.flatMap((record) => idIn(record) ?? []));
      await writer.column(tables.of(owner).locking('update').lock, [JSON.stringify(identifiers)]);
    }
  const message = `You may not write records of ${type.name} that belong to no other record`;
  if (records.some((record) => !owned.has(record)))
    forbidden.push({ fault: { pointer, code: 'forbidden', message }, at: '' });
  return found;
}

const VERBS = { create: 'create', update: 'change', delete: 'delete' } as const;

function refuseRecord(session: WriteSession, one: Touched, record: Identifier | Node, entry: Entry | undefined): void {
  const { records, unique, forbidden } = session;
  const { type, action, pointer } = one;
  const isFound = records.some((item) => item.pointer === pointer && item.identifier === idIn(record));
  if (unique && action === 'update' && isNode(record) && isFound) throw notUpsertable(session, [pointer]);
  const name = nameOf({ type, identifier: action === 'create' ? undefined : idIn(record) });
  const message = `You may not ${VERBS[action]} ${action === 'create' ? `records of ${type.name} here` : name}`;
  forbidden.push({ fault: { pointer, code: 'forbidden', message }, at: entry?.at ?? '' });
}

/** Of an upsert, for a record that the role may not read or may not change. */
export function notUpsertable({ unique }: Pick<WriteSession, 'unique'>, pointers: readonly string[]) {
  const names = unique?.members.map(({ name }) => name) ?? [];
  const message = `Another record has this value of ${names.map((name) => `"${name}"`).join(' and ')} already`;
  const faults = pointers.map((at) => ({ pointer: `${at}/${escapeStep(names[0] ?? '')}`, code: 'unique', message }));
  return faultyRequest('unique-conflict', faults);
}

function throwForbidden({ records }: Pick<WriteSession, 'records'>, all: readonly Forbidden[]): void {
  if (all.length === 0) return;
  const faults = [...new Map(all.map(({ fault }) => [JSON.stringify(fault), fault])).values()] as readonly Fault[];
  const rules = [...new Set(all.map(({ at }) => at))].filter((at) => at !== '');
  throw faultyRequest('forbidden', inDocumentOrder(faults, documentOf(records)), { rules });
}

// Records, after the write.

/** Throws `forbidden` unless all records are as they must be at the end of the write. */
export async function confirm(
  { reads, writer, rights, records }: Pick<WriteSession, 'reads' | 'writer' | 'rights' | 'records'>,
  expected: readonly Expected<Identifier>[],
): Promise<void> {
  const forbidden: Forbidden[] = [];
  for (const [conditions, some] of Map.groupBy(expected, (one) => one.conditions)) {
    const [{ type } = { type: undefined }] = some;
    const identifiers = some.map(({ record }) => record);
    const met = type && (await reads.meeting(writer, rights, type, conditions, identifiers));
    for (const {
      record,
      type: { name },
      pointer,
      at,
    } of some) {
      const message = `You may not write a record of ${name} like this`;
      if (!met?.has(record)) forbidden.push({ fault: { pointer, code: 'forbidden', message }, at });
    }
  }
  throwForbidden({ records }, forbidden);
}
