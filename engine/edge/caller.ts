/** The client that waits for the result of some work. Long work stops when its client has gone. */
export interface Caller {
  readonly isGone: boolean;
  readonly origin: string;
  readonly most: number;
  /** Reserves memory from the budget; throws `overloaded` if not enough is left, `content-too-large` if it never fits. */
  take(bytes: number): void;
  /** Returns a function that gives back what is taken from now on: for work that is begun again. */
  drawing?(): () => void;
  /** The position in the log of the database that the client has seen; undefined asks for nothing. */
  readonly position?: string | undefined;
  wrote?(position: string): void;
  /** Calls the listener when the client disconnects, at once if it already has. Returns a function to stop listening. */
  onGone(listener: () => void): () => void;
}

/** The position of the last write in the log of the database: later reads, of replicas too, see the write. */
export interface Position {
  last: string | undefined;
}

/** For work that always runs to its end: commands, and the start of the service. */
export const PATIENT: Caller = Object.freeze({
  isGone: false,
  origin: '',
  most: Infinity,
  take: () => undefined,
  onGone: () => () => undefined,
});

export const callerUntil = (signal: AbortSignal): Caller => ({
  ...PATIENT,
  get isGone() {
    return signal.aborted;
  },
  onGone: (listener) => {
    if (signal.aborted) listener();
    signal.addEventListener('abort', listener);
    return () => signal.removeEventListener('abort', listener);
  },
});

export function pauseFor(milliseconds: number, caller: Caller): Promise<void> {
  if (caller.isGone) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    const stop = caller.onGone(end);
  });
}

export class CallerGone extends Error {
  override readonly name = 'CallerGone';

  constructor() {
    super('the client has closed its connection');
  }
}
