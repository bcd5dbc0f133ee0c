/** The http server: it refuses large bodies before they are sent, says why it cannot listen, and ends without loss. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Settings } from './settings.ts';
import { StartError } from './start-error.ts';

export type ListenerSettings = Pick<Settings, 'host' | 'port' | 'bodyLimit'>;

export async function listen(serve: RequestListener, settings: ListenerSettings): Promise<Server> {
  const server = createServer(serve).on('checkContinue', continuing(serve, settings.bodyLimit));
  server.listen(settings.port, settings.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new StartError(whyNot(error, settings), { cause: error });
  }
  return server;
}

/** A client that asks first sends no body that is too large: after the answer its next bytes would be taken for it. */
function continuing(serve: RequestListener, bodyLimit: number): RequestListener {
  return (request, response) => {
    if (announced(request) <= bodyLimit) response.writeContinue();
    else response.shouldKeepAlive = false;
    serve(request, response);
  };
}

const announced = ({ headers }: IncomingMessage): number => Number(headers['content-length'] ?? 0);

const REASONS: ReadonlyMap<string, (settings: ListenerSettings) => string> = new Map([
  ['EADDRINUSE', ({ host, port }) => `Port ${port} of ${host} is in use; set PORT to a free one, or to 0`],
  ['EACCES', ({ port }) => `Port ${port} may not be used by this user; set PORT to one above 1023`],
  ['EADDRNOTAVAIL', ({ host }) => `HOST is "${host}", which is no address of this machine`],
  ['ENOTFOUND', ({ host }) => `HOST is "${host}", which no name server knows`],
]);

function whyNot(error: unknown, settings: ListenerSettings): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS.get(code)?.(settings) ?? `Cannot listen on ${settings.host}, port ${settings.port}: ${String(error)}`;
}

export function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return String(address);
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

/** How often connections are looked through for those that have become idle. */
const IDLE_CHECK_MS = 25;

/** Takes no new connections and answers what is open. False where requests had to be cut off after `timeout` ms. */
export async function drain(server: Server, timeout: number): Promise<boolean> {
  let inTime = true;
  const cutOff = (): void => {
    inTime = false;
    server.closeAllConnections();
  };
  const timers = [setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS), setTimeout(cutOff, timeout)];
  const closed = once(server, 'close');
  server.close();
  await closed;
  for (const timer of timers) clearTimeout(timer);
  return inTime;
}
