/** Answers that are sent as they come: no faster than they are read, and cut off where nobody reads. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { COMMON_HEADERS, type Answer } from './answer.ts';
import type { SendOptions } from './send.ts';

export async function sendPieces(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers }: Answer,
  pieces: AsyncIterable<string>,
  { slowReaderTimeout }: SendOptions,
): Promise<void> {
  response.writeHead(status, { ...COMMON_HEADERS, ...headers });
  try {
    for await (const piece of pieces) {
      if (request.method === 'HEAD' || response.destroyed) break;
      if (!response.write(piece)) await drained(response, slowReaderTimeout);
    }
    response.end();
  } catch (error) {
    // The status is sent: only a broken connection can still say that the answer is not whole.
    response.destroy();
    if (!isAbort(error)) console.error(error);
  }
}

/** Resolves when the reader has caught up; throws when it has gone, or stands still for too long. */
async function drained(response: ServerResponse, timeout: number): Promise<void> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), timeout);
  const closed = (): void => stop.abort();
  response.once('close', closed);
  try {
    if (!response.destroyed) await once(response, 'drain', { signal: stop.signal });
  } finally {
    clearTimeout(timer);
    response.off('close', closed);
  }
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';
