/** The schemas of answers: each type with its relations, one level deep, and each type as other records show it. */
import type { JsonObject } from '../json.ts';
import { type Field, MAX_GIVEN_IDENTIFIER, type RecordType, type Relation } from '../model/model.ts';
import { ref, type SchemaNames } from './names.ts';
import { nestedDemand, requiredKeys } from '../model/bodies.ts';
import { withNull } from '../field-types/field-type.ts';

/** By name. A record refers to those that its relations lead to, and these to none. */
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
  return recordSchema(target, fields, {}, `${target.description || target.name}\n\nAs other records show it.`);
}

/** What `fields`, `include` and `variant` leave out is an absent key, so that only the identifier is sure to be there. */
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
  const asked = shown ? '' : `\n\nOnly where \`include\` or \`fields\` names it: \`include=${name}\`.`;
  const text = { description: (description === '' ? target.name : description) + asked };
  if (toMany) return { type: 'array', items: related, ...text };
  return required ? { ...related, ...text } : { anyOf: [related, { type: 'null' }], ...text };
}

// The schemas of bodies, as the validators have them: what a change may say of each type, and what makes a record.

/** By name, those that relations take included. They refer to each other, to any depth. */
export function inputSchemas(type: RecordType, names: SchemaNames): JsonObject {
  const nested = [...type.relations.values()].map(
    (relation) => [names.nestedInput(relation), nestedSchema(relation, names)] as const,
  );
  return { ...Object.fromEntries(nested), [names.input(type)]: inputSchema(type, allFields(type), names) };
}

/** Those of every variant: which of them a variant takes, its fields say. */
const allFields = ({ fields }: RecordType): readonly Field[] => [...fields.values()];

function inputSchema(type: RecordType, fields: readonly Field[], names: SchemaNames): JsonObject {
  return {
    type: 'object',
    description: `What a body may say of a ${type.name}. Keys that are left out stay as they are.`,
    properties: { ...identifierOf(type, writtenIdentifier(type)), ...properties(type, fields, names) },
    ...closed(type),
  };
}

/** A body that makes a record, with the defaults of what it leaves out. */
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
  const made = nested === 'write' ? ', without an identifier one is made' : '';
  if (toMany) return `The whole new set: ${link}${made}; one that is left out is ${owned ? 'deleted' : 'unlinked'}.`;
  return `${link}${made}${required ? '' : ', null links none'}.`;
}

/** A related record: with an identifier it is linked, without one it is made, or must not be. */
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

// The JSON Schemas of what stands in records: fields and identifiers, with all that their descriptors say.

const ANYTHING = { type: ['boolean', 'object', 'array', 'number', 'string'], items: {} };

/** A value of the field, as it is read and as it is written. */
export function fieldValueSchema(field: Field, type: RecordType): JsonObject {
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
const identifierSchema = ({ identifier }: RecordType): JsonObject => ({
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: identifier.description,
  examples: [1],
});

/** In bodies that change a record: null says nothing. */
const writtenIdentifier = (type: RecordType): JsonObject => withNull(identifierSchema(type));

/** In bodies that make a record. */
const chosenIdentifier = (type: RecordType): JsonObject => ({
  ...writtenIdentifier(type),
  maximum: MAX_GIVEN_IDENTIFIER,
  description: `${type.identifier.description}. Usually left out; one that is free may be chosen`,
});
