/** The bytes of a body: read to their end, but never more than the limit. */
import type { IncomingMessage } from 'node:http';
import { CallerGone } from '../caller.ts';
import { Problem } from '../problem.ts';
import { type BodyTypes, requireBodyType } from './negotiation.ts';
import { hasBody } from './linger.ts';

/** A body as it arrived, or as a body parser in front of the handler has left it. */
export type Content = Buffer | { readonly parsed: unknown };

const EMPTY = Buffer.alloc(0);

export type ReadContent = (request: IncomingMessage, types: BodyTypes) => Promise<Content>;

export function contentReader(limit: number): ReadContent {
  return async (request, types) => {
    if (!hasBody(request)) return EMPTY;
    requireBodyType(request, types);
    if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
    const parsed = parsedInFront(request);
    if (parsed !== undefined) return parsed;
    return collect(request, limit);
  };
}

/** `express.json()` and its like read the stream to its end and leave what they found in `request.body`. */
function parsedInFront(request: IncomingMessage): Content | undefined {
  if (!request.readableEnded) return undefined;
  const body: unknown = 'body' in request ? request.body : undefined;
  if (Buffer.isBuffer(body)) return body;
  if (typeof body === 'string') return Buffer.from(body);
  return body === undefined ? EMPTY : { parsed: body };
}

function collect(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > limit) settle(() => reject(tooLarge(limit)));
    };
    const onEnd = (): void => settle(() => resolve(chunks.length === 1 ? (chunks[0] ?? EMPTY) : Buffer.concat(chunks)));
    const onGone = (): void => settle(() => reject(new CallerGone()));
    const settle = (outcome: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      outcome();
    };
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

const tooLarge = (limit: number): Problem => new Problem('content-too-large', `The body is larger than ${limit} bytes`);
