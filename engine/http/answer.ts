/** Makes HTTP responses from results and errors of operations, and sends them with the common headers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable, type Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import Negotiator from 'negotiator';
import type { AwaitReader } from '../edge/budget.ts';
import { CallerGone } from '../edge/caller.ts';
import type { JsonValue } from '../json/json.ts';
import type { Log } from '../log.ts';
import { memoized } from '../memo.ts';
import { pathSegment } from '../model/identifier.ts';
import { asNamed, CODING_NAMES, isKnown, type Preconditions, type WriteResult } from '../operations/operation.ts';
import { EVENTS_TYPE, JSON_TYPE } from '../operations/table.ts';
import {
  answerTooLong,
  MAX_ERRORS,
  Problem,
  type ProblemCode,
  problemKinds,
  reasonOf,
  shortenedPath,
} from '../problem.ts';
import type { WriteEffect } from '../storage/store.ts';
import { MissingObject } from '../storage/unavailable.ts';
import { drainBody, type HeaderMap, requestIdOf } from './request.ts';

export interface Answer {
  readonly status: number;
  readonly headers: HeaderMap;
  /** A string is sent whole, a buffer as it is, an iterable in chunks; undefined: no content. */
  readonly body: string | Buffer | AsyncIterable<string> | undefined;
}

export const redirection = (location: string): Answer => ({
  status: 308,
  headers: { Location: location, 'Content-Length': '0' },
  body: undefined,
});

const JSON_CONTENT: HeaderMap = { 'Content-Type': JSON_TYPE };

/** 200 with the body, or 304 if the client has this tag. */
export function readAnswer(
  preconditions: Preconditions,
  body: Answer['body'],
  tag: string | undefined,
  headers: HeaderMap = JSON_CONTENT,
): Answer {
  if (tag === undefined) return { status: 200, headers, body };
  if ((preconditions.ifMatch ?? preconditions.ifNoneMatch) !== undefined && isKnown(preconditions, tag))
    return { status: 304, headers: { ETag: asNamed(preconditions.ifNoneMatch ?? '', tag) }, body: undefined };
  return { status: 200, headers: { ...headers, ETag: tag }, body };
}

/** The result of a write, or its dry-run report. `url`: of the collection. */
export function writeAnswer(
  { status, json, tag, created, effects }: WriteResult,
  url: string,
  applied: HeaderMap,
): Answer & { readonly body: string | undefined } {
  const headers = {
    ...(created === undefined ? {} : { Location: `${url}/${pathSegment(created)}` }),
    ...(tag === undefined ? {} : { ETag: tag }),
    ...applied,
  };
  if (effects) {
    // Moves the headers into the report: a dry run stores no record for a Location or ETag.
    const answer = `{"status":${status},"headers":${JSON.stringify(headers)},"body":${json ?? 'null'}}`;
    const body = `{"dryRun":true,"answer":${answer},"effects":${JSON.stringify(shownEffects(effects))}}`;
    return { status: status === 204 ? 200 : status, headers: { 'Content-Type': DRY_RUN_TYPE }, body };
  }
  if (json === undefined) return { status, headers, body: status === 204 ? undefined : '' };
  return { status, headers: { ...JSON_CONTENT, ...headers }, body: json };
}

/** Dry-run reports have their own media type, so that no client takes one for a real result. */
export const DRY_RUN_TYPE = 'application/vnd.dry-run+json';

const orderOf = ({ type, relation = '' }: WriteEffect): string => `${type} ${relation}`;

const shownEffects = (effects: readonly WriteEffect[]): readonly object[] =>
  (['created', 'changed', 'linked', 'unlinked', 'deleted'] as const).flatMap((effect) =>
    effects
      .filter(({ kind }) => kind === effect)
      .toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
      .map(({ type, relation, keys: changed, count, identifiers }) => {
        const keys = changed.length > 0 ? changed : undefined;
        return { effect, type, relation, keys, count, identifiers };
      }),
  );

// Errors (RFC 9457).

const MINUTE = 60_000;
const lastTold = memoized((_log: Log) => new Map<string, number>());

/** Logs once a minute what lasts until somebody mends the database, although each request fails. */
function tellLasting(error: Problem, requestId: string, log: Log): void {
  const [times, cause, now] = [lastTold(log), reasonOf(error.cause), performance.now()];
  if (now - (times.get(cause) ?? -Infinity) < MINUTE) return;
  times.set(cause, now);
  log.error({ requestId, err: error.cause }, error.message);
}

/** Logs an error that is not a Problem as a fault of the service, and hides it. */
export function problemFor(error: unknown, requestId: string, log: Log): Problem {
  if (error instanceof Problem) {
    if (error.code === 'missing-privilege' || error instanceof MissingObject) tellLasting(error, requestId, log);
    if (error.rules.length > 0) log.info({ requestId, rules: error.rules }, 'the rules of a role forbid this request');
    return error;
  }
  if (isTooLong(error)) return answerTooLong(error);
  // The client has disconnected and will not see this problem.
  if (error instanceof CallerGone) return new Problem('bad-request', error.message);
  log.error({ requestId, err: error }, 'a request failed');
  return new Problem('internal-error', 'The service could not answer; its log says why');
}

/** Whether a string exceeded V8's limit. `instanceof` fails across realms. */
function isTooLong(error: unknown): boolean {
  const { name, message, code } = Object(error) as Partial<Record<'name' | 'message' | 'code', unknown>>;
  return code === 'ERR_STRING_TOO_LONG' || (name === 'RangeError' && message === 'Invalid string length');
}

/** `instance` is undefined if the request could not be parsed. */
export function render(problem: Problem, instance?: string): Answer & { readonly body: string } {
  const { code, status, message, errors, headers, retryAfter } = problem;
  return {
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
      // The token lacks a right (RFC 6750, 3.1).
      ...(code === 'forbidden' ? { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' } : {}),
      ...headers,
    },
    body: JSON.stringify({
      type: `urn:problem:${code}`,
      title: problemKinds[code].title,
      status,
      detail: message,
      instance: instance === undefined ? undefined : shortenedPath(instance),
      message,
      errors: errors.length > 0 ? errors.slice(0, MAX_ERRORS) : undefined,
      errorCount: errors.length > MAX_ERRORS ? errors.length : undefined,
    }),
  };
}

/** Codes of JSON-RPC 2.0, 5.1; others are server errors. */
const RPC_CODES: Readonly<Partial<Record<ProblemCode, number>>> = { 'invalid-json': -32_700, 'invalid-body': -32_600 };
const RPC_SERVER_ERROR = -32_000;

/** The answer to a message (JSON-RPC 2.0, 5.1). `id`: of the message; null if it is not known. */
export const rpcError = (id: JsonValue, code: number, message: string, data?: JsonValue): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } });

/** A JSON-RPC error, with the problem as its data. The id of the message is not known. */
export function renderForAgent(problem: Problem, instance?: string): ReturnType<typeof render> {
  const { status, headers, body } = render(problem, instance);
  const code = RPC_CODES[problem.code] ?? RPC_SERVER_ERROR;
  const error = rpcError(null, code, problem.message, JSON.parse(body));
  return { status, headers: { ...headers, ...JSON_CONTENT }, body: error };
}

const HTTP_2 = 'This is HTTP/2, but the service speaks HTTP/1.1; a proxy in front of it can speak HTTP/2 with clients';

/** Whether it has refused a request of HTTP/2, whose streams have no socket of their own to watch. */
export function refusesVersion(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.httpVersionMajor === 1) return false;
  const { status, headers, body } = render(new Problem('http-version-not-supported', HTTP_2), request.url);
  response.writeHead(status, { ...headers, 'X-Request-Id': requestIdOf(request, response) }).end(body);
  return true;
}

export function setHeaders(response: ServerResponse, headers: HeaderMap): void {
  if (!response.headersSent) response.setHeaders(new Map(Object.entries(headers)));
}

/** Pages of other sites cannot embed responses, and no script in responses runs. */
export const UNEMBEDDED = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

export const COMMON_HEADERS = { 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff', ...UNEMBEDDED };

/** Returns the common headers. With `guarded`, responses depend on the token. */
export function createHead(cors: ReturnType<typeof createCors>, guarded: boolean) {
  const own = ['Accept', 'Accept-Encoding', 'Prefer'];
  const vary = [...own, ...(guarded ? ['Authorization'] : []), ...(cors.varies ? ['Origin'] : [])].join(', ');
  return (request: IncomingMessage, response: ServerResponse): HeaderMap => {
    // Middleware in front may have set Vary.
    const before = response.getHeader('Vary');
    return {
      ...COMMON_HEADERS,
      Vary: before === undefined ? vary : `${String(before)}, ${vary}`,
      'X-Request-Id': requestIdOf(request, response),
      ...cors.headersOf(request),
    };
  };
}

// CORS (Fetch standard). Disabled unless the settings name an origin.

const EXPOSE: HeaderMap = {
  'Access-Control-Expose-Headers':
    'X-Total-Count, Content-Range, Link, ETag, Location, Preference-Applied, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id, X-Position',
};
const PREFLIGHT: HeaderMap = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'Access-Control-Allow-Headers':
    'Content-Type, Authorization, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, Prefer, Range, X-Request-Id, X-Position, MCP-Protocol-Version, Mcp-Method, Mcp-Name, traceparent, tracestate, baggage',
  'Access-Control-Max-Age': '7200',
};

export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;

export function createCors(origins: readonly string[]) {
  const everyone = origins.includes('*');
  const allows = (origin: string): boolean => everyone || origins.includes(origin);
  const headersOf = (request: IncomingMessage): HeaderMap | undefined => {
    const { origin } = request.headers;
    if (origin === undefined || !allows(origin)) return undefined;
    return {
      'Access-Control-Allow-Origin': everyone ? '*' : origin,
      'Cross-Origin-Resource-Policy': 'cross-origin',
      ...(isPreflight(request) ? PREFLIGHT : EXPOSE),
    };
  };
  return { allows, headersOf, /** Whether answers differ by origin. */ varies: origins.length > 0 && !everyone };
}

export interface SendOptions {
  readonly headOf: ReturnType<typeof createHead>;
  readonly awaitReader: AwaitReader;
  readonly log: Log;
  /** Whether the service is stopping: each response then closes its connection. */
  readonly isDraining: () => boolean;
}

/** Never rejects: closes the connection if the response cannot be completed. */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
  { headOf, awaitReader, log, isDraining }: SendOptions,
): Promise<void> {
  if (isOver(response)) return discard(body);
  if (isDraining()) response.shouldKeepAlive = false;
  const head: Record<string, string | number> = { ...headOf(request, response), ...headers };
  drainBody(request);
  try {
    const coding = codingOf(request, body, headers);
    const coded = body === undefined || Buffer.isBuffer(body) || coding === undefined ? body : compressed(body, coding);
    const content = typeof body === 'string' && isStreamed(coded) ? await buffer(coded) : coded;
    if (isOver(response)) return discard(body);
    if (coding !== undefined) {
      head['Content-Encoding'] = coding;
      // The compressed representation has a tag of its own.
      if (headers['ETag'] !== undefined) head['ETag'] = headers['ETag'].replace(/"$/, `-${coding}"`);
    }
    if (isStreamed(content)) {
      response.writeHead(status, head);
      await sendPieces(request, response, content, awaitReader);
    } else {
      if (content !== undefined) head['Content-Length'] = Buffer.byteLength(content);
      response.writeHead(status, head).end(request.method === 'HEAD' ? undefined : content);
    }
    awaitReader(request, response);
  } catch (error) {
    // Once the status is sent, only a broken connection shows the response is incomplete.
    if (!(error instanceof CallerGone))
      log.error({ requestId: head['X-Request-Id'], err: error }, 'an answer broke off');
    response.destroy();
    return discard(body);
  }
}

/** Whether the client is gone, or a host application has responded, as after its own timeout. */
const isOver = ({ destroyed, headersSent, writableEnded }: ServerResponse): boolean =>
  destroyed || headersSent || writableEnded;

const isStreamed = (body: Answer['body'] | Transform): body is AsyncIterable<string> | Transform =>
  typeof body === 'object' && !Buffer.isBuffer(body);

/** Ends the source: a generator that has not begun cannot, so its first piece is read. */
async function discard(body: Answer['body']): Promise<void> {
  if (isStreamed(body)) for await (const _ of body) break;
}

async function sendPieces(
  request: IncomingMessage,
  response: ServerResponse,
  pieces: AsyncIterable<string | Buffer>,
  awaitReader: AwaitReader,
): Promise<void> {
  let resume: () => void = () => undefined;
  // One pair of listeners for all chunks: the middleware `compression` never removes `drain` listeners.
  response.on('drain', () => resume()).on('close', () => resume());
  for await (const piece of pieces) {
    if (request.method === 'HEAD' || response.destroyed || response.writableEnded) break;
    if (response.write(piece)) continue;
    const stop = awaitReader(request, response, piece.length);
    await new Promise<void>((resolve) => (resume = resolve));
    stop();
    // The source may be slower than a reader.
    response.setTimeout(0);
  }
  response.end();
}

// Content codings (RFC 9110, 8.4.1).

type Coding = (typeof CODING_NAMES)[number];

/** Favors speed over size: nothing compressed is cached. */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 };

const MIN_COMPRESSED = 2048;

function codingOf({ headers }: IncomingMessage, body: Answer['body'], answered: HeaderMap): Coding | undefined {
  // A compressor collects what comes bit by bit.
  if (answered['Content-Type'] === EVENTS_TYPE) return undefined;
  if (body === undefined || Buffer.isBuffer(body) || (typeof body === 'string' && body.length < MIN_COMPRESSED))
    return undefined;
  return acceptedCoding(String(headers['accept-encoding'] ?? ''));
}

/** @types/negotiator lacks `preferred`, which breaks ties between equally weighted codings. */
interface PreferringNegotiator {
  encoding(available: string[], options: { readonly preferred: readonly string[] }): string | undefined;
}

const OFFERED_CODINGS = [...CODING_NAMES, 'identity'];

/** The coding that the client prefers; undefined if it accepts none, or prefers identity. */
export function acceptedCoding(header = ''): Coding | undefined {
  if (header === '') return undefined;
  // x-gzip is an alias of gzip (RFC 9110, 8.4.1.3). The slice bounds the time for many ranges.
  const headers = { 'accept-encoding': header.slice(0, 1024).replace('x-gzip', 'gzip') };
  const negotiator: PreferringNegotiator = new Negotiator({ headers });
  const best = negotiator.encoding(OFFERED_CODINGS, { preferred: OFFERED_CODINGS });
  return CODING_NAMES.find((name) => name === best);
}

/** Errors of the source reach the reader; a reader that stops early ends the source. */
function compressed(content: string | AsyncIterable<string>, coding: Coding): Transform {
  const compressor = coding === 'br' ? createBrotliCompress({ params: BROTLI }) : createGzip({ level: 5 });
  pipeline(Readable.from(content), compressor, () => undefined);
  return compressor;
}
