/** An answer that a connection does not take at once stays in memory: for a limited time, and within the budget. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Budget } from './budget.ts';

/** Bytes a second: a client that reads more slowly is cut off. */
const SLOWEST = 32 * 1024;
/** Milliseconds; a longer timer would fire at once. */
const LONGEST = 2 ** 31 - 1;

/** Milliseconds that this many bytes may wait for a reader. */
export const patience = (length: number, timeout: number): number =>
  Math.min(LONGEST, timeout + Math.ceil((length / SLOWEST) * 1000));

/**
 * Called after an answer, or a piece of one, was written: closes the connection if the client does not read it in time.
 * Returns a function that stops the waiting. `least`: bytes that wait somewhere, perhaps in middleware that compresses.
 */
export type AwaitReader = (request: IncomingMessage, response: ServerResponse, least?: number) => () => void;

const doNothing = (): void => undefined;

/** `timeout`: milliseconds that a reader may leave an answer unread. */
export function createSlowReaders(timeout: number, budget: Budget): AwaitReader {
  return ({ socket }, response, least = 0) => {
    // Includes what waits in the answer itself: all of it, if it is behind other answers of its connection.
    const length = Math.max(least, response.writableLength);
    if (length === 0 || socket.destroyed) return doNothing;
    const giveUp = (): void => cutOff(socket);
    const timer = setTimeout(giveUp, patience(length, timeout)).unref();
    const share = budget.keep(length, giveUp);
    const stop = (): void => {
      clearTimeout(timer);
      response.off('timeout', giveUp).off('close', stop);
      share.release();
    };
    // Closes the connection within twice the time if nothing is read at all. Node resets it with the next request.
    response.setTimeout(timeout).once('timeout', giveUp).once('close', stop);
    return stop;
  };
}

/** The system would keep what it has not sent yet; a reset drops it. */
export function cutOff(socket: Socket): void {
  const isPlain = socket.remoteAddress !== undefined && !('encrypted' in socket);
  if (isPlain) socket.resetAndDestroy();
  else socket.destroy();
}
