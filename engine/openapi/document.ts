/** The OpenAPI document of a Model, from the table of operations, and its text as JSON and YAML. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import type { Turns } from '../memo.ts';
import type { Model, RecordType } from '../model/model.ts';
import { defaultPath, capitalized, snakeCase } from '../names.ts';
import {
  CSV_TYPE,
  EVENTS_TYPE,
  isOffered,
  isUpsertable,
  JSON_TYPE,
  NDJSON_TYPE,
  type OperationEntry,
  type OperationName,
  operationEntries,
  type OperationPath,
  operationPaths,
  PATHS,
  problemsOf,
  type ResponseContent,
} from '../operations/table.ts';
import { MAX_GROUPS } from '../query/summary.ts';
import type { ProblemCode } from '../problem.ts';
import { PACKAGE_FOLDER } from '../process.ts';
import type { HttpDialectName } from '../settings/settings.ts';
import { arrayOf, type Components, createComponents, described } from './components.ts';
import { changeExample, creationExample, itemExample, recordExample, upsertExample } from './examples.ts';
import { identifierParameter, parametersOf, sharedParameters } from './parameters.ts';
import { changeRef, creationRef, itemRef, recordRef } from './schemas.ts';
import texts from './operations.json';
import {
  changes,
  headersOf,
  type ParameterName,
  problemResponses,
  schemaOf,
  schemaRef,
  securitySchemes,
} from './shared.ts';

interface About {
  readonly title: string;
  readonly version: string;
  readonly dialects?: readonly HttpDialectName[];
  readonly guarded?: boolean;
}

/** `simple` is for generators: OpenAPI 3.0, only JSON, one form of each response, filters for one value, no recursion. */
export const PROFILES = ['full', 'simple'] as const;
export type Profile = (typeof PROFILES)[number];

/** `base`: the URL of the service, without a trailing slash. */
export function* documentTurns(model: Model, about: About, profile: Profile = 'full', base = ''): Turns<JsonObject> {
  const { title, version, dialects = [], guarded = false } = about;
  const isSimple = profile === 'simple';
  const parts = createComponents(isSimple, model.types.values());
  const served = [...model.types.values()].filter(({ operations }) => operations.size > 0);
  // Types with paths come first, so that their schemas get the types' names.
  for (const { name } of served) parts.nameOf('schemas', `record ${name}`, name);
  const root = isSimple ? '' : API;
  const written: Record<string, JsonObject> = {};
  for (const type of served) {
    yield;
    for (const [path, methods] of pathsOf(type, root, parts)) written[path] = methods;
  }
  const isRecorded = [...model.types.values()].some(({ history }) => history);
  if (isRecorded && !isSimple) written[`${API}/$changes`] = { get: changesOperation(parts) };
  const { paths, components } = yield* parts.withPaths(written);
  return {
    openapi: isSimple ? '3.0.3' : '3.1.0',
    info: {
      title,
      version,
      ...(isSimple ? {} : { summary: 'Records behind a REST interface' }),
      description: isSimple ? SIMPLE_GUIDE : GUIDE + otherInterfaces(dialects),
      contact: { name: `Maintainers of ${title}` },
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: isSimple ? base + API : base || '/', description: 'Where this document comes from' }],
    security: guarded ? [{ token: [] }] : [],
    tags: served.map(({ name, description }) => ({ name, description: description || `Records of type ${name}.` })),
    paths,
    components: { ...components, ...(guarded ? { securitySchemes } : {}) },
  };
}

const API = '/api';

function pathsOf(type: RecordType, root: string, parts: Components): readonly (readonly [string, JsonObject])[] {
  const collection = `${root}/${encodeURIComponent(type.path)}`;
  return operationPaths.flatMap(([name, rest]) => {
    // jest-openapi fails on any document path with a dollar sign.
    const methods = parts.isSimple && rest.includes('$') ? {} : pathMethods(type, name, parts);
    const shared = rest.startsWith(PATHS.item) ? { parameters: [identifierParameter(type)] } : {};
    return Object.keys(methods).length === 0 ? [] : [[collection + rest, { ...shared, ...methods }] as const];
  });
}

function pathMethods(type: RecordType, path: OperationPath, parts: Components): JsonObject {
  const entries = operationEntries.filter(([, entry]) => entry.path === path && isOffered(entry, type));
  return Object.fromEntries(
    entries.map(([name, entry]) => [entry.method.toLowerCase(), operationObject(entry, TEXTS[name], type, parts)]),
  );
}

interface OperationTexts {
  /** OpenAPI's operationId. `{one}` and `{many}`, here and in `title`, are the names of the type. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** Descriptions of the responses. */
  readonly answers: Readonly<Partial<Record<200 | 201, string>>>;
}

const TEXTS: Readonly<Record<OperationName, OperationTexts>> = texts;

function operationObject(entry: OperationEntry, text: OperationTexts, type: RecordType, parts: Components): JsonObject {
  const { name, description } = type;
  const many = defaultPath(name);
  const manyInPascal = many.split('-').map(capitalized).join('');
  const codes = problemsOf(entry).filter(
    (code) =>
      code !== 'precondition-required' ||
      (type.preconditions === 'required' && (entry.right !== 'create' || isUpsertable(type))),
  );
  return {
    operationId: text.id
      .replace('{one}', parts.nameOf('one', name, capitalized(name)))
      .replace('{many}', parts.nameOf('many', name, manyInPascal)),
    summary: text.title
      .replace('{one}', snakeCase(name).replaceAll('_', ' '))
      .replace('{many}', many.replaceAll('-', ' ')),
    description: [text.description, ...(description === '' ? [] : [description])].join('\n\n'),
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
    responses: { ...responseObjects(entry, text, type, parts), ...problemResponses(codes, parts) },
  };
}

/** Some readers misread an `example` that has a key "value". */
const withExample = (schema: JsonObject, summary: string, value: JsonValue): JsonObject => ({
  schema,
  examples: { example: { summary, value } },
});

function offered(content: JsonObject, { isSimple }: Components): JsonObject {
  const { schema = {} } = (content[JSON_TYPE] ?? {}) as JsonObject;
  return isSimple ? { [JSON_TYPE]: { schema } } : content;
}

const oneOrMany = (one: JsonObject): JsonObject => ({ oneOf: [one, arrayOf(one)] });

function bodyContent(
  { shape, mediaTypes }: NonNullable<OperationEntry['body']>,
  isWhole: boolean,
  type: RecordType,
  parts: Components,
): JsonObject {
  if (shape === 'either')
    return {
      [JSON_TYPE]: withExample(oneOrMany(creationRef(type, parts)), 'A new record.', creationExample(type)),
      [NDJSON_TYPE]: { schema: described('A new record on each line.') },
      [CSV_TYPE]: {
        schema: described(
          'The first line names the columns: fields, the identifier, and relations to one record, whose cells are identifiers. An empty cell is null, the empty text is "" (RFC 4180).',
        ),
      },
    };
  const media =
    shape === 'records'
      ? withExample(arrayOf(itemRef(type, parts)), 'A change of one record.', [itemExample(type)])
      : isWhole
        ? withExample(changeRef(type, parts), 'A whole record.', upsertExample(type))
        : withExample(changeRef(type, parts), 'A change of some values.', changeExample(type));
  return Object.fromEntries(mediaTypes.map((name) => [name, media]));
}

function responseObjects(entry: OperationEntry, text: OperationTexts, type: RecordType, parts: Components): JsonObject {
  const sent = responsesOf(entry, text).filter(
    ({ status, holds }) =>
      (entry.path !== 'collection' || entry.right !== 'create' || status === 201 || isUpsertable(type)) &&
      (holds !== undefined || !parts.isSimple),
  );
  return Object.fromEntries(
    sent.map(({ status, holds, description, headers }) => {
      const content = holds && {
        ...contentOf(holds, type, parts),
        ...(entry.method === 'GET' || parts.isSimple
          ? {}
          : { 'application/vnd.dry-run+json': { schema: schemaRef('DryRun', parts) } }),
      };
      const whole = { description, headers: headersOf(headers, parts) };
      if (content !== undefined) return [status, { ...whole, content: offered(content, parts) }];
      // Responses without content are the same for every type.
      const name = status === 304 ? 'NotModified' : entry.right === 'delete' ? 'Deleted' : 'Updated';
      return [status, parts.use('responses', description, name, () => whole)];
    }),
  );
}

interface ResponseEntry {
  readonly status: 200 | 201 | 204 | 304;
  readonly holds?: ResponseContent;
  readonly description: string;
  /** All responses also have Cache-Control, Vary and X-Request-Id. */
  readonly headers: readonly ('ETag' | 'Location' | 'Link' | 'X-Total-Count' | 'Preference-Applied' | 'X-Position')[];
}

const ROW_HEADERS = ['X-Total-Count', 'Link', 'ETag', 'Preference-Applied'] as const;

function responsesOf(
  { method, path, right, query, body, answers }: OperationEntry,
  { answers: descriptions }: OperationTexts,
): readonly ResponseEntry[] {
  const isSeveral = body?.shape === 'records';
  const tag = right === 'delete' || isSeveral ? [] : (['ETag'] as const);
  const written = [...tag, 'X-Position', 'Preference-Applied'] as const;
  const rows = query === 'log' ? (['Link', 'ETag'] as const) : ROW_HEADERS;
  const own = method !== 'GET' ? written : path === 'item' ? tag : rows;
  const withContent = ([200, 201] as const).flatMap((status): readonly ResponseEntry[] => {
    const holds = answers[status];
    if (holds === undefined) return [];
    const description = descriptions[status] ?? '';
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
          arrayOf(schemaRef('SummaryGroup', parts), { maxItems: MAX_GROUPS }),
          'All records as one group.',
          [{ by: {}, measures: { count: 1 } }],
        ),
        ...lines('One group on each line.', 'A column for each name in `by` and `measure`.'),
      };
    case 'LogEntry':
    case 'DeletedRecord':
      return {
        [JSON_TYPE]: { schema: arrayOf(schemaRef(holds, parts)) },
        [NDJSON_TYPE]: { schema: described('One on each line.') },
      };
    case 'counts':
      return { [JSON_TYPE]: { schema: schemaOf('DeletedFound', parts), example: { deleted: 2, affected: 5 } } };
  }
}

function changesOperation(parts: Components): JsonObject {
  const { parameters, problems, answer, ...text } = changes;
  return {
    ...text,
    parameters: sharedParameters(parameters as readonly ParameterName[], parts),
    responses: {
      200: {
        description: answer,
        headers: headersOf(['Link'], parts),
        content: {
          [JSON_TYPE]: { schema: schemaOf('ChangesPage', parts) },
          [NDJSON_TYPE]: { schema: described('One change on each line.') },
          [EVENTS_TYPE]: { schema: described('One change in each event (WHATWG HTML, 9.2), as they happen.') },
        },
      },
      ...problemResponses(problems as readonly ProblemCode[], parts),
    },
  };
}

const guide = (name: string): string => readFileSync(join(PACKAGE_FOLDER, 'engine/openapi', name), 'utf8');
const GUIDE = guide('guide.md');
const SIMPLE_GUIDE = guide('simple-guide.md');

/** Mentions the dialects without their paths, since their clients know them. */
function otherInterfaces(dialects: readonly HttpDialectName[]): string {
  if (dialects.length === 0) return '';
  const roots = dialects.map((name) => `\`/${name}\``).join(' and ');
  return `\n**Admin frameworks** find the same records below ${roots}, in the form that they know. This document leaves these paths out.\n`;
}

// Documents of many types have megabytes: they are printed in turns.

/** Levels of a document that are printed member by member, such as `components`, `schemas` and one schema. */
const LEVELS = 3;

const isDivided = (value: JsonValue, levels: number): value is JsonObject =>
  levels > 0 && isObject(value) && Object.keys(value).length > 0;

export function* jsonText(value: JsonValue, levels = LEVELS): Turns<string> {
  yield;
  if (!isDivided(value, levels)) return JSON.stringify(value);
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${yield* jsonText(member, levels - 1)}`);
  }
  return `{${members.join(',')}}`;
}

const INDENTED = /^(?=.)/gm;

export function* yamlText(value: JsonObject, levels = LEVELS): Turns<string> {
  const lines: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    yield;
    if (isDivided(member, levels - 1)) {
      lines.push(stringify({ [name]: null }).replace(' null\n', '\n'));
      lines.push((yield* yamlText(member, levels - 1)).replaceAll(INDENTED, '  '));
    } else lines.push(stringify({ [name]: member }, { aliasDuplicateObjects: false }));
  }
  return lines.join('');
}
