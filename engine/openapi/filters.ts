/**
 * The filters of lists as parameters: one for each value that a list can be filtered by, and the groups. What filters of one
 * kind of value take is one schema.
 */
import { MAX_IN_VALUES, type OperatorName } from '../field-types/field-type.ts';
import { integer } from '../field-types/integer.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { capitalized } from '../names.ts';
import { countOperators, operators } from '../query/operators.ts';
import { integers, ref, type SchemaNames } from './names.ts';
import { fieldValueSchema } from './schemas.ts';

const WANTED: Readonly<Record<(typeof operators)[OperatorName]['wants'], (value: JsonObject) => JsonObject>> = {
  value: (value) => value,
  values: (value) => ({ type: 'array', items: value, maxItems: MAX_IN_VALUES }),
  flag: () => ({ type: 'boolean' }),
};

const operand = (operator: OperatorName, value: JsonObject): JsonObject => {
  const { wants, description } = operators[operator];
  return { ...WANTED[wants](value), description };
};

const operands = (known: readonly OperatorName[], value: JsonObject): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(known.map((operator) => [operator, operand(operator, value)])),
  additionalProperties: false,
});

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

/** What a list can be filtered by. */
interface Filterable {
  readonly name: string;
  readonly description: string;
  /** The kind of value, and the operators that compare with it. */
  readonly kind: string;
  readonly schema: JsonObject;
  /** Whether it lists the values of one field. */
  readonly isOwn: boolean;
  readonly sample: JsonValue;
}

const INTEGERS = {
  kind: 'Integer',
  schema: operands(integer.operators, integers(Number.MIN_SAFE_INTEGER)),
  isOwn: false,
  sample: 1,
} as const satisfies Partial<Filterable>;

export const filtersOf = (type: RecordType, names: SchemaNames): readonly JsonObject[] => [
  filter({ ...INTEGERS, name: type.identifier.name, description: type.identifier.description }, names),
  ...comparable(type).map((field) => filter(fieldFilter(field, type), names)),
  ...[...type.relations.values()].map((relation) =>
    relation.toMany ? setFilter(relation, names) : relationFilter(relation, names),
  ),
];

/** By name: what these filters refer to. */
export function filterSchemas(type: RecordType, names: SchemaNames): JsonObject {
  const shared = comparable(type)
    .map((field) => fieldFilter(field, type))
    .filter(({ isOwn }) => !isOwn);
  const schemas = [INTEGERS, ...shared].map(({ kind, schema }) => [names.filter(kind, schema), schema] as const);
  return { ...Object.fromEntries(schemas), [names.filter(SETS, {})]: setSchema() };
}

const SETS = 'Set';

function setFilter({ name, target }: Relation, names: SchemaNames): JsonObject {
  const description = `Filter by the records of the set ${name} (${target.name})`;
  return conditions(name, description, ref('schemas', names.filter(SETS, {})), `_cnd[${name}][$count][gte]=1`);
}

function setSchema(): JsonObject {
  const property = (word: string, matched: string): readonly [string, JsonObject] => [
    word,
    itemsSchema(`The filters of each item match ${matched}.`),
  ];
  const properties = Object.fromEntries([
    property('$some', 'at least one and the same record'),
    property('$none', 'no record'),
    property('$every', 'every record'),
    ['$count', operands(countOperators, integers(Number.MIN_SAFE_INTEGER))],
  ]);
  return { type: 'object', properties, additionalProperties: false };
}

function fieldFilter(field: Field, type: RecordType): Filterable {
  const {
    description = '',
    type: jsonType = 'string',
    format,
    enum: values,
  } = fieldValueSchema({ ...field, nullable: false }, type);
  const value =
    jsonType === 'integer'
      ? integers(Number.MIN_SAFE_INTEGER)
      : { type: jsonType, ...(format === undefined ? {} : { format }) };
  const kind = (typeof format === 'string' ? format.split('-') : [field.type.name]).map(capitalized).join('');
  const sample = field.examples[0] ?? field.default ?? field.type.good(field, 1);
  return {
    name: field.name,
    description: String(description),
    kind,
    schema: operands(field.type.operators, { ...value, ...(values === undefined ? {} : { enum: values }) }),
    isOwn: values !== undefined,
    sample,
  };
}

function relationFilter({ name, target, description }: Relation, names: SchemaNames): JsonObject {
  return filter({ ...INTEGERS, name, description: `${description || target.name}, by its identifier.` }, names);
}

/** A filter with any of its operators. The first example has no condition, so that forms start without one. */
function filter({ name, description, kind, schema, isOwn, sample }: Filterable, names: SchemaNames): JsonObject {
  return {
    name: `_cnd[${name}]`,
    in: 'query',
    description: `Filter by ${name}. ${description}\n\n\`_cnd[${name}]=value\` is short for \`_cnd[${name}][eq]=value\`.`,
    style: 'deepObject',
    explode: true,
    schema: isOwn ? schema : ref('schemas', names.filter(kind, schema)),
    examples: {
      none: { summary: 'No condition', value: {} },
      equal: { summary: 'Equal to a value', value: { eq: sample } },
    },
  };
}
