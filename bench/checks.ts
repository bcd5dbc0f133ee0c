/** Answers are looked at before anything is measured: a server that is wrong is fast for nothing. */
import { isObject, type JsonValue } from '../engine/json.ts';
import { dialects } from './dialects.ts';
import type { Running } from './process.ts';
import { type Request, sent, type Work, type World } from './work.ts';

/** Throws where one of the first answers is not what it must be. */
export async function checkAnswers(
  { contender, url }: Running,
  work: Work,
  world: World,
  first: number,
): Promise<void> {
  const dialect = dialects[contender.dialect];
  for (let n = first; n < first + SAMPLES; n += 1) {
    const request = work.request(dialect, n, world);
    const response = await ask(url, request);
    const text = await response.text();
    const where = `${contender.name}: ${request.method} ${request.path}`;
    if (contender.headers) checkHeaders(response, work, where);
    if (!work.status.includes(response.status)) throw new Error(`${where} answered ${response.status}: ${text}`);
    if (work.statusOnly || text === '' || (request.method !== 'GET' && !dialect.echoes)) continue;
    const expected = work.expected(n, world);
    const body = parsed(text, where);
    const actual = isArray(expected) ? dialect.records(body) : dialect.record(body);
    if (!holds(actual, expected))
      throw new Error(`${where} answered\n${JSON.stringify(actual)}\nexpected\n${JSON.stringify(expected)}`);
  }
}

export const SAMPLES = 5;

function checkHeaders({ headers }: Response, { header }: Work, where: string): void {
  if (header === undefined) return;
  const [name, expected] = header;
  const value = headers.get(name) ?? 'nothing';
  if (!expected.test(value)) throw new Error(`${where} answered ${name}: ${value}`);
}

const ask = (url: string, request: Request): Promise<Response> =>
  fetch(url + request.path, { method: request.method, ...sent(request) });

function parsed(text: string, where: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new Error(`${where} answered no JSON: ${text}`, { cause: error });
  }
}

/** The same, except that objects may hold keys that the client could not know: the identifiers of what was made. */
export function holds(actual: JsonValue, expected: JsonValue): boolean {
  if (isArray(expected))
    return (
      isArray(actual) &&
      actual.length === expected.length &&
      expected.every((item, at) => holds(actual[at] ?? null, item))
    );
  if (!isObject(expected)) return actual === expected;
  if (!isObject(actual)) return false;
  const unknown = Object.keys(actual).filter((key) => !(key in expected) && key !== 'id');
  return unknown.length === 0 && Object.entries(expected).every(([key, value]) => holds(actual[key] ?? null, value));
}

const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
