/** The schemas of bodies, as the validators have them: what a change may say of each type, and what makes a record. */
import type { JsonObject } from '../json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { requiredKeys } from '../validation/body-schema.ts';
import type { Names } from './names.ts';
import { ref } from './refs.ts';
import { chosenIdentifier, fieldSchema, identifierSchema, writtenIdentifier } from './value-schema.ts';

/** By name, those of relations that take only some fields included. Relations refer to each other, to any depth. */
export function inputSchemas(type: RecordType, names: Names): JsonObject {
  const nested = [...type.relations.values()].map(
    (relation) => [names.nestedInput(relation), inputSchema(relation.target, relation.fields, names)] as const,
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
  const record = nestedSchema(relation, names);
  const description = `${relation.description || relation.target.name}. ${usage(relation)}`.replace('..', '.');
  if (relation.toMany) return { type: 'array', items: record, description };
  return relation.required ? { allOf: [record], description } : { anyOf: [record, { type: 'null' }], description };
}

function usage({ target, toMany, nested, owned, required }: Relation): string {
  const link = `{"${target.identifier.name}": 1} links a record`;
  const made = nested === 'write' ? ', without an identifier one is made' : '';
  if (toMany) return `The whole new set: ${link}${made}; one that is left out is ${owned ? 'deleted' : 'unlinked'}.`;
  return `${link}${made}${required ? '' : ', null links none'}.`;
}

/** A related record: with an identifier it is linked, without one it is made, or must not be. */
function nestedSchema(relation: Relation, names: Names): JsonObject {
  const { target, nested, owned, toMany, inverse } = relation;
  const record = ref('schemas', names.nestedInput(relation));
  const linked = linkSchema(target);
  if (nested === 'link') return { allOf: [record, linked] };
  const required = requiredKeys(target).filter((name) => name !== inverse?.name);
  // An owned child that is there is updated: whether this one is, only the database knows.
  if (required.length === 0 || (owned && !toMany)) return record;
  return { allOf: [record, { anyOf: [linked, { type: 'object', required }] }] };
}

const linkSchema = (target: RecordType): JsonObject => ({
  type: 'object',
  required: [target.identifier.name],
  properties: { [target.identifier.name]: identifierSchema(target) },
});
