/**
 * What requests share: long work in turns, and the memory budget of bodies, pages, unsent responses and pipelined requests. If exhausted, it cuts off the responses
 * that wait longest for their readers, then refuses requests. The last eighth is for small requests.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Problem } from '../problem.ts';
import { type Caller, CallerGone } from './caller.ts';

/** Bytes of a small request. */
const SMALL = 64 * 1024;

export class Budget {
  used = 0;
  readonly work = new WorkQueue();
  readonly limit: number;
  /** Shares that can be cut off, the oldest first. */
  readonly kept = new Set<Share>();
  keptBytes = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Throws `overloaded` if too few bytes are free, `content-too-large` above the limit; `cutOff` frees bytes already in memory. */
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
      // Cut off no client if that frees too little.
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

  /** Releases all but this many bytes. */
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

/** Milliseconds of long work between turns of other clients. */
const SLICE = 5;

/** Queues long work: after each slice of time, the event loop serves waiting clients. */
class WorkQueue {
  #sliceEnd = 0;
  #before: Promise<void> = Promise.resolve();

  async turn(caller: Caller): Promise<void> {
    const before = this.#before;
    this.#before = before.then(() => this.#afterWork());
    await before;
    if (caller.signal.aborted) throw new CallerGone();
  }

  async #afterWork(): Promise<void> {
    // Resumes once the work that was just started awaits something.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    if (performance.now() < this.#sliceEnd) return;
    await nextTurn();
    await nextTurn();
    this.#sliceEnd = performance.now() + SLICE;
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

const tooMuchAtOnce = (bytes: number, most: number): Problem =>
  new Problem(
    'content-too-large',
    `This request needs ${megabytes(bytes)} of memory for its body, the records that it names and the response; one request may use ${megabytes(most)} (of MEMORY_LIMIT). ` +
      'Send fewer records at once; if the response is what is long, leave parts of it out with fields=, include= or Prefer: return=minimal',
  );

// Unsent responses: limited by time and budget.

/** Bytes a second that a client must read. */
const SLOWEST = 32 * 1024;

/** Resets the connection if the client does not read the response in time; `least`: bytes buffered elsewhere, as in middleware. Returns a function that cancels this. */
export type AwaitReader = (request: IncomingMessage, response: ServerResponse, least?: number) => () => void;

export function createSlowReaders(timeout: number, budget: Budget): AwaitReader {
  return ({ socket }, response, least = 0) => {
    // Behind other responses of the connection, a response buffers its own data.
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
    // The socket's timeout; the next request resets it.
    response.setTimeout(timeout).once('timeout', giveUp).once('close', stop);
    return stop;
  };
}

/** A reset discards the kernel's unsent data. */
export function disconnect(socket: Socket): void {
  const isPlain = socket.remoteAddress !== undefined && !('encrypted' in socket);
  if (isPlain) socket.resetAndDestroy();
  else socket.destroy();
}
