/** The parameters of lists: page, order, and one for each value that a list can be filtered by. */
import { integer } from '../field-types/integer.ts';
import type { OperatorName } from '../field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { MAX_IN_VALUES, operators } from '../query/operators.ts';
import { fieldSchema } from './value-schema.ts';

export function listParameters(type: RecordType): readonly JsonObject[] {
  return [limit(type), orderBy(type), ...filters(type)];
}

const array = (name: string, description: string, schema: JsonObject, example: JsonValue): JsonObject => ({
  name,
  in: 'query',
  description,
  style: 'form',
  explode: true,
  schema: { type: 'array', ...schema },
  example,
});

function limit({ maxLimit }: RecordType): JsonObject {
  const description = `Two items: the offset of the first record, then how many records, at most ${maxLimit}. Without it the list is whole.`;
  const items = { type: 'integer', minimum: 0 };
  return array('_cnd[limit]', description, { items, minItems: 2, maxItems: 2 }, [0, Math.min(10, maxLimit)]);
}

function orderBy(type: RecordType): JsonObject {
  const names = [type.identifier.name, ...comparable(type).map(({ name }) => name)];
  const description =
    'The order: a field, optionally followed by asc or desc; further fields in the same way. ' +
    `Fields are ${names.join(', ')}, and those behind relations to one record, such as \`zone.name\`. ` +
    'Records without a value come first ascending, last descending; the identifier breaks ties.';
  return array('_cnd[orderBy]', description, { items: { type: 'string' }, minItems: 1 }, [
    type.identifier.name,
    'desc',
  ]);
}

/** Fields of any variant: which of them a variant filters by, their descriptions say. */
const comparable = ({ fields }: RecordType): readonly Field[] =>
  [...fields.values()].filter((field) => field.type.operators.length > 0);

function filters(type: RecordType): readonly JsonObject[] {
  const toOne = [...type.relations.values()].filter(({ toMany }) => !toMany);
  return [
    filter(type.identifier.name, type.identifier.description, INTEGER, integer.operators, 1),
    ...comparable(type).map((field) => fieldFilter(field, type)),
    ...toOne.map(relationFilter),
  ];
}

const INTEGER: JsonObject = { type: 'integer' };

function fieldFilter(field: Field, type: RecordType): JsonObject {
  const {
    description = '',
    type: jsonType = 'string',
    format,
    enum: values,
  } = fieldSchema({ ...field, nullable: false }, type);
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

/** Several operators are ANDed. The first example is no condition, so that forms begin with none. */
function filter(
  name: string,
  description: string,
  value: JsonObject,
  known: readonly OperatorName[],
  sample: JsonValue,
): JsonObject {
  const properties = Object.fromEntries(known.map((operator) => [operator, operand(operator, value)]));
  return {
    name: `_cnd[${name}]`,
    in: 'query',
    description: `Filter by ${name}. ${description}\n\n\`_cnd[${name}]=value\` is short for \`_cnd[${name}][eq]=value\`.`,
    style: 'deepObject',
    explode: true,
    schema: { type: 'object', properties, additionalProperties: false },
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
