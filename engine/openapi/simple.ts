/**
 * The document for generators that know less: OpenAPI 3.0.3, JSON alone, one kind of answer to each request, scalar filters,
 * no recursion. A view of the one document, not a description of its own.
 */
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { needed } from './names.ts';

const API = '/api';
const DESCRIPTION = `The same interface as in \`openapi.json\`, for tools that know less of OpenAPI: records as they are shown by
default, JSON alone, and filters that compare with one value. Everything else, such as summaries, is there as well; the full
document says how.`;

/** Summaries. jest-openapi stops at such a path, whatever the request. */
const UNREADABLE = /\$/;

export function simplified(document: JsonObject): JsonObject {
  const all = membersOf(document['components']);
  const { info, paths: allPaths, components: _, openapi: __, servers = [], ...rest } = document;
  const paths = mapped(membersOf(allPaths), (item, path) => [
    path.slice(API.length),
    UNREADABLE.test(path) ? undefined : simplePath(membersOf(item), all),
  ]);
  const given = mapped(membersOf(all['schemas']), (schema, name) => [name, simpleSchema(schema)]);
  const components = {
    schemas: withoutCycles({
      ...given,
      ...mapped(given, (schema, name) => [orNull(name), { ...membersOf(schema), nullable: true }]),
    }),
    responses: mapped(membersOf(all['responses']), (response, name) => [name, simpleResponse(response)]),
    headers: mapped(membersOf(all['headers']), (header, name) => [name, withSchema(membersOf(header))]),
    parameters: {},
    examples: {},
  };
  const { title = '', version = '', contact = {} } = membersOf(info);
  return {
    openapi: '3.0.3',
    info: {
      title,
      version,
      description: DESCRIPTION,
      contact,
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    ...rest,
    servers: Array.isArray(servers) ? servers.map((server) => rooted(membersOf(server))) : [],
    paths,
    components: needed(paths, components),
  };
}

const rooted = ({ url, ...rest }: JsonObject): JsonObject => ({
  url: `${String(url).replace(/\/$/, '')}${API}`,
  ...rest,
});

const membersOf = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});

const mapped = (
  members: JsonObject,
  change: (value: JsonValue, name: string) => readonly [string, JsonValue | undefined],
): JsonObject =>
  Object.fromEntries(
    Object.entries(members)
      .map(([name, value]) => change(value, name))
      .filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined),
  );

const LOCAL = /^#\/components\/(\w+)\/(.+)$/;

function resolved(value: JsonValue, components: JsonObject): JsonObject {
  const [, section = '', name = ''] = LOCAL.exec(String(membersOf(value)['$ref'] ?? '')) ?? [];
  return section === '' ? membersOf(value) : membersOf(membersOf(components[section])[name]);
}

// Operations.

const simplePath = (item: JsonObject, components: JsonObject): JsonObject =>
  mapped(item, (value, name) => [
    name,
    Array.isArray(value) ? simpleParameters(value, components) : simpleOperation(membersOf(value), components),
  ]);

function simpleOperation(operation: JsonObject, components: JsonObject): JsonObject {
  const { parameters = [], requestBody, responses, ...rest } = operation;
  const body = requestBody === undefined ? undefined : resolved(requestBody, components);
  return {
    ...rest,
    parameters: simpleParameters(Array.isArray(parameters) ? parameters : [], components),
    ...(body === undefined ? {} : { requestBody: { required: true, content: jsonOf(body) } }),
    responses: mapped(membersOf(responses), (response, status) => [
      status,
      status === '204' || status === '304'
        ? undefined
        : simpleResponse(status.startsWith('2') ? resolved(response, components) : response),
    ]),
  };
}

/** What changes the shape of answers, or asks for one without content. */
const LEFT_OUT = new Set(['include', 'fields', 'variant', 'dryRun', 'If-None-Match', 'X-Request-Id', 'X-Position']);

const simpleParameters = (parameters: readonly JsonValue[], components: JsonObject): readonly JsonObject[] =>
  parameters
    .map((parameter) => simpleParameter(resolved(parameter, components), components))
    .filter((parameter) => parameter !== undefined);

function simpleParameter(parameter: JsonObject, components: JsonObject): JsonObject | undefined {
  const { style, explode, allowEmptyValue: _, examples: __, ...rest } = parameter;
  const { name, schema, required, description } = rest;
  if (LEFT_OUT.has(String(name)) || (name === 'Prefer' && required !== true)) return undefined;
  if (style !== 'deepObject')
    return withSchema(style === undefined ? rest : { ...rest, style, explode: explode ?? true });
  const equal = membersOf(resolved(schema ?? {}, components)['properties'])['eq'];
  const [text = ''] = String(description).split('\n\n');
  return equal === undefined ? undefined : withSchema({ ...rest, description: text, schema: equal });
}

const withSchema = (holder: JsonObject): JsonObject => ({ ...holder, schema: simpleSchema(holder['schema'] ?? {}) });

/** Generated code has no use for them. */
const COMMON_HEADERS = /^(?:Cache-Control|Vary|X-Request-Id|X-Position|Preference-Applied)$/;

/** References stay: what they lead to is made simple where it stands. */
function simpleResponse(response: JsonValue): JsonObject {
  const { content, headers, ...rest } = membersOf(response);
  const told = mapped(membersOf(headers), (header, name) => [name, COMMON_HEADERS.test(name) ? undefined : header]);
  return content === undefined ? rest : { ...rest, headers: told, content: jsonOf({ content }) };
}

const PROBLEM = 'application/problem+json';

function jsonOf({ content }: JsonObject): JsonObject {
  const { 'application/json': plain, [PROBLEM]: problem } = membersOf(content);
  if (plain !== undefined) return { 'application/json': { schema: simpleSchema(membersOf(plain)['schema'] ?? {}) } };
  return problem === undefined ? {} : { [PROBLEM]: { schema: { $ref: '#/components/schemas/Problem' } } };
}

// Schemas.

/** Next to a reference, 3.0 has no word for null: there is a schema of its own for it. */
const orNull = (name: string): string => `${name}OrNull`;

const isNull = (schema: JsonValue): boolean => membersOf(schema)['type'] === 'null';
/** `refused` in bodies. */
const isImpossible = (schema: JsonValue): boolean => JSON.stringify(schema) === '{"not":{}}';

function simpleSchema(schema: JsonValue): JsonObject {
  const { $ref, type, examples, const: constant, oneOf, anyOf, properties, items, ...others } = membersOf(schema);
  const {
    not: _,
    allOf: __,
    propertyNames: ___,
    additionalProperties,
    default: fallback,
    description,
    ...rest
  } = others;
  const common = {
    ...described(description, fallback),
    ...rest,
    ...(constant === undefined ? {} : { enum: [constant] }),
    ...(Array.isArray(examples) && examples.length > 0 ? { example: examples[0] ?? null } : {}),
    ...(isObject(additionalProperties)
      ? { additionalProperties: simpleSchema(additionalProperties) }
      : additionalProperties === undefined
        ? {}
        : { additionalProperties }),
  };
  if ($ref !== undefined) return Object.keys(common).length === 0 ? { $ref } : { ...common, allOf: [{ $ref }] };
  // One, or an array of them: one.
  const [first] = Array.isArray(oneOf) ? oneOf : [];
  if (first !== undefined && isObject(first) && '$ref' in first) return simpleSchema(first);
  const [one, ...more] = Array.isArray(anyOf) ? anyOf : [];
  // Some tools look for null here, and not at what is referred to.
  if (one !== undefined && more.some(isNull))
    return { type: 'object', nullable: true, ...common, allOf: [{ $ref: orNull(String(membersOf(one)['$ref'])) }] };
  return {
    ...typed(type),
    ...common,
    ...(isObject(properties)
      ? {
          properties: mapped(properties, (value, name) => [
            name,
            isImpossible(value) ? undefined : simpleSchema(value),
          ]),
        }
      : {}),
    ...(items === undefined || (Array.isArray(type) && !type.includes('array')) || manyTypes(type)
      ? {}
      : { items: simpleSchema(items) }),
  };
}

/** Generators take what has a default for required. */
function described(description: JsonValue | undefined, fallback: JsonValue | undefined): JsonObject {
  const text = [...(description === undefined ? [] : [description]), ...byDefault(fallback)].join(' ');
  return text === '' ? {} : { description: text };
}

const byDefault = (fallback: JsonValue | undefined): readonly string[] =>
  fallback === undefined ? [] : [`Default: \`${JSON.stringify(fallback)}\`.`];

const typesIn = (type: JsonValue | undefined): readonly JsonValue[] => [type ?? []].flat();
const manyTypes = (type: JsonValue | undefined): boolean => typesIn(type).filter((one) => one !== 'null').length > 1;

/** Several types are any type. */
function typed(type: JsonValue | undefined): JsonObject {
  const all = typesIn(type);
  const [first, ...more] = all.filter((one) => one !== 'null');
  return {
    ...(first === undefined || more.length > 0 ? {} : { type: first }),
    ...(all.includes('null') ? { nullable: true } : {}),
  };
}

/** Leaves out each property that leads back to a schema that it is part of. */
function withoutCycles(schemas: JsonObject): JsonObject {
  const done = new Map<string, JsonValue>();
  const open = new Set<string>();
  const visit = (name: string): void => {
    open.add(name);
    const schema = membersOf(schemas[name]);
    const properties = mapped(membersOf(schema['properties']), (value, key) => {
      const referred = namesIn(value);
      if (referred.some((one) => open.has(one))) return [key, undefined];
      for (const one of referred) if (!done.has(one)) visit(one);
      return [key, value];
    });
    const { required, ...rest } = schema;
    const left = Array.isArray(required) ? required.filter((key) => String(key) in properties) : [];
    done.set(
      name,
      'properties' in schema ? { ...rest, ...(left.length === 0 ? {} : { required: left }), properties } : schema,
    );
    open.delete(name);
  };
  for (const name of Object.keys(schemas)) if (!done.has(name)) visit(name);
  return Object.fromEntries(done);
}

const namesIn = (value: JsonValue): readonly string[] =>
  [...JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name);
