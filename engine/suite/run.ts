/** Runs cases against a service: sends their requests, compares the responses, and removes what the requests made. */
import * as http from 'node:http';
import * as https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, type JsonValue, parsedJson } from '../json/json.ts';
import type { Model, RecordType } from '../model/model.ts';
import type { ProblemCode } from '../problem.ts';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  /** Sent as it is, in place of `body`. */
  readonly text?: string;
  /** Sent with another token than the one of the run, or with none. */
  readonly token?: 'none' | 'unknown' | 'reader';
}

export interface Expected {
  readonly status: number;
  /** `*` stands for any run of characters; null: the header must be absent. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** `ANY` may stand for values. */
  readonly body?: JsonValue;
  /** The record type of the body, which knows how its values are compared. */
  readonly type?: RecordType;
  /** The code of the problem, and where its errors are, in any order. */
  readonly code?: ProblemCode;
  readonly pointers?: readonly string[];
  readonly parameters?: readonly string[];
}

/** Any value, but the key must be there. */
export const ANY: JsonObject = { $any: true };
export const isAny = (value: JsonValue): boolean => value === ANY;

/** An identifier that no record has, because clients cannot choose it. */
export const MISSING = 2 ** 52 + 1;

export const collection = ({ path }: Pick<RecordType, 'path'>, query = ''): string =>
  `/api/${encodeURIComponent(path)}${query}`;

export const item = (type: RecordType, id: string | number, query = ''): string => `${collection(type)}/${id}${query}`;

/** `_cnd[field][gte]=value` */
export const condition = (steps: readonly string[], value: unknown): string =>
  `_cnd${steps.map((step) => `[${encodeURIComponent(step)}]`).join('')}=${encodeURIComponent(String(value))}`;

/** Only records that the case knows. */
export const among = ({ identifier }: RecordType, ids: readonly number[]): string =>
  `?${ids.map((id) => condition([identifier.name, 'in'], id)).join('&')}`;

/** What writes of a record need where its type requires If-Match. */
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
  /** Parsed; null where it is no JSON. */
  readonly body: JsonValue;
}

/** What a case can do. */
export interface Session {
  /** Sends a request and compares the response; the case fails where they differ. */
  expect(request: Request, expected: Expected): Promise<Response>;
  send(request: Request): Promise<Response>;
  /** Fails the case where the response differs. */
  check(request: Request, expected: Expected, response: Response): void;
  /** Sent after the case. */
  later(request: Request): void;
}

export interface Case {
  /** The record type; '' where the case is about the service. */
  readonly type: string;
  /** The request that the case is about. */
  readonly title: string;
  run(session: Session): Promise<unknown>;
}

interface Difference {
  readonly place: string;
  readonly expected: string;
  readonly actual: string;
}

export interface Result {
  readonly case: Case;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** The request that failed, as it was sent. */
  readonly request: string;
  readonly differences: readonly Difference[];
  readonly milliseconds: number;
}

interface RunOptions {
  readonly url: string;
  readonly model: Model;
  readonly token?: string | undefined;
  /** A token that may only read. */
  readonly readToken?: string | undefined;
  /** Skips the cases that write. */
  readonly readOnly?: boolean;
}

/** Ends a case that may not write, or for which the service has no record or no free value. */
export class Skip extends Error {}

class Mismatch extends Error {
  readonly request: string;
  readonly differences: readonly Difference[];
  constructor(request: string, differences: readonly Difference[]) {
    super(request);
    this.request = request;
    this.differences = differences;
  }
}

type Send = (request: Request) => Promise<Response>;

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const TIMEOUT = 30_000;
const MAX_WAITS = 5;
const MAX_TEXT = 1500;

const textOf = ({ text, body }: Request): string | undefined =>
  text ?? (body === undefined ? undefined : JSON.stringify(body));

/** A client with one connection. */
function createSender({ url, token, readToken }: RunOptions): { readonly send: Send; close(): void } {
  const base = new URL(url);
  const transport = base.protocol === 'https:' ? https : http;
  const agent = new transport.Agent({ keepAlive: true, maxSockets: 1 });
  const tokens = { none: undefined, unknown: 'rec_which-nobody-gave-out', reader: readToken };
  const prefix = base.pathname.replace(/\/$/, '');
  const place = { host: base.hostname.replaceAll(/[[\]]/g, ''), port: base.port, agent, timeout: TIMEOUT };
  const sendOnce: Send = (request) =>
    new Promise((resolve, reject) => {
      const text = textOf(request);
      const bearer = request.token === undefined ? token : tokens[request.token];
      const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text ?? '') };
      const headers = {
        ...(text === undefined ? {} : length),
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...request.headers,
      };
      const options = { ...place, path: prefix + request.path, method: request.method, headers };
      const sent = transport.request(options, (response) => {
        const chunks: Buffer[] = [];
        // Addresses in the responses of a service below a path begin with it.
        const flat = (value: unknown): string => String(value).replaceAll(`${prefix}/api/`, '/api/');
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const shown = Object.entries(response.headers).map(([name, value]) => [name, flat(value)]);
          const received = Buffer.concat(chunks).toString('utf8');
          const body = parsedJson(received) ?? null;
          resolve({ status: response.statusCode ?? 0, headers: Object.fromEntries(shown), text: received, body });
        });
      });
      sent.on('timeout', () => sent.destroy(new Error('no response in time')));
      sent.on('error', reject);
      sent.end(text);
    });
  // Waits while a rate limit is used up.
  const send: Send = async (request) => {
    for (let waits = 0; ; waits += 1) {
      const response = await sendOnce(request);
      const seconds = response.status === 429 ? Number(response.headers['retry-after']) : NaN;
      if (!(seconds > 0) || waits === MAX_WAITS) return response;
      await sleep(seconds * 1000);
    }
  };
  return { send, close: () => agent.destroy() };
}

// Comparing.

const shownValue = (value: JsonValue | undefined): string => {
  if (value === undefined) return 'nothing';
  return isAny(value) ? 'any value' : JSON.stringify(value);
};

const difference = (place: string, expected: JsonValue | undefined, actual: JsonValue | undefined): Difference => ({
  place,
  expected: shownValue(expected),
  actual: shownValue(actual),
});

/** Where the value differs from what is expected; `type`: the record type of the value. */
function compare(
  expected: JsonValue | undefined,
  actual: JsonValue | undefined,
  place: string,
  type: RecordType | undefined,
): Difference[] {
  const differs = [difference(place, expected, actual)];
  if (expected === undefined || actual === undefined) return expected === actual ? [] : differs;
  if (isAny(expected)) return [];
  if (Array.isArray(expected) && Array.isArray(actual) && actual.length === expected.length)
    return expected.flatMap((one: JsonValue, at) => compare(one, actual[at], `${place}/${at}`, type));
  if (!isObject(expected) || !isObject(actual)) return isDeepStrictEqual(expected, actual) ? [] : differs;
  return [...new Set([...Object.keys(expected), ...Object.keys(actual)])].flatMap((key) => {
    const [wanted, got, field] = [expected[key], actual[key], type?.fields.get(key)];
    // One instant has many spellings.
    if (field?.type.now && typeof wanted === 'string' && typeof got === 'string' && field.type.equal(wanted, got))
      return [];
    return compare(wanted, got, `${place}/${key}`, type?.relations.get(key)?.target);
  });
}

function compareHeader(name: string, expected: string | null, actual: string | undefined): Difference[] {
  const parts = expected?.split('*').map((part) => part.replaceAll(/[\\^$.+?()[\]{}|/]/g, String.raw`\$&`));
  const equal = parts ? new RegExp(`^${parts.join('.*')}$`, 's').test(actual ?? '') : actual === undefined;
  return equal ? [] : [{ place: `header ${name}`, expected: expected ?? 'nothing', actual: actual ?? 'nothing' }];
}

const unique = (all: readonly string[]): readonly string[] => [...new Set(all)].toSorted();

function compareProblem({ code, pointers, parameters, status }: Expected, { body }: Response): Difference[] {
  const found = isObject(body) ? body : {};
  const errors = (Array.isArray(found['errors']) ? found['errors'] : []) as readonly JsonValue[];
  const places = (kind: string): readonly string[] =>
    unique(errors.flatMap((one) => (isObject(one) && kind in one ? [String(one[kind])] : [])));
  const all: readonly (readonly [place: string, expected: JsonValue | undefined, actual: JsonValue | undefined])[] = [
    ['type', `urn:problem:${String(code)}`, found['type']],
    ['status', status, found['status']],
    ['pointers of the errors', pointers && unique(pointers), places('pointer')],
    ['parameters of the errors', parameters && unique(parameters), places('parameter')],
  ];
  return all.flatMap(([place, expected, actual]) =>
    expected === undefined || isDeepStrictEqual(expected, actual) ? [] : [difference(place, expected, actual)],
  );
}

function differencesOf(expected: Expected, response: Response): readonly Difference[] {
  const { status, text } = response;
  if (status !== expected.status)
    return [{ place: 'status', expected: String(expected.status), actual: `${status} ${text.slice(0, MAX_TEXT)}` }];
  const headers = Object.entries(expected.headers ?? {}).flatMap(([name, value]) =>
    compareHeader(name, value, response.headers[name]),
  );
  if (expected.code !== undefined) return [...headers, ...compareProblem(expected, response)];
  if (expected.body === undefined) return headers;
  return [...headers, ...compare(expected.body, parsedJson(text) ?? text, '', expected.type)];
}

// One case.

interface Address {
  readonly type: RecordType;
  readonly id: number;
}

/** The records in a body, those related to them included. */
function recordsIn(type: RecordType, value: JsonValue): readonly Address[] {
  if (Array.isArray(value)) return value.flatMap((one: JsonValue) => recordsIn(type, one));
  if (!isObject(value)) return [];
  const id = type.identifier.inRecord ? value[type.identifier.name] : undefined;
  const related = [...type.relations.values()].flatMap(({ name, target }) => recordsIn(target, value[name] ?? null));
  return [...(typeof id === 'number' ? [{ type, id }] : []), ...related];
}

/** Identifier in the address of a record that was created. */
export const createdId = ({ headers }: Response): number => Number(headers['location']?.split('/').at(-1));

const requestText = (request: Request): string => {
  const headers = Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  const text = textOf(request);
  const first = [`${request.method} ${request.path}`, ...headers].join('  ');
  return text === undefined ? first : `${first}\n${text.slice(0, MAX_TEXT)}`;
};

/** A session, and what removes the records that it made and puts back what it changed. */
function createSession(
  { model, readOnly = false }: RunOptions,
  sender: Send,
): { readonly session: Session; cleanUp(): Promise<void> } {
  const [known, made, afterwards] = [new Set<string>(), [] as Address[], [] as Request[]];
  const types = [...model.types.values()];
  const typeAt = (path: string): RecordType | undefined =>
    types.find((type) =>
      [`${collection(type)}`, `${collection(type)}/`].includes(/^\/api\/[^/?]*\/?/.exec(path)?.[0] ?? ''),
    );
  /** Of the records in the response to a write, those that were not known before are new. */
  const remember = ({ method, path, body = null }: Request, response: Response): void => {
    const type = typeAt(path);
    if (!type || path.includes('dryRun=true')) return;
    for (const {
      type: { name },
      id,
    } of recordsIn(type, body))
      known.add(`${name} ${id}`);
    const isWrite = method !== 'GET' && response.status >= 200 && response.status < 300;
    const created = response.status === 201 && response.headers['location'] ? [{ type, id: createdId(response) }] : [];
    for (const one of [...created, ...recordsIn(type, response.body)]) {
      const key = `${one.type.name} ${one.id}`;
      if (isWrite && !known.has(key)) made.push(one);
      known.add(key);
    }
  };
  const send: Send = async (request) => {
    if (readOnly && !READS.has(request.method)) throw new Skip();
    const response = await sender(request);
    remember(request, response);
    return response;
  };
  const check: Session['check'] = (request, expected, response) => {
    const differences = differencesOf(expected, response);
    if (differences.length > 0) throw new Mismatch(requestText(request), differences);
  };
  const expect: Session['expect'] = async (request, expected) => {
    const response = await send(request);
    check(request, expected, response);
    return response;
  };
  /** Deletes again and again, since one record may keep another. */
  const cleanUp = async (): Promise<void> => {
    for (const request of afterwards.toReversed()) await sender(request);
    let left = made.filter(({ type }) => type.operations.has('delete'));
    for (let before = Infinity; left.length > 0 && left.length < before;) {
      before = left.length;
      const blocked: Address[] = [];
      for (const { type, id } of left.toReversed()) {
        const { status } = await sender({ method: 'DELETE', path: item(type, id), ...guard(type) });
        if (status !== 200 && status !== 404) blocked.unshift({ type, id });
      }
      left = blocked;
    }
  };
  return { session: { expect, send, check, later: (request) => void afterwards.push(request) }, cleanUp };
}

async function outcomeOf(one: Case, session: Session): Promise<Pick<Result, 'outcome' | 'request' | 'differences'>> {
  try {
    await one.run(session);
    return { outcome: 'passed', request: '', differences: [] };
  } catch (error) {
    if (error instanceof Skip) return { outcome: 'skipped', request: '', differences: [] };
    if (error instanceof Mismatch) return { outcome: 'failed', request: error.request, differences: error.differences };
    const differences = [{ place: 'response', expected: 'a response', actual: String(error) }];
    return { outcome: 'failed', request: one.title, differences };
  }
}

export async function run(cases: readonly Case[], options: RunOptions): Promise<readonly Result[]> {
  const { send, close } = createSender(options);
  const results: Result[] = [];
  try {
    for (const one of cases) {
      const started = performance.now();
      const { session, cleanUp } = createSession(options, send);
      const outcome = await outcomeOf(one, session);
      await cleanUp().catch(() => undefined);
      results.push({ case: one, ...outcome, milliseconds: performance.now() - started });
    }
    return results;
  } finally {
    close();
  }
}

/** The record in a response. */
export const recordIn = ({ body }: Response): JsonObject => (isObject(body) ? body : {});
