/** Reads requests: URL, client, preferences and body. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import Negotiator from 'negotiator';
import { COUNT_MODES, type CountMode } from '../descriptor/descriptor.ts';
import type { AddressOf } from '../edge/admission.ts';
import type { Budget, Share } from '../edge/budget.ts';
import { type Caller, CallerGone, type Position } from '../edge/caller.ts';
import { invalidJson } from '../json/json.ts';
import { shortened } from '../names.ts';
import type { Preconditions } from '../operations/operation.ts';
import { CSV_CONTENT, CSV_TYPE, JSON_TYPE } from '../operations/table.ts';
import { faultyRequest, Problem, type ProblemCode, StartError } from '../problem.ts';
import type { Settings } from '../settings/settings.ts';

export type HeaderMap = Readonly<Record<string, string>>;

export const preconditionsOf = ({ headers }: IncomingMessage): Preconditions => ({
  ifMatch: headers['if-match'],
  ifNoneMatch: headers['if-none-match'],
});

export interface Target {
  /** The mount path, which the host application has stripped from the URL. */
  readonly base: string;
  readonly path: string;
  readonly query: string;
}

export function targetOf(request: IncomingMessage): Target {
  const { url = '/' } = request;
  const mark = url.indexOf('?');
  const base = 'baseUrl' in request && typeof request.baseUrl === 'string' ? request.baseUrl : '';
  if (mark === -1) return { base, path: url, query: '' };
  return { base, path: url.slice(0, mark), query: url.slice(mark + 1) };
}

export const fullPath = ({ base, path }: Target): string => base + path;

export const isChunked = ({ headers }: IncomingMessage): boolean => headers['transfer-encoding'] !== undefined;

const SAFE_ID = /^[\w.:/+=-]{1,128}$/;

/**
 * The ID already set, the client's if safe to log, or a new one. It is kept in the request, so that log entries match the
 * response: if that has a header already, Node writes the others one by one.
 */
export function requestIdOf({ headers }: IncomingMessage, response: ServerResponse): string {
  const [known, sent] = [response.getHeader('X-Request-Id'), headers['x-request-id']];
  if (known !== undefined) return String(known);
  return (headers['x-request-id'] = typeof sent === 'string' && SAFE_ID.test(sent) ? sent : randomUUID());
}

/** Bytes of a page: reading it blocks all other clients. */
const MAX_PAGE = 16 * 1024 ** 2;

type Client = Pick<Caller, 'pageBytes' | 'signal' | 'origin' | 'request'>;

/** Without a reason, Node makes an error with its stack for each signal. */
const GONE = new CallerGone();

export class HttpClient implements Client {
  readonly pageBytes = MAX_PAGE;
  readonly #response: ServerResponse;
  readonly #addressOf: AddressOf;
  #gone: AbortController | undefined;

  constructor(response: ServerResponse, addressOf: AddressOf) {
    this.#response = response;
    this.#addressOf = addressOf;
  }

  get origin(): string {
    return this.#addressOf(this.#response.req);
  }

  get request(): string {
    return requestIdOf(this.#response.req, this.#response);
  }

  /** Made when it is first read: most requests need none. */
  get signal(): AbortSignal {
    if (this.#gone) return this.#gone.signal;
    const gone = new AbortController();
    this.#gone = gone;
    const abort = (): void => {
      if (!this.#response.writableFinished) gone.abort(GONE);
    };
    if (this.#response.req.socket.destroyed) abort();
    else this.#response.once('close', abort);
    return gone.signal;
  }
}

/** Charges a client's work to the memory budget. A class, since accessors of literals are slow. */
export class BudgetCaller implements Caller {
  readonly pageBytes: number;
  readonly #budget: Budget;
  readonly #client: Client;
  readonly #seen: Position;
  #share: Share | undefined;

  /** `seen`: the position in the database's log, which writes advance. */
  constructor(budget: Budget, seen: Position, client: Client) {
    this.pageBytes = Math.min(client.pageBytes, budget.limit / 8);
    this.#budget = budget;
    this.#client = client;
    this.#seen = seen;
  }

  get signal(): AbortSignal {
    return this.#client.signal;
  }

  get origin(): string {
    return this.#client.origin;
  }

  get request(): string | undefined {
    return this.#client.request;
  }

  get position(): string | undefined {
    return this.#seen.last;
  }

  advance(position: string): void {
    this.#seen.last = position;
  }

  take(bytes: number): void {
    this.#share ??= this.#budget.take(0);
    this.#share.grow(bytes);
  }

  savepoint(): () => void {
    const before = this.#share?.bytes ?? 0;
    return () => this.#share?.shrink(before);
  }

  turn(): Promise<void> {
    return this.#budget.work.turn(this);
  }

  /** Once the response is written, the connection counts its unread bytes. */
  release(): void {
    this.#share?.release();
  }
}

const inHeader = (problem: ProblemCode, header: string, code: string, message: string, headers: HeaderMap = {}) =>
  faultyRequest(problem, [{ header, code, message }], { headers });

/** The offered media type that the client prefers. */
export function acceptedType(accept: string | undefined, offered: readonly string[]): string {
  const [first = JSON_TYPE] = offered;
  if (accept === undefined || accept === '' || accept === '*/*' || accept === first) return first;
  // A range with a parameter matches only types that have it: clients may request UTF-8.
  const variants = offered.flatMap((type) => [
    type,
    `${type}; charset=utf-8`,
    ...(type === CSV_TYPE ? [CSV_CONTENT] : []),
  ]);
  // The slice bounds the time for many ranges.
  const headers = { accept: accept.slice(0, 1024) };
  const [best] = new Negotiator({ headers }).mediaType(variants)?.split(';') ?? [];
  if (best !== undefined) return best;
  const message = `Accept is "${shortened(accept)}"; this can be answered as ${offered.join(', ')}`;
  throw inHeader('not-acceptable', 'Accept', 'not-acceptable', message);
}

type PreferHeader = IncomingMessage['headers'][string];

/** Elements of a list of preferences, and the name and value of one; only values may be quoted (RFC 7240, 2). */
const PREFERENCES = /(?:[^",]|"(?:[^"\\]|\\.?)*(?:"|$))+/g;
const PREFERENCE = /^\s*([\w!#$%&'*+.^`|~-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))\s*)?(?:;|$)/;

/** The first occurrence counts. The slice bounds the time for many quotes. */
function preferencesIn(header: PreferHeader = ''): ReadonlyMap<string, string> {
  const elements = String(header).slice(0, 1024).toLowerCase().match(PREFERENCES) ?? [];
  const pairs = elements.flatMap((element): [string, string][] => {
    const [, name, quoted, plain = ''] = PREFERENCE.exec(element) ?? [];
    return name === undefined ? [] : [[name, quoted?.replaceAll(/\\(.)/g, '$1') ?? plain]];
  });
  return new Map(pairs.toReversed());
}

const applying = (...names: readonly string[]): HeaderMap =>
  names.length === 0 ? {} : { 'Preference-Applied': names.join(', ') };

/** `return=minimal`: return no record. `isLimited`: throws without `max-affected=N`, the most records to delete or unlink. */
export function writePreferences(header: PreferHeader, isLimited: boolean) {
  if (header === undefined && !isLimited) return { minimal: false, maxAffected: 0, applied: {} };
  const known = preferencesIn(header);
  const value = ['minimal', 'representation'].find((one) => one === known.get('return'));
  const most = known.get('max-affected');
  if (isLimited && !/^\d{1,15}$/.test(most ?? '')) {
    const fault = most === undefined ? 'is missing' : `is "${shortened(most)}"`;
    const message = `Prefer: max-affected=N must say how many records may be deleted or unlinked at most; it ${fault}`;
    throw inHeader('invalid-header', 'Prefer', most === undefined ? 'required' : 'invalid-value', message);
  }
  const limit = isLimited ? [`max-affected=${Number(most)}`] : [];
  const applied = applying(...limit, ...(value === undefined ? [] : [`return=${value}`]));
  return { minimal: value === 'minimal', maxAffected: isLimited ? Number(most) : 0, applied };
}

/** How to count a list. `Preference-Applied` always names estimates, so that no client takes one for exact. */
export function countPreference(header: PreferHeader, fallback: CountMode) {
  const asked = header === undefined ? undefined : preferencesIn(header).get('count');
  const value = COUNT_MODES.find((known) => known === asked);
  const count = value ?? fallback;
  return { count, applied: value !== undefined || count === 'estimated' ? applying(`count=${count}`) : {} };
}

/** A body as received, or as parsed by middleware before the handler. */
export type Content = Buffer | { readonly parsed: unknown };

const NO_CONTENT = Buffer.alloc(0);

/** Memory per byte of a body: its buffer, up to twice as long, its string and its value. */
const BYTE_COST = 6;

/** `accepted`: media types, none if the operation takes no body. */
export type ReadContent = (request: IncomingMessage, caller: Caller, accepted: readonly string[]) => Promise<Content>;

export function contentReader({ bodyLimit: limit }: Pick<Settings, 'bodyLimit'>, budget: Budget): ReadContent {
  const most = Math.floor(budget.limit / (BYTE_COST + 1));
  if (limit > most)
    throw new StartError(
      `BODY_LIMIT is ${limit}, but with a MEMORY_LIMIT of ${budget.limit} a body can have ${most} bytes at most; change one of them`,
    );
  return async (request, caller, accepted) => {
    if (!hasBody(request)) return NO_CONTENT;
    const isTaken = accepted.length > 0;
    // Proxies send an empty body as chunks without bytes.
    if (!isTaken && !isChunked(request)) throw unexpected(request);
    if (isTaken) requireBodyType(request, accepted);
    if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
    const content = parsedInFront(request) ?? (await readBytes(request, limit, budget));
    if (Buffer.isBuffer(content)) {
      caller.take(BYTE_COST * content.length);
      if (content.length > LONG_BODY) await budget.work.turn(caller);
    }
    if (isTaken && content === NO_CONTENT)
      throw invalidJson('Other middleware has read the body before; mount the handler of the records in front of it');
    if (!isTaken && ('parsed' in content || content.length > 0)) throw unexpected(request);
    return content;
  };
}

const hasBody = (request: IncomingMessage): boolean =>
  isChunked(request) || (request.headers['content-length'] ?? '0') !== '0';

const tooLarge = (limit: number): Problem =>
  new Problem('content-too-large', `The body is larger than ${limit} bytes; send it in parts`);

function unexpected(request: IncomingMessage): Problem {
  const message = `${request.method ?? ''} takes no body: leave it out. The URL alone says what is meant`;
  const header = isChunked(request) ? 'Transfer-Encoding' : 'Content-Length';
  return faultyRequest('invalid-header', [{ header, code: 'unexpected-body', message }]);
}

/** `express.json()` and similar parsers read the stream to its end and leave the result in `request.body`. */
function parsedInFront(request: IncomingMessage): Content | undefined {
  if (!request.readableEnded) return undefined;
  const body: unknown = 'body' in request ? request.body : undefined;
  if (Buffer.isBuffer(body)) return body;
  if (typeof body === 'string') return Buffer.from(body);
  return body === undefined ? NO_CONTENT : { parsed: body };
}

/** Bytes of a body that may take milliseconds to parse and check. */
const LONG_BODY = 4 * 1024;

/**
 * Copies the chunks into one buffer: as objects, small chunks would take more memory than their bytes. Rejects with
 * CallerGone if the client leaves. Where memory is short, the bodies that have been arriving longest make room.
 */
function readBytes(request: IncomingMessage, limit: number, budget: Budget): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let buffer: Buffer = NO_CONTENT;
    let size = 0;
    const settle = (outcome: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      share.release();
      outcome();
    };
    const tooSlow = 'The body arrived too slowly while others needed its memory; try again in a second';
    const share = budget.take(0, () => settle(() => reject(new Problem('overloaded', tooSlow))));
    const onData = (chunk: Buffer): void => {
      const needed = size + chunk.length;
      if (needed > limit) return settle(() => reject(tooLarge(limit)));
      if (needed > buffer.length) {
        const larger =
          size === 0 ? chunk : Buffer.allocUnsafeSlow(Math.min(limit, Math.max(needed, 2 * buffer.length)));
        share.grow(larger.length - buffer.length);
        buffer.copy(larger);
        buffer = larger;
      }
      if (size > 0) chunk.copy(buffer, size);
      size = needed;
    };
    const onEnd = (): void => settle(() => resolve(buffer.subarray(0, size)));
    const onGone = (): void => settle(() => reject(new CallerGone()));
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

const partsOf = (header: string): readonly string[] => header.split(';').map((part) => part.trim().toLowerCase());

export const bodyTypeOf = ({ headers }: IncomingMessage): string =>
  partsOf(headers['content-type'] ?? JSON_TYPE)[0] ?? '';

const OTHER_CHARSET = /^charset\s*=(?!\s*"?utf-?8"?$)/;

const WITHOUT_HEADER = /^header\s*=\s*"?absent"?$/;

function bodyTypeFault(given: string, accepted: readonly string[]): string | undefined {
  const [type = '', ...parameters] = partsOf(given);
  if (given === '') return 'is missing';
  if (!accepted.includes(type)) return `is "${shortened(given)}"`;
  if (parameters.some((one) => OTHER_CHARSET.test(one))) return 'names a charset other than utf-8';
  const isHeadless = type === CSV_TYPE && parameters.some((one) => WITHOUT_HEADER.test(one));
  return isHeadless ? 'says header=absent, but the first line has to name the columns' : undefined;
}

/** Refuses a body of another media type, charset or encoding before reading it. */
function requireBodyType({ method, headers }: IncomingMessage, accepted: readonly string[]): void {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers;
  const code = 'unsupported-media-type';
  const what = bodyTypeFault(type, accepted);
  if (what !== undefined) {
    const message = `Content-Type ${what}; expected ${accepted.join(' or ')}, in UTF-8`;
    const expected = { [method === 'PATCH' ? 'Accept-Patch' : 'Accept']: accepted.join(', ') };
    throw inHeader(code, 'Content-Type', code, message, expected);
  }
  if (encoding.toLowerCase() === 'identity') return;
  const message = `Content-Encoding is "${shortened(encoding)}"; expected a body without encoding`;
  throw inHeader(code, 'Content-Encoding', 'unsupported-encoding', message, { 'Accept-Encoding': 'identity' });
}

const DRAIN_MS = 10_000;

/**
 * Reads on and discards: closing a connection with unread bytes resets it, and the client may lose the response
 * (RFC 9112, 9.6). Node would close it once the last response is written.
 */
export function drainBody(request: IncomingMessage): void {
  const { socket, headers } = request;
  if (request.complete || !hasBody(request) || Object.hasOwn(socket, 'destroySoon')) return;
  // The end of a body with another coding is ambiguous.
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked') return;
  const stop = destroyLater(socket);
  socket.destroySoon = () => void socket.end();
  request.once('close', () => {
    stop();
    Reflect.deleteProperty(socket, 'destroySoon');
    if (socket.writableEnded) socket.destroySoon();
  });
  request.resume();
}

/** A client that never closes its side would hold the connection. Returns a function that stops the timer. */
export function destroyLater(socket: Duplex): () => void {
  const timer = setTimeout(() => socket.destroy(), DRAIN_MS).unref();
  const stop = (): void => {
    clearTimeout(timer);
    socket.off('close', stop);
  };
  socket.once('close', stop);
  return stop;
}
