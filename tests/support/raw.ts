/** Bytes on the wire, as they stand. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export async function dial(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setEncoding('latin1').on('error', () => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

export async function raw(url: string, bytes: string): Promise<string> {
  const socket = await dial(url);
  let text = '';
  socket.on('data', (piece: string) => (text += piece));
  socket.write(bytes, 'latin1');
  await closed(socket);
  return text;
}

export const statusesOf = (text: string): readonly number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve()).on('error', () => undefined);
  });
