/** What a connection does not take at once is kept in memory for its reader: not for ever, and not for any number of them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ReaderLimits {
  /** Milliseconds that a reader may leave an answer unread. */
  readonly slowReaderTimeout: number;
  /** Bytes that may wait for readers, of all of them together. */
  readonly unreadLimit: number;
}

/** Bytes a second: who reads more slowly than that keeps an answer in memory for nothing. */
const SLOWEST = 32 * 1024;
/** Of a timer; a longer one ends at once. */
const LONGEST = 2 ** 31 - 1;

/** Milliseconds that so many bytes may wait for a reader. */
export const patience = (length: number, timeout: number): number =>
  Math.min(LONGEST, timeout + Math.ceil((length / SLOWEST) * 1000));

/**
 * Of an answer that was written, to its end or for now: a connection on which it is not read in time is closed.
 * Answers how to stop waiting.
 */
export type AwaitReader = (request: IncomingMessage, response: ServerResponse) => () => void;

interface Waiting {
  readonly socket: Socket;
  readonly length: number;
}

const nobody = (): void => undefined;

export function createAwaitReader({ slowReaderTimeout, unreadLimit }: ReaderLimits): AwaitReader {
  /** In the order in which they came. */
  const all = new Set<Waiting>();
  let unread = 0;
  const makeRoom = (): void => {
    for (const waiting of all) {
      if (unread <= unreadLimit || all.size === 1) return;
      all.delete(waiting);
      unread -= waiting.length;
      cutOff(waiting.socket);
    }
  };
  return ({ socket }, response) => {
    const length = socket.writableLength;
    if (length === 0) return nobody;
    const waiting = { socket, length };
    const onTimeout = (): void => cutOff(socket);
    const timer = setTimeout(onTimeout, patience(length, slowReaderTimeout)).unref();
    const stop = (): void => {
      clearTimeout(timer);
      response.off('timeout', onTimeout).off('close', stop);
      if (all.delete(waiting)) unread -= length;
    };
    all.add(waiting);
    unread += length;
    // Where nothing is read at all, within two of them; Node takes the limit back with the next request.
    response.setTimeout(slowReaderTimeout).once('timeout', onTimeout).once('close', stop);
    makeRoom();
    return stop;
  };
}

/** What the system has still to send would be kept for a reader that never comes: a reset drops it. */
function cutOff(socket: Socket): void {
  const isPlain = socket.remoteAddress !== undefined && !('encrypted' in socket);
  if (isPlain) socket.resetAndDestroy();
  else socket.destroy();
}
