/** What the contract has, and what the cases of suites expect of it, in the same words: they can be compared both ways. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type JsonObject, type JsonValue } from '../../engine/json.ts';
import type { Case, Step } from '../../engine/suite/case.ts';
import { operationsOf } from './openapi/conformance.ts';
import { schemasOf } from './openapi/schemas.ts';

/** An answer of an operation: `PUT /api/things/{id} 412`, alone, with a header, or with a problem code. */
export interface Promised {
  readonly method: string;
  readonly path: string;
  readonly status: string;
  /** Headers in small letters, codes as they are; empty for the status itself. */
  readonly what: string;
}

export const words = ({ method, path, status, what }: Promised): string =>
  [method, path, status, what].filter(Boolean).join(' ');

const codesIn = (schema: JsonValue | undefined): readonly string[] =>
  Array.isArray(schema) ? schema.map((urn: JsonValue) => String(urn).replace('urn:problem:', '')) : [];

/** Every answer that an OpenAPI document has. */
export function documentedAnswers(document: JsonObject): readonly Promised[] {
  const schemas = schemasOf(document);
  return operationsOf(document).flatMap(({ method, path, operation }) => {
    const responses = isObject(operation['responses']) ? operation['responses'] : {};
    return Object.keys(responses).flatMap((status) => {
      const place = ['paths', path, method, 'responses', status];
      const problem = [...place, 'content', 'application/problem+json', 'schema', 'allOf', '1', 'properties', 'type'];
      const headers = Object.keys(schemas.at(...place, 'headers') ?? {}).map((name) => name.toLowerCase());
      const all = ['', ...headers, ...codesIn(schemas.at(...problem, 'enum'))];
      return all.map((what) => ({ method: method.toUpperCase(), path, status, what }));
    });
  });
}

const templateOf = (path: string): string => (path.split('?')[0] ?? '').replace(/^(\/api\/[^/]+)\/[^/$]+$/, '$1/{id}');

/** What is no HTTP request asks for nothing. */
const pathOf = ({ raw, path }: Step['request']): string => (raw === undefined ? templateOf(path) : '');

/** Headers that must be there. */
function headersIn({ expect: { headers = {}, links } }: Step): readonly string[] {
  const named = Object.entries(headers).filter(([, value]) => value !== null);
  return [...named.map(([name]) => name), ...(links === undefined ? [] : ['link'])];
}

const stepsOf = (cases: readonly Case[]): readonly Step[] =>
  cases.flatMap(({ steps, cleanup }) => [...steps, ...cleanup]);

/** Every answer that a case expects. */
export function expectedAnswers(cases: readonly Case[]): readonly Promised[] {
  return stepsOf(cases).flatMap((step) => {
    const { request, expect } = step;
    const answer = { method: request.method, path: pathOf(request), status: String(expect.status) };
    const code = expect.problem?.code;
    return ['', ...headersIn(step), ...(code === undefined ? [] : [code])].map((what) => ({ ...answer, what }));
  });
}

/** Headers of requests that the cases send. */
export const sentHeaders = (cases: readonly Case[]): ReadonlySet<string> =>
  new Set(
    stepsOf(cases).flatMap(({ request: { headers = {}, as } }) => [
      ...Object.keys(headers),
      ...(as === undefined ? [] : ['authorization']),
    ]),
  );

/** Headers of answers that the cases expect. */
export const expectedHeaders = (cases: readonly Case[]): ReadonlySet<string> =>
  new Set(stepsOf(cases).flatMap(headersIn));

export const codesOf = (cases: readonly Case[]): ReadonlySet<string> =>
  new Set(stepsOf(cases).flatMap(({ expect }) => expect.problem?.code ?? []));

/** Names of headers that are one word look like any other. */
const WORDS = 'Accept|Allow|Authorization|Connection|ETag|Link|Location|Origin|Prefer|RateLimit|Vary';
const NAME = new RegExp(`['\\s]((?:[A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)+)|${WORDS})(?='|: )`, 'g');

let ofSources: ReadonlySet<string> | undefined;

/** The names of all headers that the sources read and write; pages have others. */
export const headersOfSources = (): ReadonlySet<string> => (ofSources ??= readHeaders());

function readHeaders(): ReadonlySet<string> {
  const files = ['http', 'access', 'server'].flatMap((folder) =>
    readdirSync(join('engine', folder), { recursive: true, encoding: 'utf8' }).map((file) =>
      join('engine', folder, file),
    ),
  );
  const texts = files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('server/app.ts'))
    .map((file) => readFileSync(file, 'utf8'));
  return new Set(texts.flatMap((text) => [...text.matchAll(NAME)].map(([, name = '']) => name.toLowerCase())));
}
