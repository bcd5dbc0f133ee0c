/**
 * All operations on the records of a type. Routes, in-process names, agents' tools and the OpenAPI document are made from
 * this table.
 */
import type { Operation } from '../descriptor/descriptor.ts';
import type { RecordType } from '../model/model.ts';
import { namedUniques, type Rights } from '../model/rights.ts';
import type { ProblemCode } from '../problem.ts';

export const JSON_TYPE = 'application/json';
const MERGE_PATCH_TYPE = 'application/merge-patch+json';
export const NDJSON_TYPE = 'application/x-ndjson';
export const CSV_TYPE = 'text/csv';

/** `/api/TYPE`, `/api/TYPE/{id}` and `/api/TYPE/$summary`. */
export type OperationPath = 'collection' | 'item' | 'summary';

type OperationMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The reader of the query: a name in TypeQueries. */
export type QueryKind = 'list' | 'summary' | 'view' | 'write' | 'upsert' | 'remove';

/** Request headers that an operation understands. `count`, `return` and `max-affected` are preferences of `Prefer`. */
export type RequestHeader =
  | 'If-Match'
  | 'If-None-Match'
  | 'If-None-Match: *'
  | 'Idempotency-Key'
  | 'Prefer: count'
  | 'Prefer: return'
  | 'Prefer: max-affected'
  | 'X-Position';

/** `record`: one; `records`: an array of changes, each with its identifier; `either`: one new record, or several. */
export type BodyShape = 'record' | 'records' | 'either';

interface BodyEntry {
  readonly shape: BodyShape;
  /** Whether a record of the body must be complete. */
  readonly holds: 'new' | 'whole' | 'changes';
  readonly mediaTypes: readonly string[];
}

export interface ResponseEntry {
  /** The content of the body; undefined where there is none. */
  readonly holds?: 'record' | 'recordOrRecords' | 'records' | 'list' | 'groups' | 'counts';
  readonly description: string;
  /** Its own headers; all responses have Cache-Control, Vary and X-Request-Id. */
  readonly headers: readonly ('ETag' | 'Location' | 'Link' | 'X-Total-Count' | 'Preference-Applied' | 'X-Position')[];
  /** Sent only where the collection is written by unique values (`isUpsertable`). */
  readonly upserts?: true;
}

export interface OperationEntry {
  /** The right that the descriptor and the token must grant. */
  readonly right: Operation;
  /** A second right that is needed. */
  readonly and?: Operation;
  readonly method: OperationMethod;
  readonly path: OperationPath;
  /** Whether a type that allows it has it. */
  readonly isOffered?: (type: RecordType, rights?: Rights) => boolean;
  /** The operationId of OpenAPI; `{one}` and `{many}` are replaced by the names of the type. */
  readonly id: string;
  /** One sentence without a full stop, in the same way. */
  readonly title: string;
  readonly description: string;
  readonly query: QueryKind;
  readonly headers: readonly RequestHeader[];
  readonly body?: BodyEntry;
  /** Media types of the response. */
  readonly mediaTypes: readonly string[];
  /** By status. */
  readonly responses: Readonly<Partial<Record<200 | 201 | 204 | 304, ResponseEntry>>>;
  /** All that it may answer; some only for types with relations, unique values or other features. */
  readonly problems: readonly ProblemCode[];
}

const RECORD: readonly string[] = [JSON_TYPE];
const ROWS: readonly string[] = [JSON_TYPE, NDJSON_TYPE, CSV_TYPE];

// Problems.

const ANY = [
  'invalid-query',
  'unauthorized',
  'not-acceptable',
  'uri-too-long',
  'rate-limited',
  'internal-error',
  'statement-timeout',
  'storage-busy',
  'missing-privilege',
  'overloaded',
] as const satisfies readonly ProblemCode[];
const ITEM = ['invalid-identifier', 'record-not-found'] as const satisfies readonly ProblemCode[];
const WRITING_ANY = [
  'invalid-header',
  'forbidden',
  'outcome-unknown',
  'storage-full',
  'refused-by-database',
  'idempotency-conflict',
] as const satisfies readonly ProblemCode[];
const WRITING = [...WRITING_ANY, 'precondition-failed'] as const satisfies readonly ProblemCode[];
const BODY = [
  'invalid-json',
  'content-too-large',
  'unsupported-media-type',
  'invalid-body',
] as const satisfies readonly ProblemCode[];
/** Refusals for references, unique values and rules of other records. */
const CONFLICTS = [
  'too-many-related',
  'unique-conflict',
  'invalid-reference',
  'too-many-rows',
  'link-conflict',
  'restrict-conflict',
  'precondition-required',
] as const satisfies readonly ProblemCode[];

// Responses.

const ROW_HEADERS = ['X-Total-Count', 'Link', 'ETag', 'Preference-Applied'] as const;
const WRITE_HEADERS = ['X-Position', 'Preference-Applied'] as const;
const MINIMAL = 'After `Prefer: return=minimal`.';

const NOT_MODIFIED: ResponseEntry = {
  description: 'The client already has the current representation.',
  headers: ['ETag'],
};
const UPDATED = {
  200: { holds: 'record', description: 'The updated record.', headers: ['ETag', ...WRITE_HEADERS] },
  204: { description: `The record was updated. ${MINIMAL}`, headers: ['ETag', ...WRITE_HEADERS] },
} as const satisfies OperationEntry['responses'];
const DELETED: ResponseEntry = { description: `The record was deleted. ${MINIMAL}`, headers: WRITE_HEADERS };
const CREATED_HEADERS = ['Location', 'ETag', ...WRITE_HEADERS] as const;

const WRITE_ONE = ['Prefer: return', 'Idempotency-Key', 'If-Match'] as const;
const WRITE_SEVERAL = ['Prefer: return', 'Idempotency-Key'] as const;

/** Whether its records can be written by their unique values. */
export const isUpsertable = (type: RecordType): boolean =>
  type.operations.has('create') && type.operations.has('update') && namedUniques(type).length > 0;

/** In the order in which `Allow` names the methods of a path. */
export const OPERATIONS = {
  list: {
    right: 'list',
    method: 'GET',
    path: 'collection',
    id: 'list{many}',
    title: 'Retrieve {many} by conditions',
    description: 'Returns the whole list, or one page if a limit is given. Records must match all filters.',
    query: 'list',
    headers: ['Prefer: count', 'If-None-Match', 'X-Position'],
    mediaTypes: ROWS,
    responses: {
      200: {
        holds: 'list',
        description: 'The records that match the filters, in the requested order.',
        headers: ROW_HEADERS,
      },
      304: NOT_MODIFIED,
    },
    problems: [...ANY, 'too-many-related'],
  },
  create: {
    right: 'create',
    method: 'POST',
    path: 'collection',
    id: 'create{one}',
    title: 'Add new {one}',
    description:
      'Creates a record and the records nested in it, or those of an array or of lines, all or nothing. Of several, the response is the array of the records, in order, without Location and ETag. With `on`, records that are there already are changed; then the status of several is 200.',
    query: 'write',
    headers: WRITE_SEVERAL,
    body: { shape: 'either', holds: 'new', mediaTypes: ROWS },
    mediaTypes: RECORD,
    responses: {
      200: {
        holds: 'recordOrRecords',
        description: 'With `on`: the updated record, or the array of the updated and created ones.',
        headers: ['ETag', ...WRITE_HEADERS],
        upserts: true,
      },
      201: {
        holds: 'recordOrRecords',
        description: 'The created record, or the array of them. After `Prefer: return=minimal`, nothing.',
        headers: CREATED_HEADERS,
      },
      204: { ...UPDATED[204], upserts: true },
    },
    problems: [...ANY, 'invalid-csv', ...BODY, ...WRITING, 'identifier-conflict', 'batch-too-large', ...CONFLICTS],
  },
  upsert: {
    right: 'update',
    and: 'create',
    method: 'PUT',
    path: 'collection',
    isOffered: (type, rights) => namedUniques(type, rights).length > 0,
    id: 'put{one}',
    title: 'Update or add {one} by unique values',
    description:
      'Changes the record that has the unique values which `on` names, or creates it if there is none. The body must have these values; of a new record, all that is required.',
    query: 'upsert',
    headers: [...WRITE_SEVERAL, 'If-Match', 'If-None-Match: *'],
    body: { shape: 'record', holds: 'whole', mediaTypes: RECORD },
    mediaTypes: RECORD,
    responses: {
      ...UPDATED,
      201: {
        holds: 'record',
        description: 'The created record. After `Prefer: return=minimal`, nothing.',
        headers: CREATED_HEADERS,
      },
    },
    problems: [...ANY, ...BODY, ...WRITING, 'identifier-conflict', ...CONFLICTS],
  },
  updateMany: {
    right: 'update',
    method: 'PATCH',
    path: 'collection',
    isOffered: ({ identifier }) => identifier.inRecord,
    id: 'patchMany{many}',
    title: 'Change several {many}',
    description:
      'Changes the records of an array, each named by its identifier, all or nothing. The rest is as in PATCH of one record.',
    query: 'write',
    headers: WRITE_SEVERAL,
    body: { shape: 'records', holds: 'changes', mediaTypes: RECORD },
    mediaTypes: RECORD,
    responses: {
      200: {
        holds: 'records',
        description: 'The updated records, in the order of the items.',
        headers: WRITE_HEADERS,
      },
      204: { description: `The records were updated. ${MINIMAL}`, headers: WRITE_HEADERS },
    },
    problems: [...ANY, 'record-not-found', ...BODY, ...WRITING, 'batch-too-large', ...CONFLICTS],
  },
  deleteFound: {
    right: 'delete',
    method: 'DELETE',
    path: 'collection',
    // No filter can name the tag of each record.
    isOffered: ({ preconditions }) => preconditions !== 'required',
    id: 'deleteMany{many}',
    title: 'Delete {many} by conditions',
    description:
      'Deletes all records that match all filters, and the records they own, or nothing. There must be a filter, and `Prefer: max-affected=N`.',
    query: 'remove',
    headers: ['Prefer: max-affected', 'Idempotency-Key'],
    mediaTypes: RECORD,
    responses: {
      200: { holds: 'counts', description: 'How many records were deleted.', headers: WRITE_HEADERS },
      204: DELETED,
    },
    problems: [...ANY, ...WRITING_ANY, 'too-many-affected', 'too-many-rows', 'restrict-conflict'],
  },
  summary: {
    right: 'list',
    method: 'GET',
    path: 'summary',
    id: 'summarize{many}',
    title: 'Summarize {many} by conditions',
    description:
      'Counts the records in each group, and adds up their values. Takes the filters of the list. Sums are exact; sum, min and max of no value are null. `Link` leads to other pages by offset.',
    query: 'summary',
    headers: ['Prefer: count', 'If-None-Match', 'X-Position'],
    mediaTypes: ROWS,
    responses: {
      200: { holds: 'groups', description: 'The groups, in the requested order.', headers: ROW_HEADERS },
      304: NOT_MODIFIED,
    },
    problems: [...ANY, 'too-many-groups'],
  },
  get: {
    right: 'get',
    method: 'GET',
    path: 'item',
    id: 'get{one}',
    title: 'Retrieve {one} by id',
    description: 'Returns one record, with its relations one level deep.',
    query: 'view',
    headers: ['If-None-Match', 'X-Position'],
    mediaTypes: RECORD,
    responses: { 200: { holds: 'record', description: 'The record.', headers: ['ETag'] }, 304: NOT_MODIFIED },
    problems: [...ANY, ...ITEM, 'too-many-related'],
  },
  update: {
    right: 'update',
    method: 'PUT',
    path: 'item',
    id: 'update{one}',
    title: 'Update {one} by id',
    description: 'Changes the keys in the body and leaves the others as they are. What GET returns can be sent back.',
    query: 'write',
    headers: WRITE_ONE,
    body: { shape: 'record', holds: 'changes', mediaTypes: RECORD },
    mediaTypes: RECORD,
    responses: UPDATED,
    problems: [...ANY, ...ITEM, ...BODY, ...WRITING, ...CONFLICTS],
  },
  patch: {
    right: 'update',
    method: 'PATCH',
    path: 'item',
    id: 'patch{one}',
    title: 'Change {one} by id',
    description: 'Like PUT, but merges free JSON values (JSON Merge Patch, RFC 7396): there null removes a key.',
    query: 'write',
    headers: WRITE_ONE,
    body: { shape: 'record', holds: 'changes', mediaTypes: [MERGE_PATCH_TYPE, JSON_TYPE] },
    mediaTypes: RECORD,
    responses: UPDATED,
    problems: [...ANY, ...ITEM, ...BODY, ...WRITING, ...CONFLICTS],
  },
  delete: {
    right: 'delete',
    method: 'DELETE',
    path: 'item',
    id: 'delete{one}',
    title: 'Delete {one} by id',
    description: 'Deletes the record and the records it owns, and returns the record as it was.',
    query: 'write',
    headers: WRITE_ONE,
    mediaTypes: RECORD,
    responses: { 200: { holds: 'record', description: 'The record as it was.', headers: WRITE_HEADERS }, 204: DELETED },
    problems: [
      ...ANY,
      ...ITEM,
      ...WRITING,
      'too-many-related',
      'too-many-rows',
      'restrict-conflict',
      'precondition-required',
    ],
  },
} as const satisfies Readonly<Record<string, OperationEntry>>;

export type OperationName = keyof typeof OPERATIONS;

export const operationEntries: readonly (readonly [OperationName, OperationEntry])[] = Object.entries(
  OPERATIONS,
) as readonly (readonly [OperationName, OperationEntry])[];
