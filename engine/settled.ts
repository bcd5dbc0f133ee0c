/**
 * Looks at something again and again, and tells of what has changed once it has come to rest. Nothing here depends on
 * events of the file system: those of a file end when another one is moved into its place, and over networks, in
 * containers and above the system's limit of watches there are none.
 */

export interface Looking<T> {
  /** Resolves with what is there; two looks that find the same answer equal texts. */
  readonly look: () => Promise<T>;
  readonly textOf: (found: T) => string;
  /** Milliseconds between two looks. */
  readonly every: number;
  /** Told of a change that two looks in a row have found. The next look waits for it. */
  readonly changed: (found: T) => unknown;
}

/** A change that never comes to rest is told of after this many looks. */
const MAX_LOOKS = 3;

/** `first` is what is known at the start. Answers how to stop. */
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
    timer = setTimeout(() => (running = lookOnce().finally(next)), every).unref();
  };
  next();
  return async () => {
    closed = true;
    clearTimeout(timer);
    await running;
  };
}
