/** What requests and responses hold: bodies, headers, schemas and examples. */
import type { JsonObject, JsonValue } from '../json.ts';
import type { RecordType } from '../model/model.ts';
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

const headersOf = (names: readonly HeaderName[]): JsonObject =>
  Object.fromEntries(
    (['Cache-Control', 'Vary', 'X-Request-Id', 'RateLimit', 'RateLimit-Policy', ...names] as const).map((name) => [
      name,
      ref('headers', name),
    ]),
  );

const PAGE_HEADERS = ['X-Total-Count', 'Link', 'ETag', 'Preference-Applied'] as const;

const WRITE_HEADERS = ['X-Position', 'Preference-Applied'] as const;

const json = (schema: JsonObject, exampleSummary: string, example: JsonValue): JsonObject => ({
  'application/json': withExample(schema, exampleSummary, example),
});

/** Records as answers show them: the example is the same in all of them. */
const shown = (schema: JsonObject, example: string): JsonObject => ({
  'application/json': { schema, examples: { example: ref('examples', example) } },
});

const exampleOf = (summary: string, value: JsonValue): JsonObject => ({ summary, value });

/** By name. */
export const typeExamples = (type: RecordType, names: SchemaNames): JsonObject => ({
  [names.example(type, 'Record')]: exampleOf('A record.', recordExample(type)),
  [names.example(type, 'Records')]: exampleOf('A list of one record.', [recordExample(type)]),
});

const answer = (description: string, headers: readonly HeaderName[], content: JsonObject): JsonObject => ({
  description,
  headers: headersOf(headers),
  content,
});

/** The answer to a write, which may be a dry run. */
const answerToWrite = (description: string, headers: readonly HeaderName[], content: JsonObject): JsonObject =>
  answer(description, [...headers, ...WRITE_HEADERS], { ...content, ...DRY_RUN_CONTENT });

const recordSchema = (type: RecordType, names: SchemaNames): JsonObject => ref('schemas', names.record(type));

const minimal = (description: string, headers: readonly HeaderName[]): JsonObject => ({
  description: `${description} After \`Prefer: return=minimal\`.`,
  headers: headersOf([...headers, ...WRITE_HEADERS]),
});

/** Responses without a record: the same for every type. */
export const SHARED_RESPONSES: JsonObject = {
  deletedFound: answerToWrite('How many records were deleted.', [], {
    'application/json': { schema: DELETED_FOUND, example: { deleted: 2, affected: 5 } },
  }),
  notModified: { description: 'The client already has the current representation.', headers: headersOf(['ETag']) },
  updated: minimal('The record was updated.', ['ETag']),
  updatedMany: minimal('The records were updated.', []),
  deleted: minimal('The record was deleted.', []),
};

export function recordAnswer(type: RecordType, names: SchemaNames): JsonObject {
  return answer('The record.', ['ETag'], shown(recordSchema(type, names), names.example(type, 'Record')));
}

/** The answer to a write of one record. */
export function writtenAnswer(
  type: RecordType,
  names: SchemaNames,
  description: string,
  headers: readonly HeaderName[],
): JsonObject {
  return answerToWrite(description, headers, shown(recordSchema(type, names), names.example(type, 'Record')));
}

export const updatedAnswer = (type: RecordType, names: SchemaNames): JsonObject =>
  writtenAnswer(type, names, 'The updated record.', ['ETag']);

export const updateAnswers = (type: RecordType, names: SchemaNames): JsonObject => ({
  200: ref('responses', names.updated(type)),
  204: ref('responses', 'updated'),
});

/** The answer to POST, which may be of an array. */
export function postedAnswer(
  type: RecordType,
  names: SchemaNames,
  description: string,
  headers: readonly HeaderName[],
): JsonObject {
  const content = shown(oneOrMany(recordSchema(type, names)), names.example(type, 'Record'));
  return answerToWrite(description, headers, content);
}

export function itemsAnswer(type: RecordType, names: SchemaNames): JsonObject {
  const content = shown(arrayOf(recordSchema(type, names)), names.example(type, 'Records'));
  return answerToWrite('The updated records, in the order of the items.', [], content);
}

export const listAnswer = (type: RecordType, names: SchemaNames): JsonObject =>
  answer('The records that match the filters, in the requested order.', PAGE_HEADERS, {
    ...shown(arrayOf(recordSchema(type, names)), names.example(type, 'Records')),
    ...lines('RecordLines', 'RecordTable'),
  });

export function summaryAnswer(type: RecordType): JsonObject {
  const [by, measures] = summaryExample(type);
  const groups = arrayOf(ref('schemas', 'SummaryGroup'), { maxItems: MAX_GROUPS });
  return answer('The groups, in the requested order.', PAGE_HEADERS, {
    ...json(groups, 'One group.', [{ by, measures }]),
    ...lines('GroupLines', 'GroupTable'),
  });
}

const lines = (ndjson: keyof typeof TEXT_SCHEMAS, csv: keyof typeof TEXT_SCHEMAS): JsonObject => ({
  'application/x-ndjson': { schema: ref('schemas', ndjson) },
  'text/csv': { schema: ref('schemas', csv) },
});

const body = (content: JsonObject): JsonObject => ({ required: true, content });

export function creationBody(type: RecordType, names: SchemaNames): JsonObject {
  const one = ref('schemas', names.creation(type));
  const example = creationExample(type);
  const text = (schema: keyof typeof TEXT_SCHEMAS, value: string): JsonObject =>
    withExample(ref('schemas', schema), 'A new record.', value);
  return body({
    ...json(oneOrMany(one), 'A new record.', example),
    'application/x-ndjson': text('LinesBody', `${JSON.stringify(example)}\n`),
    'text/csv': text('TableBody', csvExample(type)),
  });
}

export const upsertBody = (type: RecordType, names: SchemaNames): JsonObject =>
  body(json(ref('schemas', names.input(type)), 'A whole record.', upsertExample(type)));

export const itemsBody = (type: RecordType, names: SchemaNames): JsonObject =>
  body(json(arrayOf(ref('schemas', names.item(type))), 'A change of one record.', [itemExample(type)]));

export function changeBody(type: RecordType, names: SchemaNames, mediaTypes: readonly string[]): JsonObject {
  const media = withExample(ref('schemas', names.input(type)), 'A change of some values.', changeExample(type));
  return body(Object.fromEntries(mediaTypes.map((name) => [name, media])));
}
