/**
 * The limits of the service on what requests hold, where the descriptors set none. Records may have been written under
 * other limits, so responses have those of the descriptors alone.
 */
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import type { Settings } from '../settings/settings.ts';

export type DocumentLimits = Pick<Settings, 'batchLimit' | 'bodyItems' | 'bodyLimit' | 'headerLimit' | 'urlLimit'>;

/** Adds the limits to parts of a document. */
export interface Bounds {
  parameter(parameter: JsonObject): JsonObject;
  parameters(all: JsonObject): JsonObject;
  /** Schemas of bodies, by name. */
  bodies(schemas: JsonObject): JsonObject;
  /** Schemas that parameters refer to, by name. */
  filters(schemas: JsonObject): JsonObject;
  /** The content of a body. */
  content(content: JsonObject): JsonObject;
}

interface Most {
  readonly maxLength: number;
  readonly maxItems: number;
}

const same = (part: JsonObject): JsonObject => part;
const NO_BOUNDS: Bounds = { parameter: same, parameters: same, bodies: same, filters: same, content: same };

/** Without limits, the document has those of the descriptors alone. */
export function boundsOf(limits: DocumentLimits | undefined): Bounds {
  if (limits === undefined) return NO_BOUNDS;
  const { urlLimit, headerLimit, bodyLimit, bodyItems, batchLimit } = limits;
  const query = { maxLength: urlLimit, maxItems: urlLimit };
  const header = { maxLength: headerLimit, maxItems: headerLimit };
  const body = { maxLength: bodyLimit, maxItems: bodyItems };
  const batch = { maxLength: bodyLimit, maxItems: batchLimit };
  const schemaOf = (holder: JsonObject, most: Most): JsonObject => ({
    ...holder,
    schema: bounded(holder['schema'], most),
  });
  const parameter = (one: JsonObject): JsonObject =>
    one['in'] === undefined ? one : schemaOf(one, one['in'] === 'header' ? header : query);
  return {
    parameter,
    parameters: (all) => mapped(all, parameter),
    bodies: (schemas) => mapped(schemas, (schema) => bounded(schema, body)),
    filters: (schemas) => mapped(schemas, (schema) => bounded(schema, query)),
    content: (content) => mapped(content, (media) => schemaOf(media, batch)),
  };
}

const membersOf = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});

const mapped = (members: JsonObject, change: (value: JsonObject, name: string) => JsonValue): JsonObject =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(membersOf(value), name)]));

/** Of schemas within schemas. */
const LISTS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);
const SINGLE: ReadonlySet<string> = new Set(['items', 'additionalProperties']);

function bounded(schema: JsonValue | undefined, most: Most): JsonValue {
  if (!isObject(schema)) return schema ?? {};
  const types = new Set([schema['type'] ?? []].flat());
  const isFixed = schema['enum'] !== undefined || schema['const'] !== undefined;
  const members = Object.entries(schema).map(([word, value]): readonly [string, JsonValue] => {
    if (word === 'properties') return [word, mapped(membersOf(value), (one) => bounded(one, most))];
    if (LISTS.has(word) && Array.isArray(value)) return [word, value.map((one: JsonValue) => bounded(one, most))];
    return [word, SINGLE.has(word) ? bounded(value, most) : value];
  });
  return {
    ...Object.fromEntries(members),
    ...(types.has('string') && !isFixed && !('maxLength' in schema) ? { maxLength: most.maxLength } : {}),
    ...(types.has('array') && !('maxItems' in schema) ? { maxItems: most.maxItems } : {}),
  };
}
