/** A body -> the values of its record's columns: fields, identifier and open keys. relation.ts resolves its relations. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { escapeStep, type JsonObject, type JsonValue } from '../../json/json.ts';
import { shortened } from '../../names.ts';
import { type Field, OPEN_COLUMN, type Relation } from '../../model/model.ts';
import { membersOf, mergePatch, type RawMember, type RawMembers, sameValue } from '../../json/tokenizer.ts';
import { columnType, encode, encodedDefault } from '../columns.ts';
import { assign, contradiction, isCompared } from './members.ts';
import { resolveRelation } from './relation.ts';
import { type BodyPlace, type Node, refuse, storedValue, type WriteSession } from './session.ts';

/**
 * Resolves a whole body, level by level: relations put nested records on the agenda. `roots`: of its records; undefined
 * where there is none.
 */
export async function resolveBody(session: WriteSession, roots: readonly (Node | undefined)[]): Promise<void> {
  for (const [index, { body, pointer }] of session.records.entries()) {
    const node = roots[index];
    if (node) session.agenda.push({ node, body, place: { pointer, writable: true, via: undefined } });
  }
  for (const { node, body, place } of session.agenda) {
    const related = resolveRecord(session, node, body, place);
    if (related) await related;
  }
}

/** A place of a body, as much of it as a value needs. */
type ValuePlace = Pick<BodyPlace, 'pointer' | 'writable'>;

/** Undefined unless there are relations: those may ask the database. */
function resolveRecord(
  session: WriteSession,
  node: Node,
  body: JsonObject,
  place: BodyPlace,
): Promise<void> | undefined {
  const { type } = node;
  const { writable } = place;
  const raw = session.raw.get(body);
  if (writable) node.isWritten = true;
  let related: RelatedValue[] | undefined;
  for (const key of keysOf(body, raw)) {
    const value = body[key] ?? null;
    const pointer = `${place.pointer}/${escapeStep(key)}`;
    const field = type.fields.get(key);
    if (session.faulty.size > 0 && session.faulty.has(pointer)) {
      if (field) (node.unusable ??= new Set()).add(field.column);
      continue;
    }
    if (field) {
      if (field.generated !== undefined && !session.rules.readOnlyToo) continue;
      if (field.type.keepsText) resolveText(session, node, field, textOf(raw, key, value), { pointer, writable });
      else resolveField(session, node, field, value, { pointer, writable });
      continue;
    }
    const relation = type.relations.get(key);
    if (relation) (related ??= []).push({ relation, value, pointer });
    else if (!type.identifier.inRecord || key !== type.identifier.name)
      resolveOpenKey(session, node, key, memberOf(raw, key, value), { pointer, writable });
  }
  return related && resolveRelations(session, node, related, place);
}

interface RelatedValue {
  readonly relation: Relation;
  readonly value: JsonValue;
  readonly pointer: string;
}

async function resolveRelations(
  session: WriteSession,
  node: Node,
  related: readonly RelatedValue[],
  place: BodyPlace,
): Promise<void> {
  for (const { relation, value, pointer } of related)
    await resolveRelation(session, node, relation, value, { ...place, pointer });
}

/** JavaScript puts keys that look like indices first: then those that are kept follow in the order of the text. */
function keysOf(body: JsonObject, raw: RawMembers | undefined): readonly string[] {
  const keys = Object.keys(body);
  if (raw === undefined || !/^\d/.test(keys[0] ?? '')) return keys;
  return [...keys.filter((key) => !raw.has(key)), ...raw.keys()];
}

/** A body parser in front of the engine leaves only values: then they are written as JSON.stringify does. */
const memberOf = (raw: RawMembers | undefined, key: string, value: JsonValue): RawMember =>
  raw?.get(key) ?? { name: JSON.stringify(key), text: JSON.stringify(value) };

export const textOf = (raw: RawMembers | undefined, key: string, value: JsonValue): string | null =>
  value === null ? null : memberOf(raw, key, value).text;

function resolveField(session: WriteSession, node: Node, field: Field, value: JsonValue, place: ValuePlace): void {
  const before = decoded(session, node, field);
  if (isReadOnly(session, field)) {
    const fixed = node.stored ? (before ?? null) : (field.default ?? null);
    if (!isSameValue(field, fixed, value)) refuseChange(session, field, JSON.stringify(fixed), place);
    return;
  }
  const { pointer, writable } = place;
  const encoded = encode(field, session.dialect, value);
  const same = isSameValue(field, before, value);
  assign(session, node, { column: field.column, value: encoded, pointer, writable, same });
}

const isSameValue = (field: Field, stored: JsonValue | undefined, value: JsonValue): boolean =>
  stored === value || (stored !== undefined && stored !== null && value !== null && field.type.equal(stored, value));

/** The same for a field that keeps the text: null, or what was sent. */
function resolveText(session: WriteSession, node: Node, field: Field, given: string | null, place: ValuePlace): void {
  const before = storedText(node, field);
  const text = session.rules.mergePatch && given !== null ? mergePatch(before ?? undefined, given) : given;
  // A copy of what is stored is no change, even if the patch would take its nulls away.
  const isSame = (other: SqlValue | undefined): boolean => isText(other, text) || isText(other, given);
  if (isReadOnly(session, field)) {
    const fixed = node.stored ? (before ?? null) : encodedDefault(field, session.dialect);
    if (!isSame(fixed)) refuseChange(session, field, String(fixed), place);
    return;
  }
  const { pointer, writable } = place;
  // Values are compared only where they may not change: that costs more than a write.
  const same = writable ? before === text : isSame(before);
  assign(session, node, { column: field.column, value: text, pointer, writable, same });
}

/** A body may repeat a read-only value in any notation; the stored text stays as it is. */
const isReadOnly = ({ rules }: WriteSession, field: Field): boolean => field.readOnly && !rules.readOnlyToo;

function refuseChange(session: WriteSession, { name, sensitive }: Field, fixed: string, { pointer }: ValuePlace): void {
  const holds = sensitive ? 'another value' : shortened(fixed);
  refuse(session, 'invalid-body', pointer, 'read-only', `"${name}" is read-only and holds ${holds}: leave it out`);
}

/** The value that is stored; undefined for a record that is to be made. */
function decoded({ dialect }: WriteSession, node: Node, field: Field): JsonValue | undefined {
  const stored = storedValue(node, field.column);
  return stored === undefined || stored === null ? stored : columnType(field, dialect).decode(stored);
}

function storedText(node: Node, field: Field): string | null | undefined {
  const stored = storedValue(node, field.column);
  return stored === undefined || stored === null ? stored : String(stored);
}

const isText = (stored: SqlValue | undefined, text: string | null): boolean =>
  stored === text || (typeof stored === 'string' && text !== null && sameValue(stored, text));

function resolveOpenKey(
  session: WriteSession,
  node: Node,
  key: string,
  given: RawMember,
  { pointer, writable }: ValuePlace,
): void {
  const before = openKeysOf(node).get(key);
  const member = session.rules.mergePatch ? patched(before, given) : given;
  const known = node.openKeys?.get(key);
  if (known && known.member?.text !== member?.text) return contradiction(session, pointer, known.pointer);
  if (!writable && isCompared(node) && !isSameMember(before, member) && !isSameMember(before, given))
    session.checks.push({ subject: node, pointer, node, key, text: member?.text });
  if (!known && writable) (node.openKeys ??= new Map()).set(key, { member, pointer });
}

/** undefined where the key is to go. */
const patched = (before: RawMember | undefined, { name, text }: RawMember): RawMember | undefined =>
  text === 'null' ? undefined : { name, text: mergePatch(before?.text, text) };

const isSameMember = (a: RawMember | undefined, b: RawMember | undefined): boolean =>
  a === undefined || b === undefined ? a === b : sameValue(a.text, b.text);

/** The open keys of a record as they are stored. */
export function openKeysOf(node: Node): RawMembers {
  const stored = storedValue(node, OPEN_COLUMN);
  node.storedOpenKeys ??= typeof stored === 'string' ? membersOf(stored) : NO_MEMBERS;
  return node.storedOpenKeys;
}

const NO_MEMBERS: RawMembers = new Map();
