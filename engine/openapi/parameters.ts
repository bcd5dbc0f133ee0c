/** The parameters of operations in the OpenAPI document. */
import { type FieldType, MAX_IN_VALUES, type OperatorName } from '../field-types/field-type.ts';
import { type JsonObject, type JsonValue, withoutUndefined } from '../json/json.ts';
import { sampleOf } from '../model/identifier.ts';
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation } from '../model/model.ts';
import { namedUniques } from '../model/rights.ts';
import { capitalized, snakeCase } from '../names.ts';
import { isUpsertable, type OperationEntry, type QueryKind } from '../operations/table.ts';
import { countOperators, operators } from '../query/operators.ts';
import { MAX_ORDER_TERMS } from '../query/paging.ts';
import { arrayOf, type Components, described, identifierValue, integers } from './components.ts';
import { fieldValueSchema } from './schemas.ts';
import { type ParameterName, parameterRef } from './shared.ts';

type Parameter = JsonObject & { readonly name: string };

const query = (name: string, description: string, more: JsonObject): Parameter => ({
  name,
  in: 'query',
  description,
  ...more,
});

const array = (name: string, description: string, schema: JsonObject, example: JsonValue): Parameter =>
  query(name, description, { style: 'form', explode: true, schema: { type: 'array', ...schema }, example });

const limitOf = ({ maxLimit }: RecordType): Parameter =>
  array(
    '_cnd[limit]',
    `Two items: the offset of the first record, then the maximum number of records, up to ${maxLimit}. Without it, the whole list is returned.`,
    // Swagger UI reports an error if items have a format.
    { items: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, minItems: 2, maxItems: 2 },
    [0, Math.min(10, maxLimit)],
  );

const ORDER = '_cnd[orderBy]';
const ORDER_ITEMS: JsonObject = { items: { type: 'string' }, minItems: 1, maxItems: 2 * MAX_ORDER_TERMS };

/** The first example is empty, because Swagger UI fills its form with it. */
const conditions = (name: string, description: string, schema: JsonObject): Parameter =>
  query(`_cnd[${name}]`, description, {
    style: 'deepObject',
    explode: true,
    schema,
    examples: { none: { summary: 'No condition', value: {} } },
  });

const itemsSchema = (description: string): JsonObject =>
  described(description, { type: 'object', additionalProperties: { type: 'object', additionalProperties: true } });

/** The simple profile leaves out parameters that ask for other forms of the response, or for none. */
const LEFT_OUT = /^(Condition-|dryRun|If-None-Match|X-|Prefer-(Count|Return))/;

const GROUPS = ['Condition-Any', 'Condition-All', 'Condition-None'] as const;

const SHARED_BY_QUERY: Readonly<Record<QueryKind, readonly ParameterName[]>> = {
  list: [...GROUPS, 'after', 'before'],
  summary: ['Groups-By', 'Measures', 'Groups-Zone', 'Groups-Limit', 'Groups-OrderBy', ...GROUPS],
  log: ['Log-Limit', 'Log-After'],
  view: [],
  write: ['dryRun'],
  upsert: ['dryRun'],
  remove: [...GROUPS, 'dryRun'],
};

export function parametersOf(entry: OperationEntry, type: RecordType, parts: Components): readonly JsonObject[] {
  const isUpsert = entry.query === 'upsert';
  const takesUnique = isUpsert || (entry.right === 'create' && isUpsertable(type));
  const isFiltered = entry.query === 'list' || entry.query === 'summary' || entry.query === 'remove';
  const isShown = entry.query !== 'summary' && entry.query !== 'remove' && entry.query !== 'log';
  const several = [
    ...(isFiltered ? filters(type, parts) : []),
    ...(isShown ? view(type, parts) : []),
    ...(entry.query === 'log' ? [] : variant(type, parts)),
  ];
  const isTagRequired = entry.path === 'item' && type.preconditions === 'required';
  const headers = entry.headers.map((name) => (name === 'If-Match' && isTagRequired ? 'If-Match-Required' : name));
  const shared: readonly ParameterName[] = [...SHARED_BY_QUERY[entry.query], ...headers, 'X-Request-Id'];
  return [
    ...(takesUnique ? [uniqueParameter(type, isUpsert)] : []),
    ...(entry.query === 'list' ? [limitOf(type), orderBy(type)] : []),
    ...several.map((parameter) => {
      const wanted = `${type.name}_${parameter.name}`.replace(/__cnd\[(.*)\]$/, 'Filter_$1');
      return parts.use('parameters', `${type.name} ${parameter.name}`, wanted, () => parameter);
    }),
    ...sharedParameters(shared, parts),
  ];
}

export const sharedParameters = (names: readonly ParameterName[], parts: Components): readonly JsonObject[] =>
  names.filter((name) => !parts.isSimple || !LEFT_OUT.test(name)).map((name) => parameterRef(name, parts));

export const identifierParameter = (type: RecordType): JsonObject => ({
  name: 'id',
  in: 'path',
  required: true,
  description: `The identifier of the ${snakeCase(type.name).replaceAll('_', ' ')}.`,
  schema: identifierValue(type),
  example: sampleOf(type.identifier),
});

function uniqueParameter(type: RecordType, required: boolean): Parameter {
  const { name: identifier, inRecord } = type.identifier;
  const all = [
    ...namedUniques(type).map(({ members }) => members.map(({ name }) => name).join(',')),
    ...(inRecord && !required ? [identifier] : []),
  ];
  const description = required
    ? 'The unique values by which the record is found: their keys, which must be in the body.'
    : 'Unique values, or the identifier, by which records are found: those that are there already are changed, the others created. The keys of the unique values must be in each record.';
  const schema = { type: 'string', enum: all };
  return query('on', description, { schema, ...(required ? { required, example: all[0] ?? '' } : {}) });
}

function view(type: RecordType, parts: Components): readonly Parameter[] {
  if (parts.isSimple) return [];
  const names = { allowEmptyValue: true, schema: { type: 'string' } };
  const relations = [...type.relations.values()];
  const asked = relations.filter(({ shown }) => !shown).map(({ name }) => `\`${name}\``);
  const first = relations.slice(0, 2).map(({ name }) => name);
  const fields = [type.identifier.name, ...type.fields.keys()].slice(0, 2);
  const include = query(
    'include',
    `The relations to show, instead of all on the first level${asked.length > 0 ? ` except ${asked.join(', ')}` : ''}: \`include=${first.join()}\`. ` +
      `Dots lead to relations of related records, up to ${MAX_INCLUDE_DEPTH} levels; an empty value shows none.`,
    names,
  );
  return [
    ...(relations.length === 0 ? [] : [include]),
    query('fields', `The fields to show, in addition to the identifier: \`fields=${fields.join()}\`.`, names),
  ];
}

function variant({ variants, defaultVariant }: RecordType, { isSimple }: Components): readonly Parameter[] {
  if (variants.size === 1 || isSimple) return [];
  const schema = { type: 'string', enum: [...variants.keys()], default: defaultVariant.name };
  return [query('variant', 'The set of fields to show, accept and filter by.', { schema })];
}

const comparable = ({ fields }: RecordType): readonly Field[] =>
  [...fields.values()].filter(({ type }) => type.operators.length > 0);

function orderBy(type: RecordType): Parameter {
  const sortable = [type.identifier.name, ...comparable(type).map(({ name }) => name)];
  const description =
    'The order: fields, each optionally followed by asc or desc. ' +
    `Fields are ${sortable.join(', ')}, and those of relations to one record, such as \`zone.name\`. ` +
    'Records without a value come first in ascending order and last in descending order; the identifier breaks ties.';
  return array(ORDER, description, ORDER_ITEMS, [type.identifier.name, 'desc']);
}

function filters(type: RecordType, parts: Components): readonly Parameter[] {
  const { identifier, relations } = type;
  const byIdentifier = (name: string, description: string, { identifier: { type: of, ...shape } }: RecordType) =>
    filter(name, description, of, of.schema(shape), parts);
  return [
    byIdentifier(identifier.name, identifier.description, type),
    ...comparable(type).map((field) => {
      const { description, ...schema } = fieldValueSchema({ ...field, nullable: false }, type);
      return filter(field.name, String(description), field.type, schema, parts);
    }),
    ...[...relations.values()].flatMap((relation) => {
      const { name, target, description, toMany } = relation;
      if (!toMany) return byIdentifier(name, `${description || target.name}, by its identifier.`, target);
      return parts.isSimple ? [] : setFilter(relation, parts);
    }),
  ];
}

/** Filters of one kind share a schema. The simple profile can only filter by equality. */
function filter(
  name: string,
  description: string,
  { name: typeName, operators: known }: FieldType,
  { type = 'string', format, enum: values }: JsonObject,
  parts: Components,
): Parameter {
  const plain = type === 'integer' ? integers(Number.MIN_SAFE_INTEGER) : withoutUndefined({ type, format });
  const value = withoutUndefined({ ...plain, enum: values });
  const text = `Filter by ${name}. ${description}`;
  if (parts.isSimple) return query(`_cnd[${name}]`, text, { schema: value });
  const short = `\n\n\`_cnd[${name}]=value\` is short for \`_cnd[${name}][eq]=value\`.`;
  const schema = operands(known, value);
  if ('enum' in value) return conditions(name, text + short, schema);
  const kind = (typeof format === 'string' ? format.split('-') : [typeName]).map(capitalized).join('');
  const shared = parts.use('schemas', `filter ${JSON.stringify(schema)}`, `${kind}Filter`, () => schema);
  return conditions(name, text + short, shared);
}

const setFilter = ({ name, target }: Relation, parts: Components): Parameter =>
  conditions(
    name,
    `Filter by the records of the set ${name} (${target.name}), for example \`_cnd[${name}][$count][gte]=1\`.`,
    parts.use('schemas', 'filter of sets', 'SetFilter', () => ({
      type: 'object',
      properties: {
        $some: itemsSchema('The filters of each item match at least one and the same record.'),
        $none: itemsSchema('The filters of each item match no record.'),
        $every: itemsSchema('The filters of each item match every record.'),
        $count: operands(countOperators, integers(Number.MIN_SAFE_INTEGER)),
      },
      additionalProperties: false,
    })),
  );

const operands = (known: readonly OperatorName[], value: JsonObject): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(
    known.map((operator) => {
      const { operand, description } = operators[operator];
      const schema = { value, values: arrayOf(value, { maxItems: MAX_IN_VALUES }), flag: { type: 'boolean' } }[operand];
      return [operator, { ...schema, description }];
    }),
  ),
  additionalProperties: false,
});
