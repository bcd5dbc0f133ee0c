/** Bodies of requests: their media type, and their bytes, which are read to the end and never beyond the limit. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Budget } from '../edge/budget.ts';
import { type Caller, CallerGone } from '../edge/caller.ts';
import { isChunked } from '../edge/connections.ts';
import { shortened } from '../names.ts';
import { JSON_TYPE } from '../operations/table.ts';
import { faultyRequest, Problem, StartError } from '../problem.ts';
import type { Settings } from '../settings/settings.ts';
import { inHeader } from './request.ts';

/** A body as it arrived, or as a body parser in front of the handler left it. */
export type Content = Buffer | { readonly parsed: unknown };

export const NO_CONTENT = Buffer.alloc(0);

/** Memory that each byte of a body takes until its request is done: its text and value, besides the bytes and their copies. */
const BYTE_COST = 4;

/** `accepted`: the media types of bodies; empty if none is taken. */
export type ReadContent = (request: IncomingMessage, caller: Caller, accepted: readonly string[]) => Promise<Content>;

export function contentReader({ bodyLimit: limit }: Pick<Settings, 'bodyLimit'>, budget: Budget): ReadContent {
  const most = Math.floor(budget.limit / (BYTE_COST + 3));
  if (limit > most)
    throw new StartError(
      `BODY_LIMIT is ${limit}, but with a MEMORY_LIMIT of ${budget.limit} a body can have ${most} bytes at most; change one of them`,
    );
  return async (request, caller, accepted) => {
    if (!hasBody(request)) return NO_CONTENT;
    const isTaken = accepted.length > 0;
    // Proxies announce an empty body by chunks without bytes.
    if (!isTaken && !isChunked(request)) throw unexpected(request);
    if (isTaken) requireBodyType(request, accepted);
    if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit, request);
    const content = parsedInFront(request) ?? (await readBytes(request, caller, limit));
    if (!isTaken && ('parsed' in content || content.length > 0)) throw unexpected(request);
    return content;
  };
}

const hasBody = (request: IncomingMessage): boolean =>
  isChunked(request) || (request.headers['content-length'] ?? '0') !== '0';

function tooLarge(limit: number, request: IncomingMessage): Problem {
  const what = bodyTypeOf(request) === JSON_TYPE ? 'an array' : 'it';
  return new Problem('content-too-large', `The body is larger than ${limit} bytes; send ${what} in parts`);
}

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

/** Chunks are copied into one buffer: an object for each would take more memory than a small chunk itself. */
async function readBytes(request: IncomingMessage, caller: Caller, limit: number): Promise<Buffer> {
  let held: Buffer = NO_CONTENT;
  let size = 0;
  await eachChunk(request, (chunk) => {
    const needed = size + chunk.length;
    if (needed > limit) throw tooLarge(limit, request);
    if (needed > held.length) {
      // Most bodies come in one chunk, which is kept as it is.
      const larger = size === 0 ? chunk : Buffer.allocUnsafeSlow(Math.min(limit, Math.max(needed, 2 * held.length)));
      caller.take(larger.length - held.length);
      held.copy(larger);
      held = larger;
    }
    if (size > 0) chunk.copy(held, size);
    size = needed;
  });
  const bytes = held.subarray(0, size);
  caller.take(BYTE_COST * size);
  // A request that begins anew finds it by `parsedInFront`.
  Object.assign(request, { body: bytes });
  return bytes;
}

/** Resolves at the end of the body. Rejects with what `onChunk` throws, or with CallerGone if the client leaves. */
function eachChunk(request: IncomingMessage, onChunk: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      outcome();
    };
    const onData = (chunk: Buffer): void => {
      try {
        onChunk(chunk);
      } catch (error) {
        settle(() => reject(error));
      }
    };
    const onEnd = (): void => settle(resolve);
    const onGone = (): void => settle(() => reject(new CallerGone()));
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

// Media types.

const partsOf = (header: string): readonly string[] => header.split(';').map((part) => part.trim().toLowerCase());

export const bodyTypeOf = ({ headers }: IncomingMessage): string =>
  partsOf(headers['content-type'] ?? JSON_TYPE)[0] ?? '';

const OTHER_CHARSET = /^charset\s*=(?!\s*"?utf-?8"?$)/;

/** Refuses a body of another media type, charset or encoding before any of it is read. */
function requireBodyType({ method, headers }: IncomingMessage, accepted: readonly string[]): void {
  const { 'content-type': given, 'content-encoding': encoding = 'identity' } = headers;
  const [type = '', ...parameters] = partsOf(given ?? '');
  const code = 'unsupported-media-type';
  const unsupported = (fault: string): Problem =>
    inHeader(code, 'Content-Type', code, `${fault}; expected ${accepted.join(' or ')}, in UTF-8`, {
      [method === 'PATCH' ? 'Accept-Patch' : 'Accept']: accepted.join(', '),
    });
  if (given === undefined) throw unsupported('Content-Type is missing');
  if (!accepted.includes(type)) throw unsupported(`Content-Type is "${shortened(given)}"`);
  if (parameters.some((one) => OTHER_CHARSET.test(one)))
    throw unsupported('Content-Type names a charset other than utf-8');
  if (encoding.toLowerCase() === 'identity') return;
  const message = `Content-Encoding is "${shortened(encoding)}"; expected a body without encoding`;
  throw inHeader(code, 'Content-Encoding', 'unsupported-encoding', message, { 'Accept-Encoding': 'identity' });
}

// The rest of a body whose request was answered before it was read.

const LINGER_MS = 10_000;

/**
 * Closing a connection on which unread bytes arrive resets it, and the client may lose the answer with it
 * (RFC 9112, 9.6). So the rest is read and thrown away, for a while.
 */
export function linger(request: IncomingMessage): void {
  if (request.complete || !hasBody(request)) return;
  request.once('close', destroyLater(request.socket));
  request.resume();
}

/** A client that keeps its side open would keep the connection. Returns a function that stops the clock. */
export function destroyLater(socket: Duplex): () => void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  const stop = (): void => {
    clearTimeout(timer);
    socket.off('close', stop);
  };
  socket.once('close', stop);
  return stop;
}
