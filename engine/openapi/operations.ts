/** The operations of each type, from the table of operations: their parameters, bodies and responses. */
import type { JsonObject } from '../json.ts';
import type { RecordType } from '../model/model.ts';
import {
  type OperationEntry,
  type OperationPath,
  operationEntries,
  OPERATIONS,
  isUpsertable,
  type QueryKind,
  type RequestHeader,
} from '../operations/table.ts';
import { requestBody, responseContent, responseOf } from './contents.ts';
import { manyInWords, oneInWords, ref, type SchemaNames } from './names.ts';
import {
  filters,
  listParameters,
  type SharedParameter,
  summaryParameters,
  uniqueParameter,
  variantParameter,
  viewParameters,
} from './parameters.ts';
import type { ProblemResponses } from './problems.ts';

/** The path item of one of the paths of a type. */
export function pathMethods(
  type: RecordType,
  path: OperationPath,
  names: SchemaNames,
  problems: ProblemResponses,
): JsonObject {
  const offered = operationEntries
    .map(([, entry]) => entry)
    .filter(
      ({ path: at, right, and = right, isOffered }) =>
        at === path && type.operations.has(right) && type.operations.has(and) && isOffered?.(type) !== false,
    );
  return Object.fromEntries(
    offered.map((entry) => [entry.method.toLowerCase(), operationObject(entry, type, names, problems)]),
  );
}

function operationObject(
  entry: OperationEntry,
  type: RecordType,
  names: SchemaNames,
  problems: ProblemResponses,
): JsonObject {
  const { id, title, description, body } = entry;
  const named = (text: string, one: string, many: string): string => text.replace('{one}', one).replace('{many}', many);
  return {
    operationId: named(id, names.one(type), names.many(type)),
    summary: named(title, oneInWords(type), manyInWords(type)),
    description: [description, ...(type.description === '' ? [] : [type.description])].join('\n\n'),
    tags: [type.name],
    parameters: [...queryParameters(entry, type, names), ...headerParameters(entry, type)],
    ...(body === undefined ? {} : { requestBody: requestBody(body, type, names) }),
    responses: { ...responses(entry, type, names), ...problems.of(entry, type) },
  };
}

const shared = (...parameters: readonly SharedParameter[]): readonly JsonObject[] =>
  parameters.map((name) => ref('parameters', name));

const GROUPS = shared('Condition-Any', 'Condition-All', 'Condition-None');
const DRY_RUN = shared('dryRun');

type ParametersOf = (type: RecordType, names: SchemaNames) => readonly JsonObject[];

const QUERIES: Readonly<Record<QueryKind, ParametersOf>> = {
  list: (type, names) => [
    ...listParameters(type, names),
    ...viewParameters(type, names),
    ...GROUPS,
    ...shared('after', 'before'),
  ],
  summary: (type, names) => [...summaryParameters(type, names), ...GROUPS],
  view: viewParameters,
  write: (type, names) => [...viewParameters(type, names), ...DRY_RUN],
  upsert: (type, names) => [uniqueParameter(type, true), ...viewParameters(type, names), ...DRY_RUN],
  remove: (type, names) => [...filters(type, names), ...variantParameter(type, names), ...GROUPS, ...DRY_RUN],
};

const queryParameters = (entry: OperationEntry, type: RecordType, names: SchemaNames): readonly JsonObject[] => [
  ...(entry.right === 'create' && isUpsertable(type) ? [uniqueParameter(type, false)] : []),
  ...QUERIES[entry.query](type, names),
];

const HEADERS: Readonly<Record<RequestHeader, SharedParameter>> = {
  'If-Match': 'If-Match',
  'If-None-Match': 'If-None-Match',
  'If-None-Match: *': 'If-None-Match-Any',
  'Idempotency-Key': 'Idempotency-Key',
  'Prefer: count': 'Prefer-Count',
  'Prefer: return': 'Prefer-Return',
  'Prefer: max-affected': 'Prefer-Max-Affected',
  'X-Position': 'X-Position',
};

function headerParameters(
  { headers, method, path }: OperationEntry,
  { preconditions }: RecordType,
): readonly JsonObject[] {
  // Writes of one record compare their If-None-Match as well, but no client has a use for it.
  const offered = headers.filter((header) => header !== 'If-None-Match' || method === 'GET');
  const isRequired = path === 'item' && preconditions === 'required';
  const all = offered.map((header) => (header === 'If-Match' && isRequired ? 'If-Match-Required' : HEADERS[header]));
  return shared(...all, 'X-Request-Id');
}

function responses(entry: OperationEntry, type: RecordType, names: SchemaNames): JsonObject {
  const { responses: all, right } = entry;
  const offered = Object.entries(all).filter(([, { upserts }]) => upserts === undefined || isUpsertable(type));
  return Object.fromEntries(
    offered.map(([status, response]) => {
      if (response === OPERATIONS.update.responses[200]) return [status, ref('responses', names.updated(type))];
      const name = SHARED_NAMES.get(response.description);
      if (name !== undefined) return [status, ref('responses', name)];
      const content = responseContent(response, type, names);
      return [status, responseOf(response, content, right !== 'list' && right !== 'get')];
    }),
  );
}

/** Responses that are the same for every type, by description. */
const SHARED_NAMES: ReadonlyMap<string, string> = new Map([
  [OPERATIONS.list.responses[304].description, 'notModified'],
  [OPERATIONS.update.responses[204].description, 'updated'],
  [OPERATIONS.updateMany.responses[204].description, 'updatedMany'],
  [OPERATIONS.delete.responses[204].description, 'deleted'],
  [OPERATIONS.deleteFound.responses[200].description, 'deletedFound'],
]);
