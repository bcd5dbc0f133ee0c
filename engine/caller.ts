import { setImmediate as turn } from 'node:timers/promises';

/** The client that waits for the result of some work. Long work stops when its client has gone. */
export interface Caller {
  readonly isGone: boolean;
  /** It has ended its side of the connection. Most clients that do so have left, but a few wait for the response. */
  readonly mayHaveLeft?: boolean;
  /** Where the request comes from: origins take turns. */
  readonly origin: string;
  /** Maximum bytes of a page, not counting its longest record. */
  readonly most: number;
  /** Reserves memory from the budget for the caller; throws `overloaded` if not enough is left, `content-too-large` if it never fits. */
  take(bytes: number): void;
  /** Returns a function that gives back what is taken from now on: for work that is begun again. */
  drawing?(): () => void;
  /** The position in the log of the database that the client has seen; undefined asks for nothing. */
  readonly position?: string | undefined;
  /** Told the position of what was written for the client. */
  wrote?(position: string): void;
  /** Calls the listener when the client disconnects, at once if it already has. Returns a function to stop listening. */
  onGone(listener: () => void): () => void;
}

/** For work that always runs to its end: commands, and the start of the service. */
export const PATIENT: Caller = Object.freeze({
  isGone: false,
  origin: '',
  most: Infinity,
  take: () => undefined,
  onGone: () => () => undefined,
});

/** A caller that leaves when the signal is raised. */
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

/** Resolves after so many milliseconds, or as soon as the caller has left. */
export const pauseFor = (milliseconds: number, caller: Caller): Promise<void> => pauses(1, milliseconds, caller);

/** Several pauses, each begun after the one before: a long turn of the event loop ends no more than one of them. */
function pauses(count: number, milliseconds: number, caller: Caller): Promise<void> {
  if (caller.isGone) return Promise.resolve();
  return new Promise((resolve) => {
    let left = count;
    const next = (): void => {
      left -= 1;
      if (left > 0) timer = setTimeout(next, milliseconds);
      else end();
    };
    const end = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    let timer = setTimeout(next, milliseconds);
    const stop = caller.onGone(end);
  });
}

/** Pauses until it is known whether a client that may have left is there: its second interim response tells. */
const DOUBTS = 5;
const DOUBT_MS = 25;

/** What has arrived by now is read in two turns of the event loop. */
export async function whatHasArrived(): Promise<void> {
  await turn();
  await turn();
}

/** Throws CallerGone if the caller has left. One that may have left is given the time to show it. */
export async function stillThere(caller: Caller): Promise<void> {
  if (caller.mayHaveLeft === true) await pauses(DOUBTS, DOUBT_MS, caller);
  if (caller.isGone) throw new CallerGone();
}

/** While somebody listens, a client that may have left is asked. */
export function asking<T>(caller: Caller, work: Promise<T>): Promise<T> {
  const stop = caller.onGone(() => undefined);
  return work.finally(stop);
}

/** The client has disconnected. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone';

  constructor() {
    super('the client has closed its connection');
  }
}
