/**
 * What all types share in the OpenAPI document: headers, parameters, problems, dry runs, groups and entries of the log. Its
 * text is `shared.json`, where `{NAME}` is a constant of the service, and `$ref` the name of a schema.
 */
import { STATUS_CODES } from 'node:http';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { operationEntries, problemsOf } from '../operations/table.ts';
import { MAX_ERRORS, type ProblemCode, problemCodes, problemKinds } from '../problem.ts';
import { MAX_ORDER_TERMS } from '../query/paging.ts';
import { LOG_LIMITS } from '../query/resolve.ts';
import { MAX_GROUPS, MAX_KEYS, MAX_MEASURES } from '../query/summary.ts';
import type { Components } from './components.ts';
import texts from './shared.json';

const CONSTANTS: Readonly<Record<string, JsonValue>> = {
  MAX_ENTRIES: LOG_LIMITS.most,
  MAX_ERRORS,
  MAX_GROUPS,
  MAX_KEYS,
  MAX_MEASURES,
  MAX_ORDER_ITEMS: 2 * MAX_ORDER_TERMS,
  PROBLEM_TYPES: problemCodes.map((code) => `urn:problem:${code}`),
  USUAL_ENTRIES: LOG_LIMITS.usual,
};

const shared: typeof texts = JSON.parse(
  JSON.stringify(texts).replaceAll(/"\{([A-Z_]+)\}"|\{([A-Z_]+)\}/g, (_, value: string | undefined, word: string) =>
    JSON.stringify(CONSTANTS[value ?? word]),
  ),
);

export const { changes, securitySchemes } = shared;
export type ParameterName = keyof typeof texts.parameters;
type SchemaName = keyof typeof texts.schemas;

export const parameterRef = (name: ParameterName, parts: Components): JsonObject =>
  parts.use('parameters', name, name, () => shared.parameters[name]);

export const schemaRef = (name: SchemaName, parts: Components): JsonObject =>
  parts.use('schemas', name, name, () => schemaOf(name, parts));

/** The schema itself, with references to those that it names. */
export const schemaOf = (name: SchemaName, parts: Components): JsonObject =>
  JSON.parse(JSON.stringify(shared.schemas[name]), (_, value: JsonValue) => {
    if (!isObject(value) || value['$ref'] === undefined) return value;
    const { $ref, ...others } = value;
    return $ref === 'Identifier' ? { ...others, ...parts.identifier } : schemaRef($ref as SchemaName, parts);
  });

type HeaderName = keyof typeof texts.headers;

const COMMON: readonly HeaderName[] = ['Cache-Control', 'Vary', 'X-Request-Id', 'RateLimit', 'RateLimit-Policy'];
/** The simple profile omits these, since generated clients have no use for them. */
const LEFT_OUT = /^(Cache-Control|Vary|X-Request-Id|X-Position|Preference-Applied)$/;

export const headersOf = (own: readonly HeaderName[], parts: Components): JsonObject =>
  Object.fromEntries(
    [...COMMON, ...own]
      .filter((name) => !parts.isSimple || !LEFT_OUT.test(name))
      .map((name) => [name, parts.use('headers', name, name, () => shared.headers[name])]),
  );

// Problems (RFC 9457). Each status has one response, which names every problem of that status.

const POSSIBLE: ReadonlySet<ProblemCode> = new Set(operationEntries.flatMap(([, entry]) => problemsOf(entry)));

const PROBLEM_HEADERS: { readonly [status in number]?: readonly HeaderName[] } = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  415: ['Accept', 'Accept-Encoding', 'Accept-Patch'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** References to the responses for these problems, by status. */
export function problemResponses(codes: readonly ProblemCode[], parts: Components): JsonObject {
  const statuses = [...new Set(codes.map((code) => problemKinds[code].status))];
  return Object.fromEntries(
    statuses.map((status) => {
      const name = (STATUS_CODES[status] ?? String(status)).replaceAll(/\W/g, '');
      return [String(status), parts.use('responses', name, name, () => problemResponse(status, parts))];
    }),
  );
}

function problemResponse(status: number, parts: Components): JsonObject {
  const codes = problemCodes.filter((code) => problemKinds[code].status === status && POSSIBLE.has(code));
  const examples = codes.map((code) => {
    const { title } = problemKinds[code];
    const value = { type: `urn:problem:${code}`, title, status, detail: title, instance: '/api/…', message: title };
    return [code, { summary: title, value }] as const;
  });
  return {
    description: codes.map((code) => `${problemKinds[code].title} (\`${code}\`)`).join('; '),
    headers: headersOf(PROBLEM_HEADERS[status] ?? [], parts),
    content: {
      'application/problem+json': {
        schema: schemaRef('Problem', parts),
        ...(parts.isSimple ? {} : { examples: Object.fromEntries(examples) }),
      },
    },
  };
}
