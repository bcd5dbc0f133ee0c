/** Waits until a socket is closed, by an orderly end or by a reset. */
import type { Socket } from 'node:net';

export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve()).on('error', () => undefined);
  });
