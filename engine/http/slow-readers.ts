/** What a connection does not take at once is kept in memory for its reader: not for ever, and within the budget. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Budget } from '../budget.ts';

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

const nobody = (): void => undefined;

/** `timeout`: milliseconds that a reader may leave an answer unread. */
export function createSlowReaders(timeout: number, budget: Budget): AwaitReader {
  return ({ socket }, response) => {
    // What waits in the answer itself counts too: behind others of its connection, all of it.
    const length = response.writableLength;
    if (length === 0 || socket.destroyed) return nobody;
    const giveUp = (): void => cutOff(socket);
    const timer = setTimeout(giveUp, patience(length, timeout)).unref();
    const share = budget.keep(length, giveUp);
    const stop = (): void => {
      clearTimeout(timer);
      response.off('timeout', giveUp).off('close', stop);
      share.release();
    };
    // Where nothing is read at all, within two of them; Node takes the limit back with the next request.
    response.setTimeout(timeout).once('timeout', giveUp).once('close', stop);
    return stop;
  };
}

/** What the system has still to send would be kept for a reader that never comes: a reset drops it. */
export function cutOff(socket: Socket): void {
  const isPlain = socket.remoteAddress !== undefined && !('encrypted' in socket);
  if (isPlain) socket.resetAndDestroy();
  else socket.destroy();
}
