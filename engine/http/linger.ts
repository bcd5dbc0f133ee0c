/** What happens to the rest of a body that was answered before it was read. */
import type { IncomingMessage } from 'node:http';

const LINGER_MS = 10_000;

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

/**
 * Closing a connection on which unread bytes arrive resets it, and the client may lose the answer with it
 * (RFC 9112, 9.6). So the rest is read and thrown away, for a while.
 */
export function linger(request: IncomingMessage): void {
  if (request.complete || !hasBody(request)) return;
  const { socket } = request;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  request.once('close', () => clearTimeout(timer));
  request.resume();
}
