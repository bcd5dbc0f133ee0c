/** Memoizes `work` by its first argument, an object, for as long as that object is referenced. */
export function memoized<K extends object, A extends readonly unknown[], T>(
  /** `always`: must be the same each time for the same key. */
  work: (key: K, ...always: A) => T,
): (key: K, ...always: A) => T {
  const known = new WeakMap<K, { readonly made: T }>();
  return (key, ...always) => {
    const found = known.get(key);
    if (found !== undefined) return found.made;
    const made = work(key, ...always);
    known.set(key, { made });
    return made;
  };
}

/** A least-recently-used cache. */
export interface BoundedCache<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
}

export function createBoundedCache<T>(maxEntries: number, maxKeyLength = Infinity): BoundedCache<T> {
  // A Map keeps insertion order, so its first key is the least recently used.
  const entries = new Map<string, T>();
  return {
    get: (key) => {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set: (key, value) => {
      if (key.length > maxKeyLength) return;
      entries.set(key, value);
      const [oldest] = entries.keys();
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
    },
  };
}

const MAX_SHAPES = 1000;

/** Compiles each shape of query once. */
export function createShapeCache<Q, C>(compile: (query: Q) => C): (shape: string, query: Q) => C {
  const known = createBoundedCache<C>(MAX_SHAPES);
  return (shape, query) => {
    const found = known.get(shape);
    if (found !== undefined) return found;
    const fresh = compile(query);
    known.set(shape, fresh);
    return fresh;
  };
}

/** Loads at the first call, once for all that call meanwhile; the next call after a failure tries again. */
export function lazy<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
}
