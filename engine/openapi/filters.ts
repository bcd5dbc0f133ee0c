/** The filters of lists as parameters: one for each value that a list can be filtered by, and the groups. */
import { MAX_IN_VALUES, type OperatorName } from '../field-types/field-type.ts';
import { integer } from '../field-types/integer.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { operators } from '../query/operators.ts';
import { fieldValueSchema } from './schemas.ts';

/** The keys of items are their indices; what they hold has no end, so that it cannot be listed. */
const itemsSchema = (description: string): JsonObject => ({
  type: 'object',
  description,
  additionalProperties: { type: 'object', additionalProperties: true },
});

const conditions = (name: string, description: string, properties: JsonObject, example: string): JsonObject => ({
  name: `_cnd[${name}]`,
  in: 'query',
  description: `${description}, for example \`${example}\`.`,
  style: 'deepObject',
  explode: true,
  schema: properties,
  examples: { none: { summary: 'No condition', value: {} } },
});

export function groupFilter(word: string, found: string): JsonObject {
  const description = `Finds what ${found} matches; an item has the filters of a list, under its index`;
  return conditions(word, description, itemsSchema(description), `_cnd[${word}][0][field]=value`);
}

/** Fields of all variants: their descriptions name the variants that lack them. */
export const comparable = ({ fields }: RecordType): readonly Field[] =>
  [...fields.values()].filter((field) => field.type.operators.length > 0);

export function filtersOf(type: RecordType): readonly JsonObject[] {
  const relations = [...type.relations.values()];
  return [
    filter(type.identifier.name, type.identifier.description, INTEGER, integer.operators, 1),
    ...comparable(type).map((field) => fieldFilter(field, type)),
    ...relations.map((relation) => (relation.toMany ? setFilter(relation) : relationFilter(relation))),
  ];
}

function setFilter({ name, target }: Relation): JsonObject {
  const property = (word: string, matched: string): readonly [string, JsonObject] => [
    word,
    itemsSchema(`The filters of each item match ${matched}.`),
  ];
  const properties = Object.fromEntries([
    property('$some', 'at least one and the same record'),
    property('$none', 'no record'),
    property('$every', 'every record'),
    ['$count', operands(integer.operators, INTEGER)],
  ]);
  const schema = { type: 'object', properties, additionalProperties: false };
  const description = `Filter by the records of the set ${name} (${target.name})`;
  return conditions(name, description, schema, `_cnd[${name}][$count][gte]=1`);
}

const INTEGER: JsonObject = { type: 'integer', format: 'int64' };

const operands = (known: readonly OperatorName[], value: JsonObject): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(known.map((operator) => [operator, operand(operator, value)])),
  additionalProperties: false,
});

function fieldFilter(field: Field, type: RecordType): JsonObject {
  const {
    description = '',
    type: jsonType = 'string',
    format,
    enum: values,
  } = fieldValueSchema({ ...field, nullable: false }, type);
  const schema = {
    type: jsonType,
    ...(format === undefined ? {} : { format }),
    ...(values === undefined ? {} : { enum: values }),
  };
  const sample = field.examples[0] ?? field.default ?? field.type.good(field, 1);
  return filter(field.name, String(description), schema, field.type.operators, sample);
}

function relationFilter({ name, target, description }: Relation): JsonObject {
  const text = `${description || target.name}, by its identifier`;
  return filter(name, `${text}.`, INTEGER, integer.operators, 1);
}

/** A filter with any of its operators. The first example has no condition, so that forms start without one. */
function filter(
  name: string,
  description: string,
  value: JsonObject,
  known: readonly OperatorName[],
  sample: JsonValue,
): JsonObject {
  return {
    name: `_cnd[${name}]`,
    in: 'query',
    description: `Filter by ${name}. ${description}\n\n\`_cnd[${name}]=value\` is short for \`_cnd[${name}][eq]=value\`.`,
    style: 'deepObject',
    explode: true,
    schema: operands(known, value),
    examples: {
      none: { summary: 'No condition', value: {} },
      equal: { summary: 'Equal to a value', value: { eq: sample } },
    },
  };
}

const WANTED: Readonly<Record<(typeof operators)[OperatorName]['wants'], (value: JsonObject) => JsonObject>> = {
  value: (value) => value,
  values: (value) => ({ type: 'array', items: value, maxItems: MAX_IN_VALUES }),
  flag: () => ({ type: 'boolean' }),
};

const operand = (operator: OperatorName, value: JsonObject): JsonObject => {
  const { wants, description } = operators[operator];
  return { ...WANTED[wants](value), description };
};
