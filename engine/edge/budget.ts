/**
 * The memory budget of bodies, pages, unsent responses and pipelined requests. When it is used up, the responses that have
 * waited longest for their readers are cut off; then requests get 503. Only small requests may use the last eighth.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../problem.ts';

export interface Budget {
  /** Throws `overloaded` if not enough bytes are left, `content-too-large` if there never are. */
  take(bytes: number): Share;
  /** Counts bytes that are in memory already; `cutOff` frees them if others need the memory. */
  keep(bytes: number, cutOff: () => void): Share;
  readonly limit: number;
  readonly used: number;
}

export interface Share {
  grow(bytes: number): void;
  /** Gives back all but this many bytes. */
  shrink(most: number): void;
  /** A second call does nothing. */
  release(): void;
  readonly bytes: number;
}

/** Bytes of a request that may use the last eighth. */
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

  /** A class, because each request makes one: what a getter of an object literal reaches lives until a full collection. */
  class OwnShare implements Share {
    bytes = 0;
    #isReleased = false;
    readonly #cutOff: (() => void) | undefined;

    constructor(cutOff?: () => void) {
      this.#cutOff = cutOff;
      if (cutOff) kept.set(this, cutOff);
    }

    grow(more: number): void {
      if (this.#isReleased) return;
      const isLarge = !this.#cutOff && this.bytes + more > SMALL;
      const most = isLarge ? limit - limit / 8 : limit;
      if (!this.#cutOff) {
        if (this.bytes + more > most) throw tooMuchAtOnce(this.bytes + more, most);
        // Cut nobody off if it would not fit anyway.
        if (used - keptBytes + more > most) throw overloaded();
      }
      this.#count(more);
      makeRoom(most);
    }

    shrink(most: number): void {
      this.#count(Math.min(most - this.bytes, 0));
    }

    release(): void {
      if (this.#isReleased) return;
      this.#isReleased = true;
      this.#count(-this.bytes);
      kept.delete(this);
    }

    #count(more: number): void {
      this.bytes += more;
      used += more;
      if (this.#cutOff) keptBytes += more;
    }
  }

  return {
    limit,
    get used() {
      return used;
    },
    take: (bytes) => {
      const share = new OwnShare();
      share.grow(bytes);
      return share;
    },
    keep: (bytes, cutOff) => {
      const share = new OwnShare(cutOff);
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

// Unsent responses stay in memory for a limited time, and within the budget.

/** Bytes a second that a client must read. */
const SLOWEST = 32 * 1024;
const LONGEST_TIMER = 2 ** 31 - 1;

const patience = (length: number, timeout: number): number =>
  Math.min(LONGEST_TIMER, timeout + Math.ceil((length / SLOWEST) * 1000));

/**
 * Called after a write to a response: resets the connection if the client does not read in time. Returns a function that
 * ends the wait. `least`: bytes that wait elsewhere, such as in middleware that compresses.
 */
export type AwaitReader = (request: IncomingMessage, response: ServerResponse, least?: number) => () => void;

export function createSlowReaders(timeout: number, budget: Budget): AwaitReader {
  return ({ socket }, response, least = 0) => {
    // The response itself holds what waits behind other responses of its connection.
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
    // The timeout of the socket, which the next request resets.
    response.setTimeout(timeout).once('timeout', giveUp).once('close', stop);
    return stop;
  };
}

/** A reset drops what the system has not sent yet. */
export function disconnect(socket: Socket): void {
  const isPlain = socket.remoteAddress !== undefined && !('encrypted' in socket);
  if (isPlain) socket.resetAndDestroy();
  else socket.destroy();
}
