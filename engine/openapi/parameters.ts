/** The parameters of operations in the OpenAPI document. */
import { MAX_IN_VALUES, type OperatorName } from '../field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { sampleOf } from '../model/identifier.ts';
import { type Field, MAX_INCLUDE_DEPTH, type RecordType, type Relation } from '../model/model.ts';
import { namedUniques } from '../model/rights.ts';
import { capitalized, snakeCase } from '../names.ts';
import { isUpsertable, type OperationEntry, type QueryKind } from '../operations/table.ts';
import { countOperators, operators } from '../query/operators.ts';
import { MAX_ORDER_TERMS } from '../query/paging.ts';
import { LOG_LIMITS } from '../query/resolve.ts';
import { MAX_GROUPS, MAX_KEYS, MAX_MEASURES } from '../query/summary.ts';
import { arrayOf, type Components, described, identifierValue, integers } from './components.ts';
import { fieldValueSchema } from './schemas.ts';

type Parameter = JsonObject & { readonly name: string };

const query = (name: string, description: string, more: JsonObject = { schema: { type: 'string' } }): Parameter => ({
  name,
  in: 'query',
  description,
  ...more,
});

const header = (name: string, description: string, schema: JsonObject = {}, more: JsonObject = {}): Parameter => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string', ...schema },
  ...more,
});

const array = (name: string, description: string, schema: JsonObject, example: JsonValue): Parameter =>
  query(name, description, { style: 'form', explode: true, schema: { type: 'array', ...schema }, example });

const limitOf = (what: string, most: number, all: string): Parameter =>
  array(
    '_cnd[limit]',
    `Two items: the offset of the first ${what}, then the maximum number of ${what}s, up to ${most}. Without it, ${all} returned.`,
    // Swagger UI reports an error if items have a format.
    { items: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, minItems: 2, maxItems: 2 },
    [0, Math.min(10, most)],
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

function groupFilter(word: string, found: string): Parameter {
  const description = `Finds what ${found} matches; an item has the filters of a list, under its index`;
  return conditions(word, `${description}, for example \`_cnd[${word}][0][field]=value\`.`, itemsSchema(description));
}

const IF_MATCH = 'The entity tag that GET of this URL returned. If it has changed since, the response is 412.';

const SHARED = {
  after: query(
    'after',
    'A cursor from a `Link` header: returns the page after it. Opaque, and valid only with the same order and filters.',
  ),
  before: query('before', 'A cursor from a `Link` header: returns the page before it.'),
  'Condition-Any': groupFilter('$any', 'at least one item'),
  'Condition-All': groupFilter('$all', 'every item'),
  'Condition-None': groupFilter('$none', 'no item'),
  'Groups-By': query(
    'by',
    `What groups have in common, up to ${MAX_KEYS} names: fields, relations to one record, fields of these with a dot, \`day(field)\`, \`week(field)\` (ISO 8601), \`month(field)\`, \`quarter(field)\` and \`year(field)\`. Without it, all records are one group.`,
  ),
  Measures: query(
    'measure',
    `Measures of each group, up to ${MAX_MEASURES} names: \`count\`, \`count(field)\` of the records with a value, \`sum(field)\` and \`avg(field)\` of integers and decimals, \`min(field)\`, \`max(field)\`. Default: \`count\`.`,
    { schema: { type: 'string' }, example: 'count' },
  ),
  'Groups-Zone': query('zone', 'The time zone of days and other periods, for example `Europe/Berlin`. Default: UTC.'),
  'Groups-Limit': limitOf('group', MAX_GROUPS, 'all groups are'),
  'Groups-OrderBy': array(
    ORDER,
    'The order: names in `by` and `measure`, each optionally followed by asc or desc. The names in `by` break ties.',
    ORDER_ITEMS,
    ['count', 'desc'],
  ),
  'Log-Limit': query('limit', `The number of entries on a page, up to ${LOG_LIMITS.most}.`, {
    schema: { type: 'integer', minimum: 1, maximum: LOG_LIMITS.most, default: LOG_LIMITS.usual },
  }),
  'Log-After': query('after', 'A cursor from a `Link` header, or of an entry: returns what follows it.'),
  'Changes-Type': query('type', 'The names of types, separated by commas. Default: all that keep a history.'),
  'Changes-Values': query('values', 'Whether the changes have the old and new values.', {
    schema: { type: 'boolean', default: false },
  }),
  'Last-Event-ID': header('Last-Event-ID', 'Of event streams: the cursor of the last event; it wins over `after`.'),
  dryRun: query(
    'dryRun',
    '`true` undoes the write at the end, and returns what it would have answered, and what it would have done to which records.',
    { schema: { type: 'boolean', default: false } },
  ),
  'If-None-Match': header('If-None-Match', 'An entity tag of this URL. If it is still current, the response is 304.'),
  'If-None-Match-Any': header('If-None-Match', '`*` only creates: if there is such a record, the response is 412.', {
    examples: ['*'],
  }),
  'If-Match': header('If-Match', IF_MATCH),
  'If-Match-Required': header('If-Match', IF_MATCH, {}, { required: true, example: '*' }),
  'Idempotency-Key': header(
    'Idempotency-Key',
    'A unique key for this request, such as a UUID. A retry with the same key writes nothing, and returns the same status with the records as they are now.',
    { minLength: 1, maxLength: 255 },
  ),
  'X-Request-Id': header('X-Request-Id', 'An identifier for this request in the log; the response repeats it.', {
    maxLength: 128,
  }),
  'X-Position': header(
    'X-Position',
    'The X-Position that the response to a write had: the read shows at least what was written. Services that read from replicas send it.',
    { examples: ['1-0/1A2B3C8', 'latest'] },
  ),
  'Prefer-Count': header(
    'Prefer',
    'How X-Total-Count is found out: `count=exact` counts, `count=estimated` may estimate where counting is expensive, and `count=none` omits it.',
    { examples: ['count=none', 'count=estimated', 'count=exact'] },
  ),
  'Prefer-Max-Affected': header(
    'Prefer',
    '`max-affected=N`: how many records may be deleted or unlinked at most. If they are more, the response is 409, and nothing is deleted. `return=minimal` beside it returns 204.',
    { examples: ['max-affected=10', 'max-affected=10, return=minimal'] },
    { required: true, example: 'max-affected=1' },
  ),
  'Prefer-Return': header('Prefer', '`return=minimal` leaves the record out: 201 for a create, otherwise 204.', {
    examples: ['return=minimal'],
  }),
} as const satisfies Readonly<Record<string, Parameter>>;

type SharedName = keyof typeof SHARED;

/** The simple profile leaves out parameters that ask for other forms of the response, or for none. */
const LEFT_OUT = /^(Condition-|dryRun|If-None-Match|X-|Prefer-(Count|Return))/;

const GROUPS = ['Condition-Any', 'Condition-All', 'Condition-None'] as const;

const SHARED_BY_QUERY: Readonly<Record<QueryKind, readonly SharedName[]>> = {
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
  const shared: readonly SharedName[] = [...SHARED_BY_QUERY[entry.query], ...headers, 'X-Request-Id'];
  return [
    ...(takesUnique ? [uniqueParameter(type, isUpsert)] : []),
    ...(entry.query === 'list' ? [limitOf('record', type.maxLimit, 'the whole list is'), orderBy(type)] : []),
    ...several.map((parameter) => {
      const wanted = `${type.name}_${parameter.name}`.replace(/__cnd\[(.*)\]$/, 'Filter_$1');
      return parts.use('parameters', `${type.name} ${parameter.name}`, wanted, () => parameter);
    }),
    ...sharedParameters(shared, parts),
  ];
}

export const sharedParameters = (names: readonly SharedName[], parts: Components): readonly JsonObject[] =>
  names
    .filter((name) => !parts.isSimple || !LEFT_OUT.test(name))
    .map((name) => parts.use('parameters', name, name, () => SHARED[name]));

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
  const byIdentifier = (name: string, description: string, target = type): Parameter => {
    const { kind, type: of, constraints, examples } = target.identifier;
    const { type: jsonType = 'string', format } = of.schema({ constraints, examples });
    const text = { type: jsonType, ...(format === undefined ? {} : { format }) };
    const value = kind.isCounted ? integers(Number.MIN_SAFE_INTEGER) : text;
    const known = typeof format === 'string' ? format.split('-') : [of.name];
    return filter(name, description, known.map(capitalized).join(''), of.operators, value, parts);
  };
  return [
    byIdentifier(identifier.name, identifier.description),
    ...comparable(type).map((field) => fieldFilter(field, type, parts)),
    ...[...relations.values()].flatMap((relation) => {
      const { name, target, description, toMany } = relation;
      if (!toMany) return byIdentifier(name, `${description || target.name}, by its identifier.`, target);
      return parts.isSimple ? [] : setFilter(relation, parts);
    }),
  ];
}

function fieldFilter(field: Field, type: RecordType, parts: Components): Parameter {
  const schema = fieldValueSchema({ ...field, nullable: false }, type);
  const { description, type: jsonType = 'string', format, enum: values } = schema;
  const value =
    jsonType === 'integer'
      ? integers(Number.MIN_SAFE_INTEGER)
      : { type: jsonType, ...(format === undefined ? {} : { format }) };
  const kind = (typeof format === 'string' ? format.split('-') : [field.type.name]).map(capitalized).join('');
  const listed = values === undefined ? value : { ...value, enum: values };
  return filter(field.name, String(description), kind, field.type.operators, listed, parts);
}

/** Filters of one kind share a schema. The simple profile can only filter by equality. */
function filter(
  name: string,
  description: string,
  kind: string,
  known: readonly OperatorName[],
  value: JsonObject,
  parts: Components,
): Parameter {
  const text = `Filter by ${name}. ${description}`;
  if (parts.isSimple) return query(`_cnd[${name}]`, text, { schema: value });
  const short = `\n\n\`_cnd[${name}]=value\` is short for \`_cnd[${name}][eq]=value\`.`;
  const schema = operands(known, value);
  if ('enum' in value) return conditions(name, text + short, schema);
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
