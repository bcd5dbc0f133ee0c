/** The grammar of descriptors as JSON Schema (draft-07, which editors know best): published, and checked against. */
import type { JsonObject } from '../json.ts';
import { OPERATIONS } from './descriptor.ts';
import { fieldDefinitions, relationDefinitions, strict } from './grammar-parts.ts';
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

/** What the databases can have in one table, with room for hidden columns. */
const MAX_MEMBERS = 1_000;
/** PostgreSQL's limit of columns in an index. */
const MAX_TOGETHER = 32;

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
    description: 'The name of the record type, in the singular, such as OrderItem. Relations of other types name it.',
  },
  renamedFrom: {
    type: 'string',
    description: 'The name that the type had before. Databases that know it under that name keep its records.',
  },
  description: {
    type: 'string',
    description: 'What a record of this type is, for people: shown in the API documentation.',
  },
  path: {
    type: 'string',
    format: 'path',
    pattern: PATH_PATTERN,
    description: 'The segment of the URL under /api. Default: the type in the plural, with dashes: order-items.',
  },
  table: {
    $ref: '#/definitions/table',
    description: 'The table of the database. Default: the type in the plural, with underscores: order_items.',
  },
  operations: {
    type: 'array',
    items: { enum: OPERATIONS },
    uniqueItems: true,
    description:
      'What requests may do. update serves PUT and PATCH. Default: all five. An empty list: records are reached only through relations of other types.',
  },
  identifier: mapping('How the integer that identifies a record is called.', {
    name: {
      $ref: '#/definitions/name',
      default: 'id',
      description: 'Its name in JSON and of its column. Default: id.',
    },
    description: { type: 'string', description: 'What it is, for people.' },
    inRecord: {
      type: 'boolean',
      default: true,
      description: 'Whether records show it. Where they do not, no relation may lead to this type.',
    },
  }),
  order: {
    type: 'array',
    items: { type: 'string', format: 'order', pattern: ORDER_PATTERN },
    maxItems: MAX_TOGETHER,
    uniqueItems: true,
    description:
      'The order of lists where a request names none, and of sets inside records: fields, each optionally followed by asc or desc. The identifier breaks ties.',
  },
  fields: byName('The fields of the record, by name, in the order in which they are shown.', {
    $ref: '#/definitions/field',
  }),
  relations: byName('The relations of the record, by name.', { $ref: '#/definitions/relation' }),
  unique: groups(
    'Fields and belongsTo relations of which no two records may have the same values together. One field alone says "unique: true" instead.',
  ),
  indexes: groups('Fields and belongsTo relations that the database keeps an index of together.'),
  list: mapping('How lists behave.', {
    maxLimit: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      default: 1000,
      description: 'The greatest limit that a request may ask for. A greater one is refused.',
    },
  }),
  open: {
    type: 'boolean',
    default: false,
    description: 'Whether keys that no field names are accepted, kept and shown as they were written.',
  },
  variants: mapping(
    'Views of the record that requests choose with "variant".',
    {
      default: { type: 'string', description: 'The variant of requests that choose none: a key of omit.' },
      omit: {
        type: 'object',
        minProperties: 1,
        propertyNames: { $ref: '#/definitions/name' },
        additionalProperties: names('The fields that this variant lacks: they are neither shown nor accepted.'),
        description: 'Every variant by name, with the fields that it lacks; [] for one that has all.',
      },
    },
    ['default', 'omit'],
  ),
  preconditions: {
    enum: ['off', 'optional', 'required'],
    default: 'optional',
    description:
      'Whether writes look at If-Match. off: never. optional: where it is given. required: a write without it is refused.',
  },
  seed: {
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    description:
      'Records that are inserted once for each database, each with its identifier. What users changed or deleted afterwards stays so.',
  },
};

/** Formats that only the engine knows (names, tables, orders) have a pattern beside them where one can say it. */
export const grammar: JsonObject = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Record type',
  ...mapping('One record type: its fields, its relations to others, and what requests may do with it.', properties, [
    'type',
  ]),
  definitions: { name: nameSchema('name'), table: nameSchema('table'), ...fieldDefinitions, ...relationDefinitions },
};
