/**
 * Requests that arrive within one turn of the event loop are answered one after the other at its end. Parsing all of them
 * and then answering all of them keeps each code in the processor's caches: a record costs a fifth less, a page of
 * twenty a third. A request that arrives alone is not delayed.
 *
 * Connections that have been served before go first. If thousands open at once, new ones get a few milliseconds of each
 * turn.
 *
 * What a client pipelines is served as it takes the answers. Nothing more is read from a connection on which many
 * requests wait; a few more are, since only a connection that is read tells that its client has gone.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Budget, Share } from '../budget.ts';
import { onTooManyChunks } from '../http/chunks.ts';
import { isChunked } from '../http/request.ts';
import { linger } from '../http/content.ts';
import { cutOff } from '../http/slow-readers.ts';

/** Requests of one connection that are served before the client takes the first of their answers. */
const MAX_OPEN = 32;
/**
 * Requests of one connection that wait for the database at the same time. The database answers in the order of arrival:
 * whatever one client pipelines, another one waits for little of it.
 */
const MAX_READING = 1;
const MAX_WRITING = 8;
/** Bytes of unread answers of one connection; beyond that the next request is not served. */
const MAX_UNREAD = 64 * 1024;
/** Requests of one connection that may wait; beyond that nothing more is read from it. */
const MAX_WAITING = 64;
/** Bytes that Node keeps for a waiting request. */
const REQUEST_BYTES = 4096;
/** The same for a body in chunks: 64 KiB can hold ten thousand of them, and each is an object. */
const CHUNKED_BYTES = 3 * 1024 ** 2;

/** Milliseconds of a turn for the first requests of new connections. */
const FRESH_MS = 5;
/** New connections that are served without a look at the clock. */
const FEW = 8;

/** The requests of one connection. */
interface Lane {
  readonly socket: Socket;
  readonly waiting: (readonly [request: IncomingMessage, response: ServerResponse])[];
  /** Answers that the client has not taken yet, in their order. */
  readonly open: ServerResponse[];
  /** Memory of the requests that wait until the client has read more; undefined if none does. */
  share: Share | undefined;
  /** Nothing was served on it yet. */
  isFresh: boolean;
  isQueued: boolean;
  isPaused: boolean;
  /** Nothing more is served. */
  isOver: boolean;
}

export function inBatches(serve: RequestListener, budget: Budget): RequestListener {
  const lanes = new WeakMap<Socket, Lane>();
  let batch: Lane[] = [];
  let fresh: Lane[] = [];
  let isSet = false;

  const set = (): void => {
    if (isSet) return;
    isSet = true;
    setImmediate(serveAll);
  };

  const serveAll = (): void => {
    const [known, unknown] = [batch, fresh];
    batch = [];
    fresh = [];
    isSet = false;
    for (const lane of known) serveQueued(lane);
    const served = serveFresh(unknown);
    if (served === unknown.length) return;
    fresh = [...unknown.slice(served), ...fresh];
    set();
  };

  /** How many it has served before their time was over. */
  const serveFresh = (queued: readonly Lane[]): number => {
    const end = queued.length > FEW ? performance.now() + FRESH_MS : Infinity;
    let served = 0;
    for (const lane of queued) {
      if (served % FEW === 0 && served > 0 && performance.now() > end) break;
      serveQueued(lane);
      served += 1;
    }
    return served;
  };

  const serveQueued = (lane: Lane): void => {
    lane.isQueued = false;
    lane.isFresh = false;
    serveLane(lane);
  };

  const queue = (lane: Lane): void => {
    if (lane.isQueued) return;
    lane.isQueued = true;
    (lane.isFresh ? fresh : batch).push(lane);
    set();
  };

  function laneOf(socket: Socket): Lane {
    const known = lanes.get(socket);
    if (known !== undefined) return known;
    const lane: Lane = {
      socket,
      waiting: [],
      open: [],
      share: undefined,
      isFresh: true,
      isQueued: false,
      isPaused: false,
      isOver: false,
    };
    lanes.set(socket, lane);
    socket.once('close', () => abandon(lane));
    // Node resumes sockets for its own reasons.
    socket.on('resume', () => {
      if (lane.isPaused) socket.pause();
    });
    return lane;
  }

  function serveLane(lane: Lane): void {
    const { waiting, open, socket } = lane;
    let served = 0;
    for (const [request, response] of waiting) {
      if (!hasRoom(open, request)) break;
      served += 1;
      if (response.destroyed || socket.destroyed) continue;
      open.push(response);
      serve(request, response);
    }
    waiting.splice(0, served);
    if (waiting.length === 0) goOn(lane);
    else holdUp(lane);
  }

  function holdUp(lane: Lane): void {
    const { open, waiting, socket } = lane;
    open[0]?.once('close', () => queue(lane));
    lane.share ??= budget.keep(0, () => cutOff(socket));
    lane.share.grow(bytesOf(waiting) - lane.share.bytes);
    pauseIfFull(lane);
  }

  return (request, response) => {
    const lane = laneOf(request.socket);
    // What is pipelined behind a body that is skipped would lose its own body.
    if (lane.isOver) return;
    if (isChunked(request)) watchChunks(lane, request, response);
    lane.waiting.push([request, response]);
    // Chunks would pile up until the end of the turn.
    if (lane.share === undefined) return isChunked(request) ? serveLane(lane) : queue(lane);
    lane.share.grow(bytesOf([[request, response]]));
    pauseIfFull(lane);
  };
}

const bytesOf = (waiting: Lane['waiting']): number =>
  waiting.reduce((sum, [request]) => sum + (isChunked(request) ? CHUNKED_BYTES : REQUEST_BYTES), 0);

function pauseIfFull(lane: Lane): void {
  const last = lane.waiting.at(-1)?.[0];
  const isFull = lane.waiting.length >= MAX_WAITING || (last !== undefined && isChunked(last));
  if (lane.isPaused || !isFull) return;
  lane.isPaused = true;
  lane.socket.pause();
}

function goOn(lane: Lane): void {
  if (lane.share === undefined) return;
  lane.share.release();
  lane.share = undefined;
  lane.isPaused = false;
  lane.socket.resume();
}

function watchChunks(lane: Lane, request: IncomingMessage, response: ServerResponse): void {
  onTooManyChunks(request, () => {
    lane.isOver = true;
    closeAfter(response);
  });
  response.prependOnceListener('finish', () => {
    if (request.readableFlowing !== null || request.complete) return;
    // Node would drop the chunks of a body that was not begun to be read, before they are counted.
    request.read(0);
    linger(request);
  });
}

/** Closes the connection once the answer is sent. */
function closeAfter(response: ServerResponse): void {
  response.shouldKeepAlive = false;
  if (!response.headersSent) return;
  if (response.writableFinished) response.req.socket.destroy();
  else response.once('finish', () => response.req.socket.destroy());
}

/** Whether the client has read enough of the answers so far, and waits for few others. */
function hasRoom(open: ServerResponse[], next: IncomingMessage): boolean {
  while (open[0] !== undefined && (open[0].writableFinished || open[0].destroyed)) open.shift();
  if (open.length === 0) return true;
  if (open.length >= MAX_OPEN) return false;
  const reads = isRead(next);
  let unread = 0;
  let alike = 0;
  for (const { writableLength, headersSent, req } of open) {
    unread += writableLength;
    if (!headersSent && isRead(req) === reads) alike += 1;
  }
  return unread <= MAX_UNREAD && alike < (reads ? MAX_READING : MAX_WRITING);
}

const isRead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD';

/** When a connection closes, Node tells only its first answer. */
function abandon({ open, waiting, share }: Lane): void {
  share?.release();
  for (const response of [...open, ...waiting.splice(0).map(([, unserved]) => unserved)]) {
    if (response.destroyed || response.writableFinished) continue;
    response.destroy();
    response.emit('close');
  }
  open.length = 0;
}
