/** Compiles body schemas with Ajv into validators that return faults with messages. */
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import { createAjv } from '../field-types/ajv-keywords.ts';
import { escapeStep, inDocumentOrder, isObject, type JsonObject } from '../json/json.ts';
import { memoized } from '../memo.ts';
import type { BodyRecord } from '../model/bodies.ts';
import type { Model, RecordType, Variant } from '../model/model.ts';
import { createSchema, EXPECTED, LINK_ONLY, RECORD, sharedSchemas, updateSchema } from './body-schema.ts';
import { type ErrorsWithin, faultsOf } from './faults.ts';
import { type Fault, MAX_ERRORS } from '../problem.ts';

/** The validators of each type. Each is compiled at its first body, so that hundreds of types start quickly. */
export function createValidators(model: Model): (type: RecordType) => TypeValidators {
  const ajv = createAjv({ verbose: true, strictRequired: false, strictTypes: false });
  const types = [...model.types.values()];
  ajv.addVocabulary([EXPECTED, LINK_ONLY]);
  const errorsWithin: WeakMap<object, readonly ErrorObject[]> = new WeakMap();
  addRecordKeyword(ajv, new Map(types.flatMap(sharedSchemas)), errorsWithin);

  const validatorsOf = (type: RecordType): TypeValidators => {
    const create = memoized((variant: Variant) => ajv.compile(createSchema(type, variant)));
    const update = memoized((variant: Variant) => ajv.compile(updateSchema(type, variant)));
    const byVariant = (
      validateOf: (record: BodyRecord, variant: Variant) => ValidateFunction,
      identifiers: IdentifierRule = NAMED,
    ) =>
      memoized((variant: Variant) => {
        const ofRecord = (record: BodyRecord): ValidateFunction => validateOf(record, variant);
        return validator(type, ofRecord, { errorsWithin, identifiers });
      });
    return {
      create: byVariant((_, variant) => create(variant)),
      update: byVariant((_, variant) => update(variant)),
      upsert: byVariant(
        ({ identifier }, variant) => (identifier === undefined ? create : update)(variant),
        // An upsert may send null as the identifier, which its client does not know.
        { mayBeNull: true },
      ),
    };
  };
  const all = new Map(types.map((type) => [type, validatorsOf(type)]));
  return (type) => {
    const validators = all.get(type);
    if (!validators) throw new Error(`"${type.name}" is not of this model`);
    return validators;
  };
}

/** Validates a nested record with the validator of its type, compiled on first use. */
function addRecordKeyword(
  ajv: Ajv,
  schemas: ReadonlyMap<string, JsonObject>,
  errorsWithin: WeakMap<object, readonly ErrorObject[]>,
): void {
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf = (name: string): ValidateFunction => {
    const known = compiled.get(name) ?? ajv.compile(schemas.get(name) ?? false);
    compiled.set(name, known);
    return known;
  };
  ajv.addKeyword({
    keyword: RECORD,
    schemaType: 'string',
    // With errors enabled, Ajv would copy all previous errors for each faulty record.
    errors: false,
    compile: (name: string) => (data: unknown) => {
      const target = validatorOf(name);
      if (!isObject(data) || target(data)) return true;
      errorsWithin.set(data, target.errors ?? []);
      return false;
    },
  });
}

interface IdentifierRule {
  readonly mayBeNull: boolean;
}

const NAMED: IdentifierRule = { mayBeNull: false };

/** A fault if the body changes the identifier of the addressed record. */
function otherIdentifier(
  { identifier: { name, inRecord } }: RecordType,
  { body, identifier, pointer }: BodyRecord,
  { mayBeNull }: IdentifierRule,
): readonly Fault[] {
  if (identifier === undefined || !inRecord || !Object.hasOwn(body, name) || body[name] === identifier) return [];
  if (mayBeNull && body[name] === null) return [];
  const message = `The identifier of this record is ${identifier} and cannot be changed`;
  return [{ pointer: `${pointer}/${escapeStep(name)}`, code: 'read-only', message }];
}

function validator(
  type: RecordType,
  validateOf: (record: BodyRecord) => ValidateFunction,
  { errorsWithin, identifiers }: { readonly errorsWithin: ErrorsWithin; readonly identifiers: IdentifierRule },
): Validator {
  return (records, known = []) => {
    const knownIn = byRecord(records, known);
    const all: Fault[] = [];
    for (const record of records) {
      const { body, pointer } = record;
      const knownHere = knownIn(pointer);
      // An item that is not a record has no other faults.
      const whole = knownHere.filter((fault) => 'pointer' in fault && fault.pointer === pointer);
      if (whole.length > 0) {
        for (const one of whole) all.push(one);
        continue;
      }
      const validate = validateOf(record);
      // Ajv stores errors on the function: read them before it runs again.
      const errors = validate(body) ? undefined : validate.errors;
      const context = { within: errorsWithin, place: pointer, isTold: all.length < MAX_ERRORS };
      const own = errors ? faultsOf(errors, context) : NO_FAULTS;
      const parts = [knownHere, own, otherIdentifier(type, record, identifiers)];
      if (parts.every((part) => part.length === 0)) continue;
      for (const one of inDocumentOrder(parts.flat(), body, pointer)) all.push(one);
    }
    return all;
  };
}

const NO_FAULTS: readonly Fault[] = Object.freeze([]);

/** The faults by the record of the body that they are in. */
export function byRecord(
  records: readonly BodyRecord[],
  faults: readonly Fault[],
): (pointer: string) => readonly Fault[] {
  if (faults.length === 0) return () => NO_FAULTS;
  if (records.length === 1) return () => faults;
  const within = Map.groupBy(faults, (fault) => /^\/\d+/.exec('pointer' in fault ? fault.pointer : '')?.[0] ?? '');
  return (pointer) => within.get(pointer) ?? NO_FAULTS;
}

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
