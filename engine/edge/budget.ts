/**
 * The memory budget of bodies, pages, unsent responses and pipelined requests. When it is used up, it cuts off the responses
 * that wait longest for their readers, then refuses requests. Only small requests get the last eighth.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../problem.ts';

/** Bytes of a small request. */
const SMALL = 64 * 1024;

export class Budget {
  used = 0;
  readonly limit: number;
  /** Shares that can be cut off, the oldest first. */
  readonly kept = new Set<Share>();
  keptBytes = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Throws `overloaded` if not enough bytes are left, `content-too-large` if there never are; `cutOff` frees bytes that are in memory already. */
  take(bytes: number, cutOff?: () => void): Share {
    return new Share(this, bytes, cutOff);
  }
}

export class Share {
  bytes = 0;
  #isReleased = false;
  readonly #budget: Budget;
  readonly #cutOff: (() => void) | undefined;

  constructor(budget: Budget, bytes: number, cutOff?: () => void) {
    this.#budget = budget;
    this.#cutOff = cutOff;
    if (cutOff) budget.kept.add(this);
    this.grow(bytes);
  }

  grow(more: number): void {
    if (this.#isReleased) return;
    const { limit, used, keptBytes, kept } = this.#budget;
    const isLarge = !this.#cutOff && this.bytes + more > SMALL;
    const most = isLarge ? limit - limit / 8 : limit;
    if (!this.#cutOff) {
      if (this.bytes + more > most) throw tooMuchAtOnce(this.bytes + more, most);
      // Cut nobody off if it would not fit anyway.
      if (used - keptBytes + more > most)
        throw new Problem('overloaded', 'There is not enough memory for this request right now; try again in a second');
    }
    this.#count(more);
    if (this.#budget.used <= most) return;
    for (const share of kept) {
      share.release();
      share.#cutOff?.();
      if (this.#budget.used <= most) return;
    }
  }

  /** Gives back all but this many bytes. */
  shrink(most: number): void {
    this.#count(Math.min(most - this.bytes, 0));
  }

  /** A second call does nothing. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#count(-this.bytes);
    this.#budget.kept.delete(this);
  }

  #count(more: number): void {
    this.bytes += more;
    this.#budget.used += more;
    if (this.#cutOff) this.#budget.keptBytes += more;
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

const tooMuchAtOnce = (bytes: number, most: number): Problem =>
  new Problem(
    'content-too-large',
    `This request needs ${megabytes(bytes)} of memory for its body, the records that it names and the response; one request may use ${megabytes(most)} (of MEMORY_LIMIT). ` +
      'Send fewer records at once; if the response is what is long, leave parts of it out with fields=, include= or Prefer: return=minimal',
  );

// Unsent responses stay in memory for a limited time, and within the budget.

/** Bytes a second that a client must read. */
const SLOWEST = 32 * 1024;

/** Resets the connection if the client does not read what was written in time; `least` bytes wait elsewhere, such as in middleware. Returns a function that ends the wait. */
export type AwaitReader = (request: IncomingMessage, response: ServerResponse, least?: number) => () => void;

export function createSlowReaders(timeout: number, budget: Budget): AwaitReader {
  return ({ socket }, response, least = 0) => {
    // The response itself holds what waits behind other responses of its connection.
    const length = Math.max(least, response.writableLength);
    if (length === 0 || socket.destroyed) return () => undefined;
    const giveUp = (): void => disconnect(socket);
    const timer = setTimeout(giveUp, timeout + (length / SLOWEST) * 1000).unref();
    const share = budget.take(length, giveUp);
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
