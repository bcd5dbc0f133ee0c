/** The schemas of records in responses: at their own path with relations one level deep, and inside other records. */
import { isObject, type JsonObject } from '../json/json.ts';
import { generatedMeanings } from '../descriptor/descriptor.ts';
import { ruleOf } from '../model/checks.ts';
import { type Field, MAX_SHOWN_ROWS, type RecordType, type Relation } from '../model/model.ts';
import { capitalized } from '../names.ts';
import { arrayOf, ref, type SchemaNames } from './names.ts';
import {
  type BodyWriting,
  changeSchema,
  ITEM_TAG,
  creationSchema,
  relatedSchema,
  valueSchema,
} from '../model/bodies.ts';
import type { ItemShape } from '../field-types/field-type.ts';

/**
 * By name. The schema of a record refers to those of related records, which refer to no others. `isDefault`: records as
 * requests without parameters show them, complete.
 */
export function readSchemas(type: RecordType, names: SchemaNames, isDefault = false): JsonObject {
  const relations = [...type.relations.values()].filter(({ shown }) => shown || !isDefault);
  const all = [...type.relations.values()];
  const shown = relations.map((relation) => [relation.name, readRelationSchema(relation, names)] as const);
  const related = all.map((relation) => [names.related(relation), shownSchema(relation, isDefault)] as const);
  return {
    [names.record(type)]: {
      title: type.title.one,
      ...recordSchema(type, fieldsFor(type, isDefault), Object.fromEntries(shown), type.description, isDefault),
    },
    ...Object.fromEntries(related),
  };
}

function shownSchema({ target, fields }: Relation, isDefault: boolean): JsonObject {
  const text = `${target.description || target.name}\n\nAs shown inside other records.`;
  return recordSchema(target, fields, {}, text, isDefault);
}

/** `fields`, `include` and `variant` can leave out every key but the identifier. */
function recordSchema(
  type: RecordType,
  fields: readonly Field[],
  relations: JsonObject,
  text: string,
  isComplete: boolean,
): JsonObject {
  const { identifier } = type;
  const shown = identifier.inRecord ? { [identifier.name]: identifierSchema(type) } : {};
  const described = fields.map((field) => [field.name, fieldValueSchema(field, type)] as const);
  const properties = { ...shown, ...Object.fromEntries(described), ...relations };
  const required = Object.keys(isComplete ? properties : shown);
  return {
    type: 'object',
    ...(text === '' ? {} : { description: text }),
    ...(required.length === 0 ? {} : { required }),
    properties,
  };
}

function readRelationSchema(relation: Relation, names: SchemaNames): JsonObject {
  const { name, title, description, target, toMany, required, shown } = relation;
  const related = ref('schemas', names.related(relation));
  const asked = shown ? '' : `\n\nShown only if \`include\` or \`fields\` names it: \`include=${name}\`.`;
  const text = { title, description: (description === '' ? target.name : description) + asked };
  if (toMany) return arrayOf(related, { ...text, maxItems: MAX_SHOWN_ROWS });
  return required ? { ...related, ...text } : { anyOf: [related, { type: 'null' }], ...text };
}

/** By name, including related records. They refer to each other at any depth. */
export function inputSchemas(type: RecordType, names: SchemaNames, isDefault = false): JsonObject {
  const writing = writingOf(names);
  const nested = [...type.relations.values()].map((relation) => {
    const schema = nestedSchema(relation, inputSchema(relation.target, relation.fields, writing), writing);
    return [names.nestedInput(relation), schema] as const;
  });
  return { ...Object.fromEntries(nested), [names.input(type)]: inputSchema(type, fieldsFor(type, isDefault), writing) };
}

/**
 * A related record in a body. Left out is what a client has no reason to send there: the relation that leads back, and of a
 * link whatever is not the identifier. GET may show it, and what GET shows can be sent back: so these names are allowed.
 */
function nestedSchema(relation: Relation, input: JsonObject, writing: BodyWriting): JsonObject {
  const { target, nested, inverse } = relation;
  const { additionalProperties, properties, description, ...others } = input;
  const known = Object.entries(isObject(properties) ? properties : {});
  const allowed = [...new Set([target.identifier.name, ...known.map(([name]) => name)])];
  const open = additionalProperties === true ? { additionalProperties } : { propertyNames: { enum: allowed } };
  if (nested === 'link') {
    const link = `A link to a ${target.name}, by its identifier. Other keys can stay as GET showed them, and cannot change.`;
    return relatedSchema(relation, { type: 'object', description: link, ...open }, writing);
  }
  if (inverse === undefined) return relatedSchema(relation, input, writing);
  const left = known.filter(([name]) => name !== inverse.name);
  const back = `${String(description)}\n\nThe relation back, \`${inverse.name}\`, is not needed; it can stay as GET showed it.`;
  const schema = { ...others, description: back, properties: Object.fromEntries(left), ...open };
  return relatedSchema(relation, schema, writing);
}

/** The fields of all variants: their descriptions name the variants that lack them. */
const fieldsFor = ({ fields, defaultVariant }: RecordType, isDefault: boolean): readonly Field[] =>
  isDefault ? defaultVariant.fields : [...fields.values()];

const inputSchema = (type: RecordType, fields: readonly Field[], writing: BodyWriting): JsonObject => ({
  type: 'object',
  description: `A change of a ${type.name}. Keys that are left out stay as they are.${rulesOf(type)}`,
  ...changeSchema(type, fields, writing),
  ...checksOf(type),
});

/** Rules that a JSON Schema cannot express, for people. */
const rulesOf = ({ checks }: RecordType): string =>
  checks.length === 0
    ? ''
    : `\n\nThe record must also meet these checks:\n\n${checks.map(({ message }) => `- ${message}`).join('\n')}`;

/** The same for programs, as the descriptor has them. */
const checksOf = ({ checks }: RecordType): JsonObject =>
  checks.length === 0
    ? {}
    : { 'x-checks': checks.map((check) => ({ ...ruleOf(check), message: check.message, at: check.at.name })) };

/** An item of an array that changes records: it names its record, and may have its tag. */
export function itemSchema(type: RecordType, names: SchemaNames, isDefault = false): JsonObject {
  const { name } = type.identifier;
  const { properties, ...schema } = inputSchema(type, fieldsFor(type, isDefault), writingOf(names));
  const isTagRequired = type.preconditions === 'required' && !isDefault;
  const required = [name, ...(isTagRequired ? [ITEM_TAG] : [])];
  return {
    ...schema,
    properties: {
      ...(isObject(properties) ? properties : {}),
      [name]: identifierSchema(type),
      ...(isDefault ? {} : { [ITEM_TAG]: ref('schemas', 'ItemTag') }),
    },
    required,
  };
}

/** A body that creates a record, with defaults. */
export const newSchema = (type: RecordType, names: SchemaNames, isDefault = false): JsonObject => ({
  ...(type.checks.length === 0 ? {} : { description: rulesOf(type).trimStart() }),
  ...creationSchema(type, fieldsFor(type, isDefault), {
    ...writingOf(names),
    identifier: chosenIdentifier,
    field: (field) => ({
      ...fieldValueSchema(field, type),
      ...(field.default === undefined ? {} : { default: field.default }),
    }),
  }),
  ...checksOf(type),
});

const writingOf = (names: SchemaNames): BodyWriting => ({
  refused: { not: {} },
  identifier: identifierSchema,
  field: fieldValueSchema,
  related: (relation) => ref('schemas', names.nestedInput(relation)),
  about: (relation) => ({
    title: relation.title,
    description: `${relation.description || relation.target.name}. ${usage(relation)}`.replace('..', '.'),
  }),
  orNull: (schema) => ({ anyOf: [schema, { type: 'null' }] }),
  linkedOr: (type, keys) => {
    const { name } = type.identifier;
    // Linters look for what is required among the properties that stand beside it.
    const created = { required: keys, properties: Object.fromEntries(keys.map((key) => [key, {}])) };
    return { anyOf: [{ required: [name], properties: { [name]: identifierSchema(type) } }, created] };
  },
});

function usage({ target, toMany, nested, owned, required, link: at }: Relation): string {
  const link = `{"${target.identifier.name}": 1} links a record`;
  const created = nested === 'write' ? ', an object without an identifier creates one' : '';
  const tree = at.at !== 'join' && at.reference.acyclic ? ' No record can be above itself.' : '';
  if (toMany)
    return `The whole new set: ${link}${created}; records left out are ${owned ? 'deleted' : 'unlinked'}.${tree}`;
  return `${link}${created}${required ? '' : ', null removes the link'}.${tree}`;
}

// The JSON Schemas of fields and identifiers, with everything that the descriptors declare. They stand in each record and
// body: what closed objects share can only be named property by property, and generators would make a type of each.

const ANYTHING = { type: ['boolean', 'object', 'array', 'number', 'string'], items: {} };

/** A value of the field, in requests and responses. */
export function fieldValueSchema(field: Field, type: RecordType): JsonObject {
  const { title, readOnly, generated, sensitive, caseless, multiline, examples } = field;
  return {
    title,
    ...valueSchema(field, describedValue),
    ...valueTitles(field),
    description: fieldDescription(field, type),
    ...(readOnly || generated !== undefined ? { readOnly: true } : {}),
    ...(generated === undefined ? {} : { 'x-generated': generated }),
    ...(caseless ? { 'x-caseless': true } : {}),
    ...(multiline ? { 'x-multiline': true } : {}),
    ...(sensitive ? { 'x-sensitive': true } : {}),
    ...(examples.length === 0 ? {} : { examples }),
  };
}

/** In the order of the values, as generators of clients know it; null, which may follow them, has none. */
const valueTitles = (field: Field): JsonObject =>
  [...field.valueTitles].some(([value, title]) => value !== title)
    ? { 'x-enum-descriptions': [...field.valueTitles.values()] }
    : {};

/** Up to 2^53. */
const LONG = { format: 'int64' };

const describedValue = (schema: JsonObject, { nullable, description, examples }: ItemShape): JsonObject => ({
  ...(nullable || schema['type'] !== undefined ? {} : ANYTHING),
  ...schema,
  ...([schema['type']].flat().includes('integer') && schema['format'] === undefined ? LONG : {}),
  ...(description === '' ? {} : { description }),
  ...(examples.length === 0 ? {} : { examples }),
});

function fieldDescription(field: Field, type: RecordType): string {
  const { description, name, unique, readOnly, generated, isNowByDefault, sensitive, caseless } = field;
  const expected = field.type.expected(field);
  const lacking = [...type.variants.values()].filter(({ fields }) => !fields.some((one) => one.name === name));
  const sentences = [
    description === '' ? `${capitalized(name)}: ${expected}` : description,
    ...(unique ? [caseless ? 'Unique, whatever its case' : 'Unique'] : []),
    ...(caseless ? ['Filters and order ignore case'] : []),
    ...(readOnly ? ['Read-only: a body may repeat the value, but not change it'] : []),
    ...(generated === undefined
      ? []
      : [`Generated: ${generatedMeanings[generated]}. A body may hold any such value, which is ignored`]),
    ...(isNowByDefault ? ['Default: the time of the request, in UTC'] : []),
    ...(field.type.keepsText ? ['Stored as the JSON text that was sent, without white space between tokens'] : []),
    ...(sensitive ? ['Sensitive: never logged'] : []),
    ...(lacking.length === 0 ? [] : [`Not in variant ${lacking.map((variant) => variant.name).join(', ')}`]),
  ];
  return `${sentences.join('. ')}.`.replace(/\.\.$/, '.');
}

/** The identifier of an existing record. */
const identifierSchema = ({ identifier }: RecordType): JsonObject => ({
  title: identifier.title,
  type: 'integer',
  ...LONG,
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: identifier.description,
  examples: [1],
});

/** In bodies that create a record. */
const chosenIdentifier = (type: RecordType, maximum: number): JsonObject => ({
  ...identifierSchema(type),
  maximum,
  description: `${type.identifier.description}. Usually left out; an unused one may be chosen`,
});
