/** Sends the requests of cases to a service, compares the responses, and removes what the requests made. */
import * as http from 'node:http';
import * as https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, type JsonValue, parsedJson, unescapedSteps } from '../json.ts';
import type { Model, RecordType } from '../model/model.ts';
import { type Case, collection, type Expected, guard, type Request, type Step } from './cases.ts';

interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface RunOptions {
  readonly url: string;
  readonly model: Model;
  readonly token?: string | undefined;
  /** A token that may only read. */
  readonly readToken?: string | undefined;
  readonly onProgress?: (result: Result, done: number, all: number) => void;
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

interface Address {
  readonly type: RecordType;
  readonly id: number;
}

/** What a run knows while it replays a case. */
interface Session {
  readonly options: RunOptions;
  readonly send: Send;
  readonly values: Map<string, JsonValue>;
  /** Records that were named before a write and those that it made. */
  readonly known: Set<string>;
  readonly made: Address[];
  /** Requests that put back what borrowed records held. */
  readonly restoring: Request[];
}

type Send = (request: Request, path: string, text: string | undefined) => Promise<Response>;

const TIMEOUT = 30_000;

/** A client with one connection. */
function createSender({ url, token, readToken }: RunOptions): { readonly send: Send; close(): void } {
  const base = new URL(url);
  const transport = base.protocol === 'https:' ? https : http;
  const agent = new transport.Agent({ keepAlive: true, maxSockets: 1 });
  const tokens = { none: undefined, unknown: 'rec_which-nobody-gave-out', reader: readToken };
  const prefix = base.pathname.replace(/\/$/, '');
  const send: Send = (request, path, text) =>
    new Promise((resolve, reject) => {
      const bearer = request.token === undefined ? token : tokens[request.token];
      const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text ?? '') };
      const headers = {
        ...(text === undefined ? {} : length),
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...request.headers,
      };
      const place = { host: base.hostname.replaceAll(/[[\]]/g, ''), port: base.port, path: prefix + path };
      const options = { ...place, agent, method: request.method, headers, timeout: TIMEOUT };
      const sent = transport.request(options, (response) => {
        const chunks: Buffer[] = [];
        // Addresses in the responses of a service below a path begin with it.
        const flat = (value: unknown): string => String(value).replaceAll(`${prefix}/api/`, '/api/');
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const shown = Object.entries(response.headers).map(([name, value]) => [name, flat(value)]);
          const body = Buffer.concat(chunks).toString('utf8');
          resolve({ status: response.statusCode ?? 0, headers: Object.fromEntries(shown), text: body });
        });
      });
      sent.on('timeout', () => sent.destroy(new Error('no response in time')));
      sent.on('error', reject);
      sent.end(text);
    });
  return { send, close: () => agent.destroy() };
}

// Values of earlier responses.

const refOf = (value: JsonValue): string | undefined =>
  isObject(value) && typeof value['$ref'] === 'string' ? value['$ref'] : undefined;

function fill(value: JsonValue, values: Session['values']): JsonValue {
  const name = refOf(value);
  if (name !== undefined) return values.get(name) ?? null;
  if (Array.isArray(value)) return value.map((one: JsonValue) => fill(one, values));
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fill(one, values)]))
    : value;
}

const fillText = (text: string, values: Session['values']): string =>
  text.replaceAll(/\{([^{}]+)\}/g, (whole, name: string) => (values.has(name) ? String(values.get(name)) : whole));

function kept(source: string, { headers, text }: Response): JsonValue | undefined {
  if (source !== '' && !source.startsWith('/'))
    return source === 'location' ? Number(headers['location']?.split('/').at(-1)) : headers[source];
  // An item of an array is a member under its index.
  return unescapedSteps(source).reduce<JsonValue | undefined>(
    (value, step) => (typeof value === 'object' && value !== null ? (value as JsonObject)[step] : undefined),
    parsedJson(text),
  );
}

// Comparing.

const textOf = (value: JsonValue | undefined): string => (value === undefined ? 'nothing' : JSON.stringify(value));

/** Where the value differs from what is expected; `type`: the record type of the value. */
function compare(
  expected: JsonValue,
  actual: JsonValue | undefined,
  place: string,
  type: RecordType | undefined,
  values: Session['values'],
): Difference[] {
  const differs = (): Difference[] => [
    { place, expected: isAny(expected) ? 'any value' : textOf(expected), actual: textOf(actual) },
  ];
  if (isAny(expected)) return actual === undefined ? differs() : [];
  const name = refOf(expected);
  if (name !== undefined) return compare(values.get(name) ?? null, actual, place, type, values);
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return differs();
    return expected.flatMap((one: JsonValue, index) =>
      compare(one, (actual as readonly JsonValue[])[index], `${place}/${index}`, type, values),
    );
  }
  if (!isObject(expected)) return isDeepStrictEqual(expected, actual) ? [] : differs();
  if (!isObject(actual)) return differs();
  return [...new Set([...Object.keys(expected), ...Object.keys(actual)])].flatMap((key) => {
    const [wanted, got, at] = [expected[key], actual[key], `${place}/${key}`];
    if (wanted === undefined) return [{ place: at, expected: 'nothing', actual: textOf(got) }];
    const field = type?.fields.get(key);
    // One instant has many spellings.
    if (field?.type.now && typeof wanted === 'string' && typeof got === 'string' && field.type.equal(wanted, got))
      return [];
    return compare(wanted, got, at, type?.relations.get(key)?.target, values);
  });
}

const isAny = (value: JsonValue): boolean => isObject(value) && value['$any'] === true;

const UNORDERED: ReadonlySet<string> = new Set(['allow', 'accept-patch', 'vary']);
const sorted = (name: string, text: string): string =>
  UNORDERED.has(name) ? text.split(/, */).toSorted().join(', ') : text;

function compareHeader(
  name: string,
  expected: string | null,
  actual: string | undefined,
  values: Session['values'],
): Difference[] {
  const wanted = expected === null ? null : sorted(name, fillText(expected, values));
  const got = actual === undefined ? null : sorted(name, actual);
  const parts = wanted?.split('*').map((part) => part.replaceAll(/[\\^$.+?()[\]{}|/]/g, String.raw`\$&`));
  const equal = parts && got !== null ? new RegExp(`^${parts.join('.*')}$`, 's').test(got) : wanted === got;
  return equal ? [] : [{ place: `header ${name}`, expected: wanted ?? 'nothing', actual: got ?? 'nothing' }];
}

const unique = (all: readonly string[]): readonly string[] => [...new Set(all)].toSorted();

function compareProblem({ code, pointers, parameters, status }: Expected, { text }: Response): Difference[] {
  const body = parsedJson(text);
  const problem = isObject(body) ? body : {};
  const errors = (Array.isArray(problem['errors']) ? problem['errors'] : []) as readonly JsonValue[];
  const places = (kind: string): readonly string[] =>
    unique(errors.flatMap((one) => (isObject(one) && kind in one ? [String(one[kind])] : [])));
  const all: readonly (readonly [place: string, expected: JsonValue | undefined, actual: JsonValue | undefined])[] = [
    ['type', `urn:problem:${String(code)}`, problem['type']],
    ['status', status, problem['status']],
    ['pointers of the errors', pointers && unique(pointers), places('pointer')],
    ['parameters of the errors', parameters && unique(parameters), places('parameter')],
  ];
  return all.flatMap(([place, expected, actual]) =>
    expected === undefined || isDeepStrictEqual(expected, actual)
      ? []
      : [{ place, expected: textOf(expected), actual: textOf(actual) }],
  );
}

const MAX_TEXT = 1500;

function differencesOf(
  { options: { model }, values }: Session,
  { expected }: Step,
  response: Response,
): readonly Difference[] {
  const { status, text } = response;
  const got = `${status} ${text.slice(0, MAX_TEXT)}`;
  if (status !== expected.status) return [{ place: 'status', expected: String(expected.status), actual: got }];
  const headers = Object.entries(expected.headers ?? {}).flatMap(([name, value]) =>
    compareHeader(name, value, response.headers[name], values),
  );
  if (expected.code !== undefined) return [...headers, ...compareProblem(expected, response)];
  if (expected.body === undefined) return headers;
  const body = parsedJson(text) ?? text;
  return [...headers, ...compare(expected.body, body, '', model.types.get(expected.type ?? ''), values)];
}

// Sending.

const MAX_WAITS = 5;

/** Waits while a rate limit is used up. */
async function patiently(send: () => Promise<Response>, wanted: number): Promise<Response> {
  for (let waits = 0; ; waits += 1) {
    const response = await send();
    const seconds = response.status === 429 && wanted !== 429 ? Number(response.headers['retry-after']) : NaN;
    if (!(seconds > 0) || waits === MAX_WAITS) return response;
    await sleep(seconds * 1000);
  }
}

interface Sent {
  readonly request: string;
  readonly response: Response;
  readonly body: JsonValue;
}

async function sendStep(session: Session, { request, expected }: Step): Promise<Sent> {
  const path = fillText(request.path, session.values);
  const headers = Object.entries(request.headers ?? {}).map(
    ([name, value]) => [name, fillText(value, session.values)] as const,
  );
  const body = request.body === undefined ? null : fill(request.body, session.values);
  const text = request.text ?? (request.body === undefined ? undefined : JSON.stringify(body));
  const filled = { ...request, headers: Object.fromEntries(headers) };
  const response = await patiently(() => session.send(filled, path, text), expected.status);
  const lines = [`${request.method} ${path}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return {
    request: [lines.join('  '), ...(text === undefined ? [] : [text.slice(0, MAX_TEXT)])].join('\n'),
    response,
    body,
  };
}

const keyOf = ({ type, id }: Address): string => `${type.name} ${id}`;

/** The records in a body, those related to them included. */
function recordsIn(type: RecordType, value: JsonValue): readonly Address[] {
  if (Array.isArray(value)) return value.flatMap((one: JsonValue) => recordsIn(type, one));
  if (!isObject(value)) return [];
  const id = type.identifier.inRecord ? value[type.identifier.name] : undefined;
  const related = [...type.relations.values()].flatMap(({ name, target }) => recordsIn(target, value[name] ?? null));
  return [...(typeof id === 'number' ? [{ type, id }] : []), ...related];
}

/** Of what a write answers, the records that were not named before are those that it made. */
function remember(session: Session, { request }: Step, { response, body }: Sent): void {
  const type = typeAt(session.options.model, request.path);
  if (!type) return;
  for (const one of recordsIn(type, body)) session.known.add(keyOf(one));
  const answered = parsedJson(response.text) ?? null;
  const isMade = request.method !== 'GET' && response.status >= 200 && response.status < 300;
  const id = response.status === 201 ? Number(response.headers['location']?.split('/').at(-1)) : NaN;
  const all = [...(Number.isSafeInteger(id) ? [{ type, id }] : []), ...recordsIn(type, answered)];
  for (const one of all) {
    if (isMade && !session.known.has(keyOf(one))) session.made.push(one);
    session.known.add(keyOf(one));
  }
}

const typeAt = (model: Model, path: string): RecordType | undefined =>
  [...model.types.values()].find(
    (type) =>
      path === collection(type) || path.startsWith(`${collection(type)}/`) || path.startsWith(`${collection(type)}?`),
  );

const LINK = /<([^>]*)>; rel="([^"]*)"/g;

async function runCase(session: Session, one: Case): Promise<Omit<Result, 'case' | 'milliseconds'>> {
  for (const step of one.steps) {
    const sent = await sendStep(session, step);
    const { response, request } = sent;
    if (!request.includes('dryRun=true')) remember(session, step, sent);
    const isTaken = step.taken !== undefined && response.text.includes('urn:problem:unique-conflict');
    const other = isTaken && step.taken === 'use' ? kept('/errors/0/records/0/identifier', response) : undefined;
    if (other !== undefined) {
      for (const name of Object.keys(step.keep ?? {})) session.values.set(name, other);
      continue;
    }
    if (isTaken || (step.borrows && response.text === '[]')) return { outcome: 'skipped', request, differences: [] };
    for (const [name, source] of Object.entries(step.keep ?? {}))
      session.values.set(name, kept(source, response) ?? null);
    for (const [, target = '', relation = ''] of response.headers['link']?.matchAll(LINK) ?? [])
      session.values.set(`${relation} page`, target);
    const differences = differencesOf(session, step, response);
    if (differences.length > 0) return { outcome: 'failed', request, differences };
    const type = typeAt(session.options.model, step.request.path);
    if (step.borrows && type) restoreLater(session, type, step.borrows, response);
  }
  return { outcome: 'passed', request: '', differences: [] };
}

function restoreLater({ restoring }: Session, type: RecordType, keys: readonly string[], { text }: Response): void {
  const [record = {}] = parsedJson(text) as readonly JsonObject[];
  const body = Object.fromEntries(keys.map((key) => [key, record[key] ?? null]));
  const path = `${collection(type)}/${String(record[type.identifier.name])}`;
  restoring.push({ method: 'PATCH', path, body, ...guard(type) });
}

/** Puts back what was borrowed, and deletes what was made: again and again, since one record may keep another. */
async function cleanUp({ made, restoring, send }: Session): Promise<void> {
  for (const request of restoring.splice(0).toReversed())
    await send(request, request.path, JSON.stringify(request.body));
  let left = made.splice(0).filter(({ type }) => type.operations.has('delete'));
  for (let before = Infinity; left.length > 0 && left.length < before;) {
    before = left.length;
    const blocked: Address[] = [];
    for (const one of left.toReversed()) {
      const request: Request = { method: 'DELETE', path: `${collection(one.type)}/${one.id}`, ...guard(one.type) };
      const { status } = await patiently(() => send(request, request.path, undefined), 200);
      if (status !== 200 && status !== 404) blocked.unshift(one);
    }
    left = blocked;
  }
}

export async function run(cases: readonly Case[], options: RunOptions): Promise<readonly Result[]> {
  const { send, close } = createSender(options);
  const results: Result[] = [];
  try {
    for (const one of cases) {
      const session: Session = { options, send, values: new Map(), known: new Set(), made: [], restoring: [] };
      const started = performance.now();
      const outcome = await runCase(session, one).catch((error: unknown) => ({
        outcome: 'failed' as const,
        request: one.title,
        differences: [{ place: 'response', expected: 'a response', actual: String(error) }],
      }));
      await cleanUp(session).catch(() => undefined);
      const result = { case: one, ...outcome, milliseconds: performance.now() - started };
      results.push(result);
      options.onProgress?.(result, results.length, cases.length);
    }
    return results;
  } finally {
    close();
  }
}
