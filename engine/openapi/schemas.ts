/** OpenAPI schemas of records in responses and bodies. */
import { byName, isObject, type JsonObject, withoutUndefined } from '../json/json.ts';
import { generatedMeanings } from '../descriptor/descriptor.ts';
import type { ItemShape } from '../field-types/field-type.ts';
import {
  type BodyWriting,
  changeSchema,
  creationSchema,
  relatedDemand,
  relatedSchema,
  sentFields,
  valueSchema,
} from '../model/bodies.ts';
import { sampleOf } from '../model/identifier.ts';
import { type Field, ITEM_TAG, MAX_SHOWN_ROWS, type RecordType, type Relation } from '../model/model.ts';
import { capitalized } from '../names.ts';
import { arrayOf, type Components, described, identifierValue } from './components.ts';

const hasAllFields = ({ fields, target }: Relation): boolean => fields.length === target.fields.size;

/** `BookShelfOwner`: the relation `owner` of a BookShelf. */
const longName = ({ source, name }: Relation): string => source.name + name.split('_').map(capitalized).join('');

/** The fields of all variants: their descriptions name the variants that lack them. */
const fieldsOf = ({ fields, defaultVariant }: RecordType, { isSimple }: Components): readonly Field[] =>
  isSimple ? defaultVariant.fields : [...fields.values()];

const inputsOf = (type: RecordType, parts: Components): readonly Field[] => sentFields(type, fieldsOf(type, parts));

export const recordRef = (type: RecordType, parts: Components): JsonObject =>
  parts.use('schemas', `record ${type.name}`, type.name, () => {
    const relations = [...type.relations.values()].filter(({ shown }) => shown || !parts.isSimple);
    const shown = byName(relations, (relation) => shownRelation(relation, parts));
    const fields = fieldsOf(type, parts);
    return {
      title: type.title.one,
      ...extensionsOf(type),
      ...recordSchema(type, fields, shown, type.description, parts),
    };
  });

/** In the full profile, `fields`, `include` and `variant` can leave out every key but the identifier. */
function recordSchema(
  type: RecordType,
  fields: readonly Field[],
  relations: JsonObject,
  description: string,
  { isSimple }: Components,
): JsonObject {
  const { identifier } = type;
  const always = identifier.inRecord ? { [identifier.name]: identifierSchema(type) } : {};
  const values = byName(fields, (field) => fieldValueSchema(field, type));
  const properties = { ...always, ...values, ...relations };
  const required = Object.keys(isSimple ? properties : always);
  return {
    type: 'object',
    ...(description === '' ? {} : { description }),
    ...(required.length === 0 ? {} : { required }),
    properties,
  };
}

function shownRelation(relation: Relation, parts: Components): JsonObject {
  const { name, title, description, target, fields, toMany, required, shown } = relation;
  const [thing, wanted] = hasAllFields(relation)
    ? [target.name, target.name]
    : [`${relation.source.name}.${name}`, longName(relation)];
  const related = parts.use('schemas', `related ${thing}`, `Related${wanted}`, () => {
    const text = `${target.description || target.name}\n\nAs shown inside other records.`;
    return recordSchema(target, fields, {}, text, parts);
  });
  const asked = shown ? '' : `\n\nShown only if \`include\` or \`fields\` names it: \`include=${name}\`.`;
  const about = { title, description: (description || target.name) + asked };
  if (toMany) return arrayOf(related, { ...about, maxItems: MAX_SHOWN_ROWS });
  return required ? { ...related, ...about } : { anyOf: [related, { type: 'null' }], ...about };
}

export const changeRef = (type: RecordType, parts: Components): JsonObject =>
  parts.use('schemas', `input ${type.name}`, `${type.name}Input`, () =>
    inputSchema(type, inputsOf(type, parts), writingOf(parts)),
  );

export const creationRef = (type: RecordType, parts: Components): JsonObject =>
  parts.use('schemas', `creation ${type.name}`, `New${type.name}`, () => ({
    ...(type.checks.length === 0 ? {} : { description: rulesOf(type).trimStart() }),
    ...creationSchema(type, inputsOf(type, parts), {
      ...writingOf(parts),
      identifier: chosenIdentifier,
      field: (field) => ({
        ...fieldValueSchema(field, type),
        ...(field.default === undefined ? {} : { default: field.default }),
      }),
    }),
  }));

export const itemRef = (type: RecordType, parts: Components): JsonObject =>
  parts.use('schemas', `item ${type.name}`, `Changed${type.name}`, () => {
    const { name } = type.identifier;
    const { properties, ...schema } = inputSchema(type, inputsOf(type, parts), writingOf(parts));
    return {
      ...schema,
      properties: {
        ...(isObject(properties) ? properties : {}),
        [name]: identifierSchema(type),
        ...(parts.isSimple ? {} : { [ITEM_TAG]: TAG }),
      },
      required: [name, ...(type.preconditions === 'required' && !parts.isSimple ? [ITEM_TAG] : [])],
    };
  });

const TAG = described(
  'The entity tag that GET of the record returned. If it has changed since, nothing is written: 412. * stands for any.',
  { type: 'string', pattern: '^(\\*|"[^"]*")$' },
);

const inputSchema = (type: RecordType, fields: readonly Field[], writing: BodyWriting): JsonObject => ({
  type: 'object',
  description: `A change of a record of ${type.name}. Keys that are left out stay as they are.${rulesOf(type)}`,
  ...changeSchema(type, fields, writing),
});

const rulesOf = ({ checks }: RecordType): string =>
  checks.length === 0
    ? ''
    : `\n\nThe record must also meet these checks:\n\n${checks.map(({ message }) => `- ${message}`).join('\n')}`;

function nestedRef(relation: Relation, parts: Components): JsonObject {
  const { source, target, name, inverse } = relation;
  const demand = relatedDemand(relation);
  if (demand === 'nothing' && hasAllFields(relation) && inverse === undefined) return changeRef(target, parts);
  const [thing, wanted] =
    demand !== 'link'
      ? [`input ${source.name}.${name}`, `${longName(relation)}Input`]
      : hasAllFields(relation)
        ? [`link ${target.name}`, `Linked${target.name}`]
        : [`link ${source.name}.${name}`, `Linked${longName(relation)}`];
  return parts.use('schemas', thing, wanted, () => nestedSchema(relation, parts));
}

/** Bodies accept what GET shows; this lists only what clients have reason to send. */
function nestedSchema(relation: Relation, parts: Components): JsonObject {
  const { target, fields, nested, inverse } = relation;
  const writing = {
    ...writingOf(parts),
    related: (one: Relation) => (one === inverse || nested === 'link' ? {} : nestedRef(one, parts)),
  };
  const input = inputSchema(target, sentFields(target, fields), writing);
  const { additionalProperties, properties, description, ...others } = input;
  const known = Object.entries(isObject(properties) ? properties : {});
  const allowed = [...new Set([target.identifier.name, ...known.map(([name]) => name)])];
  const open = additionalProperties === true ? { additionalProperties } : { propertyNames: { enum: allowed } };
  if (nested === 'link') {
    const link = `A link to a record of ${target.name}, by its identifier. Other keys can stay as GET showed them, and cannot change.`;
    return relatedSchema(relation, { type: 'object', description: link, ...open }, writing);
  }
  if (inverse === undefined) return relatedSchema(relation, input, writing);
  const listed = known.filter(([name]) => name !== inverse.name);
  const back = `${String(description)}\n\nThe relation back, \`${inverse.name}\`, is not needed; it can stay as GET showed it.`;
  const schema = { ...others, description: back, properties: Object.fromEntries(listed), ...open };
  return relatedSchema(relation, schema, writing);
}

const writingOf = (parts: Components): BodyWriting => ({
  refused: { not: {} },
  identifier: identifierSchema,
  field: fieldValueSchema,
  related: (relation) => nestedRef(relation, parts),
  about: (relation) => ({
    title: relation.title,
    description: `${relation.description || relation.target.name}. ${usage(relation)}`.replace('..', '.'),
    ...(relation.readOnly ? { readOnly: true } : {}),
  }),
  orNull: (schema) => ({ anyOf: [schema, { type: 'null' }] }),
  linkedBy: ({ target: { identifier } }, keys) => {
    const all = [{ members: [identifier] }, ...keys].map(({ members }) => ({
      required: members.map((one) => one.name),
    }));
    return keys.length === 0 ? { required: [identifier.name] } : { anyOf: all };
  },
  linkedOr: (type, keys) => {
    const { name } = type.identifier;
    // Linters look for required keys in the `properties` beside them.
    const created = { required: keys, properties: Object.fromEntries(keys.map((key) => [key, {}])) };
    return { anyOf: [{ required: [name], properties: { [name]: identifierSchema(type) } }, created] };
  },
});

function usage({ target, toMany, nested, owned, required, readOnly, link: at }: Relation): string {
  if (readOnly) return 'Read-only: leave it out.';
  const link = `{"${target.identifier.name}": ${JSON.stringify(sampleOf(target.identifier))}} links a record`;
  const created = nested === 'write' ? ', an object without an identifier creates one' : '';
  const tree = at.at !== 'join' && at.reference.acyclic ? ' No record can be above itself.' : '';
  if (toMany)
    return `The whole new set: ${link}${created}; records left out are ${owned ? 'deleted' : 'unlinked'}.${tree}`;
  return `${link}${created}${required ? '' : ', null removes the link'}.${tree}`;
}

const ANYTHING = { type: ['boolean', 'object', 'array', 'number', 'string'], items: {} };

/** The full schema of a field, not a component: generators create a type for each component. */
export function fieldValueSchema(field: Field, type: RecordType): JsonObject {
  const { title, readOnly, generated, sensitive, caseless, multiline, shows, valueTitles } = field;
  const hasTitles = [...valueTitles].some(([value, one]) => value !== one);
  return withoutUndefined({
    title,
    ...valueSchema(field, describedValue),
    'x-enum-descriptions': hasTitles ? [...valueTitles.values()] : undefined,
    description: fieldDescription(field, type),
    readOnly: readOnly || generated !== undefined || undefined,
    'x-generated': generated,
    'x-caseless': caseless || undefined,
    'x-multiline': multiline || undefined,
    'x-shows': typeof shows === 'object' ? { ...shows } : shows,
    'x-sensitive': sensitive || undefined,
  });
}

/** How people see the type first. */
function extensionsOf({ presents: { label, section, columns, order } }: RecordType): JsonObject {
  const list = columns || order ? withoutUndefined({ columns, order }) : undefined;
  return withoutUndefined({ 'x-label': label, 'x-section': section, 'x-list': list });
}

const describedValue = (schema: JsonObject, { nullable, description, examples }: ItemShape): JsonObject => ({
  ...(nullable || schema['type'] !== undefined ? {} : ANYTHING),
  ...schema,
  // Generators default to 32-bit integers.
  ...([schema['type']].flat().includes('integer') && schema['format'] === undefined ? { format: 'int64' } : {}),
  ...(description === '' ? {} : { description }),
  ...(examples.length === 0 ? {} : { examples }),
});

function fieldDescription(field: Field, type: RecordType): string {
  const { description, name, unique, readOnly, generated, isNowByDefault, sensitive, caseless } = field;
  // A field that a role may only send is in none.
  const variants = type.fields.has(name) ? [...type.variants.values()] : [];
  const lacking = variants.filter(({ fields }) => !fields.some((one) => one.name === name));
  const sentences = [
    description === '' ? `${capitalized(name)}: ${field.type.expected(field)}` : description,
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

function identifierSchema(type: RecordType, maximum = Number.MAX_SAFE_INTEGER): JsonObject {
  const { title, description } = type.identifier;
  return { title, ...identifierValue(type, maximum), description, examples: [sampleOf(type.identifier)] };
}

function chosenIdentifier(type: RecordType, maximum: number): JsonObject {
  const { by, description } = type.identifier;
  const choice = by === 'client' ? 'An unused one must be chosen' : 'Usually left out; an unused one may be chosen';
  return { ...identifierSchema(type, maximum), description: `${description}. ${choice}` };
}
