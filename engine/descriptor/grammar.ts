/** The grammar of descriptors as JSON Schema (draft-07, which editors support best). It is published, and every descriptor is checked against it. */
import type { JsonObject } from '../json.ts';
import { COUNT_MODES, OPERATIONS } from './descriptor.ts';
import { DEFAULTS } from './defaults.ts';
import { checksGrammar, conditionDefinitions } from './conditions.ts';
import { fieldDefinitions, itemDefinitions, pluralWord, strict, titleWord } from './grammar-parts.ts';
import { relationDefinitions } from './grammar-relations.ts';
import { MAX_NAME_BYTES, NAME_PATTERN, ORDER_PATTERN, PATH_PATTERN } from './texts.ts';

const nameSchema = (format: string): JsonObject => ({
  type: 'string',
  format,
  pattern: NAME_PATTERN,
  maxLength: MAX_NAME_BYTES,
});

const mapping = (description: string, properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  ...strict(properties, required),
  description,
});

/** The databases' limit of columns in a table, with room for hidden columns. */
const MAX_MEMBERS = 1_000;
/** PostgreSQL's limit of columns in an index. */
/** An index of PostgreSQL has at most 32 columns, of which the identifier may be one. */
const MAX_TOGETHER = 31;

const byName = (description: string, items: JsonObject): JsonObject => ({
  type: 'object',
  maxProperties: MAX_MEMBERS,
  propertyNames: { $ref: '#/definitions/name' },
  additionalProperties: items,
  description,
});

const names = (description: string): JsonObject => ({
  type: 'array',
  items: { type: 'string' },
  uniqueItems: true,
  description,
});

const groups = (description: string): JsonObject => ({
  type: 'array',
  items: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MAX_TOGETHER, uniqueItems: true },
  maxItems: MAX_MEMBERS,
  description,
});

const properties: JsonObject = {
  type: {
    $ref: '#/definitions/name',
    description:
      'The name of the record type, in the singular, such as OrderItem. Relations of other types refer to it.',
  },
  title: {
    ...titleWord(
      'What people call a record: "Tax class", or { one: Tax class, many: Tax classes } where the plural is not made by the rules of English. Default: made from the type: OrderItem becomes "Order item".',
    ),
    type: ['string', 'object'],
    if: { type: 'object' },
    then: strict({ one: titleWord('One record.'), many: pluralWord('Several records.') }, ['one', 'many']),
  },
  renamedFrom: {
    type: 'string',
    description: 'The former name of the type. Databases that have it under that name keep its records.',
  },
  description: {
    type: 'string',
    description: 'What a record of this type is. Shown in the API documentation.',
  },
  path: {
    type: 'string',
    format: 'path',
    pattern: PATH_PATTERN,
    description: 'The path segment under /api. Default: the plural of the type, with dashes: order-items.',
  },
  table: {
    $ref: '#/definitions/table',
    description: 'The database table. Default: the plural of the type, with underscores: order_items.',
  },
  operations: {
    type: 'array',
    items: { enum: OPERATIONS },
    uniqueItems: true,
    description:
      'What requests can do. update means PUT and PATCH. Default: all five. With an empty list, records are reached only through relations of other types.',
  },
  identifier: mapping('The integer that identifies a record.', {
    name: {
      $ref: '#/definitions/name',
      default: DEFAULTS.identifier.name,
      description: `Its key in JSON and its column. Default: ${DEFAULTS.identifier.name}.`,
    },
    title: titleWord('What people call it. Default: made from its name: markup_id becomes "Markup ID".'),
    description: { type: 'string', description: 'What it means. Shown in the API documentation.' },
    inRecord: {
      type: 'boolean',
      default: DEFAULTS.identifier.inRecord,
      description: 'Whether records contain it. If not, no relation can lead to this type.',
    },
  }),
  order: {
    type: 'array',
    items: { type: 'string', format: 'order', pattern: ORDER_PATTERN },
    maxItems: MAX_TOGETHER,
    uniqueItems: true,
    description:
      'The default order of lists, and of sets inside records: fields, each optionally followed by asc or desc. The identifier breaks ties.',
  },
  label: {
    type: 'string',
    description:
      'The field whose values name a record, where people see or choose one. Default: the first string that is unique, otherwise the first string; never a sensitive one.',
  },
  fields: byName('The fields of the record, by name, in the order in which records show them.', {
    $ref: '#/definitions/field',
  }),
  relations: byName('The relations of the record, by name.', { $ref: '#/definitions/relation' }),
  unique: groups(
    'Groups of fields and belongsTo relations whose values must be unique together. For a single field, use "unique: true".',
  ),
  indexes: groups('Groups of fields and belongsTo relations that share an index.'),
  checks: checksGrammar,
  list: mapping('How lists behave.', {
    maxLimit: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      default: DEFAULTS.maxLimit,
      description: 'The highest limit that a request can ask for.',
    },
    count: {
      enum: [...COUNT_MODES],
      default: DEFAULTS.count,
      description:
        'The total that lists send in X-Total-Count. exact: counted. estimated: counted where that is cheap, otherwise an estimate. none: no total. A request can choose another with "Prefer: count=".',
    },
  }),
  open: {
    type: 'boolean',
    default: DEFAULTS.open,
    description: 'Whether records accept, store and show keys that are not declared, exactly as written.',
  },
  variants: mapping(
    'Versions of the record with fewer fields. Requests choose one with the parameter "variant".',
    {
      default: { type: 'string', description: 'The default variant: a key of omit.' },
      omit: {
        type: 'object',
        minProperties: 1,
        propertyNames: { $ref: '#/definitions/name' },
        additionalProperties: names('The fields that this variant leaves out: they are neither shown nor accepted.'),
        description: 'Every variant by name, with the fields it leaves out; [] for one that has all.',
      },
    },
    ['default', 'omit'],
  ),
  preconditions: {
    enum: ['off', 'optional', 'required'],
    default: DEFAULTS.preconditions,
    description:
      'Whether writes check If-Match. off: never. optional: if the request has it. required: a write without it is refused.',
  },
  seed: {
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    description:
      'Records inserted once into each database, each with its identifier. Later changes and deletions by users are kept.',
  },
};

/** Formats that only the engine knows (names, tables, orders) also have a pattern, if one can express them. */
export const grammar: JsonObject = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Record type',
  ...mapping('One record type: its fields, its relations, and what requests can do with it.', properties, ['type']),
  definitions: {
    name: nameSchema('name'),
    table: nameSchema('table'),
    ...fieldDefinitions,
    ...itemDefinitions,
    ...relationDefinitions,
    ...conditionDefinitions,
  },
};
