/** The client that waits for a result: long work stops once it has disconnected. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Caller {
  readonly isGone: boolean;
  readonly origin: string;
  /** Bytes of the largest page. */
  readonly pageBytes: number;
  /** Reserves memory; throws like `Budget.take`. */
  take(bytes: number): void;
  /** Starts a savepoint; the returned function releases what was reserved since. */
  savepoint?(): () => void;
  /** The position in the database's log that the client has seen; its writes advance it. */
  readonly position?: string | undefined;
  advance?(position: string): void;
  /** Calls the listener when the client disconnects, at once if it has. Returns a function that stops listening. */
  onGone(listener: () => void): () => void;
}

/** The last write's position in the database's log: later reads, even from replicas, see it. */
export interface Position {
  last: string | undefined;
}

/** For commands and startup, which never stop early. */
export const NO_CLIENT: Caller = Object.freeze({
  isGone: false,
  origin: '',
  pageBytes: Infinity,
  take: () => undefined,
  onGone: () => () => undefined,
});

export const callerUntil = (signal: AbortSignal): Caller => ({
  ...NO_CLIENT,
  get isGone() {
    return signal.aborted;
  },
  onGone: (listener) => {
    if (signal.aborted) listener();
    signal.addEventListener('abort', listener);
    return () => signal.removeEventListener('abort', listener);
  },
});

export async function pauseFor(milliseconds: number, caller: Caller): Promise<void> {
  const gone = new AbortController();
  const stop = caller.onGone(() => gone.abort());
  await sleep(milliseconds, undefined, gone).catch(() => undefined);
  stop();
}

export class CallerGone extends Error {
  override readonly name = 'CallerGone';

  constructor() {
    super('the client has closed its connection');
  }
}
