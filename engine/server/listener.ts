/** The http server: it refuses large bodies before they are sent, says why it cannot listen, and stops without loss. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Budget } from '../edge/budget.ts';
import { type ClientError, TOO_MANY_PIECES, watchConnections } from '../edge/connections.ts';
import { codeOf } from '../files.ts';
import type { Settings } from '../settings/settings.ts';
import { Problem, type ProblemCode, StartError } from '../problem.ts';
import type { HostSteps } from '../http/handler.ts';
import { destroyLater } from '../http/request.ts';
import { render, UNEMBEDDED } from '../http/answer.ts';
import { workerNumber } from '../process.ts';

type ListenerSettings = Pick<
  Settings,
  'host' | 'port' | 'bodyLimit' | 'headerLimit' | 'requestTimeout' | 'memoryLimit'
>;

interface Listener {
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
}

/** Longer than proxies and clients keep connections: the side that sends should be the one that closes. */
const KEEP_ALIVE_MS = 75_000;
/** Connections that may wait to be accepted, up to the system's own limit. Further ones are retried after seconds. */
const BACKLOG = 4096;
const CONNECTION_BYTES = 16 * 1024;
const CHECK_MS = 5000;

/**
 * Each worker listens at the port itself: a connection that the first process passes on to a worker which is killed in that
 * moment would be answered by nobody. Only Linux spreads the connections over all that listen.
 */
const PORT_SHARING =
  workerNumber !== undefined && process.platform === 'linux' ? { exclusive: true, reusePort: true } : {};

export async function listen(serve: RequestListener, settings: ListenerSettings, budget: Budget): Promise<Listener> {
  const server = createServer(serverOptions(settings));
  const most = mostConnections(settings);
  const connections = watchConnections(server, { most, budget, serve, answerError: answerClientError });
  server
    .on('request', connections.serve)
    .on('checkContinue', continuing(connections.serve, settings.bodyLimit))
    // An unknown expectation may be ignored (RFC 9110, 10.1.1).
    .on('checkExpectation', connections.serve)
    .on('clientError', connections.refuse)
    .on('connect', (_, socket) => connections.refuse(new Error('CONNECT'), socket));
  // A client that closes its side after its last request is still answered.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.listen({ port: settings.port, host: settings.host, backlog: BACKLOG, ...PORT_SHARING });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new StartError(whyNot(error, settings), { cause: error });
  }
  return { server, sockets: connections.sockets };
}

const serverOptions = ({ requestTimeout, headerLimit }: ListenerSettings): ServerOptions => ({
  maxHeaderSize: headerLimit + 1,
  // Node would refuse the request, but serve those pipelined behind it.
  requireHostHeader: false,
  keepAliveTimeout: KEEP_ALIVE_MS,
  requestTimeout,
  headersTimeout: Math.ceil(requestTimeout / 3),
  connectionsCheckingInterval: Math.min(CHECK_MS, Math.max(10, Math.ceil(requestTimeout / 6))),
});

/**
 * As many connections as MEMORY_LIMIT has room for, and three quarters of the files that the process may open: beyond
 * those, the system would refuse new ones.
 */
function mostConnections({ memoryLimit }: ListenerSettings): number {
  return Math.max(1, Math.floor(Math.min(memoryLimit / CONNECTION_BYTES, openFiles() * 0.75)));
}

function openFiles(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Infinity : Number(soft);
  } catch {
    return Infinity;
  }
}

/** A client that expects 100 must not send a body that is refused: its next bytes would be taken for that body. */
function continuing(serve: RequestListener, bodyLimit: number): RequestListener {
  return (request, response) => {
    const length = Number(request.headers['content-length'] ?? 0);
    if (length <= bodyLimit && framingFault(request) === undefined) response.writeContinue();
    else response.shouldKeepAlive = false;
    serve(request, response);
  };
}

function whyNot(error: unknown, { host, port }: ListenerSettings): string {
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use; set PORT to a free one, or to 0`;
    case 'EACCES':
      return `This user may not use port ${port}; set PORT to a number above 1023`;
    case 'EADDRNOTAVAIL':
      return `HOST is "${host}", which is not an address of this machine`;
    case 'ENOTFOUND':
      return `HOST is "${host}", a name that cannot be resolved`;
    default:
      return `Cannot listen on ${host}, port ${port}: ${String(error)}`;
  }
}

export function urlOf({ server }: Listener): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return String(address);
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

const IDLE_CHECK_MS = 25;

/** Stops accepting connections and answers the open requests. False if some were cut off after `timeout` milliseconds. */
export async function drain({ server, sockets }: Listener, timeout: number): Promise<boolean> {
  let inTime = true;
  const cutOff = (): void => {
    inTime = false;
    server.closeAllConnections();
  };
  const closeIdle = (): void => {
    server.closeIdleConnections();
    // Node does not count a connection without a request as idle.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };
  const timers = [setInterval(closeIdle, IDLE_CHECK_MS), setTimeout(cutOff, timeout)];
  const closed = once(server, 'close');
  server.close();
  await closed;
  for (const timer of timers) clearTimeout(timer);
  return inTime;
}

// What Node's parser refuses is answered with a problem like any other, and the connection is closed.

const REFUSALS: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers-too-large', 'The headers of the request, including its URL, are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'The request did not arrive in time'],
  [TOO_MANY_PIECES]: ['bad-request', 'The body arrives in too many small pieces; send at least 100 bytes in each'],
};
const MALFORMED = ['bad-request', 'This is not a valid HTTP request'] as const;

function answerClientError(error: ClientError, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = render(new Problem(...(REFUSALS[error.code ?? ''] ?? MALFORMED)));
  const lines = {
    ...headers,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
    ...UNEMBEDDED,
    Connection: 'close',
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  // Reading on would cost far more than it costs the client that floods the service.
  if (error.code === TOO_MANY_PIECES) socket.once('finish', () => socket.destroy());
  else destroyLater(socket);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
}

// Requests that two readers could understand in two ways: a proxy in front may end them elsewhere, take them for another
// host's, or use the other of two headers (RFC 9112, 11.2). Node's parser refuses most of them, but not these.

/** Headers that decide something here, and that a request must not repeat (RFC 9110, 5.3). */
const SINGLE: ReadonlySet<string> = new Set([
  'host',
  'expect',
  'origin',
  'content-type',
  'authorization',
  'content-length',
  'idempotency-key',
  'transfer-encoding',
]);
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~%!$&'()*+;=-]*)(?::\d*)?$/i;

function framingFault({
  headers,
  httpVersionMinor,
  method,
  rawHeaders,
  url = '',
}: IncomingMessage): string | undefined {
  const { host, 'transfer-encoding': coding, 'content-length': length } = headers;
  const repeated = repeatedHeader(rawHeaders);
  if (repeated !== undefined) return `The request has more than one ${repeated}`;
  if (coding !== undefined) {
    if (httpVersionMinor === 0) return 'HTTP/1.0 has no Transfer-Encoding; send Content-Length';
    if (length !== undefined) return 'The request has both Transfer-Encoding and Content-Length';
    if (coding.toLowerCase() !== 'chunked') return 'Transfer-Encoding has to be chunked, and nothing else';
  }
  if (host === undefined && httpVersionMinor > 0) return 'HTTP/1.1 requires the header Host';
  if (host !== undefined && !HOST.test(host)) return 'Host has to be a name or an address, with an optional port';
  if (url.includes('#')) return 'The URL has a fragment, which is for the client alone';
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return undefined;
  const absolute = absoluteForm(url);
  if (absolute === undefined) return 'The URL has to begin with a slash';
  // A port that the scheme implies may be left out.
  const port = absolute.scheme === 'https' ? /:443$/ : /:80$/;
  const names = [absolute.authority, host ?? absolute.authority].map((name) => name.toLowerCase().replace(port, ''));
  return names[0] === names[1] ? undefined : 'The URL names another host than the header Host';
}

function repeatedHeader(lines: readonly string[]): string | undefined {
  const seen: string[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const name = (lines[at] ?? '').toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (seen.includes(name)) return lines[at];
    seen.push(name);
  }
  return undefined;
}

/**
 * Refuses such requests and closes their connections: bytes behind one may be what another reader takes for its body, or
 * the other way round.
 */
export function refuseUnclear({ watch, refuse }: HostSteps, serve: RequestListener): RequestListener {
  return (request, response) => {
    const fault = framingFault(request);
    request.url = originForm(request.url ?? '/');
    if (fault === undefined && request.headers.upgrade === undefined) return serve(request, response);
    // Node's parser drops what comes in one piece with a request for an upgrade, and would go on in the middle of it.
    response.shouldKeepAlive = false;
    if (fault === undefined) return serve(request, response);
    watch(request, response, () => refuse(new Problem('bad-request', fault), request, response));
  };
}

/** `GET http://host/path` is as good as `GET /path` (RFC 9112, 3.2.2). `*` stays: it is about the service as a whole. */
function originForm(url: string): string {
  if (url.startsWith('/') || url === '*') return url;
  const rest = absoluteForm(url)?.rest ?? '/';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** undefined if the URL does not name a scheme and a host. */
function absoluteForm(url: string) {
  const [, scheme, authority, rest] = /^(https?):\/\/([^/?]+)(.*)$/i.exec(url) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) return undefined;
  return { scheme: scheme.toLowerCase(), authority, rest };
}
