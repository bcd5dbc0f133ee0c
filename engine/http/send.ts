/** The one writer of answers. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { Answer, HeaderMap } from './answer.ts';
import { linger } from './content.ts';
import type { HttpCaller } from './request.ts';
import { type Caller, CallerGone, PATIENT } from '../edge/caller.ts';
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

/** Never fails: if the answer cannot be sent to its end, the connection is closed. The headers of every answer are set before. */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  options: SendOptions,
  caller?: HttpCaller,
): Promise<void> {
  if (isOver(response)) return discard(answer.body);
  if (options.isDraining()) response.shouldKeepAlive = false;
  try {
    const coding = codingOf(request, answer, caller);
    const ready = coding === undefined ? answer : await coded(answer, coding);
    if (caller?.written !== undefined) response.setHeader('X-Position', caller.written);
    const pieces = write(request, response, ready, options);
    if (pieces) await pieces;
  } catch (error) {
    options.log.error({ requestId: requestIdOf(request, response), err: error }, 'an answer could not be sent');
    response.destroy();
    return discard(answer.body);
  }
  // An answer that closes the connection does so at once: what still arrives is not read.
  if (!request.complete && answer.headers['Connection'] !== 'close') linger(request);
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

function write(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Coded,
  options: SendOptions,
): Promise<void> | undefined {
  // Compressing takes its time.
  if (isOver(response)) return discard(body);
  response.statusCode = status;
  setHeaders(response, headers);
  if (typeof body === 'object' && !Buffer.isBuffer(body)) return sendPieces(request, response, body, options);
  // Node would copy a long text to put the head before it, and once more to send it.
  const bytes = typeof body === 'string' && body.length > LONG ? Buffer.from(body) : body;
  if (bytes !== undefined) response.setHeader('Content-Length', Buffer.byteLength(bytes));
  response.end(request.method === 'HEAD' ? undefined : bytes);
  options.awaitReader(request, response);
  return undefined;
}

export function setHeaders(response: ServerResponse, headers: HeaderMap): void {
  if (response.headersSent) return;
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
}

// Answers in pieces are sent no faster than the client reads them.

async function sendPieces(
  request: IncomingMessage,
  response: ServerResponse,
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
    if (!(error instanceof CallerGone))
      log.error({ requestId: requestIdOf(request, response), err: error }, 'an answer broke off');
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

// The headers of every answer.

/** No page shows or loads what is for programs, and none of it runs. */
export const UNEMBEDDED = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

export interface HeadOptions {
  /** Origins whose pages may use the service. */
  readonly corsOrigins: readonly string[];
  /** Whether requests need a token, and answers differ by it. */
  readonly guarded: boolean;
}

/** Sets them. Middleware in front may have set some already. */
export function createHead({
  corsOrigins,
  guarded,
}: HeadOptions): (request: IncomingMessage, response: ServerResponse) => void {
  const cors = createCors(corsOrigins);
  const vary = [
    'Accept',
    'Accept-Encoding',
    'Prefer',
    ...(guarded ? ['Authorization'] : []),
    ...(cors.varies ? ['Origin'] : []),
  ].join(', ');
  // Caches ask again each time, and browsers do not guess another media type.
  const common = { 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff', ...UNEMBEDDED };
  return (request, response) => {
    // A host application has begun an answer of its own.
    if (response.headersSent) return;
    const before = response.getHeader('Vary');
    setHeaders(response, common);
    response.setHeader('Vary', before === undefined ? vary : `${String(before)}, ${vary}`);
    response.setHeader('X-Request-Id', requestIdOf(request, response));
    cors.apply(request, response);
  };
}

/** A request identifier that is safe to log. */
const SANE_ID = /^[\w.:/+=-]{1,128}$/;

/** The client's own identifier if it is safe to log, else a new one. */
export function requestIdOf({ headers }: IncomingMessage, response: ServerResponse): string {
  const known = response.getHeader('X-Request-Id');
  if (typeof known === 'string') return known;
  const given = headers['x-request-id'];
  const id = typeof given === 'string' && SANE_ID.test(given) ? given : newId();
  if (!response.headersSent) response.setHeader('X-Request-Id', id);
  return id;
}

/** Unique for each process; an identifier made from it costs a tenth of a UUID. */
const PROCESS = randomBytes(9).toString('base64url');
let requests = 0;
const newId = (): string => `${PROCESS}-${(requests += 1)}`;

// CORS (Fetch standard). Off unless the settings name an origin.

export interface Cors {
  /** Whether pages of this origin may read what the service answers. */
  allows(origin: string): boolean;
  /** Whether answers differ by origin. */
  readonly varies: boolean;
  /** Sets the headers that allow it. */
  apply(request: IncomingMessage, response: ServerResponse): void;
}

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

const EXPOSE: HeaderMap = { 'Access-Control-Expose-Headers': EXPOSED.join(', ') };
const PREFLIGHT: HeaderMap = {
  'Access-Control-Allow-Methods': ALLOWED_METHODS.join(', '),
  'Access-Control-Allow-Headers': ALLOWED_HEADERS.join(', '),
  'Access-Control-Max-Age': String(MAX_AGE),
};

/** `*` among the origins allows every origin. */
export function createCors(origins: readonly string[]): Cors {
  const known = new Set(origins);
  const everyone = known.has('*');
  const allows = (origin: string): boolean => everyone || known.has(origin);
  return {
    allows,
    varies: known.size > 0 && !everyone,
    apply: ({ headers, method }, response) => {
      const { origin } = headers;
      if (origin === undefined || !allows(origin)) return;
      response.setHeader('Access-Control-Allow-Origin', everyone ? '*' : origin);
      response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
      const asks = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
      setHeaders(response, asks ? PREFLIGHT : EXPOSE);
    },
  };
}
