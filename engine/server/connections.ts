/** Serves one request per connection at a time, and refuses requests that are ambiguous or unparsable. */
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Budget, disconnect, type Share } from '../edge/budget.ts';
import { COMMON_HEADERS, render } from '../http/answer.ts';
import type { HostSteps } from '../http/handler.ts';
import { destroyLater, isChunked } from '../http/request.ts';
import { Problem, type ProblemCode } from '../problem.ts';

/** Maximum chunks of a body, plus one per MIN_CHUNK bytes; also of all bodies in one turn of the event loop. */
const MAX_CHUNKS = 1000;
const MIN_CHUNK = 100;
const TOO_MANY_CHUNKS = 'TOO_MANY_CHUNKS';
const REQUEST_BYTES = 4096;
/** Memory of MAX_CHUNKS objects. */
const CHUNKED_BYTES = 300 * 1024;

type ClientError = Error & { readonly code?: string };

interface Connection {
  readonly socket: Socket;
  current: ServerResponse | undefined;
  readonly waiting: { request: IncomingMessage; response: ServerResponse; share: Share | undefined }[];
  /** A parse error after the waiting requests. */
  error: ClientError | undefined;
}

/** State and limits that the connections of a server share. */
interface ConnectionOptions {
  readonly serve: RequestListener;
  /** The most connections. Above it, the longest idle one is closed, else the one whose body has been arriving longest. */
  readonly most: number;
  readonly budget: Budget;
  readonly bodyLimit: number;
}

export class Connections {
  readonly #options: ConnectionOptions;
  readonly #all = new Map<Duplex, Connection>();
  /** Idle connections, the longest idle first. */
  readonly #idle = new Set<Socket>();
  /** Connections whose request is served or refused before its body is complete, the longest first. */
  readonly #arriving = new Set<Socket>();
  /** Connections whose requests are served together at the end of a turn, for warm CPU caches. */
  readonly #arrived: Connection[] = [];
  /** Chunks received in this turn. */
  #chunks = 0;

  constructor(server: Server, options: ConnectionOptions) {
    this.#options = options;
    const receive: RequestListener = (request, response) => this.#receive(request, response);
    server
      .on('connection', (socket) => this.#open(socket))
      .on('request', receive)
      .on('checkContinue', (request, response) => this.#receiveExpecting(request, response))
      // RFC 9110, 10.1.1: a server may ignore other expectations.
      .on('checkExpectation', receive)
      .on('clientError', (error, socket) => this.#refuse(error, socket))
      .on('connect', (_, socket) => this.#refuse(new Error('CONNECT'), socket));
  }

  /** Closes those that have sent nothing: Node does not consider them idle. */
  closeUnused(): void {
    for (const { socket } of this.#all.values()) if (socket.bytesRead === 0) socket.destroy();
  }

  #open(socket: Socket): void {
    const connection: Connection = { socket, current: undefined, waiting: [], error: undefined };
    this.#all.set(socket, connection);
    this.#idle.add(socket);
    socket.once('close', () => {
      this.#forget(socket);
      drop(connection);
    });
    // Node resumes the socket whenever it reads a body.
    socket.on('resume', () => {
      if (!this.#mayRead(connection)) socket.pause();
    });
    if (this.#all.size <= this.#options.most) return;
    // The new connection is the last one in `idle`.
    const [longest = socket] = this.#idle.size === 1 && this.#arriving.size > 0 ? this.#arriving : this.#idle;
    this.#forget(longest);
    longest.destroy();
  }

  #forget(socket: Socket): void {
    this.#all.delete(socket);
    this.#idle.delete(socket);
    this.#arriving.delete(socket);
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = this.#all.get(socket);
    if (connection === undefined || !socket.writable) return;
    this.#idle.delete(socket);
    const { waiting, current } = connection;
    const isNext = current === undefined && waiting.length === 0;
    const bytes = isChunked(request) ? CHUNKED_BYTES : REQUEST_BYTES;
    const share = isNext ? undefined : this.#options.budget.take(bytes, () => disconnect(socket));
    waiting.push({ request, response, share });
    if (isChunked(request)) this.#limitChunks(request, response);
    if (isNext) this.#serveSoon(connection);
    else socket.pause();
  }

  /** After a refusal, the client must not send the body: Node would parse it as the next request. */
  #receiveExpecting(request: IncomingMessage, response: ServerResponse): void {
    const length = Number(request.headers['content-length'] ?? 0);
    if (length <= this.#options.bodyLimit && framingFault(request) === undefined) response.writeContinue();
    else response.shouldKeepAlive = false;
    this.#receive(request, response);
  }

  #serveSoon(connection: Connection): void {
    if (this.#arrived.push(connection) > 1) return;
    setImmediate(() => {
      for (const next of this.#arrived.splice(0)) this.#serveNext(next);
    });
  }

  #serveNext(connection: Connection): void {
    const { socket, waiting, error } = connection;
    // A response that closes the connection is its last one.
    if (!socket.writable) return drop(connection);
    const next = waiting.shift();
    if (next === undefined) {
      if (error) answerClientError(error, socket);
      else this.#idle.add(socket);
      return;
    }
    const { request, response, share } = next;
    share?.release();
    connection.current = response;
    if (this.#mayRead(connection)) socket.resume();
    if (!request.complete) {
      this.#arriving.add(socket);
      request.once('end', () => this.#arriving.delete(socket));
    }
    response.once('close', () => {
      connection.current = undefined;
      if (waiting.length > 0) this.#serveSoon(connection);
      else if (this.#all.has(socket)) this.#serveNext(connection);
    });
    this.#options.serve(request, response);
  }

  #mayRead({ current, waiting }: Connection): boolean {
    return this.#chunks < MAX_CHUNKS && waiting.length <= (current === undefined ? 1 : 0);
  }

  /** Refuses bodies in too many small chunks: Node makes a call and an object for each. */
  #limitChunks(request: IncomingMessage, response: ServerResponse): void {
    let count = 0;
    let bytes = 0;
    let isRefused = false;
    const push = request.push.bind(request);
    request.push = (chunk: Buffer | null) => {
      this.#countChunk();
      // After false, Node would pause and resume at each chunk.
      if (isRefused) return true;
      count += 1;
      bytes += chunk?.length ?? 0;
      if (count <= MAX_CHUNKS + bytes / MIN_CHUNK) return push(chunk);
      isRefused = true;
      // Not the socket's own method, which reads on while a body is drained.
      if (response.headersSent) Socket.prototype.destroySoon.call(request.socket);
      else this.#refuse(Object.assign(new Error('too many chunks'), { code: TOO_MANY_CHUNKS }), request.socket);
      return true;
    };
    // Otherwise Node would discard the body without calling push.
    response.once('prefinish', () => request.resume());
  }

  /** One read can contain 10,000 chunks, which take 10 ms: pauses all other connections until the next turn. */
  #countChunk(): void {
    this.#chunks += 1;
    if (this.#chunks === 1) setImmediate(() => this.#startTurn());
    if (this.#chunks === MAX_CHUNKS) for (const { socket } of this.#all.values()) socket.pause();
  }

  #startTurn(): void {
    const isPaused = this.#chunks >= MAX_CHUNKS;
    this.#chunks = 0;
    // The `resume` listener pauses those that still have to wait.
    if (isPaused) for (const { socket, error } of this.#all.values()) if (!error) socket.resume();
  }

  #refuse(error: ClientError, socket: Duplex): void {
    const connection = this.#all.get(socket);
    if (connection === undefined) return answerClientError(error, socket);
    if (connection.error) return;
    connection.error = error;
    const { current, waiting } = connection;
    const last = waiting.at(-1)?.response ?? current;
    if (last === undefined) return answerClientError(error, socket);
    if (last.req.complete) return;
    if (last !== current) waiting.pop()?.share?.release();
    // A response that has begun cannot be replaced.
    else if (last.headersSent) socket.destroy();
    else answerClientError(error, socket);
  }
}

function drop({ socket, waiting }: Connection): void {
  for (const { share } of waiting.splice(0)) share?.release();
  socket.resume();
}

const REFUSALS: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers-too-large', 'The headers of the request, including its URL, are too large'],
  HPE_INVALID_URL: [
    'bad-request',
    'The URL has to begin with a slash, and to percent-encode all but the visible characters of ASCII, as %C3%BC for ü',
  ],
  HPE_INVALID_CONSTANT: [
    'bad-request',
    'The first line has to be a method, a URL and HTTP/1.1; a space in the URL is percent-encoded as %20',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'The request did not arrive in time'],
  [TOO_MANY_CHUNKS]: ['bad-request', 'The body arrives in too many small chunks; send at least 100 bytes in each'],
};

function answerClientError(error: ClientError, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = render(
    new Problem(...(REFUSALS[error.code ?? ''] ?? ['bad-request', 'This is not a valid HTTP request'])),
  );
  const own = { ...headers, 'Content-Length': Buffer.byteLength(body) };
  const lines = { ...own, ...COMMON_HEADERS, 'X-Request-Id': randomUUID(), Connection: 'close' };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  // Draining many small chunks costs the server more than the client.
  if (error.code === TOO_MANY_CHUNKS) socket.once('finish', () => socket.destroy());
  else destroyLater(socket);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
}

// Request smuggling (RFC 9112, 11.2): a proxy could parse such requests differently. Node's parser accepts some of them.

/** Headers allowed only once (RFC 9110, 5.3); the parser itself refuses a second Content-Length. */
const SINGLE = ['Host', 'Expect', 'Origin', 'Content-Type', 'Authorization', 'Idempotency-Key'];
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~%!$&'()*+;=-]*)(?::\d*)?$/i;

function framingFault(request: IncomingMessage): string | undefined {
  const { headers, httpVersionMinor, method, url = '' } = request;
  const { host, 'transfer-encoding': coding } = headers;
  const repeated = repeatedHeader(request);
  if (repeated !== undefined) return `The request has more than one ${repeated}`;
  if (coding !== undefined) {
    if (httpVersionMinor === 0) return 'HTTP/1.0 has no Transfer-Encoding; send Content-Length';
    if (coding.toLowerCase() !== 'chunked') return 'Transfer-Encoding has to be chunked, and nothing else';
  }
  if (host === undefined && httpVersionMinor > 0) return 'HTTP/1.1 requires the header Host';
  if (host !== undefined && !HOST.test(host)) return 'Host has to be a name or an address, with an optional port';
  if (url.includes('#')) return 'The URL has a fragment, which is for the client alone';
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) return undefined;
  const absolute = absoluteForm(url);
  if (absolute === undefined) return 'The URL has to begin with a slash';
  // The default port is optional.
  const port = absolute.scheme === 'https' ? /:443$/ : /:80$/;
  const names = [absolute.authority, host ?? absolute.authority].map((name) => name.toLowerCase().replace(port, ''));
  return names[0] === names[1] ? undefined : 'The URL names another host than the header Host';
}

function repeatedHeader(request: IncomingMessage): string | undefined {
  // Node makes `headersDistinct` when it is first read.
  if (request.rawHeaders.length === 2 * Object.keys(request.headers).length) return undefined;
  return SINGLE.find((name) => (request.headersDistinct[name.toLowerCase()] ?? []).length > 1);
}

/** Closes the connection of an ambiguous request: the next bytes may belong to its body. */
export function refuseAmbiguous({ watch, refuse }: HostSteps, serve: RequestListener): RequestListener {
  return (request, response) => {
    const fault = framingFault(request);
    request.url = originForm(request.url ?? '/');
    // Node's parser drops data read together with an upgrade, and would resume in the middle of it.
    if (fault !== undefined || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    if (fault === undefined) serve(request, response);
    else
      watch(request, response, (watched) => refuse(new Problem('bad-request', fault), request, response, { watched }));
  };
}

/** RFC 9112, 3.2.2: `GET http://host/path` means `GET /path`. */
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
