/** What requests and responses hold: bodies, headers, schemas and examples. */
import type { JsonObject, JsonValue } from '../json.ts';
import type { RecordType } from '../model/model.ts';
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
import { oneOrMany, ref, type SchemaNames } from './names.ts';
import { DELETED_FOUND, DRY_RUN_CONTENT } from './reports.ts';

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

const answer = (description: string, headers: readonly HeaderName[], content: JsonObject): JsonObject => ({
  description,
  headers: headersOf(headers),
  content,
});

/** The answer to a write, which may be a dry run. */
const answerToWrite = (description: string, headers: readonly HeaderName[], content: JsonObject): JsonObject =>
  answer(description, [...headers, ...WRITE_HEADERS], { ...content, ...DRY_RUN_CONTENT });

const arrayOf = (items: JsonObject): JsonObject => ({ type: 'array', items });

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
  created: minimal('The record was created; Location is its path.', ['Location', 'ETag']),
  updated: minimal('The record was updated.', ['ETag']),
  updatedMany: minimal('The records were updated.', []),
  deleted: minimal('The record was deleted.', []),
};

export function recordAnswer(type: RecordType, names: SchemaNames): JsonObject {
  const description = 'The record.';
  return answer(description, ['ETag'], json(recordSchema(type, names), description, recordExample(type)));
}

/** The answer to a write of one record. */
export function writtenAnswer(
  type: RecordType,
  names: SchemaNames,
  description: string,
  headers: readonly HeaderName[],
): JsonObject {
  return answerToWrite(description, headers, json(recordSchema(type, names), description, recordExample(type)));
}

export const updateAnswers = (type: RecordType, names: SchemaNames): JsonObject => ({
  200: writtenAnswer(type, names, 'The updated record.', ['ETag']),
  204: ref('responses', 'updated'),
});

/** The answer to POST, which may be of an array. */
export function postedAnswer(
  type: RecordType,
  names: SchemaNames,
  description: string,
  headers: readonly HeaderName[],
): JsonObject {
  const content = json(oneOrMany(recordSchema(type, names)), description, recordExample(type));
  return answerToWrite(description, headers, content);
}

export function itemsAnswer(type: RecordType, names: SchemaNames): JsonObject {
  const description = 'The updated records, in the order of the items.';
  return answerToWrite(description, [], json(arrayOf(recordSchema(type, names)), description, [recordExample(type)]));
}

export const listAnswer = (type: RecordType, names: SchemaNames): JsonObject =>
  answer('The records that match the filters, in the requested order.', PAGE_HEADERS, {
    ...json(arrayOf(recordSchema(type, names)), 'A list of one record.', [recordExample(type)]),
    ...lines(
      'One record on each line.',
      'Fields of the record, and of each record that it links, the identifier (RFC 4180). Null is an empty cell, the empty text is "".',
    ),
  });

export function summaryAnswer(type: RecordType): JsonObject {
  const [by, measures] = summaryExample(type);
  const values = (description: string): JsonObject => ({ type: 'object', description, additionalProperties: true });
  const group = {
    type: 'object',
    required: ['by', 'measures'],
    properties: {
      by: values('The values that the records of the group have in common, under the names in `by`.'),
      measures: values('Under the names in `measure`.'),
    },
    additionalProperties: false,
  };
  return answer('The groups, in the requested order.', PAGE_HEADERS, {
    ...json(arrayOf(group), 'One group.', [{ by, measures }]),
    ...lines('One group on each line.', 'A column for each name in `by` and `measure`.'),
  });
}

const lines = (ndjson: string, csv: string): JsonObject => ({
  'application/x-ndjson': { schema: { type: 'string', description: ndjson } },
  'text/csv': { schema: { type: 'string', description: csv } },
});

const body = (content: JsonObject): JsonObject => ({ required: true, content });

export function creationBody(type: RecordType, names: SchemaNames): JsonObject {
  const one = ref('schemas', names.creation(type));
  const example = creationExample(type);
  const text = (description: string, value: string): JsonObject =>
    withExample({ type: 'string', description }, 'A new record.', value);
  return body({
    ...json(oneOrMany(one), 'A new record.', example),
    'application/x-ndjson': text('A new record on each line.', `${JSON.stringify(example)}\n`),
    'text/csv': text(
      'The first line names the columns: fields, the identifier, and relations to one record, whose cells are identifiers. An empty cell is null, the empty text is "" (RFC 4180).',
      csvExample(type),
    ),
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
