/** The schemas of what writes report besides records: the same for every type. */
import type { JsonObject } from '../json.ts';
import { ref } from './names.ts';

/** Of a deletion by filters. */
export const DELETED_FOUND: JsonObject = {
  type: 'object',
  required: ['deleted', 'affected'],
  properties: {
    deleted: { type: 'integer', minimum: 0, description: 'The number of records that matched the filters.' },
    affected: {
      type: 'integer',
      minimum: 0,
      description: 'The same with those that were deleted or unlinked together with them.',
    },
  },
  additionalProperties: false,
};

export const DRY_RUN_CONTENT: JsonObject = { 'application/vnd.dry-run+json': { schema: ref('schemas', 'DryRun') } };

const described = (description: string, schema: JsonObject): JsonObject => ({ description, ...schema });
const COUNT: JsonObject = { type: 'integer', minimum: 0 };

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
          status: described('The status.', { type: 'integer' }),
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
      keys: described('The keys that would change.', { type: 'array', items: { type: 'string' } }),
      count: described('The number of records.', COUNT),
      identifiers: described('Their identifiers, up to 1,000.', { type: 'array', items: { type: 'integer' } }),
    },
    additionalProperties: false,
  },
};
