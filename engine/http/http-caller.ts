/**
 * The client of a request as a caller. It has gone when its connection is closed. One that only ends its side may still
 * wait for the answer (RFC 9112, 9.6), or may have gone without a reset: interim responses find out, since a peer that
 * has closed the connection answers them with a reset.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Budget, Share } from '../budget.ts';
import type { Caller } from '../caller.ts';

/** Milliseconds until the first interim response; each further one takes twice as long. */
const FIRST_PROBE = 50;

/** Bytes: a page is read at once, and nobody else is served meanwhile. */
const MAX_PAGE = 16 * 1024 ** 2;

interface Waiter {
  readonly onEnd: () => void;
  readonly onClose: () => void;
}

const waitersOf = new WeakMap<Socket, Set<Waiter>>();

/** Two listeners for each connection, however many of its requests wait. */
function waitersAt(socket: Socket): Set<Waiter> {
  const known = waitersOf.get(socket);
  if (known) return known;
  const fresh = new Set<Waiter>();
  waitersOf.set(socket, fresh);
  socket.once('end', () => {
    for (const { onEnd } of fresh) onEnd();
  });
  socket.once('close', () => {
    for (const { onClose } of fresh) onClose();
    fresh.clear();
  });
  return fresh;
}

export class HttpCaller implements Caller {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #budget: Budget;
  #share: Share | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, budget: Budget) {
    this.#request = request;
    this.#response = response;
    this.#budget = budget;
  }

  get most(): number {
    return Math.min(MAX_PAGE, this.#budget.limit / 8);
  }

  take(bytes: number): void {
    this.#share ??= this.#budget.take(0);
    this.#share.grow(bytes);
  }

  /** The request is answered: from now on the connection counts what its client has not read. */
  release(): void {
    this.#share?.release();
  }

  get isGone(): boolean {
    return this.#request.socket.destroyed;
  }

  get origin(): string {
    return this.#request.socket.remoteAddress ?? '';
  }

  onGone(listener: () => void): () => void {
    const { socket, httpVersionMinor } = this.#request;
    const waiters = waitersAt(socket);
    let timer: NodeJS.Timeout | undefined;
    const probe = (pause: number): void => {
      // Of pipelined requests, the first one that is not answered has the connection.
      if (this.#response.socket !== null && !this.#response.headersSent) this.#response.writeProcessing();
      timer = setTimeout(probe, pause, 2 * pause).unref();
    };
    const onEnd = (): void => {
      // HTTP/1.0 has no interim responses.
      if (httpVersionMinor > 0) timer = setTimeout(probe, FIRST_PROBE, FIRST_PROBE).unref();
    };
    const waiter: Waiter = { onEnd, onClose: listener };
    waiters.add(waiter);
    if (socket.destroyed) listener();
    else if (socket.readableEnded) onEnd();
    return () => {
      waiters.delete(waiter);
      clearTimeout(timer);
    };
  }
}
