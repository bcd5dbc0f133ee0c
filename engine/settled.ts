/**
 * Polls something and reports a change once it has settled. File system events are not reliable enough: they stop when
 * another file is moved into place, and do not exist on network file systems, in some containers, or above the limit of
 * watches.
 */

export interface Looking<T> {
  /** Reads the current state. */
  readonly look: () => Promise<T>;
  readonly textOf: (found: T) => string;
  /** Milliseconds between polls. */
  readonly every: number;
  /** Called when two polls in a row have found the same change. The next poll waits for its result. */
  readonly changed: (found: T) => unknown;
}

/** A change that does not settle is reported after this many polls. */
const MAX_LOOKS = 3;

/** `first`: the text of the known state. Returns a function that stops polling. */
export function followSettled<T>(first: string, { look, textOf, every, changed }: Looking<T>): () => Promise<void> {
  let known = first;
  let last = first;
  let looks = 0;
  let running = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const lookOnce = async (): Promise<void> => {
    const found = await look();
    const text = textOf(found);
    const isSettled = text === last;
    last = text;
    looks = text === known ? 0 : looks + 1;
    if (closed || looks === 0 || (!isSettled && looks < MAX_LOOKS)) return;
    known = text;
    looks = 0;
    await changed(found);
  };
  const next = (): void => {
    if (closed) return;
    timer = setTimeout(
      () =>
        (running = lookOnce()
          .catch(() => undefined)
          .finally(next)),
      every,
    ).unref();
  };
  next();
  return async () => {
    closed = true;
    clearTimeout(timer);
    await running;
  };
}
