/** Compiles body schemas with Ajv into validators that return faults with messages. */
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import { createAjv } from '../field-types/ajv-keywords.ts';
import { inDocumentOrder } from '../document-order.ts';
import { escapeStep, isObject, type JsonObject, unescapedSteps } from '../json.ts';
import { memoized } from '../memo.ts';
import { type BodyRecord, wholeBody } from '../model/bodies.ts';
import type { Model, RecordType, Variant } from '../model/model.ts';
import { disagreements } from './agreement.ts';
import { createSchema, EXPECTED, LINK_ONLY, RECORD, sharedSchemas, updateSchema } from './body-schema.ts';
import { type ErrorsWithin, faultsOf } from './faults.ts';
import { type Mentions, mentionsIn, otherIdentifier, RECORDS_OF_STEP } from './mentions.ts';
import { finish, type Steps } from '../pace.ts';
import { type Fault, MAX_ERRORS } from '../problem.ts';
import { unmetBy } from '../query/checks.ts';
import type { RawValues } from '../raw-json.ts';
import type { DescriptorFile } from '../descriptor/load.ts';
import { diagnose, type YamlPath } from '../descriptor/source.ts';
import type { Diagnostic } from '../diagnostic.ts';

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
    const byVariant = (validateOf: (record: BodyRecord, variant: Variant) => ValidateFunction) =>
      memoized((variant: Variant) => validator(type, (record) => validateOf(record, variant), errorsWithin));
    return {
      create: byVariant((_, variant) => create(variant)),
      update: byVariant((_, variant) => update(variant)),
      upsert: byVariant(({ identifier }, variant) => (identifier === undefined ? create : update)(variant)),
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

function validator(
  type: RecordType,
  validateOf: (record: BodyRecord) => ValidateFunction,
  errorsWithin: ErrorsWithin,
): Validator {
  return function* (records, raw, { mentions: collected, faults: known = [] } = {}) {
    const mentions = collected ?? (yield* mentionsIn(type, records));
    const others = mentions.mayDiffer
      ? [...mentions.faults, ...(yield* disagreements(mentions, raw))]
      : mentions.faults;
    const [knownIn, othersIn] = [byRecord(records, known), byRecord(records, others)];
    const all: Fault[] = [];
    for (const [index, record] of records.entries()) {
      if (index % RECORDS_OF_STEP === RECORDS_OF_STEP - 1) yield;
      const { body, pointer } = record;
      const validate = validateOf(record);
      // Ajv stores errors on the function: read them before it runs again.
      const errors = validate(body) ? undefined : validate.errors;
      const context = { within: errorsWithin, place: pointer, isTold: all.length < MAX_ERRORS };
      const own = errors ? yield* faultsOf(errors, context) : NO_FAULTS;
      const parts = [knownIn(pointer), own, otherIdentifier(type, record), othersIn(pointer)];
      if (parts.every((part) => part.length === 0)) continue;
      all.push(...inDocumentOrder(parts.flat(), body, pointer));
    }
    return all;
  };
}

const NO_FAULTS: readonly Fault[] = Object.freeze([]);

/** The faults by the record of the body that they are in. */
function byRecord(records: readonly BodyRecord[], faults: readonly Fault[]): (pointer: string) => readonly Fault[] {
  if (faults.length === 0) return () => NO_FAULTS;
  if (records.length === 1) return () => faults;
  const within = Map.groupBy(faults, (fault) => /^\/\d+/.exec('pointer' in fault ? fault.pointer : '')?.[0] ?? '');
  return (pointer) => within.get(pointer) ?? NO_FAULTS;
}

interface KnownOfBody {
  /** What the records mention. */
  readonly mentions?: Mentions;
  /** Told first where there are others at the same place. */
  readonly faults?: readonly Fault[];
}

/**
 * All faults of the records, nested ones included, in document order, as pointers into the body; empty if it is valid.
 * `raw`: the values to store as they were written. `known`: what has been collected already.
 */
export type Validator = (
  records: readonly BodyRecord[],
  raw?: RawValues,
  known?: KnownOfBody,
) => Steps<readonly Fault[]>;

export interface TypeValidators {
  create(variant: Variant): Validator;
  update(variant: Variant): Validator;
  /** Of records that have an identifier as updates, of the others as creates. */
  upsert(variant: Variant): Validator;
}

// A seed record must be valid as the body of a create request, and so must be the defaults.

/** Codes of faults in a key rather than in its value. */
const AT_KEY = new Set(['unknown-key']);

export function checkSeeds(
  files: readonly DescriptorFile[],
  model: Model,
  validatorsOf: (type: RecordType) => TypeValidators,
): readonly Diagnostic[] {
  return files.flatMap((file) => {
    const type = model.types.get(file.descriptor.type);
    if (!type || type.seed.length === 0) return [];
    const validate = validatorsOf(type).create(type.defaultVariant);
    return type.seed.flatMap((record, index) => {
      const records = [wholeBody(record)];
      const faults = finish(validate(records));
      return (faults.length > 0 ? faults : unmetIn(type, records)).map((fault) => {
        const path: YamlPath = ['seed', index, ...('pointer' in fault ? unescapedSteps(fault.pointer) : [])];
        return diagnose(file, 'invalid-seed', path, AT_KEY.has(fault.code) ? 'key' : 'value', fault.message);
      });
    });
  });
}

/** Checks that the new records do not meet. */
const unmetIn = (type: RecordType, records: readonly BodyRecord[]): readonly Fault[] =>
  finish(mentionsIn(type, records))
    .all.filter(({ subject }) => !subject.mayBeStored)
    .flatMap((mention) =>
      unmetBy(mention.subject.type, mention.body).map(({ at, message }) => ({
        pointer: `${mention.pointer}/${escapeStep(at.name)}`,
        code: 'check',
        message,
      })),
    );

/** Checks that no record meets which is created without the fields that they name. */
export function checkDefaults(files: readonly DescriptorFile[], { types }: Model): readonly Diagnostic[] {
  return files.flatMap((file) => {
    const type = types.get(file.descriptor.type);
    const unmet = new Set(type ? unmetBy(type, {}) : []);
    return [...(type?.checks ?? [])].flatMap((check, index) => {
      const isDefault = check.fields.every((field) => (field.default ?? null) !== null);
      const message = `the defaults break this check: ${check.message}; change one of them`;
      return isDefault && unmet.has(check)
        ? [diagnose(file, 'broken-default', ['checks', index], 'value', message)]
        : [];
    });
  });
}
