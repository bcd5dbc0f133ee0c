/** Bodies of clients that may not see or write everything: what is hidden does not exist, the rest is refused by name. */
import { escapeStep, isObject, type JsonObject, type JsonValue, unescapedStep, inDocumentOrder } from '../json/json.ts';
import {
  type BodyRecord,
  documentOf,
  type Field,
  identifierIn,
  type RecordType,
  type Relation,
} from '../model/model.ts';
import { canSet, canWriteThrough, relationsFor, requiresHidden, type Rights } from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import { unknownKey } from './compile.ts';

interface Findings {
  /** Links in records that the client may only read, and records that it may not create. */
  readonly forbidden: Fault[];
  /** Keys that name a relation which the client may not see. */
  readonly unknown: Fault[];
  /** New records where the client may only link, by pointer. */
  readonly linkOnly: Map<string, Fault>;
  /** The names that each object may hold, by its pointer. */
  readonly names: Map<string, () => readonly string[]>;
}

/**
 * The faults that the validator finds, as if what the client may not see did not exist. Throws a Problem, `forbidden`, for
 * what it may see but not write.
 */
export function validatedFor<R extends BodyRecord>(
  rights: Rights,
  type: RecordType,
  validate: (records: readonly R[], known: readonly Fault[]) => readonly Fault[],
  records: readonly R[],
  known: readonly Fault[] = [],
): { readonly faults: readonly Fault[]; readonly isHidden: boolean } {
  if (rights.key === '') return { faults: validate(records, known), isHidden: false };
  const found: Findings = { forbidden: [], unknown: [], linkOnly: new Map(), names: new Map() };
  const visible = records.map((record) => ({
    ...record,
    body: visiblePart(rights, type, [...type.fields.values()], record.body, record.pointer, found),
  }));
  if (found.forbidden.length > 0) throw faultyRequest('forbidden', found.forbidden);
  const isHidden = found.unknown.length > 0;
  const faults = validate(isHidden ? visible : records, known).flatMap((fault) => inVisibleWords(fault, found));
  const own = [...found.unknown, ...found.linkOnly.values()];
  return { faults: own.length === 0 ? faults : inDocumentOrder([...faults, ...own], documentOf(records)), isHidden };
}

/** Suggestions name nothing hidden. Where the client can only link, keys that a new record requires are no fault. */
function inVisibleWords(fault: Fault, { linkOnly, names }: Findings): readonly Fault[] {
  if (!('pointer' in fault)) return [fault];
  const slash = fault.pointer.lastIndexOf('/');
  const parent = fault.pointer.slice(0, slash);
  if (fault.code === 'required' && linkOnly.has(parent)) return [];
  const known = fault.code === 'unknown-key' ? names.get(parent) : undefined;
  if (!known) return [fault];
  const key = unescapedStep(fault.pointer.slice(slash + 1));
  return [unknownKey(fault.pointer, key, didYouMean(key, known()))];
}

/** The body without the keys that name a relation which the client may not see. */
function visiblePart(
  rights: Rights,
  type: RecordType,
  fields: readonly Field[],
  body: JsonObject,
  pointer: string,
  found: Findings,
): JsonObject {
  const relations = relationsFor(rights, type);
  const known = (): readonly string[] => [
    ...(type.identifier.inRecord ? [type.identifier.name] : []),
    ...fields.map(({ name }) => name),
    ...relations.keys(),
  ];
  found.names.set(pointer, known);
  const members = Object.entries(body).flatMap(([key, value]): readonly (readonly [string, JsonValue])[] => {
    if (value === undefined || !type.relations.has(key)) return value === undefined ? [] : [[key, value]];
    const at = `${pointer}/${escapeStep(key)}`;
    const relation = relations.get(key);
    if (relation === undefined) {
      found.unknown.push(unknownKey(at, key, didYouMean(key, known())));
      return [];
    }
    if (!canSet(rights, relation)) found.forbidden.push(readOnlyLink(relation, at));
    const one = (item: JsonValue, place: string): JsonValue =>
      isObject(item) ? visibleRecord(rights, relation, item, place, found) : item;
    const part = Array.isArray(value)
      ? (value as readonly JsonValue[]).map((item, index) => one(item, `${at}/${index}`))
      : one(value, at);
    return [[key, part]];
  });
  return Object.fromEntries(members);
}

function visibleRecord(
  rights: Rights,
  relation: Relation,
  body: JsonObject,
  pointer: string,
  found: Findings,
): JsonObject {
  const { target, owned, toMany, nested } = relation;
  // Whether an owned to-one child exists already, only the database knows.
  const isNew = identifierIn(body, target) === undefined && (toMany || !owned);
  const { name } = target.identifier;
  if (isNew && nested === 'write' && !canWriteThrough(rights, relation)) {
    const value = body[name];
    const at = `${pointer}/${escapeStep(name)}`;
    if (value === undefined) found.linkOnly.set(pointer, missingLink(relation, at));
    else if (value === null) found.linkOnly.set(pointer, { pointer: at, code: 'null', message: notAnIdentifier(name) });
  } else if (isNew && nested === 'write' && requiresHidden(rights, target)) {
    const message = `This token may not create a ${target.name}; link an existing one by its "${name}"`;
    found.forbidden.push({ pointer, code: 'forbidden', message });
    return body;
  }
  return visiblePart(rights, target, relation.fields, body, pointer, found);
}

const notAnIdentifier = (name: string): string => `"${name}" must be an identifier: an integer from 1 to 2^53-1`;

const missingLink = ({ name, target }: Relation, pointer: string): Fault => ({
  pointer,
  code: 'required',
  message: `"${name}" can only link an existing record here; send its "${target.identifier.name}"`,
});

function readOnlyLink({ name, target }: Relation, pointer: string): Fault {
  const message = `"${name}" is stored in records of ${target.name}, which this token may only read; leave it out`;
  return { pointer, code: 'forbidden', message };
}
