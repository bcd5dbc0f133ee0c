/** Sends the requests of cases, compares the responses, and removes the created records. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, type JsonValue, parsedJson } from '../json/json.ts';
import { MAX_GIVEN_IDENTIFIER } from '../field-types/identifiers.ts';
import { type Identifier, parserOf, pathSegment, sampleOf } from '../model/identifier.ts';
import { hasMember, identifierIn, type Model, type RecordType } from '../model/model.ts';
import type { ProblemCode } from '../problem.ts';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  /** Sent unchanged instead of `body`. */
  readonly text?: string;
  /** Sent instead of the token of the run. */
  readonly token?: 'none' | 'unknown' | 'reader';
}

export interface Expected {
  readonly status: number;
  /** `*` matches any string; null: the header is absent. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: JsonValue;
  readonly type?: RecordType;
  readonly code?: ProblemCode;
  readonly pointers?: readonly string[];
  readonly parameters?: readonly string[];
}

/** Matches any value of a required key. */
export const ANY: JsonObject = { $any: true };
/** Matches only if the key is absent. */
export const ABSENT: JsonObject = { $absent: true };

/** An identifier that probably no record has: clients cannot choose so large a number. */
export const missing = ({ identifier }: RecordType, seed = 0): Identifier =>
  sampleOf(identifier, (identifier.kind.isCounted ? MAX_GIVEN_IDENTIFIER : 2 ** 40) + seed);

export const collection = ({ path }: RecordType, query = ''): string => `/api/${encodeURIComponent(path)}${query}`;

/** Stands in titles for the identifier of the record that the case makes. */
export const NEW_ID = '{id}';

export const item = (type: RecordType, id: Identifier, query = ''): string =>
  `${collection(type)}/${id === NEW_ID ? id : pathSegment(id)}${query}`;

/** `_cnd[field][gte]=value` */
export const condition = (steps: readonly string[], value: unknown): string =>
  `_cnd${steps.map((step) => `[${encodeURIComponent(step)}]`).join('')}=${encodeURIComponent(String(value))}`;

/** Excludes records of other clients. */
export const among = ({ identifier }: RecordType, ids: readonly Identifier[]): string =>
  `?${ids.map((id) => condition([identifier.name, 'in'], id)).join('&')}`;

/** Headers for types that require If-Match. */
export const guard = ({ preconditions }: RecordType): Pick<Request, 'headers'> =>
  preconditions === 'required' ? { headers: { 'if-match': '*' } } : {};

export const problem = (
  status: number,
  code: ProblemCode,
  places: Pick<Expected, 'pointers' | 'parameters'> = {},
): Expected => ({ status, code, ...places });

export const shows = (
  type: RecordType,
  status: number,
  body: JsonValue,
  headers: NonNullable<Expected['headers']> = {},
): Expected => ({ status, body, type, headers });

export interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** null if it is not JSON. */
  readonly body: JsonValue;
}

/** Throws if the response differs. */
export type Expect = (request: Request, expected: Expected | ((response: Response) => Expected)) => Promise<Response>;

export interface Case {
  /** Empty for cases about the service. */
  readonly type: string;
  readonly title: string;
  run(expect: Expect): Promise<unknown>;
}

type Difference = Readonly<Record<'place' | 'expected' | 'actual', string>>;

export interface Result {
  readonly case: Case;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly request: string;
  readonly differences: readonly Difference[];
  readonly milliseconds: number;
}

interface RunOptions {
  readonly url: string;
  readonly model: Model;
  readonly token?: string | undefined;
  readonly readToken?: string | undefined;
  readonly readOnly?: boolean;
}

/** The case cannot write, or lacks a record or a free value. */
export class Skip extends Error {}

class Mismatch extends Error {}

type Send = (request: Request) => Promise<Response>;

const TIMEOUT = 30_000;
const MAX_WAITS = 5;
const MAX_TEXT = 1500;

const textOf = ({ text, body }: Request): string | undefined =>
  text ?? (body === undefined ? undefined : JSON.stringify(body));

/** Waits while a rate limit is used up. */
function createClient({ url, token, readToken }: RunOptions): Send {
  const base = url.replace(/\/$/, '');
  const prefix = new URL(`${base}/`).pathname;
  const tokens = { none: undefined, unknown: 'rec_which-nobody-gave-out', reader: readToken };
  return async function send(request: Request, waits = 0): Promise<Response> {
    const body = textOf(request) ?? null;
    const bearer = request.token === undefined ? token : tokens[request.token];
    const response = await fetch(base + request.path, {
      method: request.method,
      headers: {
        'accept-encoding': 'identity',
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...request.headers,
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT),
    });
    const { status } = response;
    const text = await response.text();
    const seconds = status === 429 ? Number(response.headers.get('retry-after')) : NaN;
    if (seconds > 0 && waits < MAX_WAITS) {
      await sleep(seconds * 1000);
      return send(request, waits + 1);
    }
    // Removes the base path, which the service puts before URLs.
    const headers = [...response.headers].map(([name, value]) => [name, value.replaceAll(`${prefix}api/`, '/api/')]);
    return { status, headers: Object.fromEntries(headers), text, body: parsedJson(text) ?? null };
  };
}

const shown = (value: JsonValue | undefined): string =>
  value === ANY ? 'any value' : value === undefined || value === ABSENT ? 'nothing' : JSON.stringify(value);

/** `type`: the value is a record, and may have further fields and relations. */
function compare(
  expected: JsonValue | undefined,
  actual: JsonValue | undefined,
  place: string,
  type?: RecordType,
): readonly Difference[] {
  if (expected === ANY && actual !== undefined) return [];
  if (expected === ABSENT && actual === undefined) return [];
  if (Array.isArray(expected) && Array.isArray(actual) && actual.length === expected.length)
    return expected.flatMap((one: JsonValue, at) => compare(one, actual[at], `${place}/${at}`, type));
  if (!isObject(expected) || !isObject(actual))
    return isDeepStrictEqual(expected, actual) ? [] : [{ place, expected: shown(expected), actual: shown(actual) }];
  const isMore = (key: string): boolean => type !== undefined && (type.open || hasMember(type, key));
  const others = Object.keys(actual).filter((key) => !Object.hasOwn(expected, key) && !isMore(key));
  return [...Object.keys(expected), ...others].flatMap((key) => {
    const [given, got] = [expected[key], actual[key]];
    // One instant has many spellings, of which responses have one.
    const wanted = given === undefined ? given : (type?.fields.get(key)?.type.canonical?.(given) ?? given);
    return compare(wanted, got, `${place}/${key}`, type?.relations.get(key)?.target);
  });
}

function compareHeader(name: string, expected: string | null, actual: string | undefined): readonly Difference[] {
  const parts = expected?.split('*').map((part) => part.replaceAll(/[\\^$.+?()[\]{}|/]/g, String.raw`\$&`));
  const equal = parts ? new RegExp(`^${parts.join('.*')}$`, 's').test(actual ?? '') : actual === undefined;
  return equal ? [] : [{ place: `header ${name}`, expected: expected ?? 'nothing', actual: actual ?? 'nothing' }];
}

function compareProblem({ code, pointers, parameters, status }: Expected, body: JsonValue): readonly Difference[] {
  const { errors = [], ...found } = isObject(body) ? body : {};
  const places = (kind: 'pointer' | 'parameter', expected: readonly string[] | undefined): readonly Difference[] => {
    const actual = (errors as readonly JsonObject[]).flatMap((one) => one[kind] ?? []).map(String);
    const [wanted, got] = [expected ?? [], actual].map((all) => [...new Set(all)].toSorted());
    return expected ? compare(wanted, got, `${kind}s of the errors`) : [];
  };
  return [
    ...compare(`urn:problem:${String(code)}`, found['type'], 'type'),
    ...compare(status, found['status'], 'status'),
    ...places('pointer', pointers),
    ...places('parameter', parameters),
  ];
}

function differencesOf(expected: Expected, { status, text, headers, body }: Response): readonly Difference[] {
  if (status !== expected.status)
    return [{ place: 'status', expected: String(expected.status), actual: `${status} ${text.slice(0, MAX_TEXT)}` }];
  const inHeaders = Object.entries(expected.headers ?? {}).flatMap(([name, value]) =>
    compareHeader(name, value, headers[name]),
  );
  if (expected.code !== undefined) return [...inHeaders, ...compareProblem(expected, body)];
  if (expected.body === undefined) return inHeaders;
  return [...inHeaders, ...compare(expected.body, parsedJson(text) ?? text, '', expected.type)];
}

interface Address {
  readonly type: RecordType;
  readonly id: Identifier;
}

/** The records in a body, including nested ones. */
function recordsIn(type: RecordType, value: JsonValue): readonly Address[] {
  if (Array.isArray(value)) return value.flatMap((one: JsonValue) => recordsIn(type, one));
  if (!isObject(value)) return [];
  const id = identifierIn(value, type);
  const related = [...type.relations.values()].flatMap(({ name, target }) => recordsIn(target, value[name] ?? null));
  return [...(id === undefined ? [] : [{ type, id }]), ...related];
}

/** The identifier of a created record, from the `Location` of the response. */
export const createdId = ({ identifier }: RecordType, { headers }: Response): Identifier =>
  parserOf(identifier)(decodeURIComponent(headers['location']?.split('/').at(-1) ?? '')) ?? '';

function requestText(request: Request): string {
  const headers = Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  const text = textOf(request)?.slice(0, MAX_TEXT);
  return [`${request.method} ${request.path}`, ...headers].join('  ') + (text === undefined ? '' : `\n${text}`);
}

/** A record is new if the response to a write is the first to contain it. */
function createTracker({ types }: Model) {
  const [known, made] = [new Set<string>(), [] as Address[]];
  const keyOf = ({ type, id }: Address): string => `${type.name} ${id}`;
  const byPath = new Map([...types.values()].map((type) => [collection(type), type]));
  const remember = ({ method, path }: Request, response: Response): void => {
    const type = byPath.get(/^\/api\/[^/?]*/.exec(path)?.[0] ?? '');
    if (!type || path.includes('dryRun=true')) return;
    const created =
      response.status === 201 && response.headers['location'] ? [{ type, id: createdId(type, response) }] : [];
    for (const one of [...created, ...recordsIn(type, response.body)]) {
      if (method !== 'GET' && response.status < 300 && !known.has(keyOf(one))) made.push(one);
      known.add(keyOf(one));
    }
  };
  return { made, remember };
}

/** Repeats, since a record can prevent the deletion of another. */
async function remove(records: readonly Address[], send: Send): Promise<void> {
  let left = records.filter(({ type }) => type.operations.has('delete')).toReversed();
  for (let before = Infinity; left.length > 0 && left.length < before;) {
    before = left.length;
    const kept: Address[] = [];
    for (const { type, id } of left) {
      const { status } = await send({ method: 'DELETE', path: item(type, id), ...guard(type) });
      if (status !== 200 && status !== 404) kept.push({ type, id });
    }
    left = kept;
  }
}

async function runCase(one: Case, send: Send, { model, readOnly = false }: RunOptions): Promise<Result> {
  const started = performance.now();
  const { made, remember } = createTracker(model);
  let result: Omit<Result, 'case' | 'milliseconds'> = { outcome: 'passed', request: '', differences: [] };
  const expect: Expect = async (request, expected) => {
    if (readOnly && !['GET', 'HEAD', 'OPTIONS'].includes(request.method)) throw new Skip();
    const response = await send(request);
    remember(request, response);
    const differences = differencesOf(typeof expected === 'function' ? expected(response) : expected, response);
    if (differences.length === 0) return response;
    result = { outcome: 'failed', request: requestText(request), differences };
    throw new Mismatch();
  };
  try {
    await one.run(expect);
  } catch (error) {
    const cause = error instanceof TypeError ? (error.cause ?? error) : error;
    const differences = [{ place: 'response', expected: 'a response', actual: String(cause) }];
    if (error instanceof Skip) result = { ...result, outcome: 'skipped' };
    else if (!(error instanceof Mismatch)) result = { outcome: 'failed', request: one.title, differences };
  }
  await remove(made, send).catch(() => undefined);
  return { case: one, ...result, milliseconds: performance.now() - started };
}

export async function run(cases: readonly Case[], options: RunOptions): Promise<readonly Result[]> {
  const send = createClient(options);
  const results: Result[] = [];
  for (const one of cases) results.push(await runCase(one, send, options));
  return results;
}

const nameOf = ({ case: { type } }: Result): string => type || 'Service';

export const failureText = (result: Result): string =>
  [
    `${nameOf(result)}: ${result.case.title}`,
    ...result.request.split('\n').map((line) => `  ${line}`),
    ...result.differences.flatMap(({ place, expected, actual }) => [
      `    ${place}`,
      `      expected ${expected}`,
      `      actual   ${actual}`,
    ]),
  ].join('\n');

const OUTCOMES = ['passed', 'failed', 'skipped'] as const;
const SKIPPED =
  'A request is skipped if it would write without --write, or lacks a record, or a free value of a key or a unique field: give it more examples.';

export function summaryText(results: readonly Result[]): string {
  const types = Map.groupBy(results, nameOf);
  const width = Math.max(...['Service', ...types.keys()].map((type) => type.length));
  const row = (name: string, cells: readonly (string | number)[]): string =>
    [name.padEnd(width), ...cells.map((cell) => String(cell).padStart(8))].join('');
  const rows = [...types].map(([type, all]) =>
    row(
      type,
      OUTCOMES.map((outcome) => all.filter((result) => result.outcome === outcome).length),
    ),
  );
  const why = results.some(({ outcome }) => outcome === 'skipped') ? ['', SKIPPED] : [];
  return [row('Type', OUTCOMES), ...rows, ...why].join('\n');
}
