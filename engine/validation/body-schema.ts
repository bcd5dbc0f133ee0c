/** JSON Schemas of request bodies (draft 2020-12). Each type has one, which relations refer to at any depth. */
import { ITEMS, type ItemShape, withNull, withoutNull } from '../field-types/field-type.ts';
import type { JsonObject } from '../json.ts';
import { nestedDemand, requiredKeys } from '../model/bodies.ts';
import { type Field, MAX_GIVEN_IDENTIFIER, type RecordType, type Relation, type Variant } from '../model/model.ts';

/** What a value must be, for messages. */
export const EXPECTED = 'x-expected';
/** The name of a relation that can only link, for the message if the identifier is missing. */
export const LINK_ONLY = 'x-link-only';
/** The value must match the shared schema of this name. With $ref, Ajv would compile all connected types at once. */
export const RECORD = 'x-record';

const IDENTIFIER_TEXT = 'an identifier: an integer from 1 to 2^53-1';

/** Names of the shared schemas. */
const typeId = (type: RecordType): string => `record:${encodeURIComponent(type.name)}`;
const shownId = (relation: Relation): string => `${typeId(relation.source)}.${encodeURIComponent(relation.name)}`;

/** A body that changes a record: nothing is required. */
export function updateSchema(type: RecordType, variant: Variant): JsonObject {
  return variant === type.defaultVariant
    ? { type: 'object', [EXPECTED]: 'an object', [RECORD]: typeId(type) }
    : recordSchema(type, variant.fields);
}

/** A body that creates a record. */
export function createSchema(type: RecordType, variant: Variant): JsonObject {
  const { identifier } = type;
  const given = { type: ['integer', 'null'], minimum: 1, maximum: MAX_GIVEN_IDENTIFIER };
  const properties = identifier.inRecord
    ? {
        properties: {
          [identifier.name]: { ...given, [EXPECTED]: 'an identifier: an integer from 1 to 2^52, or left out' },
        },
      }
    : {};
  return { type: 'object', allOf: [properties, updateSchema(type, variant)], required: requiredKeys(type) };
}

/** The shared schemas: one for each type, and one for each relation that is limited to some fields. */
export function sharedSchemas(type: RecordType): readonly (readonly [name: string, schema: JsonObject])[] {
  const restricted = [...type.relations.values()].filter(isRestricted);
  return [
    [typeId(type), recordSchema(type, type.defaultVariant.fields)],
    ...restricted.map((relation) => [shownId(relation), recordSchema(relation.target, relation.fields)] as const),
  ];
}

const isRestricted = ({ fields, target }: Relation): boolean => fields.length < target.defaultVariant.fields.length;

function recordSchema(type: RecordType, fields: readonly Field[]): JsonObject {
  const { identifier } = type;
  const known = {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    [EXPECTED]: IDENTIFIER_TEXT,
  };
  return {
    type: 'object',
    [EXPECTED]: 'an object',
    properties: {
      ...(identifier.inRecord ? { [identifier.name]: known } : {}),
      // Unknown keys are kept in an open record, but a field that is not accepted here is not one of them.
      ...(type.open ? Object.fromEntries([...type.fields.keys()].map((name) => [name, false])) : {}),
      ...Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)])),
      ...Object.fromEntries([...type.relations.values()].map((relation) => [relation.name, relationSchema(relation)])),
    },
    ...(type.open ? {} : { additionalProperties: false }),
  };
}

export function fieldSchema(field: Omit<ItemShape, 'description'>): JsonObject {
  const item = field.type.item?.(field);
  const schema: JsonObject = { ...field.type.schema(field), ...(item ? { [ITEMS]: fieldSchema(item) } : {}) };
  const expected = field.type.expected(field);
  return lengthFirst(
    field.nullable
      ? { ...withNull(schema), [EXPECTED]: `${expected}, or null` }
      : { ...withoutNull(schema), [EXPECTED]: schema['type'] === undefined ? `${expected} but null` : expected },
  );
}

/** Checks the length first, so that patterns and formats only read texts of limited length. */
function lengthFirst({ pattern, format, ...schema }: JsonObject): JsonObject {
  const then = { ...(pattern === undefined ? {} : { pattern }), ...(format === undefined ? {} : { format }) };
  const { maxLength } = schema;
  if (maxLength === undefined || Object.keys(then).length === 0) return { ...schema, ...then };
  return { ...schema, if: { maxLength }, then: { ...then, [EXPECTED]: schema[EXPECTED] ?? null } };
}

function relationSchema(relation: Relation): JsonObject {
  const { toMany, required } = relation;
  const record = nestedSchema(relation);
  if (toMany) return { type: 'array', items: record, [EXPECTED]: 'an array with the whole new set' };
  if (required) return record;
  return { type: ['object', 'null'], if: { type: 'object' }, then: record, [EXPECTED]: `${hint(relation)}, or null` };
}

/** A related record: linked with an identifier, created without one if the relation allows it. */
function nestedSchema(relation: Relation): JsonObject {
  const { target } = relation;
  const { identifier } = target;
  const demand = nestedDemand(relation);
  const shared = isRestricted(relation) ? shownId(relation) : typeId(target);
  const record = { type: 'object', [RECORD]: shared, [EXPECTED]: hint(relation) };
  const linked = {
    required: [identifier.name],
    properties: { [identifier.name]: { type: 'integer', [EXPECTED]: IDENTIFIER_TEXT } },
  };
  if (demand === 'link') return { ...record, ...linked, [LINK_ONLY]: relation.name };
  return demand === 'nothing' ? record : { ...record, if: linked, else: { required: demand } };
}

const hint = ({ target: { name, identifier } }: Relation): string =>
  `an object such as {"${identifier.name}": 1} that links a ${name}`;
