/** The operations on the records of a type; routes, in-process calls, MCP tools and OpenAPI derive from them. */
import type { Operation } from '../descriptor/descriptor.ts';
import type { RecordType } from '../model/model.ts';
import { namedUniques, type Rights } from '../model/rights.ts';
import type { ProblemCode } from '../problem.ts';

export const JSON_TYPE = 'application/json';
export const NDJSON_TYPE = 'application/x-ndjson';
export const CSV_TYPE = 'text/csv';
/** The first line names the columns (RFC 4180, 3). */
export const CSV_CONTENT = `${CSV_TYPE}; charset=utf-8; header=present`;

/** `/api/TYPE`, `/api/TYPE/{id}` and `/api/TYPE/$summary`. */
export type OperationPath = 'collection' | 'item' | 'summary';

/** A key of TypeQueries. */
export type QueryKind = 'list' | 'summary' | 'view' | 'write' | 'upsert' | 'remove';

/** `Prefer-X`: the preference X; `If-None-Match-Any`: only `*` is valid. */
type RequestHeader =
  | 'If-Match'
  | 'If-None-Match'
  | 'If-None-Match-Any'
  | 'Idempotency-Key'
  | 'Prefer-Count'
  | 'Prefer-Return'
  | 'Prefer-Max-Affected'
  | 'X-Position';

/** `record`: one; `records`: changes, each with its identifier; `either`: a new record, or an array of them. */
export type BodyShape = 'record' | 'records' | 'either';

export type ResponseContent = 'record' | 'recordOrRecords' | 'records' | 'list' | 'groups' | 'counts';

export interface OperationEntry {
  /** The right that the descriptor and the token must grant. */
  readonly right: Operation;
  readonly and?: Operation;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: OperationPath;
  /** Why the type cannot offer an operation that its descriptor grants. */
  readonly unsuited?: (type: RecordType, rights?: Rights) => string | undefined;
  /** OpenAPI's operationId. `{one}` and `{many}`, here and in `title`, are the names of the type. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly query: QueryKind;
  readonly headers: readonly RequestHeader[];
  readonly body?: { readonly shape: BodyShape; readonly mediaTypes: readonly string[] };
  /** Media types of the response, if not only JSON. */
  readonly mediaTypes?: readonly string[];
  readonly answers: Readonly<Partial<Record<200 | 201, readonly [ResponseContent, description: string]>>>;
  /** `problemsOf` adds the shared ones. */
  readonly problems?: readonly ProblemCode[];
}

const ROWS: readonly string[] = [JSON_TYPE, NDJSON_TYPE, CSV_TYPE];

const READ = ['If-None-Match', 'X-Position'] as const;
const WRITE_SEVERAL = ['Prefer-Return', 'Idempotency-Key'] as const;
const WRITE_ONE = [...WRITE_SEVERAL, 'If-Match'] as const;

const UPDATED = ['record', 'The updated record.'] as const;
const DELETING = ['too-many-rows', 'restrict-conflict'] as const;

/** `Allow` names the methods of a path in this order. */
export const OPERATIONS = {
  list: {
    right: 'list',
    method: 'GET',
    path: 'collection',
    id: 'list{many}',
    title: 'Retrieve {many} by conditions',
    description: 'Returns the whole list, or one page if a limit is given. Records must match all filters.',
    query: 'list',
    headers: ['Prefer-Count', ...READ],
    mediaTypes: ROWS,
    answers: { 200: ['list', 'The records that match the filters, in the requested order.'] },
    problems: ['too-many-related'],
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
    body: { shape: 'either', mediaTypes: ROWS },
    answers: {
      200: ['recordOrRecords', 'With `on`: the updated record, or the array of the updated and created ones.'],
      201: ['recordOrRecords', 'The created record, or the array of them. After `Prefer: return=minimal`, nothing.'],
    },
    problems: ['invalid-csv', 'identifier-conflict', 'batch-too-large'],
  },
  upsert: {
    right: 'update',
    and: 'create',
    method: 'PUT',
    path: 'collection',
    unsuited: (type, rights) =>
      namedUniques(type, rights).length > 0 ? undefined : 'no unique values of the type could name the record',
    id: 'put{one}',
    title: 'Update or add {one} by unique values',
    description:
      'Changes the record that has the unique values which `on` names, or creates it if there is none. The body must have these values; of a new record, all that is required.',
    query: 'upsert',
    headers: [...WRITE_ONE, 'If-None-Match-Any'],
    body: { shape: 'record', mediaTypes: [JSON_TYPE] },
    answers: { 200: UPDATED, 201: ['record', 'The created record. After `Prefer: return=minimal`, nothing.'] },
    problems: ['identifier-conflict'],
  },
  updateMany: {
    right: 'update',
    method: 'PATCH',
    path: 'collection',
    unsuited: ({ identifier }) =>
      identifier.inRecord ? undefined : 'the items of an array could not name their records by identifiers',
    id: 'patchMany{many}',
    title: 'Change several {many}',
    description:
      'Changes the records of an array, each named by its identifier, all or nothing. The rest is as in PATCH of one record.',
    query: 'write',
    headers: WRITE_SEVERAL,
    body: { shape: 'records', mediaTypes: [JSON_TYPE] },
    answers: { 200: ['records', 'The updated records, in the order of the items.'] },
    problems: ['record-not-found', 'batch-too-large'],
  },
  deleteFound: {
    right: 'delete',
    method: 'DELETE',
    path: 'collection',
    unsuited: ({ preconditions }) =>
      preconditions === 'required'
        ? 'no filter can name the tag of each record, which this type demands; delete each by its own path'
        : undefined,
    id: 'deleteMany{many}',
    title: 'Delete {many} by conditions',
    description:
      'Deletes all records that match all filters, and the records they own, or nothing. There must be a filter, and `Prefer: max-affected=N`.',
    query: 'remove',
    headers: ['Prefer-Max-Affected', 'Idempotency-Key'],
    answers: { 200: ['counts', 'How many records were deleted.'] },
    problems: [...DELETING, 'too-many-affected'],
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
    headers: ['Prefer-Count', ...READ],
    mediaTypes: ROWS,
    answers: { 200: ['groups', 'The groups, in the requested order.'] },
    problems: ['too-many-groups'],
  },
  get: {
    right: 'get',
    method: 'GET',
    path: 'item',
    id: 'get{one}',
    title: 'Retrieve {one} by id',
    description: 'Returns one record, with its relations one level deep.',
    query: 'view',
    headers: READ,
    answers: { 200: ['record', 'The record.'] },
    problems: ['too-many-related'],
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
    body: { shape: 'record', mediaTypes: [JSON_TYPE] },
    answers: { 200: UPDATED },
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
    body: { shape: 'record', mediaTypes: ['application/merge-patch+json', JSON_TYPE] },
    answers: { 200: UPDATED },
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
    answers: { 200: ['record', 'The record as it was.'] },
    problems: [...DELETING, 'too-many-related', 'precondition-failed', 'precondition-required'],
  },
} as const satisfies Readonly<Record<string, OperationEntry>>;

export type OperationName = keyof typeof OPERATIONS;

export const operationEntries = Object.entries(OPERATIONS) as readonly (readonly [OperationName, OperationEntry])[];

/** Whether a type offers an operation to clients with these rights. */
export const isOffered = (entry: OperationEntry, type: RecordType, rights?: Rights): boolean =>
  isGranted(entry, type) && entry.unsuited?.(type, rights) === undefined;

export const isGranted = ({ right, and = right }: OperationEntry, { operations }: RecordType): boolean =>
  operations.has(right) && operations.has(and);

export const isUpsertable = (type: RecordType): boolean => isOffered(OPERATIONS.upsert, type);

interface ResponseEntry {
  readonly status: 200 | 201 | 204 | 304;
  readonly holds?: ResponseContent;
  readonly description: string;
  /** All responses also have Cache-Control, Vary and X-Request-Id. */
  readonly headers: readonly ('ETag' | 'Location' | 'Link' | 'X-Total-Count' | 'Preference-Applied' | 'X-Position')[];
}

export function responsesOf({ method, path, right, body, answers }: OperationEntry): readonly ResponseEntry[] {
  const isSeveral = body?.shape === 'records';
  const tag = right === 'delete' || isSeveral ? [] : (['ETag'] as const);
  const written = [...tag, 'X-Position', 'Preference-Applied'] as const;
  const rows = ['X-Total-Count', 'Link', 'ETag', 'Preference-Applied'] as const;
  const own = method !== 'GET' ? written : path === 'item' ? tag : rows;
  const withContent = ([200, 201] as const).flatMap((status): readonly ResponseEntry[] => {
    const [holds, description] = answers[status] ?? [];
    if (holds === undefined || description === undefined) return [];
    return [{ status, holds, description, headers: status === 201 ? ['Location', ...own] : own }];
  });
  if (method === 'GET') {
    const description = 'The client already has the current representation.';
    return [...withContent, { status: 304, description, headers: ['ETag'] }];
  }
  const done = isSeveral ? 'records were updated' : `record was ${right === 'delete' ? 'deleted' : 'updated'}`;
  const description = `The ${done}. After \`Prefer: return=minimal\`.`;
  return [...withContent, { status: 204, description, headers: written }];
}

const ANY: readonly ProblemCode[] = [
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
];
const WRITING: readonly ProblemCode[] = [
  'invalid-header',
  'forbidden',
  'outcome-unknown',
  'storage-full',
  'refused-by-database',
  'idempotency-conflict',
];
const WITH_BODY: readonly ProblemCode[] = [
  'invalid-json',
  'content-too-large',
  'unsupported-media-type',
  'invalid-body',
  'too-many-related',
  'unique-conflict',
  'invalid-reference',
  'too-many-rows',
  'link-conflict',
  'restrict-conflict',
  'precondition-failed',
  'precondition-required',
];

/** All problems that an operation may respond with, some only for types with relations or unique values. */
export const problemsOf = ({ method, path, body, problems = [] }: OperationEntry): readonly ProblemCode[] => [
  ...ANY,
  ...(path === 'item' ? (['invalid-identifier', 'record-not-found'] as const) : []),
  ...(method === 'GET' ? [] : WRITING),
  ...(body ? WITH_BODY : []),
  ...problems,
];
