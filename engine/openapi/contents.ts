/** What requests and responses hold: bodies, headers, schemas and examples. */
import type { JsonObject, JsonValue } from '../json.ts';
import type { RecordType } from '../model/model.ts';
import {
  type BodyEntry,
  CSV_TYPE,
  JSON_TYPE,
  NDJSON_TYPE,
  OPERATIONS,
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
import type { HeaderName } from './headers.ts';
import { arrayOf, oneOrMany, ref, type SchemaNames } from './names.ts';
import { DELETED_FOUND, DRY_RUN_CONTENT, type TEXT_SCHEMAS } from './reports.ts';

/** `mayBeTried`: a dry run answers with a report. */
export function responseOf(
  { description, headers }: ResponseEntry,
  content: JsonObject | undefined,
  mayBeTried: boolean,
): JsonObject {
  const all = ['Cache-Control', 'Vary', 'X-Request-Id', 'RateLimit', 'RateLimit-Policy', ...headers] as const;
  return {
    description,
    headers: Object.fromEntries(all.map((name: HeaderName) => [name, ref('headers', name)])),
    ...(content === undefined ? {} : { content: mayBeTried ? { ...content, ...DRY_RUN_CONTENT } : content }),
  };
}

/** The content of a response, by media type. */
export function responseContent(
  { holds }: ResponseEntry,
  type: RecordType,
  names: SchemaNames,
): JsonObject | undefined {
  const record = ref('schemas', names.record(type));
  switch (holds) {
    case 'record':
      return shown(record, names.example(type, 'Record'));
    case 'recordOrRecords':
      return shown(oneOrMany(record), names.example(type, 'Record'));
    case 'records':
      return shown(arrayOf(record), names.example(type, 'Records'));
    case 'list':
      return { ...shown(arrayOf(record), names.example(type, 'Records')), ...lines('RecordLines', 'RecordTable') };
    case 'groups': {
      const [by, measures] = summaryExample(type);
      const groups = arrayOf(ref('schemas', 'SummaryGroup'), { maxItems: MAX_GROUPS });
      return { ...json(groups, 'One group.', [{ by, measures }]), ...lines('GroupLines', 'GroupTable') };
    }
    case 'counts':
      return { [JSON_TYPE]: { schema: DELETED_FOUND, example: { deleted: 2, affected: 5 } } };
    default:
      return undefined;
  }
}

const json = (schema: JsonObject, exampleSummary: string, example: JsonValue): JsonObject => ({
  [JSON_TYPE]: withExample(schema, exampleSummary, example),
});

/** Records as responses show them: the example is the same in all of them. */
const shown = (schema: JsonObject, example: string): JsonObject => ({
  [JSON_TYPE]: { schema, examples: { example: ref('examples', example) } },
});

const lines = (ndjson: keyof typeof TEXT_SCHEMAS, csv: keyof typeof TEXT_SCHEMAS): JsonObject => ({
  [NDJSON_TYPE]: { schema: ref('schemas', ndjson) },
  [CSV_TYPE]: { schema: ref('schemas', csv) },
});

/** By name. */
export const typeExamples = (type: RecordType, names: SchemaNames): JsonObject => ({
  [names.example(type, 'Record')]: { summary: 'A record.', value: recordExample(type) },
  [names.example(type, 'Records')]: { summary: 'A list of one record.', value: [recordExample(type)] },
});

const { update, updateMany, list, delete: remove, deleteFound } = OPERATIONS;

/** Responses without a record: the same for every type. */
export const SHARED_RESPONSES: JsonObject = {
  deletedFound: responseOf(
    deleteFound.responses[200],
    { [JSON_TYPE]: { schema: DELETED_FOUND, example: { deleted: 2, affected: 5 } } },
    true,
  ),
  notModified: responseOf(list.responses[304], undefined, false),
  updated: responseOf(update.responses[204], undefined, true),
  updatedMany: responseOf(updateMany.responses[204], undefined, true),
  deleted: responseOf(remove.responses[204], undefined, true),
};

export const updatedResponse = (type: RecordType, names: SchemaNames): JsonObject =>
  responseOf(update.responses[200], responseContent(update.responses[200], type, names), true);

export function requestBody({ shape, holds, mediaTypes }: BodyEntry, type: RecordType, names: SchemaNames): JsonObject {
  const text = (schema: keyof typeof TEXT_SCHEMAS, value: string): JsonObject =>
    withExample(ref('schemas', schema), 'A new record.', value);
  const input = ref('schemas', names.input(type));
  const content = (mediaType: string): JsonObject => {
    if (mediaType === NDJSON_TYPE) return text('LinesBody', `${JSON.stringify(creationExample(type))}\n`);
    if (mediaType === CSV_TYPE) return text('TableBody', csvExample(type));
    if (holds === 'new')
      return withExample(oneOrMany(ref('schemas', names.creation(type))), 'A new record.', creationExample(type));
    if (shape === 'records')
      return withExample(arrayOf(ref('schemas', names.item(type))), 'A change of one record.', [itemExample(type)]);
    if (holds === 'whole') return withExample(input, 'A whole record.', upsertExample(type));
    return withExample(input, 'A change of some values.', changeExample(type));
  };
  return { required: true, content: Object.fromEntries(mediaTypes.map((name) => [name, content(name)])) };
}
