/** The schemas of records in responses: at their own path with relations one level deep, and inside other records. */
import type { JsonObject } from '../json.ts';
import { type Field, MAX_GIVEN_IDENTIFIER, type RecordType, type Relation } from '../model/model.ts';
import { capitalized } from '../names.ts';
import { ref, type SchemaNames } from './names.ts';
import { nestedDemand, requiredKeys } from '../model/bodies.ts';
import { ITEMS, type ItemShape, withNull } from '../field-types/field-type.ts';

/** By name. The schema of a record refers to those of related records, which refer to no others. */
export function readSchemas(type: RecordType, names: SchemaNames): JsonObject {
  const relations = [...type.relations.values()];
  const shown = relations.map((relation) => [relation.name, readRelationSchema(relation, names)] as const);
  const related = relations.map((relation) => [names.related(relation), relatedSchema(relation)] as const);
  return {
    [names.record(type)]: recordSchema(type, [...type.fields.values()], Object.fromEntries(shown), type.description),
    ...Object.fromEntries(related),
  };
}

function relatedSchema({ target, fields }: Relation): JsonObject {
  return recordSchema(target, fields, {}, `${target.description || target.name}\n\nAs shown inside other records.`);
}

/** Only the identifier is required: `fields`, `include` and `variant` can leave out every other key. */
function recordSchema(type: RecordType, fields: readonly Field[], relations: JsonObject, text: string): JsonObject {
  const { identifier } = type;
  const shown = identifier.inRecord ? { [identifier.name]: identifierSchema(type) } : {};
  const described = fields.map((field) => [field.name, fieldValueSchema(field, type)] as const);
  return {
    type: 'object',
    ...(text === '' ? {} : { description: text }),
    ...(identifier.inRecord ? { required: [identifier.name] } : {}),
    properties: { ...shown, ...Object.fromEntries(described), ...relations },
  };
}

function readRelationSchema(relation: Relation, names: SchemaNames): JsonObject {
  const { name, description, target, toMany, required, shown } = relation;
  const related = ref('schemas', names.related(relation));
  const asked = shown ? '' : `\n\nShown only if \`include\` or \`fields\` names it: \`include=${name}\`.`;
  const text = { description: (description === '' ? target.name : description) + asked };
  if (toMany) return { type: 'array', items: related, ...text };
  return required ? { ...related, ...text } : { anyOf: [related, { type: 'null' }], ...text };
}

// The schemas of request bodies, in step with the validators: bodies that change a record, and bodies that create one.

/** By name, including related records. They refer to each other at any depth. */
export function inputSchemas(type: RecordType, names: SchemaNames): JsonObject {
  const nested = [...type.relations.values()].map(
    (relation) => [names.nestedInput(relation), nestedSchema(relation, names)] as const,
  );
  return { ...Object.fromEntries(nested), [names.input(type)]: inputSchema(type, allFields(type), names) };
}

/** The fields of all variants: their descriptions name the variants that lack them. */
const allFields = ({ fields }: RecordType): readonly Field[] => [...fields.values()];

function inputSchema(type: RecordType, fields: readonly Field[], names: SchemaNames): JsonObject {
  return {
    type: 'object',
    description: `A change of a ${type.name}. Keys that are left out stay as they are.`,
    properties: { ...identifierOf(type, writtenIdentifier(type)), ...properties(type, fields, names) },
    ...closed(type),
  };
}

/** A body that creates a record, with defaults. */
export function creationSchema(type: RecordType, names: SchemaNames): JsonObject {
  const required = requiredKeys(type);
  const defaults = allFields(type).flatMap((field) =>
    field.default === undefined
      ? []
      : [[field.name, { ...fieldValueSchema(field, type), default: field.default }] as const],
  );
  return {
    type: 'object',
    properties: {
      ...identifierOf(type, chosenIdentifier(type)),
      ...properties(type, allFields(type), names),
      ...Object.fromEntries(defaults),
    },
    ...(required.length === 0 ? {} : { required }),
    ...closed(type),
  };
}

const closed = ({ open }: RecordType): JsonObject => ({ additionalProperties: open });

const identifierOf = ({ identifier }: RecordType, schema: JsonObject): JsonObject =>
  identifier.inRecord ? { [identifier.name]: schema } : {};

function properties(type: RecordType, fields: readonly Field[], names: SchemaNames): JsonObject {
  const relations = [...type.relations.values()].map(
    (relation) => [relation.name, writeRelationSchema(relation, names)] as const,
  );
  const described = fields.map((field) => [field.name, fieldValueSchema(field, type)] as const);
  return Object.fromEntries([...described, ...relations]);
}

function writeRelationSchema(relation: Relation, names: SchemaNames): JsonObject {
  const record = ref('schemas', names.nestedInput(relation));
  const description = `${relation.description || relation.target.name}. ${usage(relation)}`.replace('..', '.');
  if (relation.toMany) return { type: 'array', items: record, description };
  return relation.required ? { ...record, description } : { anyOf: [record, { type: 'null' }], description };
}

function usage({ target, toMany, nested, owned, required }: Relation): string {
  const link = `{"${target.identifier.name}": 1} links a record`;
  const created = nested === 'write' ? ', an object without an identifier creates one' : '';
  if (toMany) return `The whole new set: ${link}${created}; records left out are ${owned ? 'deleted' : 'unlinked'}.`;
  return `${link}${created}${required ? '' : ', null removes the link'}.`;
}

/** A related record: linked with an identifier, created without one if the relation allows it. */
function nestedSchema(relation: Relation, names: SchemaNames): JsonObject {
  const { target, fields } = relation;
  const demand = nestedDemand(relation);
  const schema = inputSchema(target, fields, names);
  if (demand === 'nothing') return schema;
  const { name } = target.identifier;
  const link = { required: [name], properties: { [name]: identifierSchema(target) } };
  if (demand !== 'link') return { ...schema, anyOf: [link, { required: demand }] };
  return { ...schema, required: [name], properties: { ...properties(target, fields, names), ...link.properties } };
}

// The JSON Schemas of fields and identifiers, with everything that the descriptors declare.

const ANYTHING = { type: ['boolean', 'object', 'array', 'number', 'string'], items: {} };

/** A value of the field, in requests and responses. */
export function fieldValueSchema(field: Field, type: RecordType): JsonObject {
  const { readOnly, sensitive, examples } = field;
  return {
    ...valueSchema(field),
    description: fieldDescription(field, type),
    ...(readOnly ? { readOnly } : {}),
    ...(sensitive ? { 'x-sensitive': true } : {}),
    ...(examples.length === 0 ? {} : { examples }),
  };
}

function valueSchema(value: Omit<ItemShape, 'description'>): JsonObject {
  const item = value.type.item?.(value);
  const schema: JsonObject = { ...value.type.schema(value), ...(item ? { [ITEMS]: describedItem(item) } : {}) };
  if (value.nullable) return withNull(schema);
  return schema['type'] === undefined ? { ...ANYTHING, ...schema } : schema;
}

const describedItem = (item: ItemShape): JsonObject => ({
  ...valueSchema(item),
  ...(item.description === '' ? {} : { description: item.description }),
  ...(item.examples.length === 0 ? {} : { examples: item.examples }),
});

function fieldDescription(field: Field, type: RecordType): string {
  const { description, name, unique, readOnly, sensitive } = field;
  const expected = field.type.expected(field);
  const lacking = [...type.variants.values()].filter(({ fields }) => !fields.some((one) => one.name === name));
  const sentences = [
    description === '' ? `${capitalized(name)}: ${expected}` : description,
    ...(unique ? ['Unique'] : []),
    ...(readOnly ? ['Read-only: a body may repeat the value, but not change it'] : []),
    ...(field.type.keepsText ? ['Stored as the JSON text that was sent, without white space between tokens'] : []),
    ...(sensitive ? ['Sensitive: never logged'] : []),
    ...(lacking.length === 0 ? [] : [`Not in variant ${lacking.map((variant) => variant.name).join(', ')}`]),
  ];
  return `${sentences.join('. ')}.`.replace(/\.\.$/, '.');
}

/** The identifier of an existing record. */
const identifierSchema = ({ identifier }: RecordType): JsonObject => ({
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: identifier.description,
  examples: [1],
});

/** In bodies that change a record: null counts as absent. */
const writtenIdentifier = (type: RecordType): JsonObject => withNull(identifierSchema(type));

/** In bodies that create a record. */
const chosenIdentifier = (type: RecordType): JsonObject => ({
  ...writtenIdentifier(type),
  maximum: MAX_GIVEN_IDENTIFIER,
  description: `${type.identifier.description}. Usually left out; an unused one may be chosen`,
});
