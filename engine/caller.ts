/** Who waits for the result of some work. Work that may take long ends when nobody waits for it any more. */
export interface Caller {
  readonly isGone: boolean;
  /** Where the request comes from: callers with the same origin take turns with those of another one. */
  readonly origin: string;
  /** Bytes that a page may have, its longest record aside. */
  readonly most: number;
  /** Draws the memory for what is held for the caller from the budget; throws `overloaded` if there is not enough. */
  take(bytes: number): void;
  /** The listener runs when the caller leaves, at once if it has left. Returns how to stop listening. */
  onGone(listener: () => void): () => void;
}

/** For work that is always done to its end: commands, the start of the service. */
export const PATIENT: Caller = Object.freeze({
  isGone: false,
  origin: '',
  most: Infinity,
  take: () => undefined,
  onGone: () => () => undefined,
});

/** The caller has left: there is nobody to answer. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone';

  constructor() {
    super('the client has closed its connection');
  }
}
