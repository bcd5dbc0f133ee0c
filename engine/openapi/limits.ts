/**
 * The limits of the service in the document: of what requests hold, where the descriptors set none. Records may have been
 * written under other limits, so responses have those of the descriptors alone.
 */
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import type { Settings } from '../settings.ts';
import { type Components, needed } from './names.ts';

export type DocumentLimits = Pick<Settings, 'batchLimit' | 'bodyItems' | 'bodyLimit' | 'headerLimit' | 'urlLimit'>;

const NO_COMPONENTS: Components = { schemas: {}, parameters: {}, headers: {}, responses: {}, examples: {} };

interface Bounds {
  readonly maxLength: number;
  readonly maxItems: number;
}

export function limited(document: JsonObject, limits: DocumentLimits): JsonObject {
  const paths = membersOf(document['paths']);
  const all: Components = { ...NO_COMPONENTS, ...membersOf(document['components']) };
  const [query, header, body, batch] = [
    { maxLength: limits.urlLimit, maxItems: limits.urlLimit },
    { maxLength: limits.headerLimit, maxItems: limits.headerLimit },
    { maxLength: limits.bodyLimit, maxItems: limits.bodyItems },
    { maxLength: limits.bodyLimit, maxItems: limits.batchLimit },
  ];
  const parameter = (value: JsonValue): JsonValue =>
    isObject(value) && value['in'] !== undefined
      ? { ...value, schema: bounded(value['schema'] ?? {}, value['in'] === 'header' ? header : query) }
      : value;
  const parameters = (value: JsonValue | undefined): JsonObject =>
    Array.isArray(value) ? { parameters: value.map(parameter) } : {};
  const operation = (value: JsonValue): JsonValue => {
    const { requestBody, ...rest } = membersOf(value);
    const content = mapped(membersOf(membersOf(requestBody)['content']), (media) => ({
      ...membersOf(media),
      schema: bounded(membersOf(media)['schema'] ?? {}, batch),
    }));
    const asked = requestBody === undefined ? {} : { requestBody: { ...membersOf(requestBody), content } };
    return { ...rest, ...parameters(rest['parameters']), ...asked };
  };
  const bodies = Object.values(paths).flatMap((item) =>
    Object.values(membersOf(item)).map((one) => membersOf(one)['requestBody'] ?? null),
  );
  const within = (roots: JsonValue): ReadonlySet<string> =>
    new Set(Object.keys(membersOf(membersOf(needed(roots, all))['schemas'])));
  const [sent, asked] = [within(bodies), within(all.parameters)];
  return {
    ...document,
    paths: mapped(paths, (item) => ({
      ...mapped(membersOf(item), (value) => (Array.isArray(value) ? value : operation(value))),
      ...parameters(membersOf(item)['parameters']),
    })),
    components: mapped(membersOf(document['components']), (section, kind) => {
      if (kind === 'parameters') return mapped(membersOf(section), parameter);
      if (kind !== 'schemas') return section;
      return mapped(membersOf(section), (schema, name) =>
        sent.has(name) ? bounded(schema, body) : asked.has(name) ? bounded(schema, query) : schema,
      );
    }),
  };
}

const membersOf = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});

const mapped = (members: JsonObject, change: (value: JsonValue, name: string) => JsonValue): JsonObject =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value, name)]));

/** Of schemas within schemas. */
const LISTS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);
const SINGLE: ReadonlySet<string> = new Set(['items', 'additionalProperties']);

function bounded(schema: JsonValue, bounds: Bounds): JsonValue {
  if (!isObject(schema)) return schema;
  const types = new Set([schema['type'] ?? []].flat());
  const isFixed = schema['enum'] !== undefined || schema['const'] !== undefined;
  return {
    ...mapped(schema, (value, word) => {
      if (word === 'properties') return mapped(membersOf(value), (one) => bounded(one, bounds));
      if (LISTS.has(word) && Array.isArray(value)) return value.map((one: JsonValue) => bounded(one, bounds));
      return SINGLE.has(word) ? bounded(value, bounds) : value;
    }),
    ...(types.has('string') && !isFixed && !('maxLength' in schema) ? { maxLength: bounds.maxLength } : {}),
    ...(types.has('array') && !('maxItems' in schema) ? { maxItems: bounds.maxItems } : {}),
  };
}
