/** How long a reader may take: what a connection does not take at once is kept in memory, but not for ever. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** What must be read in each `timeout`, so that reading a byte now and then keeps nothing open. */
const PIECE = 64 * 1024;
/** Of a timer; a longer one ends at once. */
const LONGEST = 2 ** 31 - 1;

/** Milliseconds for so many bytes. */
export const patience = (length: number, timeout: number): number =>
  Math.min(LONGEST, timeout * Math.max(1, Math.ceil(length / PIECE)));

/** Of an answer that was written whole: a connection on which it is not read in time is closed. */
export function awaitReader({ socket }: IncomingMessage, response: ServerResponse, timeout: number): void {
  const { writableLength } = socket;
  if (writableLength === 0) return;
  // Where nothing is read at all, within two of them; Node takes the limit back with the next request.
  response.setTimeout(timeout);
  const timer = setTimeout(() => socket.destroy(), patience(writableLength, timeout)).unref();
  response.once('close', () => clearTimeout(timer));
}
