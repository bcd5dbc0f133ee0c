/** The schemas of what writes report besides records: the same for every type. */
import type { JsonObject } from '../json.ts';
import { arrayOf, integers, ref } from './names.ts';

/** Of a deletion by filters. */
export const DELETED_FOUND: JsonObject = {
  type: 'object',
  required: ['deleted', 'affected'],
  properties: {
    deleted: { ...integers(0), description: 'The number of records that matched the filters.' },
    affected: { ...integers(0), description: 'The same with those that were deleted or unlinked together with them.' },
  },
  additionalProperties: false,
};

export const DRY_RUN_CONTENT: JsonObject = { 'application/vnd.dry-run+json': { schema: ref('schemas', 'DryRun') } };

const described = (description: string, schema: JsonObject): JsonObject => ({ description, ...schema });

const values = (description: string): JsonObject =>
  described(description, { type: 'object', additionalProperties: true });

export const SUMMARY_SCHEMAS: JsonObject = {
  SummaryGroup: {
    type: 'object',
    required: ['by', 'measures'],
    properties: {
      by: values('The values that the records of the group have in common, under the names in `by`.'),
      measures: values('Under the names in `measure`.'),
    },
    additionalProperties: false,
  },
};

const text = (description: string): JsonObject => described(description, { type: 'string' });

/** Of bodies that are not JSON, and of the tag in an item. */
export const TEXT_SCHEMAS = {
  RecordLines: text('One record on each line.'),
  RecordTable: text(
    'Fields of the record, and of each record that it links, the identifier (RFC 4180). Null is an empty cell, the empty text is "".',
  ),
  GroupLines: text('One group on each line.'),
  GroupTable: text('A column for each name in `by` and `measure`.'),
  LinesBody: text('A new record on each line.'),
  TableBody: text(
    'The first line names the columns: fields, the identifier, and relations to one record, whose cells are identifiers. An empty cell is null, the empty text is "" (RFC 4180).',
  ),
  ItemTag: {
    ...text(
      'The entity tag that GET of the record returned. If it has changed since, nothing is written: 412. * stands for any.',
    ),
    pattern: '^(\\*|"[^"]*")$',
  },
} as const satisfies JsonObject;

/** The report that a dry run returns: the same for every type. */
export const DRY_RUN_SCHEMAS: JsonObject = {
  DryRun: {
    type: 'object',
    description: 'What a write would return, and what it would do. Nothing of it was kept.',
    required: ['dryRun', 'answer', 'effects'],
    properties: {
      dryRun: { type: 'boolean', const: true },
      answer: {
        type: 'object',
        description: 'What the write would return. In earnest, new records may get other identifiers.',
        required: ['status', 'headers', 'body'],
        properties: {
          status: described('The status.', { type: 'integer', format: 'int32', minimum: 200, maximum: 299 }),
          headers: described('Location, ETag and Preference-Applied.', {
            type: 'object',
            additionalProperties: { type: 'string' },
          }),
          body: described('The body; null if there would be none.', { type: ['object', 'array', 'null'], items: {} }),
        },
        additionalProperties: false,
      },
      effects: { type: 'array', items: ref('schemas', 'DryRunEffect') },
    },
    additionalProperties: false,
  },
  DryRunEffect: {
    type: 'object',
    description: 'What would happen to records of one type, those that are addressed included.',
    required: ['effect', 'type', 'count'],
    properties: {
      effect: { type: 'string', enum: ['created', 'changed', 'linked', 'unlinked', 'deleted'] },
      type: described('The record type; null for records that the token may not read.', { type: ['string', 'null'] }),
      relation: described('The relation of these records that would be linked or unlinked.', { type: 'string' }),
      keys: described('The keys that would change.', arrayOf({ type: 'string' })),
      count: described('The number of records.', integers(0)),
      identifiers: described('Their identifiers, up to 1,000.', arrayOf(integers(1), { maxItems: 1000 })),
    },
    additionalProperties: false,
  },
};
