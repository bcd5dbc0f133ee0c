/** Memoization by object or string, lazy loading, and long work in turns. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Calls `work` once for each first argument, and keeps the result while that object is referenced. */
export function memoized<K extends object, A extends readonly unknown[], T>(
  /** `always`: depends only on the key, as only the first call uses it. */
  work: (key: K, ...always: A) => T,
): (key: K, ...always: A) => T {
  const known = new WeakMap<K, { readonly made: T }>();
  return (key, ...always) => {
    const entry = known.get(key);
    if (entry !== undefined) return entry.made;
    const made = work(key, ...always);
    known.set(key, { made });
    return made;
  };
}

/** Calls `make` once for each key, of which there are few. */
export function perKey<K, V>(make: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    const made = known.get(key) ?? make(key);
    known.set(key, made);
    return made;
  };
}

/** A least-recently-used cache. */
export function createCache<T>(most: number): (key: string, make: () => T) => T {
  // A Map keeps insertion order, so its first key is the least recently used.
  const known = new Map<string, T>();
  return (key, make) => {
    const value = known.get(key) ?? make();
    known.delete(key);
    known.set(key, value);
    const [oldest] = known.keys();
    if (known.size > most && oldest !== undefined) known.delete(oldest);
    return value;
  };
}

const MAX_SHAPES = 1000;

export function createShapeCache<Q, C>(compile: (query: Q) => C): (shape: string, query: Q) => C {
  const known = createCache<C>(MAX_SHAPES);
  return (shape, query) => known(shape, () => compile(query));
}

/** Long work that yields where others may be served; the value that it returns is the result. */
export type Turns<T> = Generator<undefined, T>;

/** Milliseconds of work between turns of others. */
const TURN = 5;

export async function inTurns<T>(work: Turns<T>): Promise<T> {
  let end = performance.now() + TURN;
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value;
    if (performance.now() < end) continue;
    await nextTurn();
    end = performance.now() + TURN;
  }
}

/** Loads at the first call; after a failure, the next call tries again. */
export function lazy<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
}
