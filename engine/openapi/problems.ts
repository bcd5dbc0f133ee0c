/** The problem responses of each operation, by status (RFC 9457). */
import { STATUS_CODES } from 'node:http';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { type RecordType, type Relation } from '../model/model.ts';
import { capitalized } from '../names.ts';
import { MAX_ERRORS, type ProblemCode, problemKinds } from '../problem.ts';
import { isUpsertable, type OperationEntry } from '../operations/table.ts';
import type { HeaderName } from './shared.ts';
import { arrayOf, free, integers, ref } from './names.ts';

const PROBLEM_TYPE = 'application/problem+json';

/** Problems that an operation has only for some types. */
const POSSIBLE: {
  readonly [code in ProblemCode]?: (type: RecordType, entry: OperationEntry) => boolean;
} = {
  'too-many-related': ({ relations }) => relations.size > 0,
  'unique-conflict': (type) => writesUnique(type),
  'invalid-reference': ({ relations }) => relations.size > 0,
  'too-many-rows': (type, { right, path }) =>
    right === 'delete' ? path === 'collection' || takesAlong(type) : type.relations.size > 0,
  'link-conflict': (type) => relationsWithin(type).some(({ nested }) => nested === 'link'),
  'restrict-conflict': (type, { right }) => (right === 'delete' ? restrictsDeletion(type) : restrictsWrites(type)),
  'precondition-required': (type, { right }) =>
    type.preconditions === 'required' && (right !== 'create' || isUpsertable(type)),
};

/** Whether deleting a record affects other rows. */
const takesAlong = ({ referrers, relations }: RecordType): boolean =>
  referrers.some(({ reference }) => reference.onDelete !== 'restrict') ||
  [...relations.values()].some(({ link }) => link.at === 'join');

const HEADERS_OF: { readonly [code in ProblemCode]?: readonly HeaderName[] } = {
  'statement-timeout': ['Retry-After'],
  'storage-busy': ['Retry-After'],
  overloaded: ['Retry-After'],
  'rate-limited': ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
  unauthorized: ['WWW-Authenticate'],
  forbidden: ['WWW-Authenticate'],
};

/** Headers of 415 by method: the media types and encodings that are accepted. */
const INSTEAD: { readonly [method in string]?: readonly HeaderName[] } = {
  POST: ['Accept', 'Accept-Encoding'],
  PUT: ['Accept', 'Accept-Encoding'],
  PATCH: ['Accept-Patch', 'Accept-Encoding'],
};

/** The problem responses. Equal ones share a component: repeating them would slow down tools that read the document. */
export interface ProblemResponses {
  /** References by status. */
  of(entry: OperationEntry, type: RecordType): JsonObject;
  /** Every response referred to so far. */
  all(): JsonObject;
}

export function createProblemResponses(): ProblemResponses {
  const names = new Map<string, string>();
  const made = new Map<string, JsonObject>();
  const nameOf = (same: readonly ProblemCode[], more: readonly HeaderName[], wanted: string): string => {
    const key = [...same, ...more].join();
    const known = names.get(key) ?? free(wanted, made);
    names.set(key, known);
    if (!made.has(known)) made.set(known, response(same, more));
    return known;
  };
  return {
    of: (entry, type) => {
      const codes = entry.problems.filter((code) => POSSIBLE[code]?.(type, entry) ?? true);
      const statuses = [...new Set(codes.map((code) => problemKinds[code].status))];
      const responses = statuses.map((status) => {
        const same = codes.filter((code) => problemKinds[code].status === status);
        const more = same.includes('unsupported-media-type') ? (INSTEAD[entry.method] ?? []) : [];
        return [String(status), ref('responses', nameOf(same, more, meaningOf(same, status, more)))] as const;
      });
      return Object.fromEntries(responses);
    },
    all: () => Object.fromEntries(made),
  };
}

const pascal = (text: string): string => text.split(/\W/).map(capitalized).join('');

/** `UniqueConflict`; of several codes `IdentifierOrUniqueConflict`, or `InvalidQueryOrHeader`. The same codes always have the same name. */
function meaningOf(codes: readonly ProblemCode[], status: number, more: readonly HeaderName[]): string {
  // What the service itself lacks is the same for all requests.
  if (status >= 500 && codes.length > 1) return pascal(STATUS_CODES[status] ?? String(status));
  const [invalid, others] = [`invalid-`, '-conflict'].map((part) => codes.filter((code) => code.includes(part)));
  const rest = codes.filter((code) => !invalid?.includes(code) && !others?.includes(code));
  const words = [
    ...(invalid?.length ? [`Invalid${joined(invalid.map((code) => code.replace('invalid-', '')))}`] : []),
    ...(others?.length ? [`${joined(others.map((code) => code.replace('-conflict', '')))}Conflict`] : []),
    ...rest.map(pascal),
  ];
  return more.includes('Accept-Patch') ? `${words.join('Or')}OfPatch` : words.join('Or');
}

const joined = (words: readonly string[]): string => words.map(pascal).join('Or');

function response(codes: readonly ProblemCode[], more: readonly HeaderName[]): JsonObject {
  const headers: readonly HeaderName[] = [
    'Cache-Control',
    'Vary',
    'X-Request-Id',
    ...(codes.includes('rate-limited') ? [] : (['RateLimit', 'RateLimit-Policy'] as const)),
    ...codes.flatMap((code) => HEADERS_OF[code] ?? []),
    ...more,
  ];
  return {
    description: codes.map((code) => `${problemKinds[code].title} (\`${code}\`)`).join('; '),
    headers: Object.fromEntries(headers.map((name) => [name, ref('headers', name)])),
    content: {
      [PROBLEM_TYPE]: {
        schema: { allOf: [ref('schemas', 'Problem'), narrowed(codes)] },
        examples: Object.fromEntries(codes.map((code) => [code, ref('examples', code)])),
      },
    },
  };
}

function narrowed(codes: readonly ProblemCode[]): JsonObject {
  const [first] = codes;
  return {
    type: 'object',
    properties: {
      type: { type: 'string', enum: codes.map(urn) },
      ...(first === undefined ? {} : { status: statusSchema(problemKinds[first].status) }),
    },
  };
}

const statusSchema = (status: number): JsonObject => ({
  type: 'integer',
  format: 'int32',
  minimum: status,
  maximum: status,
  enum: [status],
});

const urn = (code: ProblemCode): string => `urn:problem:${code}`;

const CODES_KNOWN = Object.keys(problemKinds) as readonly ProblemCode[];

export const PROBLEM_EXAMPLES: JsonObject = Object.fromEntries(
  CODES_KNOWN.map((code) => {
    const { title, status } = problemKinds[code];
    const value: JsonObject = { type: urn(code), title, status, detail: title, instance: '/api/…', message: title };
    return [code, { summary: title, value: value as JsonValue }];
  }),
);

const text = (description: string): JsonObject => ({ type: 'string', description });

export const PROBLEM_SCHEMAS: JsonObject = {
  Problem: {
    type: 'object',
    description: 'Why a request was rejected or failed (RFC 9457).',
    required: ['type', 'title', 'status', 'detail', 'instance', 'message'],
    properties: {
      type: { type: 'string', format: 'uri', enum: CODES_KNOWN.map(urn), description: 'The kind of problem.' },
      title: text('A short summary of the kind of problem.'),
      status: {
        type: 'integer',
        format: 'int32',
        minimum: 400,
        maximum: 599,
        description: 'The status of the response.',
      },
      detail: text('What is wrong with this request.'),
      instance: text('The path of the request.'),
      message: text('The same as detail.'),
      errors: {
        ...arrayOf(ref('schemas', 'Fault'), { maxItems: MAX_ERRORS }),
        description: 'Every error, with its location.',
      },
      errorCount: { ...integers(1), description: 'The total number of errors, if not all are listed.' },
    },
    additionalProperties: false,
  },
  Fault: {
    type: 'object',
    description:
      'One error in a request. Its location is a pointer into the body, a parameter, a header, or a relation.',
    required: ['code', 'message'],
    properties: {
      pointer: text('JSON Pointer into the body (RFC 6901).'),
      parameter: text('The query or path parameter.'),
      header: text('The request header.'),
      relation: text(
        'The relation, or path of relations, of the stored record; used if nothing in the request refers to it.',
      ),
      line: { ...integers(1), description: 'The line of the record, in NDJSON and CSV.' },
      code: text('A short code for the kind of error.'),
      message: text('What is wrong, in words.'),
      records: {
        ...arrayOf(ref('schemas', 'RecordName'), { maxItems: 10 }),
        description: 'Of a conflict: the stored records in the way, at most ten; only those that the token may read.',
      },
    },
    additionalProperties: false,
    oneOf: [
      { required: ['pointer'] },
      { required: ['parameter'] },
      { required: ['header'] },
      { required: ['relation'] },
    ],
  },
  RecordName: {
    type: 'object',
    description: 'A stored record.',
    required: ['type', 'identifier'],
    properties: {
      type: text('The name of its record type.'),
      identifier: { ...integers(1), description: 'Its identifier, as in the path.' },
    },
    additionalProperties: false,
  },
};

// The records that a request may affect: those that its body writes, and those that are deleted along with others.

/** The transitive closure of `next`. */
function closure(
  first: readonly RecordType[],
  next: (type: RecordType) => readonly RecordType[],
): readonly RecordType[] {
  const found = [...new Set(first)];
  for (const type of found) for (const other of next(type)) if (!found.includes(other)) found.push(other);
  return found;
}

const relationsOf = ({ relations }: RecordType): readonly Relation[] => [...relations.values()];

/** Types whose records a body of this type may write. */
const writtenWith = (type: RecordType): readonly RecordType[] =>
  closure([type], (one) => relationsOf(one).flatMap(({ nested, target }) => (nested === 'write' ? [target] : [])));

/** Every relation that a body of this type may contain, at any depth. */
const relationsWithin = (type: RecordType): readonly Relation[] => writtenWith(type).flatMap(relationsOf);

/** Whether a body of this type may contain a value or a link that must be unique. */
const writesUnique = (type: RecordType): boolean =>
  writtenWith(type).some(
    ({ indexes, references }) => indexes.some(({ unique }) => unique) || references.some(({ unique }) => unique),
  );

/** Whether `onDelete: restrict` can prevent the deletion of these records or of those deleted along with them. */
const isRefused = (types: readonly RecordType[]): boolean =>
  closure(types, ({ referrers }) =>
    referrers.flatMap(({ type, reference }) => (reference.onDelete === 'cascade' ? [type] : [])),
  ).some(({ referrers }) => referrers.some(({ reference }) => reference.onDelete === 'restrict'));

const restrictsDeletion = (type: RecordType): boolean => isRefused([type]);

/** A body deletes owned records that it leaves out. */
const restrictsWrites = (type: RecordType): boolean =>
  isRefused(relationsWithin(type).flatMap(({ owned, target }) => (owned ? [target] : [])));
