/** The operations of each type, from the table of operations: their parameters, bodies and responses. */
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import type { RecordType } from '../model/model.ts';
import { defaultPath, capitalized, snakeCase } from '../names.ts';
import {
  CSV_TYPE,
  isOffered,
  isUpsertable,
  JSON_TYPE,
  NDJSON_TYPE,
  type OperationEntry,
  operationEntries,
  type OperationPath,
  problemsOf,
  type ResponseContent,
  responsesOf,
} from '../operations/table.ts';
import { MAX_GROUPS } from '../query/summary.ts';
import { arrayOf, type Components, described, integers } from './components.ts';
import { changeExample, creationExample, itemExample, recordExample, upsertExample } from './examples.ts';
import { parametersOf } from './parameters.ts';
import { changeRef, creationRef, itemRef, recordRef } from './schemas.ts';
import { dryRunSchema, headersOf, problemResponses } from './shared.ts';
import { simpleSchema } from './simple.ts';

/** The methods of one of the paths of a type. */
export function pathMethods(type: RecordType, path: OperationPath, parts: Components): JsonObject {
  const entries = operationEntries.filter(([, entry]) => entry.path === path && isOffered(entry, type));
  return Object.fromEntries(
    entries.map(([, entry]) => [entry.method.toLowerCase(), operationObject(entry, type, parts)]),
  );
}

function operationObject(entry: OperationEntry, type: RecordType, parts: Components): JsonObject {
  const { name, description } = type;
  const many = defaultPath(name);
  const manyInPascal = many.split('-').map(capitalized).join('');
  const codes = problemsOf(entry).filter(
    (code) =>
      code !== 'precondition-required' ||
      (type.preconditions === 'required' && (entry.right !== 'create' || isUpsertable(type))),
  );
  return {
    operationId: entry.id
      .replace('{one}', parts.nameOf('one', name, capitalized(name)))
      .replace('{many}', parts.nameOf('many', name, manyInPascal)),
    summary: entry.title
      .replace('{one}', snakeCase(name).replaceAll('_', ' '))
      .replace('{many}', many.replaceAll('-', ' ')),
    description: [entry.description, ...(description === '' ? [] : [description])].join('\n\n'),
    tags: [name],
    parameters: parametersOf(entry, type, parts),
    ...(entry.body
      ? {
          requestBody: {
            required: true,
            content: offered(bodyContent(entry.body, entry.query === 'upsert', type, parts), parts),
          },
        }
      : {}),
    responses: { ...responseObjects(entry, type, parts), ...problemResponses(codes, parts) },
  };
}

/** The simple profile has JSON alone, without examples. */
function offered(content: JsonObject, { isSimple }: Components): JsonObject {
  const json = content[JSON_TYPE];
  if (!isSimple || !isObject(json) || !isObject(json['schema'])) return content;
  return { [JSON_TYPE]: { schema: simpleSchema(json['schema']) } };
}

// Bodies.

const withExample = (schema: JsonObject, summary: string, value: JsonValue): JsonObject => ({
  schema,
  // Some readers misread an `example` that has a key "value".
  examples: { example: { summary, value } },
});

const oneOrMany = (one: JsonObject): JsonObject => ({ oneOf: [one, arrayOf(one)] });

function bodyContent(
  { shape, mediaTypes }: NonNullable<OperationEntry['body']>,
  isWhole: boolean,
  type: RecordType,
  parts: Components,
): JsonObject {
  const json = (schema: JsonObject, summary: string, value: JsonObject): JsonObject =>
    shape === 'records' ? withExample(arrayOf(schema), summary, [value]) : withExample(schema, summary, value);
  if (shape === 'either')
    return {
      [JSON_TYPE]: json(oneOrMany(creationRef(type, parts)), 'A new record.', creationExample(type)),
      [NDJSON_TYPE]: { schema: described('A new record on each line.') },
      [CSV_TYPE]: {
        schema: described(
          'The first line names the columns: fields, the identifier, and relations to one record, whose cells are identifiers. An empty cell is null, the empty text is "" (RFC 4180).',
        ),
      },
    };
  const media = isWhole
    ? json(changeRef(type, parts), 'A whole record.', upsertExample(type))
    : shape === 'records'
      ? json(itemRef(type, parts), 'A change of one record.', itemExample(type))
      : json(changeRef(type, parts), 'A change of some values.', changeExample(type));
  return Object.fromEntries(mediaTypes.map((name) => [name, media]));
}

// Responses.

function responseObjects(entry: OperationEntry, type: RecordType, parts: Components): JsonObject {
  const sent = responsesOf(entry).filter(
    ({ status, holds }) =>
      (entry.right !== 'create' || status === 201 || isUpsertable(type)) &&
      // The simple profile has one form of a response, which holds records.
      (holds !== undefined || !parts.isSimple),
  );
  return Object.fromEntries(
    sent.map(({ status, holds, description, headers }) => {
      const content = holds && {
        ...contentOf(holds, type, parts),
        ...(entry.method === 'GET' || parts.isSimple
          ? {}
          : { 'application/vnd.dry-run+json': { schema: dryRunSchema(parts) } }),
      };
      const whole = { description, headers: headersOf(headers, parts) };
      if (content !== undefined) return [status, { ...whole, content: offered(content, parts) }];
      // Responses without content are the same for every type.
      const name = status === 304 ? 'NotModified' : entry.right === 'delete' ? 'Deleted' : 'Updated';
      return [status, parts.use('responses', description, name, () => whole)];
    }),
  );
}

function contentOf(holds: ResponseContent, type: RecordType, parts: Components): JsonObject {
  const shown = (schema: JsonObject, kind: 'Record' | 'Records'): JsonObject => ({
    schema,
    examples: {
      example: parts.use('examples', `${type.name} ${kind}`, `${type.name}${kind}`, () =>
        kind === 'Record'
          ? { summary: 'A record.', value: recordExample(type) }
          : { summary: 'A list of one record.', value: [recordExample(type)] },
      ),
    },
  });
  const lines = (ndjson: string, csv: string): JsonObject => ({
    [NDJSON_TYPE]: { schema: described(ndjson) },
    [CSV_TYPE]: { schema: described(csv) },
  });
  const record = (): JsonObject => recordRef(type, parts);
  switch (holds) {
    case 'record':
      return { [JSON_TYPE]: shown(record(), 'Record') };
    case 'recordOrRecords':
      return { [JSON_TYPE]: shown(oneOrMany(record()), 'Record') };
    case 'records':
      return { [JSON_TYPE]: shown(arrayOf(record()), 'Records') };
    case 'list':
      return {
        [JSON_TYPE]: shown(arrayOf(record()), 'Records'),
        ...lines(
          'One record on each line.',
          'Fields of the record, and of each record that it links, the identifier (RFC 4180). Null is an empty cell, the empty text is "".',
        ),
      };
    case 'groups':
      return {
        [JSON_TYPE]: withExample(
          arrayOf(
            parts.use('schemas', 'SummaryGroup', 'SummaryGroup', () => SUMMARY_GROUP),
            { maxItems: MAX_GROUPS },
          ),
          'All records as one group.',
          [{ by: {}, measures: { count: 1 } }],
        ),
        ...lines('One group on each line.', 'A column for each name in `by` and `measure`.'),
      };
    case 'counts':
      return { [JSON_TYPE]: { schema: DELETED_FOUND, example: { deleted: 2, affected: 5 } } };
  }
}

const ANY_VALUES = { type: 'object', additionalProperties: true };

const SUMMARY_GROUP: JsonObject = {
  type: 'object',
  required: ['by', 'measures'],
  properties: {
    by: described('The values that the records of the group have in common, under the names in `by`.', ANY_VALUES),
    measures: described('Under the names in `measure`.', ANY_VALUES),
  },
  additionalProperties: false,
};

const DELETED_FOUND: JsonObject = {
  type: 'object',
  required: ['deleted', 'affected'],
  properties: {
    deleted: described('The number of records that matched the filters.', integers(0)),
    affected: described('The same with those that were deleted or unlinked together with them.', integers(0)),
  },
  additionalProperties: false,
};
