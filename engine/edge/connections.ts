/**
 * The open connections: their requests and unread responses. One request of a connection is served at a time: the next one
 * begins when the response before it is sent. Requests begin at the end of a turn of the event loop, so that every
 * connection has its turn, and that parsing all requests and then serving them keeps each code in the processor's caches.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Budget, Share } from './budget.ts';

const REQUEST_BYTES = 4096;
/** The same with the pieces that a body in chunks may have, each an object. */
const CHUNKED_BYTES = 300 * 1024;

export type ClientError = Error & { readonly code?: string };

interface Pipelined {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly share: Share | undefined;
}

interface Connection {
  readonly socket: Socket;
  current: ServerResponse | undefined;
  readonly waiting: Pipelined[];
  error: ClientError | undefined;
}

interface Connections {
  readonly sockets: ReadonlySet<Socket>;
  readonly serve: RequestListener;
  /** Refuses bytes that are not a request, after the responses to the requests before them. */
  readonly refuse: (error: ClientError, socket: Duplex) => void;
}

interface ConnectionOptions {
  /** Beyond so many, the connection that has waited longest for a request is closed; if none waits, the new one. */
  readonly most: number;
  readonly budget: Budget;
  readonly serve: RequestListener;
  readonly answerError: (error: ClientError, socket: Duplex) => void;
}

export const isChunked = ({ headers }: IncomingMessage): boolean => headers['transfer-encoding'] !== undefined;

export function watchConnections(server: Server, { most, budget, serve, answerError }: ConnectionOptions): Connections {
  const connections = new Map<Duplex, Connection>();
  const sockets = new Set<Socket>();
  /** In the order in which their last requests ended, or in which they were opened. */
  const idle = new Set<Socket>();

  server.on('connection', (socket) => {
    const connection: Connection = { socket, current: undefined, waiting: [], error: undefined };
    connections.set(socket, connection);
    sockets.add(socket);
    idle.add(socket);
    socket.once('close', () => {
      forget(socket);
      drop(connection);
    });
    // Node resumes sockets whenever a body is read.
    socket.on('resume', () => {
      if (isPipelining(connection)) socket.pause();
    });
    if (sockets.size <= most) return;
    const [longest = socket] = idle;
    forget(longest);
    longest.destroy();
  });

  function forget(socket: Socket): void {
    connections.delete(socket);
    sockets.delete(socket);
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
    const share = isNext ? undefined : budget.keep(bytes, () => cutOff(socket));
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
      if (error) answerError(error, socket);
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
    if (connection === undefined) return answerError(error, socket);
    if (connection.error) return;
    connection.error = error;
    const { current, waiting } = connection;
    const last = waiting.at(-1)?.response ?? current;
    if (last === undefined) return answerError(error, socket);
    if (last.req.complete) return;
    // The error is in the body of the last request.
    if (last !== current) waiting.pop()?.share?.release();
    // A second response cannot be sent in the middle of one that has begun.
    else if (last.headersSent) socket.destroy();
    else answerError(error, socket);
  }

  return { sockets, serve: receive, refuse };
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
export const TOO_MANY_PIECES = 'TOO_MANY_PIECES';

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

// A response that a connection does not take at once stays in memory: for a limited time, and within the budget.

const SLOWEST = 32 * 1024;
const LONGEST = 2 ** 31 - 1;

export const patience = (length: number, timeout: number): number =>
  Math.min(LONGEST, timeout + Math.ceil((length / SLOWEST) * 1000));

/**
 * Called after a response, or a piece of one, was written: closes the connection if the client does not read it in time.
 * Returns a function that stops the waiting. `least`: bytes that wait somewhere, perhaps in middleware that compresses.
 */
export type AwaitReader = (request: IncomingMessage, response: ServerResponse, least?: number) => () => void;

export function createSlowReaders(timeout: number, budget: Budget): AwaitReader {
  return ({ socket }, response, least = 0) => {
    // Includes what waits in the response itself: all of it, if it is behind other responses of its connection.
    const length = Math.max(least, response.writableLength);
    if (length === 0 || socket.destroyed) return () => undefined;
    const giveUp = (): void => cutOff(socket);
    const timer = setTimeout(giveUp, patience(length, timeout)).unref();
    const share = budget.keep(length, giveUp);
    const stop = (): void => {
      clearTimeout(timer);
      response.off('timeout', giveUp).off('close', stop);
      share.release();
    };
    // Closes the connection within twice the time if nothing is read at all. Node resets it with the next request.
    response.setTimeout(timeout).once('timeout', giveUp).once('close', stop);
    return stop;
  };
}

/** The system would keep what it has not sent yet; a reset drops it. */
function cutOff(socket: Socket): void {
  const isPlain = socket.remoteAddress !== undefined && !('encrypted' in socket);
  if (isPlain) socket.resetAndDestroy();
  else socket.destroy();
}
