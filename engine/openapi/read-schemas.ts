/** The schemas of answers: each type with its relations, one level deep, and each type as other records show it. */
import type { JsonObject } from '../json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import type { Names } from './names.ts';
import { ref } from './refs.ts';
import { fieldSchema, identifierSchema } from './value-schema.ts';

/** By name. A record refers to those that its relations lead to, and these to none. */
export function readSchemas(type: RecordType, names: Names): JsonObject {
  const relations = [...type.relations.values()];
  const shown = relations.map((relation) => [relation.name, relationSchema(relation, names)] as const);
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
  const described = fields.map((field) => [field.name, fieldSchema(field, type)] as const);
  return {
    type: 'object',
    ...(text === '' ? {} : { description: text }),
    ...(identifier.inRecord ? { required: [identifier.name] } : {}),
    properties: { ...shown, ...Object.fromEntries(described), ...relations },
  };
}

function relationSchema(relation: Relation, names: Names): JsonObject {
  const { name, description, target, toMany, required, shown } = relation;
  const related = ref('schemas', names.related(relation));
  const asked = shown ? '' : `\n\nOnly where \`include\` or \`fields\` names it: \`include=${name}\`.`;
  const text = { description: (description === '' ? target.name : description) + asked };
  if (toMany) return { type: 'array', items: related, ...text };
  return required ? { ...related, ...text } : { anyOf: [related, { type: 'null' }], ...text };
}
