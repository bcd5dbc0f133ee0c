/** The parameters of all operations. */
import type { JsonObject, JsonValue } from '../json/json.ts';
import { MAX_INCLUDE_DEPTH, type RecordType } from '../model/model.ts';
import { namedUniques } from '../model/rights.ts';
import { MAX_GROUPS, MAX_KEYS, MAX_MEASURES } from '../query/summary.ts';
import { MAX_ORDER_TERMS } from '../query/paging.ts';
import { comparable, filtersOf, groupFilter } from './filters.ts';
import { integers, oneInWords, ref, type SchemaNames } from './names.ts';

const query = (name: string, description: string, more: JsonObject): JsonObject => ({
  name,
  in: 'query',
  description,
  ...more,
});

const headerParameter = (name: string, description: string, schema: JsonObject = { type: 'string' }): JsonObject => ({
  name,
  in: 'header',
  description,
  schema,
});

const array = (name: string, description: string, schema: JsonObject, example: JsonValue): JsonObject => ({
  name,
  in: 'query',
  description,
  style: 'form',
  explode: true,
  schema: { type: 'array', ...schema },
  example,
});

function limitOf(description: string, most: number): JsonObject {
  // Swagger UI complains of items with a format.
  const items = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
  return array(LIMIT, description, { items, minItems: 2, maxItems: 2 }, [0, Math.min(10, most)]);
}

const LIMIT = '_cnd[limit]';
const ORDER = '_cnd[orderBy]';
/** Each may be followed by its direction. */
const ORDER_ITEMS: JsonObject = { items: { type: 'string' }, minItems: 1, maxItems: 2 * MAX_ORDER_TERMS };

/** The same for every type. */
export const SHARED_PARAMETERS = {
  after: query(
    'after',
    'A cursor from a `Link` header: returns the page after it. Opaque, and valid only with the same order and filters.',
    {
      schema: { type: 'string' },
    },
  ),
  before: query('before', 'A cursor from a `Link` header: returns the page before it.', { schema: { type: 'string' } }),
  'Condition-Any': groupFilter('$any', 'at least one item'),
  'Condition-All': groupFilter('$all', 'every item'),
  'Condition-None': groupFilter('$none', 'no item'),
  'Groups-By': query(
    'by',
    `What groups have in common, up to ${MAX_KEYS} names: fields, relations to one record, fields of these with a dot, \`day(field)\` and \`month(field)\` in UTC. Without it, all records are one group.`,
    { schema: { type: 'string' } },
  ),
  Measures: query(
    'measure',
    `What is said of each group, up to ${MAX_MEASURES} names: \`count\`, \`count(field)\` of the records with a value, \`sum(field)\` of integers and decimals, \`min(field)\`, \`max(field)\`. Default: \`count\`.`,
    { schema: { type: 'string' }, example: 'count' },
  ),
  'Groups-Limit': limitOf(
    `Two items: the offset of the first group, then the maximum number of groups, up to ${MAX_GROUPS}. Without it, all groups are returned.`,
    MAX_GROUPS,
  ),
  'Groups-OrderBy': array(
    ORDER,
    'The order: names in `by` and `measure`, each optionally followed by asc or desc. The names in `by` break ties.',
    ORDER_ITEMS,
    ['count', 'desc'],
  ),
  'If-None-Match': headerParameter(
    'If-None-Match',
    'An entity tag of this URL. If it is still current, the response is 304.',
  ),
  'If-None-Match-Any': headerParameter(
    'If-None-Match',
    '`*` only creates: if there is such a record, the response is 412.',
    {
      type: 'string',
      examples: ['*'],
    },
  ),
  'If-Match': headerParameter(
    'If-Match',
    'The entity tag that GET of this URL returned. If it has changed since, the response is 412.',
  ),
  'If-Match-Required': {
    ...headerParameter(
      'If-Match',
      'The entity tag that GET of this URL returned. If it has changed since, the response is 412.',
    ),
    required: true,
    example: '*',
  },
  'Idempotency-Key': headerParameter(
    'Idempotency-Key',
    'A unique key for this request, such as a UUID. A retry with the same key writes nothing, and returns the same status with the records as they are now.',
    { type: 'string', minLength: 1, maxLength: 255 },
  ),
  'X-Request-Id': headerParameter(
    'X-Request-Id',
    'An identifier for this request in the log; the response repeats it.',
    {
      type: 'string',
      maxLength: 128,
    },
  ),
  'X-Position': headerParameter(
    'X-Position',
    'The X-Position that the response to a write had: the read shows at least what was written. Services that read from replicas send it.',
    { type: 'string', examples: ['1-0/1A2B3C8', 'latest'] },
  ),
  'Prefer-Count': headerParameter(
    'Prefer',
    'How X-Total-Count is found out: `count=exact` counts, `count=estimated` may estimate where counting is expensive, and `count=none` omits it.',
    { type: 'string', examples: ['count=none', 'count=estimated', 'count=exact'] },
  ),
  dryRun: query(
    'dryRun',
    '`true` undoes the write at the end, and returns what it would have answered, and what it would have done to which records.',
    { schema: { type: 'boolean', default: false } },
  ),
  'Prefer-Max-Affected': {
    ...headerParameter(
      'Prefer',
      '`max-affected=N`: how many records may be deleted or unlinked at most. If they are more, the response is 409, and nothing is deleted. `return=minimal` beside it returns 204.',
      { type: 'string', examples: ['max-affected=10', 'max-affected=10, return=minimal'] },
    ),
    required: true,
    example: 'max-affected=1',
  },
  'Prefer-Return': headerParameter(
    'Prefer',
    '`return=minimal` leaves the record out: 201 for a create, otherwise 204.',
    {
      type: 'string',
      examples: ['return=minimal'],
    },
  ),
} as const satisfies Readonly<Record<string, JsonObject>>;

export type SharedParameter = keyof typeof SHARED_PARAMETERS;

export const identifierParameter = (type: RecordType): JsonObject => ({
  name: 'id',
  in: 'path',
  required: true,
  description: `The identifier of the ${oneInWords(type)}.`,
  schema: integers(1),
  example: 1,
});

const namesParameter = (name: string, description: string): JsonObject =>
  query(name, description, {
    allowEmptyValue: true,
    schema: { type: 'string' },
  });

export type ParametersOf = (type: RecordType, names: SchemaNames) => readonly JsonObject[];

const references =
  (parameters: ParametersOf): ParametersOf =>
  (type, names) =>
    parameters(type, names).map(({ name }) => ref('parameters', names.parameter(type, String(name))));

/** The parameters that several operations of the type refer to. */
export function typeParameters(type: RecordType, names: SchemaNames): JsonObject {
  const all = [...view(type), ...filtersOf(type, names)];
  return {
    [limitName(type)]: limit(type),
    ...Object.fromEntries(all.map((parameter) => [names.parameter(type, String(parameter['name'])), parameter])),
  };
}

function view(type: RecordType): readonly JsonObject[] {
  const relations = [...type.relations.keys()];
  const asked = [...type.relations.values()].filter(({ shown }) => !shown).map(({ name }) => `\`${name}\``);
  const fields = [type.identifier.name, ...type.fields.keys()].slice(0, 2).join(',');
  const include =
    relations.length === 0
      ? []
      : [
          namesParameter(
            'include',
            `The relations to show, instead of all on the first level${asked.length > 0 ? ` except ${asked.join(', ')}` : ''}: \`include=${relations.slice(0, 2).join(',')}\`. ` +
              `Dots lead to relations of related records, up to ${MAX_INCLUDE_DEPTH} levels; an empty value shows none.`,
          ),
        ];
  return [
    ...include,
    namesParameter('fields', `The fields to show, in addition to the identifier: \`fields=${fields}\`.`),
    ...variant(type),
  ];
}

function variant({ variants, defaultVariant }: RecordType): readonly JsonObject[] {
  if (variants.size === 1) return [];
  const schema = { type: 'string', enum: [...variants.keys()], default: defaultVariant.name };
  return [query('variant', 'The set of fields to show, accept and filter by.', { schema })];
}

/** `include`, `fields` and `variant`, which most operations take. */
export const viewParameters = references(view);

export const variantParameter = references(variant);

/** `on`, which PUT of a collection needs, and POST takes. */
export function uniqueParameter(type: RecordType, required: boolean): JsonObject {
  const all = namedUniques(type).map(({ members }) => members.map(({ name }) => name).join(','));
  const description = required
    ? 'The unique values by which the record is found: their keys, which must be in the body.'
    : 'Unique values by which records are found: those that are there already are changed, the others created. Their keys must be in each record.';
  return {
    ...query('on', description, { schema: { type: 'string', enum: all } }),
    ...(required ? { required, example: all[0] ?? '' } : {}),
  };
}

// The parameters of lists: page, order, and a filter for each value.

export const listParameters: ParametersOf = (type, names) => [
  ref('parameters', limitName(type)),
  orderBy(type),
  ...filters(type, names),
];

/** Of summaries: what groups are made by, what is said of them, and page, order and filters as of lists. */
export const summaryParameters: ParametersOf = (type, names) => [
  ...(['Groups-By', 'Measures', 'Groups-Limit', 'Groups-OrderBy'] as const).map((name) => ref('parameters', name)),
  ...filters(type, names),
  ...variantParameter(type, names),
];

/** Types with the same limit share it. */
const limitName = ({ maxLimit }: RecordType): string => `Limit-${maxLimit}`;

const limit = ({ maxLimit }: RecordType): JsonObject =>
  limitOf(
    `Two items: the offset of the first record, then the maximum number of records, up to ${maxLimit}. Without it, the whole list is returned.`,
    maxLimit,
  );

function orderBy(type: RecordType): JsonObject {
  const sortable = [type.identifier.name, ...comparable(type).map(({ name }) => name)];
  const description =
    'The order: fields, each optionally followed by asc or desc. ' +
    `Fields are ${sortable.join(', ')}, and those of relations to one record, such as \`zone.name\`. ` +
    'Records without a value come first in ascending order and last in descending order; the identifier breaks ties.';
  return array(ORDER, description, ORDER_ITEMS, [type.identifier.name, 'desc']);
}

export const filters = references(filtersOf);
