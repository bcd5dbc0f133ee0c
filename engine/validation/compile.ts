/** Compiles validators of bodies, whose faults have a pointer, the expected value, and the nearest valid name. */
import type { ValidateFunction } from 'ajv';
import { createAjv } from '../field-types/ajv-keywords.ts';
import { escapeStep, inDocumentOrder, isObject } from '../json/json.ts';
import { memoized, perKey } from '../memo.ts';
import { type BodyRecord, identifierIn, type Model, type RecordType, type Variant } from '../model/model.ts';
import { type Fault, MAX_ERRORS } from '../problem.ts';
import {
  createSchema,
  errorsWithin,
  EXPECTED,
  faultsOf,
  LINK_ONLY,
  RECORD,
  sharedSchemas,
  updateSchema,
} from './body-schema.ts';

/** All faults of the records, in document order. `known`: earlier faults, which precede others at the same location. */
export type Validator = (records: readonly BodyRecord[], known?: readonly Fault[]) => readonly Fault[];

/** `create`: of an upsert, records that it has found are changes. */
export type TypeValidators = Readonly<Record<'create' | 'update', (variant: Variant) => Validator>>;

/** Compiles each validator at its first body, so that hundreds of types start quickly. */
export const validatorsOf = memoized((model: Model): ((type: RecordType) => TypeValidators) => {
  const ajv = createAjv({ verbose: true, strictRequired: false, strictTypes: false });
  ajv.addVocabulary([EXPECTED, LINK_ONLY]);
  const types = [...model.types.values()];
  const schemas = new Map(types.flatMap(sharedSchemas));
  const validatorOf = perKey((name: string) => ajv.compile(schemas.get(name) ?? false));
  ajv.addKeyword({
    keyword: RECORD,
    schemaType: 'string',
    // With errors enabled, Ajv would copy all previous errors for each faulty record.
    errors: false,
    compile: (name: string) => (data: unknown) => {
      const validate = validatorOf(name);
      if (!isObject(data) || validate(data)) return true;
      errorsWithin.set(data, validate.errors ?? []);
      return false;
    },
  });
  return memoized((type: RecordType): TypeValidators => {
    const create = memoized((variant: Variant) => ajv.compile(createSchema(type, variant)));
    const update = memoized((variant: Variant) => ajv.compile(updateSchema(type, variant)));
    return {
      create: memoized((variant: Variant) =>
        validator(type, ({ identifier }) => (identifier === undefined ? create : update)(variant), true),
      ),
      update: memoized((variant: Variant) => validator(type, () => update(variant))),
    };
  });
});

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
      const own = errors.length === 0 ? [] : faultsOf(errors, record, all.length < MAX_ERRORS);
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
  if (identifier === undefined || !inRecord || !Object.hasOwn(body, name) || identifierIn(body, type) === identifier)
    return [];
  if (mayBeNull && body[name] === null) return [];
  const message = `The identifier of this record is ${identifier} and cannot be changed`;
  return [{ pointer: `${pointer}/${escapeStep(name)}`, code: 'read-only', message }];
}

export function byRecord(records: readonly BodyRecord[], faults: readonly Fault[]): (at: string) => readonly Fault[] {
  if (faults.length === 0 || records.length === 1) return () => faults;
  const within = Map.groupBy(faults, (fault) => /^\/\d+/.exec('pointer' in fault ? fault.pointer : '')?.[0] ?? '');
  return (pointer) => within.get(pointer) ?? [];
}
