/** The http server: it refuses large bodies before they are sent, says why it cannot listen, and ends without loss. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { framingFault } from './framing.ts';
import type { Settings } from '../settings.ts';
import { StartError } from '../start-error.ts';
import { render } from '../http/problems.ts';
import { Problem } from '../problem.ts';

export type ListenerSettings = Pick<
  Settings,
  'host' | 'port' | 'bodyLimit' | 'headerLimit' | 'requestTimeout' | 'memoryLimit'
>;

export interface Listener {
  readonly server: Server;
  /** The connections that are open. */
  readonly sockets: ReadonlySet<Socket>;
}

/** Longer than proxies and clients keep theirs: who closes first should be the one that sends. */
const KEEP_ALIVE_MS = 75_000;
/** Connections that may wait to be taken; the system has a limit of its own. Those beyond are tried again after seconds. */
const BACKLOG = 4096;
/** What a connection takes of the memory that is there for clients. */
const CONNECTION_BYTES = 16 * 1024;
/** How often connections are looked through for those that take too long. */
const CHECK_MS = 5000;

export async function listen(serve: RequestListener, settings: ListenerSettings): Promise<Listener> {
  const { noted, onClientError } = answerInOrder(serve);
  const server = createServer(serverOptions(settings), noted)
    .on('checkContinue', continuing(noted, settings.bodyLimit))
    // An expectation that is not known may be ignored (RFC 9110, 10.1.1).
    .on('checkExpectation', noted)
    .on('clientError', onClientError)
    // Nothing here is a proxy.
    .on('connect', (_, socket) => onClientError(new Error('CONNECT'), socket));
  // Who has sent all and closes that side is still answered.
  Object.assign(server, { httpAllowHalfOpen: true });
  const sockets = openSockets(server, Math.floor(settings.memoryLimit / CONNECTION_BYTES));
  server.listen({ port: settings.port, host: settings.host, backlog: BACKLOG });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new StartError(whyNot(error, settings), { cause: error });
  }
  return { server, sockets };
}

const serverOptions = ({ requestTimeout, headerLimit }: ListenerSettings): ServerOptions => ({
  maxHeaderSize: headerLimit + 1,
  // Node's own refusal lets what is pipelined behind such a request through.
  requireHostHeader: false,
  keepAliveTimeout: KEEP_ALIVE_MS,
  requestTimeout,
  headersTimeout: requestTimeout / 3,
  connectionsCheckingInterval: Math.min(CHECK_MS, Math.max(10, requestTimeout / 6)),
});

/** Of more than `most` connections, the oldest that has not sent a request yet is closed; if all have, the new one. */
function openSockets(server: Server, most: number): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  const silent = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    silent.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      silent.delete(socket);
    });
    if (sockets.size <= most) return;
    const [oldest = socket] = silent;
    silent.delete(oldest);
    sockets.delete(oldest);
    oldest.destroy();
  });
  server.prependListener('request', ({ socket }: IncomingMessage) => silent.delete(socket));
  return sockets;
}

/** A client that asks first sends no body that is too large: after the answer its next bytes would be taken for it. */
function continuing(serve: RequestListener, bodyLimit: number): RequestListener {
  return (request, response) => {
    if (announced(request) <= bodyLimit && framingFault(request) === undefined) response.writeContinue();
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

export function urlOf({ server }: Listener): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return String(address);
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

/** How often connections are looked through for those that have become idle. */
const IDLE_CHECK_MS = 25;

/** Takes no new connections and answers what is open. False where requests had to be cut off after `timeout` ms. */
export async function drain({ server, sockets }: Listener, timeout: number): Promise<boolean> {
  let inTime = true;
  const cutOff = (): void => {
    inTime = false;
    server.closeAllConnections();
  };
  const closeIdle = (): void => {
    server.closeIdleConnections();
    // Node takes a connection for idle only after its first request.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };
  const timers = [setInterval(closeIdle, IDLE_CHECK_MS), setTimeout(cutOff, timeout)];
  const closed = once(server, 'close');
  server.close();
  await closed;
  for (const timer of timers) clearTimeout(timer);
  return inTime;
}

// What is no request is answered after those that came before it: its answer would be taken for theirs.

type ClientError = Error & { readonly code?: string };

interface InOrder {
  /** Does the same, and remembers what is owed. */
  readonly noted: RequestListener;
  readonly onClientError: (error: ClientError, socket: Duplex) => void;
}

/** The last two answers of a connection: of all but the last one the request is whole. */
interface Owed {
  readonly last: ServerResponse;
  readonly before: ServerResponse | undefined;
}

const isOpen = ({ writableFinished, destroyed }: ServerResponse): boolean => !writableFinished && !destroyed;

function answerInOrder(serve: RequestListener): InOrder {
  const all = new WeakMap<Duplex, Owed>();
  const refused = new WeakSet<Duplex>();
  return {
    noted: (request, response) => {
      all.set(request.socket, { last: response, before: all.get(request.socket)?.last });
      serve(request, response);
    },
    onClientError: (error, socket) => {
      if (refused.has(socket)) return;
      refused.add(socket);
      refuse(error, socket, all.get(socket));
    },
  };
}

function refuse(error: ClientError, socket: Duplex, owed: Owed | undefined): void {
  if (owed === undefined) return answerClientError(error, socket);
  const { last, before } = owed;
  // In the midst of an answer there is no place for another one.
  if (!last.req.complete && last.headersSent && isOpen(last)) return void socket.destroy();
  const first = last.req.complete ? last : before;
  if (first && isOpen(first) && socket.writable) first.once('close', () => answerClientError(error, socket));
  else answerClientError(error, socket);
}

// Requests that Node refuses before they are requests: answered in the words of all others, and closed.

const REFUSALS: ReadonlyMap<string, Problem> = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    new Problem('headers-too-large', 'The headers of the request, including its URL, are too large'),
  ],
  ['ERR_HTTP_REQUEST_TIMEOUT', new Problem('request-timeout', 'The request did not arrive in time')],
]);
const MALFORMED = new Problem('bad-request', 'This is not a valid HTTP request');

function answerClientError(error: ClientError, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = render(REFUSALS.get(error.code ?? '') ?? MALFORMED);
  const lines = {
    ...headers,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
}
