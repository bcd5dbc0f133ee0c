/** The schemas of bodies, as the validators have them: what a change may say of each type, and what makes a record. */
import type { JsonObject } from '../json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { requiredKeys } from '../validation/body-schema.ts';
import type { Names } from './names.ts';
import { demandOf } from './nested-demand.ts';
import { ref } from './refs.ts';
import { chosenIdentifier, fieldSchema, identifierSchema, writtenIdentifier } from './value-schema.ts';

/** By name, those that relations take included. They refer to each other, to any depth. */
export function inputSchemas(type: RecordType, names: Names): JsonObject {
  const nested = [...type.relations.values()].map(
    (relation) => [names.nestedInput(relation), nestedSchema(relation, names)] as const,
  );
  return { ...Object.fromEntries(nested), [names.input(type)]: inputSchema(type, allFields(type), names) };
}

/** Those of every variant: which of them a variant takes, its fields say. */
const allFields = ({ fields }: RecordType): readonly Field[] => [...fields.values()];

function inputSchema(type: RecordType, fields: readonly Field[], names: Names): JsonObject {
  return {
    type: 'object',
    description: `What a body may say of a ${type.name}. Keys that are left out stay as they are.`,
    properties: { ...identifierOf(type, writtenIdentifier(type)), ...properties(type, fields, names) },
    ...closed(type),
  };
}

/** A body that makes a record, with the defaults of what it leaves out. */
export function creationSchema(type: RecordType, names: Names): JsonObject {
  const required = requiredKeys(type);
  const defaults = allFields(type).flatMap((field) =>
    field.default === undefined ? [] : [[field.name, { ...fieldSchema(field, type), default: field.default }] as const],
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

function properties(type: RecordType, fields: readonly Field[], names: Names): JsonObject {
  const relations = [...type.relations.values()].map(
    (relation) => [relation.name, relationSchema(relation, names)] as const,
  );
  const described = fields.map((field) => [field.name, fieldSchema(field, type)] as const);
  return Object.fromEntries([...described, ...relations]);
}

function relationSchema(relation: Relation, names: Names): JsonObject {
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
function nestedSchema(relation: Relation, names: Names): JsonObject {
  const { target, fields } = relation;
  const demand = demandOf(relation);
  const schema = inputSchema(target, fields, names);
  if (demand === 'nothing') return schema;
  const { name } = target.identifier;
  const link = { required: [name], properties: { [name]: identifierSchema(target) } };
  if (demand !== 'link') return { ...schema, anyOf: [link, { required: demand }] };
  return { ...schema, required: [name], properties: { ...properties(target, fields, names), ...link.properties } };
}
