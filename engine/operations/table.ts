/** The operations on the records of a type; routes, in-process calls, MCP tools and OpenAPI derive from them. */
import type { Operation } from '../descriptor/descriptor.ts';
import type { RecordType } from '../model/model.ts';
import { can, hasHistory, hasWholeHistory, hiddenRequirement, namedUniques, type Rights } from '../model/rights.ts';
import { type ProblemCode, problemCodes, type ProblemKind, problemKinds } from '../problem.ts';

export const JSON_TYPE = 'application/json';
export const NDJSON_TYPE = 'application/x-ndjson';
export const EVENTS_TYPE = 'text/event-stream';
export const CSV_TYPE = 'text/csv';
/** The first line names the columns (RFC 4180, 3). */
export const CSV_CONTENT = `${CSV_TYPE}; charset=utf-8; header=present`;

/** The paths of operations below that of the type. Words of the engine begin with `$`. */
export const PATHS = {
  collection: '',
  summary: '/$summary',
  deleted: '/$deleted',
  item: '/{id}',
  history: '/{id}/$history',
  restore: '/{id}/$restore',
} as const;

export type OperationPath = keyof typeof PATHS;

/** Whether the path has the identifier of a record. */
export const isOfRecord = (path: OperationPath): boolean => PATHS[path].startsWith(PATHS.item);

export const operationPaths = Object.entries(PATHS) as readonly (readonly [OperationPath, string])[];

/** A key of TypeQueries. */
export type QueryKind = 'list' | 'summary' | 'log' | 'view' | 'write' | 'upsert' | 'remove';

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

export type ResponseContent =
  | 'record'
  | 'recordOrRecords'
  | 'records'
  | 'list'
  | 'groups'
  | 'counts'
  | 'LogEntry'
  | 'DeletedRecord';

export interface OperationEntry {
  /** The right that the descriptor and the token must grant. */
  readonly right: Operation;
  readonly and?: Operation;
  /** The part of the type's log that the client must be allowed to read. */
  readonly log?: 'of some records' | 'of all records';
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: OperationPath;
  /** Why the type cannot offer an operation that its descriptor grants. */
  readonly unsuited?: (type: RecordType, rights?: Rights) => string | undefined;
  readonly query: QueryKind;
  readonly headers: readonly RequestHeader[];
  readonly body?: { readonly shape: BodyShape; readonly mediaTypes: readonly string[] };
  /** Media types of the response, if not only JSON. */
  readonly mediaTypes?: readonly string[];
  readonly answers: Readonly<Partial<Record<200 | 201, ResponseContent>>>;
  /** `problemsOf` adds the shared ones. */
  readonly problems?: readonly ProblemCode[];
}

const ROWS: readonly string[] = [JSON_TYPE, NDJSON_TYPE, CSV_TYPE];

const READ = ['If-None-Match', 'X-Position'] as const;
const WRITE_SEVERAL = ['Prefer-Return', 'Idempotency-Key'] as const;
const WRITE_ONE = [...WRITE_SEVERAL, 'If-Match'] as const;

const TOO_MANY = ['too-many-rows', 'too-many-related'] as const;

const OF_LOG = {
  method: 'GET',
  query: 'log',
  headers: READ,
  mediaTypes: [JSON_TYPE, NDJSON_TYPE],
  problems: ['cursor-expired'],
} as const;

const OF_RECORD = { path: 'item', query: 'write', headers: WRITE_ONE, answers: { 200: 'record' } } as const;

const OF_ROWS = { right: 'list', method: 'GET', headers: ['Prefer-Count', ...READ], mediaTypes: ROWS } as const;
const OF_SEVERAL = { query: 'write', headers: WRITE_SEVERAL } as const;

/** `Allow` names the methods of a path in this order. */
export const OPERATIONS = {
  list: {
    ...OF_ROWS,
    path: 'collection',
    query: 'list',
    answers: { 200: 'list' },
    problems: ['too-many-related'],
  },
  create: {
    ...OF_SEVERAL,
    right: 'create',
    method: 'POST',
    path: 'collection',
    body: { shape: 'either', mediaTypes: ROWS },
    answers: { 200: 'recordOrRecords', 201: 'recordOrRecords' },
    problems: ['invalid-csv', 'identifier-conflict', 'batch-too-large'],
  },
  upsert: {
    right: 'update',
    and: 'create',
    method: 'PUT',
    path: 'collection',
    unsuited: (type, rights) => {
      const other = type.identifier.inRecord ? `; POST takes on=${type.identifier.name}` : '';
      return namedUniques(type, rights).length > 0 ? undefined : `no unique values could name the record${other}`;
    },
    query: 'upsert',
    headers: [...WRITE_ONE, 'If-None-Match-Any'],
    body: { shape: 'record', mediaTypes: [JSON_TYPE] },
    answers: { 200: 'record', 201: 'record' },
    problems: ['identifier-conflict'],
  },
  updateMany: {
    ...OF_SEVERAL,
    right: 'update',
    method: 'PATCH',
    path: 'collection',
    unsuited: ({ identifier }) =>
      identifier.inRecord ? undefined : 'the items of an array could not name their records by identifiers',
    body: { shape: 'records', mediaTypes: [JSON_TYPE] },
    answers: { 200: 'records' },
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
    query: 'remove',
    headers: ['Prefer-Max-Affected', 'Idempotency-Key'],
    answers: { 200: 'counts' },
    problems: ['too-many-rows', 'restrict-conflict', 'too-many-affected'],
  },
  summary: {
    ...OF_ROWS,
    path: 'summary',
    query: 'summary',
    answers: { 200: 'groups' },
    problems: ['too-many-groups'],
  },
  get: {
    right: 'get',
    method: 'GET',
    path: 'item',
    query: 'view',
    headers: READ,
    answers: { 200: 'record' },
    problems: ['too-many-related'],
  },
  history: {
    ...OF_LOG,
    right: 'get',
    log: 'of some records',
    path: 'history',
    answers: { 200: 'LogEntry' },
  },
  deleted: {
    ...OF_LOG,
    right: 'list',
    log: 'of all records',
    path: 'deleted',
    answers: { 200: 'DeletedRecord' },
  },
  update: {
    ...OF_RECORD,
    right: 'update',
    method: 'PUT',
    body: { shape: 'record', mediaTypes: [JSON_TYPE] },
  },
  patch: {
    ...OF_RECORD,
    right: 'update',
    method: 'PATCH',
    body: { shape: 'record', mediaTypes: ['application/merge-patch+json', JSON_TYPE] },
  },
  delete: {
    ...OF_RECORD,
    right: 'delete',
    method: 'DELETE',
    problems: [...TOO_MANY, 'restrict-conflict', 'precondition-failed', 'precondition-required'],
  },
  restore: {
    ...OF_SEVERAL,
    right: 'create',
    log: 'of some records',
    method: 'POST',
    path: 'restore',
    answers: { 200: 'record' },
    problems: ['precondition-failed', 'identifier-conflict', 'unique-conflict', 'invalid-reference', ...TOO_MANY],
  },
} as const satisfies Readonly<Record<string, OperationEntry>>;

export type OperationName = keyof typeof OPERATIONS;

export const operationEntries = Object.entries(OPERATIONS) as readonly (readonly [OperationName, OperationEntry])[];

/** Whether a type offers an operation. */
export const isOffered = (entry: OperationEntry, type: RecordType): boolean =>
  isGranted(entry, type) && entry.unsuited?.(type) === undefined;

export const isGranted = ({ right, and = right, log }: OperationEntry, { operations, history }: RecordType): boolean =>
  operations.has(right) && operations.has(and) && (log === undefined || history);

/** Why the client may not do this; undefined if it may. Completes the message that refuses it. */
export function refusalOf({ right, and = right, log }: OperationEntry, type: RecordType, rights: Rights) {
  if (!can(rights, type, right) || !can(rights, type, and)) return hiddenRequirement(rights, type, right);
  if (log === undefined || (log === 'of some records' ? hasHistory : hasWholeHistory)(rights, type)) return undefined;
  return hasHistory(rights, type)
    ? `, since not all records of ${type.name} may be read`
    : `, since the history of ${type.name} may not be read`;
}

/** Whether a create can find records that are there: by unique values, or by their identifiers. */
export const isUpsertable = (type: RecordType): boolean =>
  isGranted(OPERATIONS.upsert, type) && (type.identifier.inRecord || isOffered(OPERATIONS.upsert, type));

const problemsIn = (requests: ProblemKind['requests']): readonly ProblemCode[] =>
  problemCodes.filter((code) => problemKinds[code].requests === requests);
const [ANY, WRITING, WITH_BODY] = [problemsIn('all'), problemsIn('writes'), problemsIn('bodies')];

/** All problems that an operation may respond with, some only for types with relations or unique values. */
export const problemsOf = ({ method, path, body, problems = [] }: OperationEntry): readonly ProblemCode[] => [
  ...ANY,
  ...(isOfRecord(path) ? (['invalid-identifier', 'record-not-found'] as const) : []),
  ...(method === 'GET' ? [] : WRITING),
  ...(body ? WITH_BODY : []),
  ...problems,
];
