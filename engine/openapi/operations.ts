/** The operations of each type, with their parameters, bodies and responses. */
import type { Operation } from '../descriptor/descriptor.ts';
import type { JsonObject } from '../json.ts';
import type { RecordType } from '../model/model.ts';
import {
  changeBody,
  creationBody,
  itemsAnswer,
  itemsBody,
  listAnswer,
  postedAnswer,
  recordAnswer,
  summaryAnswer,
  updateAnswers,
  upsertBody,
  writtenAnswer,
} from './contents.ts';
import {
  filters,
  listParameters,
  type SharedParameter,
  summaryParameters,
  uniqueParameter,
  variantParameter,
  viewParameters,
} from './parameters.ts';
import { manyInWords, oneInWords, ref, type SchemaNames } from './names.ts';
import { type ProblemResponses, upserts } from './problems.ts';

interface OperationKind {
  readonly operation: Operation;
  /** What its problems are, if not those of the operation. */
  readonly problems?: 'deleteFound' | 'updateMany' | 'summary' | 'upsert';
  readonly path: 'collection' | 'item' | 'summary';
  readonly method: string;
  readonly id: (type: RecordType, names: SchemaNames) => string;
  readonly summary: (type: RecordType) => string;
  readonly description: string;
  /** Parameters of its own type. */
  readonly parameters: (type: RecordType, names: SchemaNames) => readonly JsonObject[];
  readonly shared: readonly SharedParameter[];
  readonly body?: (type: RecordType, names: SchemaNames) => JsonObject;
  readonly answers: (type: RecordType, names: SchemaNames) => JsonObject;
}

const CREATED = 'The created record, or the array of them. After `Prefer: return=minimal`, nothing.';
const UPSERTED = 'With `on`: the updated record, or the array of the updated and created ones.';

/** Beside the filters of a type. */
const GROUPS = ['Condition-Any', 'Condition-All', 'Condition-None'] as const;

const KINDS: readonly OperationKind[] = [
  {
    operation: 'list',
    path: 'collection',
    method: 'get',
    id: (type, names) => `list${names.many(type)}`,
    summary: (type) => `Retrieve ${manyInWords(type)} by conditions`,
    description: 'Returns the whole list, or one page if a limit is given. Records must match all filters.',
    parameters: (type, names) => [...listParameters(type, names), ...viewParameters(type, names)],
    shared: [...GROUPS, 'after', 'before', 'Prefer-Count', 'If-None-Match', 'X-Position'],
    answers: (type, names) => ({ 200: listAnswer(type, names), 304: ref('responses', 'notModified') }),
  },
  {
    operation: 'list',
    problems: 'summary',
    path: 'summary',
    method: 'get',
    id: (type, names) => `summarize${names.many(type)}`,
    summary: (type) => `Summarize ${manyInWords(type)} by conditions`,
    description:
      'Counts the records in each group, and adds up their values. Takes the filters of the list. Sums are exact; sum, min and max of no value are null. `Link` leads to other pages by offset.',
    parameters: summaryParameters,
    shared: [...GROUPS, 'Prefer-Count', 'If-None-Match', 'X-Position'],
    answers: (type) => ({ 200: summaryAnswer(type), 304: ref('responses', 'notModified') }),
  },
  {
    operation: 'create',
    path: 'collection',
    method: 'post',
    id: (type, names) => `create${names.one(type)}`,
    summary: (type) => `Add new ${oneInWords(type)}`,
    description:
      'Creates a record and the records nested in it, or those of an array or of lines, all or nothing. Of several, the response is the array of the records, in order, without Location and ETag. With `on`, records that are there already are changed; then the status of several is 200.',
    parameters: (type, names) => [
      ...(upserts(type) ? [uniqueParameter(type, false)] : []),
      ...viewParameters(type, names),
    ],
    shared: ['dryRun', 'Prefer-Return', 'Idempotency-Key'],
    body: creationBody,
    answers: (type, names) => ({
      ...(upserts(type)
        ? { 200: postedAnswer(type, names, UPSERTED, ['ETag']), 204: ref('responses', 'updated') }
        : {}),
      201: postedAnswer(type, names, CREATED, ['Location', 'ETag']),
    }),
  },
  {
    operation: 'update',
    problems: 'upsert',
    path: 'collection',
    method: 'put',
    id: (type, names) => `put${names.one(type)}`,
    summary: (type) => `Update or add ${oneInWords(type)} by unique values`,
    description:
      'Changes the record that has the unique values which `on` names, or creates it if there is none. The body must have these values; of a new record, all that is required.',
    parameters: (type, names) => [uniqueParameter(type, true), ...viewParameters(type, names)],
    shared: ['dryRun', 'Prefer-Return', 'Idempotency-Key', 'If-Match', 'If-None-Match-Any'],
    body: upsertBody,
    answers: (type, names) => ({
      ...updateAnswers(type, names),
      201: writtenAnswer(type, names, 'The created record. After `Prefer: return=minimal`, nothing.', [
        'Location',
        'ETag',
      ]),
    }),
  },
  {
    operation: 'update',
    problems: 'updateMany',
    path: 'collection',
    method: 'patch',
    id: (type, names) => `patchMany${names.many(type)}`,
    summary: (type) => `Change several ${manyInWords(type)}`,
    description:
      'Changes the records of an array, each named by its identifier, all or nothing. The rest is as in PATCH of one record.',
    parameters: viewParameters,
    shared: ['dryRun', 'Prefer-Return', 'Idempotency-Key'],
    body: itemsBody,
    answers: (type, names) => ({
      200: itemsAnswer(type, names),
      204: ref('responses', 'updatedMany'),
    }),
  },
  {
    operation: 'delete',
    problems: 'deleteFound',
    path: 'collection',
    method: 'delete',
    id: (type, names) => `deleteMany${names.many(type)}`,
    summary: (type) => `Delete ${manyInWords(type)} by conditions`,
    description:
      'Deletes all records that match all filters, and the records they own, or nothing. There must be a filter, and `Prefer: max-affected=N`.',
    parameters: (type, names) => [...filters(type, names), ...variantParameter(type, names)],
    shared: [...GROUPS, 'dryRun', 'Prefer-Max-Affected', 'Idempotency-Key'],
    answers: () => ({ 200: ref('responses', 'deletedFound'), 204: ref('responses', 'deleted') }),
  },
  {
    operation: 'get',
    path: 'item',
    method: 'get',
    id: (type, names) => `get${names.one(type)}`,
    summary: (type) => `Retrieve ${oneInWords(type)} by id`,
    description: 'Returns one record, with its relations one level deep.',
    parameters: viewParameters,
    shared: ['If-None-Match', 'X-Position'],
    answers: (type, names) => ({
      200: recordAnswer(type, names),
      304: ref('responses', 'notModified'),
    }),
  },
  {
    operation: 'update',
    path: 'item',
    method: 'put',
    id: (type, names) => `update${names.one(type)}`,
    summary: (type) => `Update ${oneInWords(type)} by id`,
    description: 'Changes the keys in the body and leaves the others as they are. What GET returns can be sent back.',
    parameters: viewParameters,
    shared: ['dryRun', 'Prefer-Return', 'Idempotency-Key'],
    body: (type, names) => changeBody(type, names, ['application/json']),
    answers: updateAnswers,
  },
  {
    operation: 'update',
    path: 'item',
    method: 'patch',
    id: (type, names) => `patch${names.one(type)}`,
    summary: (type) => `Change ${oneInWords(type)} by id`,
    description: 'Like PUT, but merges free JSON values (JSON Merge Patch, RFC 7396): there null removes a key.',
    parameters: viewParameters,
    shared: ['dryRun', 'Prefer-Return', 'Idempotency-Key'],
    body: (type, names) => changeBody(type, names, ['application/merge-patch+json', 'application/json']),
    answers: updateAnswers,
  },
  {
    operation: 'delete',
    path: 'item',
    method: 'delete',
    id: (type, names) => `delete${names.one(type)}`,
    summary: (type) => `Delete ${oneInWords(type)} by id`,
    description: 'Deletes the record and the records it owns, and returns the record as it was.',
    parameters: viewParameters,
    shared: ['dryRun', 'Prefer-Return', 'Idempotency-Key'],
    answers: (type, names) => ({
      200: writtenAnswer(type, names, 'The record as it was.', []),
      204: ref('responses', 'deleted'),
    }),
  },
];

/** The path item of one of the paths of a type. */
export function pathMethods(
  type: RecordType,
  path: OperationKind['path'],
  names: SchemaNames,
  problems: ProblemResponses,
): JsonObject {
  const kinds = KINDS.filter(
    (kind) => kind.path === path && type.operations.has(kind.operation) && isOffered(kind, type),
  );
  return Object.fromEntries(kinds.map((kind) => [kind.method, operationObject(kind, type, names, problems)]));
}

function isOffered({ problems }: OperationKind, type: RecordType): boolean {
  if (problems === 'upsert') return upserts(type);
  if (problems === 'updateMany') return type.identifier.inRecord;
  return problems !== 'deleteFound' || type.preconditions !== 'required';
}

function operationObject(
  kind: OperationKind,
  type: RecordType,
  names: SchemaNames,
  problems: ProblemResponses,
): JsonObject {
  const body = kind.body?.(type, names);
  return {
    operationId: kind.id(type, names),
    summary: kind.summary(type),
    description: [kind.description, ...(type.description === '' ? [] : [type.description])].join('\n\n'),
    tags: [type.name],
    parameters: [
      ...kind.parameters(type, names),
      ...[...kind.shared, ...conditions(kind, type), 'X-Request-Id' as const].map(sharedParameter),
    ],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: { ...kind.answers(type, names), ...problems.of(kind.problems ?? kind.operation, kind.method, type) },
  };
}

const sharedParameter = (name: SharedParameter): JsonObject => ref('parameters', name);

function conditions({ operation, path }: OperationKind, { preconditions }: RecordType): readonly SharedParameter[] {
  if (path === 'collection' || (operation !== 'update' && operation !== 'delete')) return [];
  return preconditions === 'required' ? ['If-Match-Required'] : ['If-Match'];
}
