/** Validates the part of a body that the client's rights cover. */
import { escapeStep, inDocumentOrder, isObject, type JsonObject, type JsonValue, unescapedStep } from '../json/json.ts';
import { expectedOf } from '../model/identifier.ts';
import {
  type BodyRecord,
  documentOf,
  type Field,
  identifierIn,
  type RecordType,
  type Relation,
} from '../model/model.ts';
import {
  canCreateThrough,
  canSet,
  entryOf,
  hiddenRequirement,
  isKnown,
  knownMembers,
  requiresHidden,
  type Rights,
} from '../model/rights.ts';
import { didYouMean } from '../names.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import { unknownKey } from './body-schema.ts';
import type { Validator } from './compile.ts';

interface Findings {
  readonly rights: Rights;
  readonly forbidden: Fault[];
  readonly unknown: Fault[];
  /** Whether the body to validate is not the one that was sent. */
  isOther: boolean;
  readonly linkOnly: Map<string, Fault>;
  /** Allowed names of each object, by pointer. */
  readonly names: Map<string, () => readonly string[]>;
}

/** For clients without all rights. Throws `forbidden` if the client may see but not write a value. */
export function validatedFor(
  rights: Rights,
  type: RecordType,
  validate: Validator,
  records: readonly BodyRecord[],
  known: readonly Fault[],
): { readonly faults: readonly Fault[]; readonly isHidden: boolean } {
  const found: Findings = { rights, forbidden: [], unknown: [], isOther: false, linkOnly: new Map(), names: new Map() };
  const visible = records.map((record) => ({
    ...record,
    body: visiblePart(found, type, [...type.fields.values()], record, record.identifier === undefined),
  }));
  if (found.forbidden.length > 0) throw faultyRequest('forbidden', found.forbidden);
  const isHidden = found.unknown.length > 0;
  const faults = validate(isHidden || found.isOther ? visible : records, known).flatMap((fault) =>
    inVisibleWords(fault, found),
  );
  const own = [...found.unknown, ...found.linkOnly.values()];
  return { faults: own.length === 0 ? faults : inDocumentOrder([...faults, ...own], documentOf(records)), isHidden };
}

/** Suggests only visible names. Where the client can only link, omits faults for missing keys of new records. */
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

/** The body without what the client may not see, and with what its role sets. */
function visiblePart(
  found: Findings,
  type: RecordType,
  fields: readonly Field[],
  { body, pointer }: Pick<BodyRecord, 'body' | 'pointer'>,
  isNew: boolean,
): JsonObject {
  const entry = isNew ? entryOf(found.rights, type.name, 'create') : undefined;
  if (entry && entry.where === undefined) {
    const message = `You may not create records of ${type.name}`;
    found.forbidden.push({ pointer, code: 'forbidden', message });
  }
  const { relations, fields: ownFields } = knownMembers(found.rights, type);
  const known = (): readonly string[] => [
    ...(type.identifier.inRecord ? [type.identifier.name] : []),
    ...fields.flatMap(({ name }) => (ownFields.has(name) ? name : [])),
    ...relations.keys(),
  ];
  found.names.set(pointer, known);
  /** Whether the key is for the validator to judge. */
  const isFree = (key: string): boolean =>
    !type.fields.has(key) &&
    !type.relations.has(key) &&
    (!type.open || key === type.identifier.name || isKnown(found.rights, type, key));
  const members = Object.entries(body).flatMap(([key, value]): readonly (readonly [string, JsonValue])[] => {
    if (value === undefined) return [];
    const at = `${pointer}/${escapeStep(key)}`;
    const relation = relations.get(key);
    // Shown in place of a link to a hidden record: storage knows.
    if (value === null && relation?.required && !isNew && found.rights.tables) {
      found.isOther = true;
      return [];
    }
    if (relation === undefined) {
      if (ownFields.has(key) || isFree(key)) return [[key, value]];
      found.unknown.push(unknownKey(at, key, didYouMean(key, known())));
      return [];
    }
    // What a role sends counts only where it differs from what is stored.
    if (!found.rights.checked && !canSet(found.rights, relation)) {
      const message = `"${key}" is stored in records of ${relation.target.name}, which you may only read; leave it out`;
      found.forbidden.push({ pointer: at, code: 'forbidden', message });
    }
    const one = (item: JsonValue, itemPointer: string): JsonValue =>
      isObject(item) ? visibleRecord(found, relation, item, itemPointer) : item;
    const part = Array.isArray(value)
      ? (value as readonly JsonValue[]).map((item, index) => one(item, `${at}/${index}`))
      : one(value, at);
    return [[key, part]];
  });
  const given = Object.entries(entry?.set ?? {}).filter(([name]) => !Object.hasOwn(body, name));
  if (given.length > 0) found.isOther = true;
  return Object.fromEntries([...members, ...given]);
}

function visibleRecord(found: Findings, relation: Relation, body: JsonObject, pointer: string): JsonObject {
  const { rights } = found;
  const { target, owned, toMany, nested, inverse } = relation;
  const { name } = target.identifier;
  // Only the database knows whether an owned to-one child exists.
  const isNew = nested === 'write' && identifierIn(body, target) === undefined && (toMany || !owned);
  if (isNew && !canCreateThrough(rights, relation)) {
    const at = `${pointer}/${escapeStep(name)}`;
    const [code, message] =
      body[name] === undefined
        ? ['required', `You may not create records of ${target.name} here; link an existing one by its "${name}"`]
        : ['null', `"${name}" must be an identifier: ${expectedOf(target.identifier)}`];
    if ((body[name] ?? null) === null) found.linkOnly.set(pointer, { pointer: at, code, message });
  } else if (isNew && requiresHidden(rights, target, inverse)) {
    const message = `You may not create records of ${target.name}${hiddenRequirement(rights, target)}; link an existing one by its "${name}"`;
    found.forbidden.push({ pointer, code: 'forbidden', message });
    return body;
  }
  return visiblePart(found, target, relation.fields, { body, pointer }, isNew);
}
