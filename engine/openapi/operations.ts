/** The operations of each type, from the table of operations: their parameters, bodies and responses. */
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { RecordType } from '../model/model.ts';
import {
  CSV_TYPE,
  isUpsertable,
  JSON_TYPE,
  NDJSON_TYPE,
  type OperationEntry,
  operationEntries,
  type OperationPath,
  type QueryKind,
  type RequestHeader,
  type ResponseEntry,
} from '../operations/table.ts';
import { MAX_GROUPS } from '../query/summary.ts';
import {
  changeExample,
  creationExample,
  csvExample,
  itemExample,
  recordExample,
  summaryExample,
  upsertExample,
  withExample,
} from './examples.ts';
import type { Bounds } from './limits.ts';
import { arrayOf, manyInWords, oneInWords, oneOrMany, ref, type SchemaNames } from './names.ts';
import {
  filters,
  listParameters,
  type ParametersOf,
  type SharedParameter,
  summaryParameters,
  uniqueParameter,
  variantParameter,
  viewParameters,
} from './parameters.ts';
import type { ProblemResponses } from './problems.ts';
import { DELETED_FOUND, DRY_RUN_CONTENT, type HeaderName, type TEXT_SCHEMAS } from './shared.ts';

interface DocumentParts {
  readonly names: SchemaNames;
  readonly problems: ProblemResponses;
  readonly bounds: Bounds;
}

/** The methods of one of the paths of a type. */
export function pathMethods(type: RecordType, path: OperationPath, parts: DocumentParts): JsonObject {
  const offered = operationEntries.filter(
    ([, { right, and = right, isOffered, ...entry }]) =>
      entry.path === path &&
      type.operations.has(right) &&
      type.operations.has(and) &&
      (isOffered === undefined || isOffered(type)),
  );
  return Object.fromEntries(
    offered.map(([, entry]) => [entry.method.toLowerCase(), operationObject(entry, type, parts)]),
  );
}

function operationObject(
  entry: OperationEntry,
  type: RecordType,
  { names, problems, bounds }: DocumentParts,
): JsonObject {
  const parameters = [
    ...(takesUnique(entry, type) ? [uniqueParameter(type, false)] : []),
    ...PARAMETERS[entry.query](type, names),
    ...[...SHARED[entry.query], ...headersOf(entry, type)].map((name) => ref('parameters', name)),
  ];
  return {
    operationId: entry.id.replace('{one}', names.one(type)).replace('{many}', names.many(type)),
    summary: entry.title.replace('{one}', oneInWords(type)).replace('{many}', manyInWords(type)),
    description: [entry.description, ...(type.description === '' ? [] : [type.description])].join('\n\n'),
    tags: [type.name],
    parameters: parameters.map(bounds.parameter),
    ...(entry.body
      ? { requestBody: { required: true, content: bounds.content(bodyContent(entry, type, names)) } }
      : {}),
    responses: { ...responsesOf(entry, type, names), ...problems.of(entry, type) },
  };
}

/** Whether a create takes `on` for this type. */
const takesUnique = (entry: OperationEntry, type: RecordType): boolean =>
  entry.responses[200]?.upserts === true && isUpsertable(type);

// Parameters.

const PARAMETERS: Readonly<Record<QueryKind, ParametersOf>> = {
  list: (type, names) => [...listParameters(type, names), ...viewParameters(type, names)],
  summary: summaryParameters,
  view: viewParameters,
  write: viewParameters,
  upsert: (type, names) => [uniqueParameter(type, true), ...viewParameters(type, names)],
  remove: (type, names) => [...filters(type, names), ...variantParameter(type, names)],
};

const GROUPS = ['Condition-Any', 'Condition-All', 'Condition-None'] as const;

const SHARED: Readonly<Record<QueryKind, readonly SharedParameter[]>> = {
  list: [...GROUPS, 'after', 'before'],
  summary: GROUPS,
  view: [],
  write: ['dryRun'],
  upsert: ['dryRun'],
  remove: [...GROUPS, 'dryRun'],
};

const HEADER_PARAMETERS: Readonly<Record<RequestHeader, SharedParameter>> = {
  'If-Match': 'If-Match',
  'If-None-Match': 'If-None-Match',
  'If-None-Match: *': 'If-None-Match-Any',
  'Idempotency-Key': 'Idempotency-Key',
  'Prefer: count': 'Prefer-Count',
  'Prefer: return': 'Prefer-Return',
  'Prefer: max-affected': 'Prefer-Max-Affected',
  'X-Position': 'X-Position',
};

function headersOf({ headers, path }: OperationEntry, { preconditions }: RecordType): readonly SharedParameter[] {
  const isRequired = path === 'item' && preconditions === 'required';
  const all = headers.map((name) => HEADER_PARAMETERS[name]);
  return [...all.map((name) => (name === 'If-Match' && isRequired ? 'If-Match-Required' : name)), 'X-Request-Id'];
}

// Bodies.

function bodyContent({ body }: OperationEntry, type: RecordType, names: SchemaNames): JsonObject {
  const text = (schema: keyof typeof TEXT_SCHEMAS, value: string): JsonObject =>
    withExample(ref('schemas', schema), 'A new record.', value);
  switch (body?.holds) {
    case 'new': {
      const example = creationExample(type);
      return {
        [JSON_TYPE]: withExample(oneOrMany(ref('schemas', names.creation(type))), 'A new record.', example),
        [NDJSON_TYPE]: text('LinesBody', `${JSON.stringify(example)}\n`),
        [CSV_TYPE]: text('TableBody', csvExample(type)),
      };
    }
    case 'whole':
      return { [JSON_TYPE]: withExample(ref('schemas', names.input(type)), 'A whole record.', upsertExample(type)) };
    default: {
      const media =
        body?.shape === 'records'
          ? withExample(arrayOf(ref('schemas', names.item(type))), 'A change of one record.', [itemExample(type)])
          : withExample(ref('schemas', names.input(type)), 'A change of some values.', changeExample(type));
      return Object.fromEntries((body?.mediaTypes ?? []).map((name) => [name, media]));
    }
  }
}

// Responses.

type Status = keyof OperationEntry['responses'];

const statusesOf = ({ responses }: OperationEntry): readonly (readonly [Status, ResponseEntry])[] =>
  Object.entries(responses).map(([status, response]) => [Number(status) as Status, response]);

function responsesOf(entry: OperationEntry, type: RecordType, names: SchemaNames): JsonObject {
  const sent = statusesOf(entry).filter(([, { upserts }]) => upserts !== true || isUpsertable(type));
  return Object.fromEntries(
    sent.map(([status, response]) => {
      const shared = sharedName(entry, status, response) ?? ownName(entry, status, type, names);
      return [status, shared === undefined ? responseObject(entry, response, type, names) : ref('responses', shared)];
    }),
  );
}

/** The component of a response that is the same for every type. */
function sharedName({ right, body }: OperationEntry, status: Status, { holds }: ResponseEntry): string | undefined {
  if (status === 304) return 'notModified';
  if (holds === 'counts') return 'deletedFound';
  if (status !== 204) return undefined;
  if (right === 'delete') return 'deleted';
  return body?.shape === 'records' ? 'updatedMany' : 'updated';
}

/** The component of a response that several operations of the type have: the updated record. */
const ownName = (
  { right, body }: OperationEntry,
  status: Status,
  type: RecordType,
  names: SchemaNames,
): string | undefined =>
  right === 'update' && body?.shape === 'record' && status === 200 ? names.updated(type) : undefined;

export const typeResponses = (type: RecordType, names: SchemaNames): JsonObject =>
  Object.fromEntries(
    operationEntries.flatMap(([, entry]) =>
      statusesOf(entry).flatMap(([status, response]) => {
        const name = ownName(entry, status, type, names);
        return name === undefined ? [] : [[name, responseObject(entry, response, type, names)] as const];
      }),
    ),
  );

/** A response that holds records has a type. A write may be a dry run. */
function responseObject(
  { method }: OperationEntry,
  { holds, description, headers }: ResponseEntry,
  type?: RecordType,
  names?: SchemaNames,
): JsonObject {
  const content = holds === 'counts' ? COUNTS : type && names && holds ? CONTENTS[holds](type, names) : undefined;
  const all: readonly HeaderName[] = ['Cache-Control', 'Vary', 'X-Request-Id', 'RateLimit', 'RateLimit-Policy'];
  return {
    description,
    headers: Object.fromEntries([...all, ...headers].map((name) => [name, ref('headers', name)])),
    ...(content === undefined ? {} : { content: { ...content, ...(method === 'GET' ? {} : DRY_RUN_CONTENT) } }),
  };
}

const COUNTS: JsonObject = { [JSON_TYPE]: { schema: DELETED_FOUND, example: { deleted: 2, affected: 5 } } };

/** Records as responses show them: the example is the same in all of them. */
const shown = (schema: JsonObject, example: string): JsonObject => ({
  [JSON_TYPE]: { schema, examples: { example: ref('examples', example) } },
});

const lines = (ndjson: keyof typeof TEXT_SCHEMAS, csv: keyof typeof TEXT_SCHEMAS): JsonObject => ({
  [NDJSON_TYPE]: { schema: ref('schemas', ndjson) },
  [CSV_TYPE]: { schema: ref('schemas', csv) },
});

const recordOf = (type: RecordType, names: SchemaNames): JsonObject => ref('schemas', names.record(type));

type ContentOf = (type: RecordType, names: SchemaNames) => JsonObject;

const recordsContent: ContentOf = (type, names) =>
  shown(arrayOf(recordOf(type, names)), names.example(type, 'Records'));

const CONTENTS: Readonly<Record<Exclude<NonNullable<ResponseEntry['holds']>, 'counts'>, ContentOf>> = {
  record: (type, names) => shown(recordOf(type, names), names.example(type, 'Record')),
  recordOrRecords: (type, names) => shown(oneOrMany(recordOf(type, names)), names.example(type, 'Record')),
  records: recordsContent,
  list: (type, names) => ({ ...recordsContent(type, names), ...lines('RecordLines', 'RecordTable') }),
  groups: (type) => {
    const [by, measures] = summaryExample(type);
    const groups = arrayOf(ref('schemas', 'SummaryGroup'), { maxItems: MAX_GROUPS });
    return {
      [JSON_TYPE]: withExample(groups, 'One group.', [{ by, measures }]),
      ...lines('GroupLines', 'GroupTable'),
    };
  },
};

const exampleOf = (summary: string, value: JsonValue): JsonObject => ({ summary, value });

/** By name. */
export const typeExamples = (type: RecordType, names: SchemaNames): JsonObject => ({
  [names.example(type, 'Record')]: exampleOf('A record.', recordExample(type)),
  [names.example(type, 'Records')]: exampleOf('A list of one record.', [recordExample(type)]),
});

export const SHARED_RESPONSES: JsonObject = Object.fromEntries(
  operationEntries.flatMap(([, entry]) =>
    statusesOf(entry).flatMap(([status, response]) => {
      const name = sharedName(entry, status, response);
      return name === undefined ? [] : [[name, responseObject(entry, response)] as const];
    }),
  ),
);
