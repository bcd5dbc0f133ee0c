/** The client that waits for a result: long work stops once it has disconnected. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

export interface Caller {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  readonly origin: string;
  /** The identifier that the response has. */
  readonly request?: string | undefined;
  /** Bytes of the largest page. */
  readonly pageBytes: number;
  /** Reserves memory; throws like `Budget.take`. */
  take(bytes: number): void;
  /** Waits for a turn of long work. */
  turn(): Promise<void>;
  /** Starts a savepoint; the returned function releases what was reserved since. */
  savepoint?(): () => void;
  /** The position in the database's log that the client has seen; its writes advance it. */
  readonly position?: string | undefined;
  advance?(position: string): void;
}

/** The last write's position in the database's log: later reads, even from replicas, see it. */
export interface Position {
  last: string | undefined;
}

/** For commands and startup, which never stop early. */
export const NO_CLIENT: Caller = Object.freeze({
  signal: new AbortController().signal,
  origin: '',
  pageBytes: Infinity,
  take: () => undefined,
  turn: nextTurn,
});

/** Calls the listener when the client disconnects, or has. Returns a function that stops listening. */
export function onGone({ signal }: Caller, listener: () => void): () => void {
  if (signal.aborted) listener();
  signal.addEventListener('abort', listener);
  return () => signal.removeEventListener('abort', listener);
}

export const pauseFor = (milliseconds: number, { signal }: Caller): Promise<void> =>
  sleep(milliseconds, undefined, { signal }).catch(() => Promise.reject(new CallerGone()));

export class CallerGone extends Error {
  override readonly name = 'CallerGone';

  constructor() {
    super('the client has closed its connection');
  }
}
