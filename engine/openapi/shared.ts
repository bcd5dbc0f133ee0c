/** Parts of the OpenAPI document that all types share: headers, problems, and reports of dry runs. */
import { STATUS_CODES } from 'node:http';
import type { JsonObject } from '../json/json.ts';
import { operationEntries, problemsOf } from '../operations/table.ts';
import { MAX_ERRORS, type ProblemCode, problemKinds } from '../problem.ts';
import { arrayOf, closed, type Components, described, integers } from './components.ts';

const header = (description: string, example: string | number, more: JsonObject = {}): JsonObject => ({
  description,
  schema: { ...(typeof example === 'number' ? integers(0) : { type: 'string' }), examples: [example] },
  ...more,
});
const REQUIRED = { required: true };

const HEADERS = {
  'Cache-Control': header('Caches must revalidate before each reuse.', 'no-cache', REQUIRED),
  Vary: header('The request headers that the response depends on.', 'Accept, Accept-Encoding, Prefer', REQUIRED),
  'X-Request-Id': header('The identifier of the request: the one that was sent, or a new one.', 'order-17', REQUIRED),
  ETag: header('The entity tag of this response, for If-None-Match and If-Match.', '"5a6NIQAV5ZkOhQXMrhOJmuKWnnI"'),
  Location: header('The path of the new record. Absent for arrays and dry runs.', '/api/things/1'),
  'X-Total-Count': header(
    'The number of records that match the filters on all pages. An estimate if Preference-Applied says count=estimated; absent if totals are left out.',
    42,
  ),
  Link: header(
    'With a limit: the first, next and previous page (RFC 8288). The links stay valid while records are added and deleted.',
    '</api/things?_cnd[limit]=0&_cnd[limit]=20>; rel="first"',
  ),
  'X-Position': header(
    'The position of the write in the log of the database, for X-Position of later reads. Services that read from replicas send it.',
    '1-0/3000148',
  ),
  'Preference-Applied': header('The preferences that were applied (RFC 7240).', 'return=minimal'),
  'Retry-After': header('Seconds to wait before trying again.', 1, REQUIRED),
  Accept: header('The media types that a request body may have here.', 'application/json'),
  'Accept-Encoding': header('The encodings that a request body may have here.', 'identity'),
  'Accept-Patch': header('The media types that a patch may have.', 'application/merge-patch+json, application/json'),
  'WWW-Authenticate': header('What is missing: a token, or a token with more rights (RFC 6750).', 'Bearer', REQUIRED),
  RateLimit: header(
    'The number of requests left, and the seconds until the next window. Services that limit requests send it.',
    '"minute";r=0;t=42',
  ),
  'RateLimit-Policy': header(
    'The number of requests allowed per window, and its length in seconds. Services that limit requests send it.',
    '"minute";q=1200;w=60',
  ),
} as const satisfies JsonObject;

type HeaderName = keyof typeof HEADERS;

const COMMON: readonly HeaderName[] = ['Cache-Control', 'Vary', 'X-Request-Id', 'RateLimit', 'RateLimit-Policy'];
/** The simple profile omits these, since generated clients have no use for them. */
const LEFT_OUT = /^(Cache-Control|Vary|X-Request-Id|X-Position|Preference-Applied)$/;

export const headersOf = (own: readonly HeaderName[], parts: Components): JsonObject =>
  Object.fromEntries(
    [...COMMON, ...own]
      .filter((name) => !parts.isSimple || !LEFT_OUT.test(name))
      .map((name) => [name, parts.use('headers', name, name, () => HEADERS[name])]),
  );

// Problems (RFC 9457). Each status has one response, which names every problem of that status.

const CODES = Object.keys(problemKinds) as readonly ProblemCode[];
const POSSIBLE: ReadonlySet<ProblemCode> = new Set(operationEntries.flatMap(([, entry]) => problemsOf(entry)));

const PROBLEM_HEADERS: { readonly [status in number]?: readonly HeaderName[] } = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  415: ['Accept', 'Accept-Encoding', 'Accept-Patch'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** References to the responses for these problems, by status. */
export function problemResponses(codes: readonly ProblemCode[], parts: Components): JsonObject {
  const statuses = [...new Set(codes.map((code) => problemKinds[code].status))];
  return Object.fromEntries(
    statuses.map((status) => {
      const name = (STATUS_CODES[status] ?? String(status)).replaceAll(/\W/g, '');
      return [String(status), parts.use('responses', name, name, () => problemResponse(status, parts))];
    }),
  );
}

function problemResponse(status: number, parts: Components): JsonObject {
  const codes = CODES.filter((code) => problemKinds[code].status === status && POSSIBLE.has(code));
  const examples = codes.map((code) => {
    const { title } = problemKinds[code];
    const value = { type: `urn:problem:${code}`, title, status, detail: title, instance: '/api/…', message: title };
    return [code, { summary: title, value }] as const;
  });
  const schema = parts.use('schemas', 'Problem', 'Problem', () => problemSchema(parts));
  return {
    description: codes.map((code) => `${problemKinds[code].title} (\`${code}\`)`).join('; '),
    headers: headersOf(PROBLEM_HEADERS[status] ?? [], parts),
    content: {
      'application/problem+json': {
        schema,
        ...(parts.isSimple ? {} : { examples: Object.fromEntries(examples) }),
      },
    },
  };
}

const problemSchema = (parts: Components): JsonObject =>
  closed(
    'Why a request was rejected or failed (RFC 9457).',
    {
      type: {
        type: 'string',
        format: 'uri',
        enum: CODES.map((code) => `urn:problem:${code}`),
        description: 'The kind of problem.',
      },
      title: described('A short summary of the kind of problem.'),
      status: described('The status of the response.', statusFrom(400, 599)),
      detail: described('What is wrong with this request.'),
      instance: described('The path of the request.'),
      message: described('The same as detail.'),
      errors: described(
        'Every error, with its location.',
        arrayOf(
          parts.use('schemas', 'Fault', 'Fault', () => faultSchema(parts)),
          { maxItems: MAX_ERRORS },
        ),
      ),
      errorCount: described('The total number of errors, if not all are listed.', integers(1)),
    },
    ['type', 'title', 'status', 'detail', 'instance', 'message'],
  );

const statusFrom = (minimum: number, maximum: number): JsonObject => ({
  type: 'integer',
  format: 'int32',
  minimum,
  maximum,
});

const faultSchema = (parts: Components): JsonObject => ({
  ...closed(
    'One error in a request. Its location is a pointer into the body, a parameter, a header, or a relation.',
    {
      pointer: described('JSON Pointer into the body (RFC 6901).'),
      parameter: described('The query or path parameter.'),
      header: described('The request header.'),
      relation: described(
        'The relation, or path of relations, of the stored record; used if nothing in the request refers to it.',
      ),
      line: described('The line of the record, in NDJSON and CSV.', integers(1)),
      code: described('A short code for the kind of error.'),
      message: described('What is wrong, in words.'),
      records: described(
        'Of a conflict: the stored records in the way, at most ten; only those that the token may read.',
        arrayOf(
          parts.use('schemas', 'RecordName', 'RecordName', () => recordName(parts)),
          { maxItems: 10 },
        ),
      ),
    },
    ['code', 'message'],
  ),
  oneOf: ['pointer', 'parameter', 'header', 'relation'].map((key) => ({ required: [key] })),
});

const recordName = ({ identifier }: Components): JsonObject =>
  closed('A stored record.', {
    type: described('The name of its record type.'),
    identifier: described('Its identifier, as in the path.', identifier),
  });

export const dryRunSchema = (parts: Components): JsonObject =>
  parts.use('schemas', 'DryRun', 'DryRun', () =>
    closed('What a write would return, and what it would do. Nothing of it was kept.', {
      dryRun: { type: 'boolean', const: true },
      answer: closed('What the write would return. In earnest, new records may get other identifiers.', {
        status: described('The status.', statusFrom(200, 299)),
        headers: described('Location, ETag and Preference-Applied.', {
          type: 'object',
          additionalProperties: { type: 'string' },
        }),
        body: described('The body; null if there would be none.', { type: ['object', 'array', 'null'], items: {} }),
      }),
      effects: arrayOf(parts.use('schemas', 'DryRunEffect', 'DryRunEffect', () => effectSchema(parts))),
    }),
  );

const effectSchema = ({ identifier }: Components): JsonObject =>
  closed(
    'What would happen to records of one type, those that are addressed included.',
    {
      effect: { type: 'string', enum: ['created', 'changed', 'linked', 'unlinked', 'deleted'] },
      type: described('The record type.'),
      relation: described('The relation of these records that would be linked or unlinked.'),
      keys: described('The keys that would change.', arrayOf({ type: 'string' })),
      count: described('The number of records.', integers(0)),
      identifiers: described('Their identifiers, up to 1,000.', arrayOf(identifier, { maxItems: 1000 })),
    },
    ['effect', 'type', 'count'],
  );
