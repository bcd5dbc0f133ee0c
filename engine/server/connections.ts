/**
 * The connections of the http server, and the requests that it refuses itself. A connection has one request in flight: the
 * next one begins when the response before it is sent, at the end of a turn of the event loop, so that all connections
 * take turns.
 */
import { type IncomingMessage, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Budget, disconnect, type Share } from '../edge/budget.ts';
import { render, UNEMBEDDED } from '../http/answer.ts';
import type { HostSteps } from '../http/handler.ts';
import { destroyLater, isChunked } from '../http/request.ts';
import { Problem, type ProblemCode } from '../problem.ts';

const REQUEST_BYTES = 4096;
/** A chunked body may have MOST_PIECES pieces, each an object. */
const CHUNKED_BYTES = 300 * 1024;

type ClientError = Error & { readonly code?: string };

interface Connection {
  readonly socket: Socket;
  current: ServerResponse | undefined;
  readonly waiting: { request: IncomingMessage; response: ServerResponse; share: Share | undefined }[];
  /** Bytes that are not a request, and follow the requests that wait. */
  error: ClientError | undefined;
}

interface ConnectionOptions {
  /** Beyond so many, the connection that has waited longest for a request is closed; if none waits, the new one. */
  readonly most: number;
  readonly budget: Budget;
  readonly bodyLimit: number;
}

export function serveConnections(
  server: Server,
  serve: RequestListener,
  { most, budget, bodyLimit }: ConnectionOptions,
): ReadonlyMap<Duplex, Connection> {
  const connections = new Map<Duplex, Connection>();
  /** In the order in which their last requests ended, or in which they were opened. */
  const idle = new Set<Socket>();

  server.on('connection', (socket) => {
    const connection: Connection = { socket, current: undefined, waiting: [], error: undefined };
    connections.set(socket, connection);
    idle.add(socket);
    socket.once('close', () => {
      forget(socket);
      drop(connection);
    });
    // Node resumes sockets whenever a body is read.
    socket.on('resume', () => {
      if (isPipelining(connection)) socket.pause();
    });
    if (connections.size <= most) return;
    const [longest = socket] = idle;
    forget(longest);
    longest.destroy();
  });

  function forget(socket: Socket): void {
    connections.delete(socket);
    idle.delete(socket);
  }

  function receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = connections.get(socket);
    if (connection === undefined || !socket.writable) return;
    idle.delete(socket);
    const { waiting, current } = connection;
    const isNext = current === undefined && waiting.length === 0;
    const bytes = isChunked(request) ? CHUNKED_BYTES : REQUEST_BYTES;
    const share = isNext ? undefined : budget.keep(bytes, () => disconnect(socket));
    waiting.push({ request, response, share });
    if (isChunked(request)) limitPieces(request, response, (error) => refuse(error, socket));
    if (isNext) setImmediate(serveNext, connection);
    else socket.pause();
  }

  function serveNext(connection: Connection): void {
    const { socket, waiting, error } = connection;
    // A response that closes the connection is its last one.
    if (!socket.writable) return drop(connection);
    const next = waiting.shift();
    if (next === undefined) {
      if (error) answerClientError(error, socket);
      else idle.add(socket);
      return;
    }
    const { request, response, share } = next;
    share?.release();
    connection.current = response;
    if (!isPipelining(connection)) socket.resume();
    response.once('close', () => {
      connection.current = undefined;
      if (waiting.length > 0) setImmediate(serveNext, connection);
      else if (connections.has(socket)) serveNext(connection);
    });
    serve(request, response);
  }

  function refuse(error: ClientError, socket: Duplex): void {
    const connection = connections.get(socket);
    if (connection === undefined) return answerClientError(error, socket);
    if (connection.error) return;
    connection.error = error;
    const { current, waiting } = connection;
    const last = waiting.at(-1)?.response ?? current;
    if (last === undefined) return answerClientError(error, socket);
    if (last.req.complete) return;
    // The error is in the body of the last request.
    if (last !== current) waiting.pop()?.share?.release();
    // A second response cannot be sent in the middle of one that has begun.
    else if (last.headersSent) socket.destroy();
    else answerClientError(error, socket);
  }

  /** A client that expects 100 must not send a body that is refused: its next bytes would be taken for that body. */
  const receiveExpecting: RequestListener = (request, response) => {
    const length = Number(request.headers['content-length'] ?? 0);
    if (length <= bodyLimit && framingFault(request) === undefined) response.writeContinue();
    else response.shouldKeepAlive = false;
    receive(request, response);
  };

  server
    .on('request', receive)
    .on('checkContinue', receiveExpecting)
    // An unknown expectation may be ignored (RFC 9110, 10.1.1).
    .on('checkExpectation', receive)
    .on('clientError', refuse)
    .on('connect', (_, socket) => refuse(new Error('CONNECT'), socket));
  return connections;
}

const isPipelining = ({ current, waiting }: Connection): boolean => waiting.length > (current === undefined ? 1 : 0);

function drop({ socket, waiting }: Connection): void {
  for (const { share } of waiting.splice(0)) share?.release();
  socket.resume();
}

// Bodies in chunks.

/** Pieces that a chunked body may have, and one more for each so many bytes. */
const MOST_PIECES = 1000;
const LEAST_PIECE = 100;
const TOO_MANY_PIECES = 'TOO_MANY_PIECES';

/** Calls `refuse` when a body arrives in too many small pieces: Node makes a call and an object for each. */
function limitPieces(request: IncomingMessage, response: ServerResponse, refuse: (error: ClientError) => void): void {
  let pieces = 0;
  let bytes = 0;
  let isRefused = false;
  const push = request.push.bind(request);
  request.push = (piece: Buffer | null) => {
    // Node parses all bytes that it has read; for false, it would stop reading anew at each piece.
    if (isRefused) return true;
    pieces += 1;
    bytes += piece?.length ?? 0;
    if (pieces <= MOST_PIECES + bytes / LEAST_PIECE) return push(piece);
    isRefused = true;
    if (response.headersSent) request.socket.destroySoon();
    else refuse(Object.assign(new Error('too many pieces'), { code: TOO_MANY_PIECES }));
    return true;
  };
  // Node would read on without a call to push.
  response.once('prefinish', () => request.resume());
}

// A request that Node's parser refuses gets a problem like any other, and the connection is closed.

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

// Request smuggling (RFC 9112, 11.2): a proxy in front may end such a request elsewhere, take it for another host's, or use
// the other of two headers. Node's parser refuses most of these requests, but not all.

/** Headers that a request must not repeat (RFC 9110, 5.3). */
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

/** Refuses ambiguous requests and closes their connections, since the next bytes may belong to the body. */
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

function absoluteForm(url: string) {
  const [, scheme, authority, rest] = /^(https?):\/\/([^/?]+)(.*)$/i.exec(url) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) return undefined;
  return { scheme: scheme.toLowerCase(), authority, rest };
}
