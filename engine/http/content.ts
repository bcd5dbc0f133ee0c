/** The bytes of a body, read to their end and never beyond the limit. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Caller, CallerGone } from '../edge/caller.ts';
import type { Budget } from '../edge/budget.ts';
import { Problem, StartError } from '../problem.ts';
import { isChunked } from '../edge/connections.ts';
import type { Settings } from '../settings/settings.ts';
import { JSON_TYPE } from '../operations/table.ts';
import { type BodyTypes, bodyTypeOf, requireBodyType } from './negotiation.ts';

/** A body as it arrived, or as a body parser in front of the handler left it. */
export type Content = Buffer | { readonly parsed: unknown };

/** Of a request without a body. */
export const NO_CONTENT = Buffer.alloc(0);

/** Memory that each byte of a body takes until its request is done: its text and value, besides the bytes and their copies. */
const BYTE_COST = 4;
const USUAL_COST = BYTE_COST + 3;
/** The first buffer of a body that comes in several pieces. */
const FIRST_BYTES = 16 * 1024;

/** Draws from the budget for the caller. */
export type ReadContent = (from: BodySource, types: BodyTypes) => Promise<Content>;

interface BodySource {
  readonly request: IncomingMessage;
  readonly caller: Caller;
}

export function contentReader({ bodyLimit: limit }: Pick<Settings, 'bodyLimit'>, budget: Budget): ReadContent {
  refuseImpossible(limit, budget);
  return async ({ request, caller }, types) => {
    if (!hasBody(request)) return NO_CONTENT;
    requireBodyType(request, types);
    const mediaType = bodyTypeOf(request);
    if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit, mediaType);
    const parsed = parsedInFront(request);
    if (parsed !== undefined) return parsed;
    const body = createGrowing(limit, caller, mediaType);
    await collect(request, body);
    const bytes = body.whole();
    // For `parsedInFront`, if the request has to begin anew.
    Object.assign(request, { body: bytes });
    return bytes;
  };
}

/** A body that never fits would be refused with 503 forever. */
function refuseImpossible(limit: number, budget: Budget): void {
  const most = Math.floor(budget.limit / USUAL_COST);
  if (limit <= most) return;
  throw new StartError(
    `BODY_LIMIT is ${limit}, but with a MEMORY_LIMIT of ${budget.limit} a body can have ${most} bytes at most; change one of them`,
  );
}

/** `express.json()` and similar parsers read the stream to its end and leave the result in `request.body`. */
function parsedInFront(request: IncomingMessage): Content | undefined {
  if (!request.readableEnded) return undefined;
  const body: unknown = 'body' in request ? request.body : undefined;
  if (Buffer.isBuffer(body)) return body;
  if (typeof body === 'string') return Buffer.from(body);
  return body === undefined ? NO_CONTENT : { parsed: body };
}

function collect(request: IncomingMessage, body: Growing): Promise<void> {
  return new Promise((resolve, reject) => {
    const onData = (chunk: Buffer): void => {
      try {
        body.add(chunk);
      } catch (error) {
        settle(() => reject(error));
      }
    };
    const onEnd = (): void => settle(resolve);
    const onGone = (): void => settle(() => reject(new CallerGone()));
    const settle = (outcome: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      outcome();
    };
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

interface Growing {
  add(chunk: Buffer): void;
  /** Draws the memory to parse it as well. */
  whole(): Buffer;
}

/** One buffer for all pieces: an object for each would take more memory than a small piece itself. */
function createGrowing(limit: number, caller: Caller, mediaType: string): Growing {
  let held: Buffer = NO_CONTENT;
  let size = 0;
  const makeRoom = (needed: number): void => {
    const enlarged = Math.min(limit, Math.max(needed, 2 * held.length, FIRST_BYTES));
    caller.take(enlarged - held.length);
    const larger = Buffer.allocUnsafeSlow(enlarged);
    held.copy(larger, 0, 0, size);
    held = larger;
  };
  return {
    add: (chunk) => {
      const needed = size + chunk.length;
      if (needed > limit) throw tooLarge(limit, mediaType);
      // Most bodies come in one piece, which needs no copy.
      if (size === 0) {
        caller.take(chunk.length);
        held = chunk;
      } else {
        if (needed > held.length) makeRoom(needed);
        chunk.copy(held, size);
      }
      size = needed;
    },
    whole: () => {
      caller.take(BYTE_COST * size);
      return held.subarray(0, size);
    },
  };
}

function tooLarge(limit: number, mediaType: string): Problem {
  const what = mediaType === JSON_TYPE ? 'an array' : 'it';
  return new Problem('content-too-large', `The body is larger than ${limit} bytes; send ${what} in parts`);
}

// A body where none is taken.

/** An empty body is no body: proxies announce it by `Content-Length: 0` or chunks without bytes. */
export async function refuseContent(request: IncomingMessage): Promise<void> {
  if (!hasBody(request) || (isChunked(request) && !(await hasBytes(request)))) return;
  const message = `${request.method ?? ''} takes no body: leave it out. The URL alone says what is meant`;
  const header = isChunked(request) ? 'Transfer-Encoding' : 'Content-Length';
  throw new Problem('invalid-header', message, { errors: [{ header, code: 'unexpected-body', message }] });
}

function hasBytes(request: IncomingMessage): Promise<boolean> {
  if (request.readableEnded) {
    const found = parsedInFront(request);
    return Promise.resolve(found !== undefined && ('parsed' in found || found.length > 0));
  }
  return new Promise((resolve) => {
    const onData = (): void => settle(true);
    const onEnd = (): void => settle(false);
    const settle = (found: boolean): void => {
      request.off('data', onData).off('end', onEnd).off('error', onEnd).off('close', onEnd);
      resolve(found);
    };
    request.on('data', onData).on('end', onEnd).on('error', onEnd).on('close', onEnd);
  });
}

// The rest of a body whose request was answered before it was read.

const LINGER_MS = 10_000;

const hasBody = (request: IncomingMessage): boolean =>
  isChunked(request) || (request.headers['content-length'] ?? '0') !== '0';

/**
 * Closing a connection on which unread bytes arrive resets it, and the client may lose the answer with it
 * (RFC 9112, 9.6). So the rest is read and thrown away, for a while.
 */
export function linger(request: IncomingMessage): void {
  if (request.complete || !hasBody(request)) return;
  const stop = destroyLater(request.socket);
  request.once('close', stop);
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
