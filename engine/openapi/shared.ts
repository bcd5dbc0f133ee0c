/** Components that are the same for every type: the headers of responses, and the schemas of what is no record. */
import type { JsonObject } from '../json/json.ts';
import { arrayOf, integers, ref } from './names.ts';

const header = (description: string, example?: string): JsonObject => ({
  description,
  schema: { type: 'string', ...(example === undefined ? {} : { examples: [example] }) },
});

const always = (one: JsonObject): JsonObject => ({ ...one, required: true });

export const HEADERS = {
  'Cache-Control': always(header('Caches must revalidate before each reuse.', 'no-cache')),
  Vary: always(header('The request headers that the response depends on.', 'Accept, Accept-Encoding, Prefer')),
  'X-Request-Id': always(header('The identifier of the request: the one that was sent, or a new one.')),
  ETag: header('The entity tag of this response, for If-None-Match and If-Match.', '"5a6NIQAV5ZkOhQXMrhOJmuKWnnI"'),
  Location: header('The path of the new record. Absent for arrays and dry runs.', '/api/things/1'),
  'X-Total-Count': {
    description:
      'The number of records that match the filters on all pages. An estimate if Preference-Applied says count=estimated; absent if totals are left out.',
    schema: { ...integers(0), examples: [42] },
  },
  Link: header(
    'With a limit: the first, next and previous page (RFC 8288). The links stay valid while records are added and deleted.',
    '</api/things?_cnd[limit]=0&_cnd[limit]=20>; rel="first"',
  ),
  'X-Position': header(
    'The position of the write in the log of the database, for X-Position of later reads. Services that read from replicas send it.',
    '1-0/3000148',
  ),
  'Preference-Applied': header('The preferences that were applied (RFC 7240).', 'return=minimal'),
  'Retry-After': always({
    description: 'Seconds to wait before trying again.',
    schema: { ...integers(0), examples: [1] },
  }),
  Accept: header('The media types that a request body may have here.', 'application/json'),
  'Accept-Encoding': header('The encodings that a request body may have here.', 'identity'),
  'WWW-Authenticate': always(header('What is missing: a token, or a token with more rights (RFC 6750).', 'Bearer')),
  RateLimit: header(
    'The number of requests left, and the seconds until the next window. Services that limit requests send it.',
    '"minute";r=0;t=42',
  ),
  'RateLimit-Policy': header(
    'The number of requests allowed per window, and its length in seconds. Services that limit requests send it.',
    '"minute";q=1200;w=60',
  ),
  'Accept-Patch': header('The media types that a patch may have.', 'application/merge-patch+json, application/json'),
} as const satisfies Readonly<Record<string, JsonObject>>;

export type HeaderName = keyof typeof HEADERS;

// Schemas.

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
