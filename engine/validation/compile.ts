/** Body schemas -> validators: compiled by Ajv, with faults in words. */
import type { ErrorObject, ValidateFunction } from 'ajv';
import { createAjv } from '../ajv.ts';
import type { JsonObject } from '../json.ts';
import type { Model, RecordType, Variant } from '../model/model.ts';
import { createSchema, EXPECTED, sharedSchemas, updateSchema } from './body-schema.ts';
import { faultsOf } from './faults.ts';
import type { TypeValidators, Validator } from './validators.ts';

/** The validators of each type. One is compiled when its first body comes: hundreds of types start at once. */
export function createValidators(model: Model): (type: RecordType) => TypeValidators {
  const ajv = createAjv({ verbose: true, strictRequired: false, strictTypes: false });
  ajv.addVocabulary([EXPECTED]);
  for (const type of model.types.values()) for (const schema of sharedSchemas(type)) ajv.addSchema(schema);

  const byVariant = (schema: (variant: Variant) => JsonObject): ((variant: Variant) => Validator) => {
    const compiled = new Map<Variant, Validator>();
    return (variant) => {
      const known = compiled.get(variant) ?? validator(ajv.compile(schema(variant)));
      compiled.set(variant, known);
      return known;
    };
  };
  const all = new Map(
    [...model.types.values()].map((type) => [
      type,
      {
        create: byVariant((variant) => createSchema(type, variant)),
        update: byVariant((variant) => updateSchema(type, variant)),
      },
    ]),
  );
  return (type) => {
    const validators = all.get(type);
    if (!validators) throw new Error(`"${type.name}" is not of this model`);
    return validators;
  };
}

function validator(validate: ValidateFunction): Validator {
  return (body) => {
    if (validate(body)) return [];
    // Ajv leaves its errors on the function: they are taken before anything else can run.
    const errors: readonly ErrorObject[] = validate.errors ?? [];
    return faultsOf(errors);
  };
}
