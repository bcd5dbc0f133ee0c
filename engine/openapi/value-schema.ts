/** The JSON Schemas of what stands in records: fields and identifiers, with all that their descriptors say. */
import type { JsonObject, JsonValue } from '../json.ts';
import { type Field, MAX_GIVEN_IDENTIFIER, type RecordType } from '../model/model.ts';

const ANYTHING = { type: ['boolean', 'object', 'array', 'number', 'string'], items: {} };

/** A value of the field, as it is read and as it is written. */
export function fieldSchema(field: Field, type: RecordType): JsonObject {
  const { examples, readOnly, nullable, sensitive } = field;
  const schema = field.type.schema(field);
  return {
    ...(nullable ? withNull(schema) : withoutNull(schema)),
    description: fieldDescription(field, type),
    ...(readOnly ? { readOnly } : {}),
    ...(sensitive ? { 'x-sensitive': true } : {}),
    ...(examples.length === 0 ? {} : { examples }),
  };
}

const withoutNull = (schema: JsonObject): JsonObject =>
  schema['type'] === undefined ? { ...ANYTHING, ...schema } : schema;

/** Null beside what the type allows. */
export function withNull(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: [type, 'null'].flat() }),
    ...(Array.isArray(values) ? { enum: [...(values as JsonValue[]), null] } : {}),
  };
}

function fieldDescription(field: Field, type: RecordType): string {
  const { description, name, unique, readOnly, sensitive } = field;
  const expected = field.type.expected(field);
  const lacking = [...type.variants.values()].filter(({ fields }) => !fields.some((one) => one.name === name));
  const sentences = [
    description === '' ? `${capitalized(name)}: ${expected}` : description,
    ...(unique ? ['No two records have the same'] : []),
    ...(readOnly ? ['Set by the service; a body may repeat it, but not change it'] : []),
    ...(field.type.keepsText ? ['Kept as the JSON text that was sent, without white space between tokens'] : []),
    ...(sensitive ? ['Confidential: the service never logs it'] : []),
    ...(lacking.length === 0 ? [] : [`Not in variant ${lacking.map((variant) => variant.name).join(', ')}`]),
  ];
  return `${sentences.join('. ')}.`.replace(/\.\.$/, '.');
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The identifier of a record that is there. */
export const identifierSchema = ({ identifier }: RecordType): JsonObject => ({
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: identifier.description,
  examples: [1],
});

/** In bodies that change a record: null says nothing. */
export const writtenIdentifier = (type: RecordType): JsonObject => withNull(identifierSchema(type));

/** In bodies that make a record. */
export const chosenIdentifier = (type: RecordType): JsonObject => ({
  ...writtenIdentifier(type),
  maximum: MAX_GIVEN_IDENTIFIER,
  description: `${type.identifier.description}. Usually left out; one that is free may be chosen`,
});
