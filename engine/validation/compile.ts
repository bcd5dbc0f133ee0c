/** Compiles body schemas with Ajv into validators, whose faults say where, what was expected, and the nearest valid name. */
import type { ErrorObject, ValidateFunction } from 'ajv';
import { createAjv } from '../field-types/ajv-keywords.ts';
import { escapeStep, inDocumentOrder, isObject, unescapedSteps } from '../json/json.ts';
import { memoized } from '../memo.ts';
import { type BodyRecord, ITEM_TAG, type Model, type RecordType, type Variant } from '../model/model.ts';
import { didYouMean, shortened } from '../names.ts';
import { type Fault, MAX_ERRORS } from '../problem.ts';
import { createSchema, EXPECTED, LINK_ONLY, RECORD, sharedSchemas, updateSchema } from './body-schema.ts';

/**
 * All faults of the records, nested ones included, in document order, as pointers into the body; empty if it is valid.
 * `known`: faults found earlier, which precede others at the same location.
 */
export type Validator = (records: readonly BodyRecord[], known?: readonly Fault[]) => readonly Fault[];

export interface TypeValidators {
  create(variant: Variant): Validator;
  update(variant: Variant): Validator;
  /** Of records that have an identifier as updates, of the others as creates. */
  upsert(variant: Variant): Validator;
}

/** The errors of nested records, by record. */
type ErrorsWithin = WeakMap<object, readonly ErrorObject[]>;

/** The validators of each type. Each is compiled at its first body, so that hundreds of types start quickly. */
export function createValidators(model: Model): (type: RecordType) => TypeValidators {
  const ajv = createAjv({ verbose: true, strictRequired: false, strictTypes: false });
  ajv.addVocabulary([EXPECTED, LINK_ONLY]);
  const types = [...model.types.values()];
  const schemas = new Map(types.flatMap(sharedSchemas));
  const nested = new Map<string, ValidateFunction>();
  const within: ErrorsWithin = new WeakMap();
  ajv.addKeyword({
    keyword: RECORD,
    schemaType: 'string',
    // With errors enabled, Ajv would copy all previous errors for each faulty record.
    errors: false,
    compile: (name: string) => (data: unknown) => {
      const validate = nested.get(name) ?? ajv.compile(schemas.get(name) ?? false);
      nested.set(name, validate);
      if (!isObject(data) || validate(data)) return true;
      within.set(data, validate.errors ?? []);
      return false;
    },
  });
  const validatorsOf = memoized((type: RecordType): TypeValidators => {
    const create = memoized((variant: Variant) => ajv.compile(createSchema(type, variant)));
    const update = memoized((variant: Variant) => ajv.compile(updateSchema(type, variant)));
    return {
      create: memoized((variant: Variant) => validator(type, () => create(variant), within)),
      update: memoized((variant: Variant) => validator(type, () => update(variant), within)),
      upsert: memoized((variant: Variant) =>
        validator(type, ({ identifier }) => (identifier === undefined ? create : update)(variant), within, true),
      ),
    };
  });
  return validatorsOf;
}

/** `mayBeNull`: an upsert may send null as the identifier, which its client does not know. */
function validator(
  type: RecordType,
  validateOf: (record: BodyRecord) => ValidateFunction,
  within: ErrorsWithin,
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
      // Ajv stores errors on the function: they are read before it runs again.
      const errors = (whole.length === 0 && !validate(body) && validate.errors) || [];
      const own = faultsOf(errors, within, pointer, all.length < MAX_ERRORS);
      const found = [...before, ...own, ...otherIdentifier(type, record, mayBeNull)];
      if (found.length > 0)
        for (const one of whole.length > 0 ? whole : inDocumentOrder(found, body, pointer)) all.push(one);
    }
    return all;
  };
}

/** A fault if the body changes the identifier of the addressed record. */
function otherIdentifier(
  { identifier: { name, inRecord } }: RecordType,
  { body, identifier, pointer }: BodyRecord,
  mayBeNull: boolean,
): readonly Fault[] {
  if (identifier === undefined || !inRecord || !Object.hasOwn(body, name) || body[name] === identifier) return [];
  if (mayBeNull && body[name] === null) return [];
  const message = `The identifier of this record is ${identifier} and cannot be changed`;
  return [{ pointer: `${pointer}/${escapeStep(name)}`, code: 'read-only', message }];
}

/** The faults by the record of the body that they are in. */
export function byRecord(
  records: readonly BodyRecord[],
  faults: readonly Fault[],
): (pointer: string) => readonly Fault[] {
  if (faults.length === 0 || records.length === 1) return () => faults;
  const within = Map.groupBy(faults, (fault) => /^\/\d+/.exec('pointer' in fault ? fault.pointer : '')?.[0] ?? '');
  return (pointer) => within.get(pointer) ?? [];
}

// Ajv's errors as faults.

/** In Ajv's order; several may be about one location. `isTold`: whether a response still has room for them. */
export function faultsOf(
  errors: readonly ErrorObject[],
  within: ErrorsWithin = new WeakMap(),
  place = '',
  isTold = true,
): readonly Fault[] {
  const faults: Fault[] = [];
  for (const [error, path] of unfolded(errors, within, place)) {
    const fault = (wordings[error.keyword] ?? other)(error, path, isTold && faults.length < MAX_ERRORS);
    if (fault) faults.push(fault);
  }
  return faults;
}

/** The errors with their paths; in place of those of nested records, what is wrong within them. */
function* unfolded(
  errors: readonly ErrorObject[],
  within: ErrorsWithin,
  place: string,
): Generator<readonly [ErrorObject, path: string]> {
  for (const error of errors) {
    const path = place + error.instancePath;
    if (error.keyword === RECORD) yield* unfolded(within.get(error.data as object) ?? [], within, path);
    else yield [error, path];
  }
}

type Wording = (error: ErrorObject, path: string, isTold: boolean) => Fault | undefined;

const wordings: Readonly<Record<string, Wording>> = {
  // Only repeats that there are others.
  if: () => undefined,
  additionalProperties: ({ params, parentSchema }, path, isTold) => {
    const key = String(params['additionalProperty']);
    const known = (parentSchema?.['properties'] as object | undefined) ?? {};
    const suggestion = isTold ? didYouMean(key, Object.keys(known)) : '';
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
