/** The one writer of answers. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { Answer } from './answer.ts';
import { linger } from './content.ts';
import type { HttpCaller, Label } from './request.ts';
import { type Caller, CallerGone, PATIENT } from '../caller.ts';
import type { AwaitReader } from '../edge/slow-readers.ts';
import type { Log } from '../log.ts';
import { Problem } from '../problem.ts';
import { acceptedCoding, type Coding, compress, compressor, STATE } from './negotiation.ts';
import { codedTag } from '../operations/preconditions.ts';

/** Characters. */
const LONG = 64 * 1024;

export interface SendOptions {
  readonly awaitReader: AwaitReader;
  readonly log: Log;
  /** Whether the service is about to stop; then each answer is the last one on its connection. */
  readonly isDraining: () => boolean;
}

/** Where an answer goes, and what is known of its request so far. */
export interface Delivery {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  envelope: Envelope;
  /** Once the operation is known. */
  label?: Label;
  /** Once the operation is known. */
  caller?: HttpCaller;
}

/** Never fails: if the answer cannot be sent to its end, the connection is closed. */
export async function send(delivery: Delivery, answer: Answer, options: SendOptions): Promise<void> {
  const { request, response } = delivery;
  if (isOver(response)) return discard(answer.body);
  if (options.isDraining()) response.shouldKeepAlive = false;
  try {
    const coding = codingOf(request, answer, delivery.caller);
    const ready = coding === undefined ? answer : await coded(answer, coding);
    const pieces = write(delivery, ready, options);
    if (pieces) await pieces;
  } catch (error) {
    options.log.error({ requestId: delivery.envelope.requestId, err: error }, 'an answer could not be sent');
    response.destroy();
    return discard(answer.body);
  }
  // An answer that closes the connection does so at once: what still arrives is not read.
  if (answer.headers['Connection'] !== 'close') linger(request);
}

/** Whether the client has left, or a host application has answered meanwhile, as after a time of its own. */
const isOver = ({ destroyed, headersSent, writableEnded }: ServerResponse): boolean =>
  destroyed || headersSent || writableEnded;

/** Pieces must be started to be ended. */
async function discard(body: Coded['body']): Promise<void> {
  if (typeof body !== 'object' || Buffer.isBuffer(body)) return;
  try {
    for await (const _ of body) break;
  } catch {
    return;
  }
}

function write(delivery: Delivery, { status, headers, body }: Coded, options: SendOptions): Promise<void> | undefined {
  const { response, request, envelope } = delivery;
  // Compressing takes its time.
  if (isOver(response)) return discard(body);
  setHead(response, status, envelope, headers);
  if (typeof body === 'object' && !Buffer.isBuffer(body)) return sendPieces(delivery, body, options);
  // Node would copy a long text to put the head before it, and once more to send it.
  const bytes = typeof body === 'string' && body.length > LONG ? Buffer.from(body) : body;
  if (bytes !== undefined) response.setHeader('Content-Length', Buffer.byteLength(bytes));
  response.end(request.method === 'HEAD' ? undefined : bytes);
  options.awaitReader(request, response);
  return undefined;
}

/** Header by header, as Express does: middleware that wraps `writeHead` knows few of its forms, and looks with `getHeader`. */
function setHead(response: ServerResponse, status: number, { headers: lines }: Envelope, own: Answer['headers']): void {
  const vary = response.getHeader('Vary');
  response.statusCode = status;
  for (let at = 0; at < lines.length; at += 2) response.setHeader(lines[at] ?? '', lines[at + 1] ?? '');
  for (const name in own) response.setHeader(name, own[name] ?? '');
  // What middleware in front of the engine depends on.
  if (vary !== undefined) response.setHeader('Vary', `${String(vary)}, ${String(response.getHeader('Vary'))}`);
}

// Answers in pieces are sent no faster than the client reads them.

async function sendPieces(
  { request, response, envelope }: Delivery,
  pieces: AsyncIterable<string | Buffer>,
  { awaitReader, log }: SendOptions,
): Promise<void> {
  const hasCaughtUp = watchReader(request, response, awaitReader);
  try {
    for await (const piece of pieces) {
      if (request.method === 'HEAD' || response.destroyed || response.writableEnded) break;
      if (response.write(piece) || (await hasCaughtUp(piece.length))) continue;
      response.destroy();
      break;
    }
    response.end();
    awaitReader(request, response);
  } catch (error) {
    // The status is sent already: only a broken connection can still tell that the answer is incomplete.
    if (!(error instanceof CallerGone)) log.error({ requestId: envelope.requestId, err: error }, 'an answer broke off');
    response.destroy();
  }
}

/** Whether the reader has taken what was written, of which a piece has so many bytes; false if it has left, or took too long. */
type HasCaughtUp = (bytes: number) => Promise<boolean>;

/** Two listeners for all pieces: `compression` keeps each listener of `drain` until the end. */
function watchReader(request: IncomingMessage, response: ServerResponse, awaitReader: AwaitReader): HasCaughtUp {
  let settle: (inTime: boolean) => void = () => undefined;
  response.on('drain', () => settle(true));
  response.on('close', () => settle(false));
  return (bytes) =>
    new Promise((resolve) => {
      const stop = awaitReader(request, response, bytes);
      settle = (inTime) => {
        settle = () => undefined;
        stop();
        // The next piece may take its time.
        response.setTimeout(0);
        resolve(inTime);
      };
    });
}

// Long answers are compressed if the client accepts that.

/** Characters; shorter answers are sent as they are. */
const MIN_COMPRESSED = 2048;

/** An answer as it goes over the wire. */
interface Coded extends Omit<Answer, 'body'> {
  readonly body: string | Buffer | AsyncIterable<string | Buffer> | undefined;
}

/** undefined if the answer is sent as it is. */
function codingOf({ headers }: IncomingMessage, { body }: Answer, caller: Caller = PATIENT): Coding | undefined {
  if (body === undefined || (typeof body === 'string' && body.length < MIN_COMPRESSED)) return undefined;
  const coding = acceptedCoding(String(headers['accept-encoding'] ?? ''));
  return coding !== undefined && hasRoom(body, coding, caller) ? coding : undefined;
}

async function coded(answer: Answer, coding: Coding): Promise<Coded> {
  const { headers, body } = answer;
  if (body === undefined) return answer;
  const tag = headers['ETag'];
  const described = {
    ...headers,
    'Content-Encoding': coding,
    ...(tag === undefined ? {} : { ETag: codedTag(tag, coding) }),
  };
  const bytes = typeof body === 'string' ? await compress(Buffer.from(body), coding) : compressed(body, coding);
  return { ...answer, headers: described, body: bytes };
}

/** Whether there is memory to compress the answer; if not, it is sent as it is. */
function hasRoom(body: string | AsyncIterable<string>, coding: Coding, caller: Caller): boolean {
  try {
    caller.take(STATE[coding] + (typeof body === 'string' ? 2 * body.length : 0));
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

/** An error of the source reaches the reader, and a reader that stops early stops the source. */
function compressed(pieces: AsyncIterable<string>, coding: Coding): AsyncIterable<Buffer> {
  const transform = compressor(coding);
  pipeline(Readable.from(pieces), transform, () => undefined);
  return transform;
}

// The headers of every answer, decided at boot as far as possible.

interface Envelope {
  readonly requestId: string;
  /** Names and values in turn, the form that Node writes fastest. */
  readonly headers: readonly string[];
}

/** No page shows or loads what is for programs, and none of it runs. */
export const UNEMBEDDED = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

export interface EnvelopeOptions {
  /** Origins whose pages may use the service. */
  readonly corsOrigins: readonly string[];
  /** Whether requests need a token, and answers differ by it. */
  readonly guarded: boolean;
}

/** Request headers that answers depend on. */
const VARY = ['Accept', 'Accept-Encoding', 'Prefer'];
/** A request identifier that is safe to log. */
const SANE_ID = /^[\w.:/+=-]{1,128}$/;

export function createEnvelopes({ corsOrigins, guarded }: EnvelopeOptions): (request: IncomingMessage) => Envelope {
  const cors = createCors(corsOrigins);
  // Caches ask again each time.
  const common = [
    'Cache-Control',
    'no-cache',
    'Vary',
    [...VARY, ...(guarded ? ['Authorization'] : []), ...(cors.varies ? ['Origin'] : [])].join(', '),
    // Browsers do not guess another media type.
    'X-Content-Type-Options',
    'nosniff',
    ...Object.entries(UNEMBEDDED).flat(),
  ];
  return (request) => {
    const requestId = requestIdOf(request);
    // For each request: pushing costs a third of spreading.
    const headers = common.slice();
    headers.push('X-Request-Id', requestId);
    for (const line of cors.headersOf(request)) headers.push(line);
    return { requestId, headers };
  };
}

/** The client's own identifier if it is safe to log, else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && SANE_ID.test(given) ? given : newId();
}

/** Unique for each process; an identifier made from it costs a tenth of a UUID. */
const PROCESS = randomBytes(9).toString('base64url');
let requests = 0;
const newId = (): string => `${PROCESS}-${(requests += 1)}`;

// What pages of other origins may send and see (Fetch standard, CORS protocol). Off unless the settings name an origin.

/** Names and values in turn. */
type HeaderLines = readonly string[];

export interface Cors {
  /** Whether pages of this origin may read what the service answers. */
  allows(origin: string): boolean;
  /** Whether answers differ by origin. */
  readonly varies: boolean;
  headersOf(request: IncomingMessage): HeaderLines;
}

const NO_HEADERS: HeaderLines = Object.freeze([]);

const EXPOSED = [
  'X-Total-Count',
  'Content-Range',
  'Link',
  'ETag',
  'Location',
  'Preference-Applied',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'WWW-Authenticate',
  'X-Request-Id',
  'X-Position',
];
const ALLOWED_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const ALLOWED_HEADERS = [
  'Content-Type',
  'Authorization',
  'If-Match',
  'If-None-Match',
  'Idempotency-Key',
  'Prefer',
  'Range',
  'X-Request-Id',
  'X-Position',
  // Of agents.
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
];
/** Seconds after which browsers ask again; some allow no longer time. */
const MAX_AGE = 7200;

const EXPOSE: HeaderLines = ['Access-Control-Expose-Headers', EXPOSED.join(', ')];
const PREFLIGHT: HeaderLines = [
  'Access-Control-Allow-Methods',
  ALLOWED_METHODS.join(', '),
  'Access-Control-Allow-Headers',
  ALLOWED_HEADERS.join(', '),
  'Access-Control-Max-Age',
  String(MAX_AGE),
];

/** `*` among the origins allows every origin. */
export function createCors(origins: readonly string[]): Cors {
  const known = new Set(origins);
  const everyone = known.has('*');
  const allows = (origin: string): boolean => everyone || known.has(origin);
  const headersOf = ({ headers, method }: IncomingMessage): HeaderLines => {
    const { origin } = headers;
    if (origin === undefined || !allows(origin)) return NO_HEADERS;
    const asks = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
    return [
      'Access-Control-Allow-Origin',
      everyone ? '*' : origin,
      'Cross-Origin-Resource-Policy',
      'cross-origin',
      ...(asks ? PREFLIGHT : EXPOSE),
    ];
  };
  return { allows, varies: known.size > 0 && !everyone, headersOf: known.size === 0 ? () => NO_HEADERS : headersOf };
}
