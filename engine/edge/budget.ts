/**
 * The memory budget, shared by bodies, pages, chunks of lists, unsent responses and pipelined requests. When it is used
 * up, the responses that have waited longest for their readers are cut off; if that is not enough, the request gets 503.
 * The last eighth is reserved for small requests, so that large ones cannot shut them out.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../problem.ts';

export interface Budget {
  /** Reserves bytes. Throws `overloaded` if not enough are left now, and `content-too-large` if there never are. */
  take(bytes: number): Share;
  /** Counts bytes that are in memory already. Never throws: `cutOff` frees them if others need the memory. */
  keep(bytes: number, cutOff: () => void): Share;
  readonly limit: number;
  readonly used: number;
}

export interface Share {
  grow(bytes: number): void;
  /** Gives back what it has beyond this many bytes. */
  shrink(most: number): void;
  /** Gives everything back; a second call does nothing. */
  release(): void;
  readonly bytes: number;
}

/** Bytes that one request may take from the last eighth. */
const SMALL = 64 * 1024;

export function createBudget(limit: number): Budget {
  let used = 0;
  const kept = new Map<Share, () => void>();
  let keptBytes = 0;

  function makeRoom(most: number): void {
    for (const [share, cutOff] of kept) {
      if (used <= most) return;
      share.release();
      cutOff();
    }
  }

  function createShare(cutOff?: () => void): Share {
    let bytes = 0;
    let isReleased = false;
    const count = (more: number): void => {
      bytes += more;
      used += more;
      if (cutOff) keptBytes += more;
    };
    const share: Share = {
      get bytes() {
        return bytes;
      },
      grow: (more) => {
        if (isReleased) return;
        const isLarge = !cutOff && bytes + more > SMALL;
        const most = isLarge ? limit - limit / 8 : limit;
        if (!cutOff) {
          if (bytes + more > most) throw tooMuchAtOnce(bytes + more, most);
          // Cut nobody off if it would not fit anyway.
          if (used - keptBytes + more > most) throw overloaded();
        }
        count(more);
        makeRoom(most);
      },
      shrink: (most) => count(Math.min(most - bytes, 0)),
      release: () => {
        if (isReleased) return;
        isReleased = true;
        count(-bytes);
        kept.delete(share);
      },
    };
    if (cutOff) kept.set(share, cutOff);
    return share;
  }

  return {
    limit,
    get used() {
      return used;
    },
    take: (bytes) => {
      const share = createShare();
      share.grow(bytes);
      return share;
    },
    keep: (bytes, cutOff) => {
      const share = createShare(cutOff);
      share.grow(bytes);
      return share;
    },
  };
}

const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

const tooMuchAtOnce = (bytes: number, most: number): Problem =>
  new Problem(
    'content-too-large',
    `This request needs ${megabytes(bytes)} of memory for its body, the records that it names and the response; one request may use ${megabytes(most)} (of MEMORY_LIMIT). ` +
      'Send fewer records at once; if the response is what is long, leave parts of it out with fields=, include= or Prefer: return=minimal',
  );

const overloaded = (): Problem =>
  new Problem('overloaded', 'There is not enough memory for this request right now; try again in a second');

// A response that a connection does not take at once stays in memory: for a limited time, and within the budget.

/** Bytes a second that a client must read. */
const SLOWEST = 32 * 1024;
const LONGEST_TIMER = 2 ** 31 - 1;

const patience = (length: number, timeout: number): number =>
  Math.min(LONGEST_TIMER, timeout + Math.ceil((length / SLOWEST) * 1000));

/**
 * Called after a write to a response: closes the connection if the client does not read in time. Returns a function that
 * stops the timer. `least`: bytes that wait elsewhere, such as in middleware that compresses.
 */
export type AwaitReader = (request: IncomingMessage, response: ServerResponse, least?: number) => () => void;

export function createSlowReaders(timeout: number, budget: Budget): AwaitReader {
  return ({ socket }, response, least = 0) => {
    // Includes what waits in the response itself: all of it, if it is behind other responses of its connection.
    const length = Math.max(least, response.writableLength);
    if (length === 0 || socket.destroyed) return () => undefined;
    const giveUp = (): void => disconnect(socket);
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
export function disconnect(socket: Socket): void {
  const isPlain = socket.remoteAddress !== undefined && !('encrypted' in socket);
  if (isPlain) socket.resetAndDestroy();
  else socket.destroy();
}
