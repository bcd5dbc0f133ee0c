/** Compiles validators of bodies. Faults have a pointer, the expected value, and the nearest valid name. */
import type { ErrorObject, ValidateFunction } from 'ajv';
import { createAjv } from '../field-types/ajv-keywords.ts';
import { inDocumentOrder } from '../json/fault-order.ts';
import { escapeStep, isObject, type JsonObject, type JsonValue, unescapedStep, unescapedSteps } from '../json/json.ts';
import { memoized } from '../memo.ts';
import {
  type BodyRecord,
  documentOf,
  type Field,
  identifierIn,
  ITEM_TAG,
  type Model,
  type RecordType,
  type Relation,
  type Variant,
} from '../model/model.ts';
import {
  canSet,
  canWriteThrough,
  hiddenRequirement,
  relationsFor,
  requiresHidden,
  type Rights,
} from '../model/rights.ts';
import { didYouMean, shortened } from '../names.ts';
import { type Fault, faultyRequest, MAX_ERRORS } from '../problem.ts';
import { createSchema, EXPECTED, LINK_ONLY, RECORD, sharedSchemas, updateSchema } from './body-schema.ts';

/** All faults of the records, in document order. `known`: earlier faults, which precede others at the same location. */
export type Validator = (records: readonly BodyRecord[], known?: readonly Fault[]) => readonly Fault[];

export type TypeValidators = Readonly<Record<'create' | 'update' | 'upsert', (variant: Variant) => Validator>>;

const errorsWithin = new WeakMap<object, readonly ErrorObject[]>();

/** Compiles each validator at its first body, so that hundreds of types start quickly. */
export function createValidators(model: Model): (type: RecordType) => TypeValidators {
  const ajv = createAjv({ verbose: true, strictRequired: false, strictTypes: false });
  ajv.addVocabulary([EXPECTED, LINK_ONLY]);
  const types = [...model.types.values()];
  const schemas = new Map(types.flatMap(sharedSchemas));
  const nested = new Map<string, ValidateFunction>();
  ajv.addKeyword({
    keyword: RECORD,
    schemaType: 'string',
    // With errors enabled, Ajv would copy all previous errors for each faulty record.
    errors: false,
    compile: (name: string) => (data: unknown) => {
      const validate = nested.get(name) ?? ajv.compile(schemas.get(name) ?? false);
      nested.set(name, validate);
      if (!isObject(data) || validate(data)) return true;
      errorsWithin.set(data, validate.errors ?? []);
      return false;
    },
  });
  return memoized((type: RecordType): TypeValidators => {
    const create = memoized((variant: Variant) => ajv.compile(createSchema(type, variant)));
    const update = memoized((variant: Variant) => ajv.compile(updateSchema(type, variant)));
    return {
      create: memoized((variant: Variant) => validator(type, () => create(variant))),
      update: memoized((variant: Variant) => validator(type, () => update(variant))),
      upsert: memoized((variant: Variant) =>
        validator(type, ({ identifier }) => (identifier === undefined ? create : update)(variant), true),
      ),
    };
  });
}

/** `mayBeNull`: an upsert may send null as the unknown identifier. */
function validator(
  type: RecordType,
  validateOf: (record: BodyRecord) => ValidateFunction,
  mayBeNull = false,
): Validator {
  return (records, known = []) => {
    const knownIn = byRecord(records, known);
    const all: Fault[] = [];
    for (const record of records) {
      const { body, pointer } = record;
      const before = knownIn(pointer);
      // An item that is not a record has no other faults.
      const whole = before.filter((fault) => 'pointer' in fault && fault.pointer === pointer);
      const validate = validateOf(record);
      // Ajv stores errors on the function: read them before it runs again.
      const errors = (whole.length === 0 && !validate(body) && validate.errors) || [];
      const own = errors.length === 0 ? [] : faultsOf(errors, pointer, all.length < MAX_ERRORS);
      const found = [...before, ...own, ...otherIdentifier(type, record, mayBeNull)];
      if (found.length > 0)
        for (const one of whole.length > 0 ? whole : inDocumentOrder(found, body, pointer)) all.push(one);
    }
    return all;
  };
}

function otherIdentifier(type: RecordType, record: BodyRecord, mayBeNull: boolean): readonly Fault[] {
  const { name, inRecord } = type.identifier;
  const { body, identifier, pointer } = record;
  if (identifier === undefined || !inRecord || !Object.hasOwn(body, name) || body[name] === identifier) return [];
  if (mayBeNull && body[name] === null) return [];
  const message = `The identifier of this record is ${identifier} and cannot be changed`;
  return [{ pointer: `${pointer}/${escapeStep(name)}`, code: 'read-only', message }];
}

export function byRecord(records: readonly BodyRecord[], faults: readonly Fault[]): (at: string) => readonly Fault[] {
  if (faults.length === 0 || records.length === 1) return () => faults;
  const within = Map.groupBy(faults, (fault) => /^\/\d+/.exec('pointer' in fault ? fault.pointer : '')?.[0] ?? '');
  return (pointer) => within.get(pointer) ?? [];
}

/** Returns faults in Ajv's order, maybe several for a location. `suggests`: with suggestions. */
export function faultsOf(errors: readonly ErrorObject[], prefix = '', suggests = true): readonly Fault[] {
  const faults: Fault[] = [];
  for (const [error, path] of unfolded(errors, prefix)) {
    const fault = (wordings[error.keyword] ?? other)(error, path, suggests && faults.length < MAX_ERRORS);
    if (fault) faults.push(fault);
  }
  return faults;
}

/** Yields errors with paths, and the inner errors instead of the error of a nested record. */
function* unfolded(errors: readonly ErrorObject[], prefix: string): Generator<readonly [ErrorObject, path: string]> {
  for (const error of errors) {
    const path = prefix + error.instancePath;
    if (error.keyword === RECORD) yield* unfolded(errorsWithin.get(error.data as object) ?? [], path);
    else yield [error, path];
  }
}

type Wording = (error: ErrorObject, path: string, suggests: boolean) => Fault | undefined;

const wordings: Readonly<Record<string, Wording>> = {
  // Ajv reports `if` besides the more specific errors of the branch.
  if: () => undefined,
  additionalProperties: ({ params, parentSchema }, path, suggests) => {
    const key = String(params['additionalProperty']);
    const known = (parentSchema?.['properties'] as object | undefined) ?? {};
    const suggestion = suggests ? didYouMean(key, Object.keys(known)) : '';
    return unknownKey(`${path}/${escapeStep(key)}`, key, suggestion);
  },
  'false schema': (_, path) => {
    const key = unescapedSteps(path).at(-1) ?? '';
    if (key !== ITEM_TAG) return unknownKey(path, key);
    const message = `The key "${ITEM_TAG}" is reserved for the entity tags of records in the array that a PATCH takes`;
    return { pointer: path, code: 'reserved-key', message };
  },
  required: ({ params, parentSchema }, path) => {
    const key = String(params['missingProperty']);
    const relation: unknown = parentSchema?.[LINK_ONLY];
    const message =
      typeof relation === 'string'
        ? `"${relation}" can only link an existing record here; send its "${key}"`
        : `"${key}" is required`;
    return { pointer: `${path}/${escapeStep(key)}`, code: 'required', message };
  },
};

const other: Wording = ({ keyword, data, message, parentSchema }, path) => {
  const expected: unknown = parentSchema?.[EXPECTED];
  const name = path === '' ? 'The body' : `"${lastStep(path)}"`;
  return {
    pointer: path,
    code: data === null ? 'null' : keyword.replace(/^x-/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    message: typeof expected === 'string' ? `${name} must be ${expected}` : `${name} ${message ?? 'is not valid'}`,
  };
};

/** The last key of the path, with the indices after it: `tags[3]`. */
function lastStep(path: string): string {
  const steps = unescapedSteps(path);
  const last = steps.findLastIndex((step) => !/^\d+$/.test(String(step)));
  const indices = steps.slice(last + 1).map((index) => `[${index}]`);
  return `${steps[last] ?? ''}${indices.join('')}`;
}

export const unknownKey = (pointer: string, key: string, suggestion = ''): Fault => ({
  pointer,
  code: 'unknown-key',
  message: `Unknown key "${shortened(key)}"${suggestion}`,
});

interface Findings {
  readonly rights: Rights;
  readonly forbidden: Fault[];
  readonly unknown: Fault[];
  readonly linkOnly: Map<string, Fault>;
  /** Allowed names of each object, by pointer. */
  readonly names: Map<string, () => readonly string[]>;
}

/** Throws `forbidden` if the client may see but not write a value. */
export function validatedFor<R extends BodyRecord>(
  rights: Rights,
  type: RecordType,
  validate: (records: readonly R[], known: readonly Fault[]) => readonly Fault[],
  records: readonly R[],
  known: readonly Fault[] = [],
): { readonly faults: readonly Fault[]; readonly isHidden: boolean } {
  if (rights.key === '') return { faults: validate(records, known), isHidden: false };
  const found: Findings = { rights, forbidden: [], unknown: [], linkOnly: new Map(), names: new Map() };
  const visible = records.map((record) => ({
    ...record,
    body: visiblePart(found, type, [...type.fields.values()], record.body, record.pointer),
  }));
  if (found.forbidden.length > 0) throw faultyRequest('forbidden', found.forbidden);
  const isHidden = found.unknown.length > 0;
  const faults = validate(isHidden ? visible : records, known).flatMap((fault) => inVisibleWords(fault, found));
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

/** The body without relations that the client may not see. */
function visiblePart(found: Findings, type: RecordType, fields: readonly Field[], body: JsonObject, pointer: string) {
  const relations = relationsFor(found.rights, type);
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
    if (!canSet(found.rights, relation)) {
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
  return Object.fromEntries(members);
}

function visibleRecord(found: Findings, relation: Relation, body: JsonObject, pointer: string): JsonObject {
  const { rights } = found;
  const { target, owned, toMany, nested } = relation;
  const { name } = target.identifier;
  // Only the database knows whether an owned to-one child exists.
  const isNew = identifierIn(body, target) === undefined && (toMany || !owned);
  if (isNew && nested === 'write' && !canWriteThrough(rights, relation)) {
    const at = `${pointer}/${escapeStep(name)}`;
    const [code, message] =
      body[name] === undefined
        ? ['required', `You may not create records of ${target.name} here; link an existing one by its "${name}"`]
        : ['null', `"${name}" must be an identifier: an integer from 1 to 2^53-1`];
    if ((body[name] ?? null) === null) found.linkOnly.set(pointer, { pointer: at, code, message });
  } else if (isNew && nested === 'write' && requiresHidden(rights, target)) {
    const message = `You may not create records of ${target.name}${hiddenRequirement(rights, target)}; link an existing one by its "${name}"`;
    found.forbidden.push({ pointer, code: 'forbidden', message });
    return body;
  }
  return visiblePart(found, target, relation.fields, body, pointer);
}
