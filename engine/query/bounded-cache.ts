/** Keeps what was made for the keys used last; what clients ask for is not bounded, memory is. */
export interface BoundedCache<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
}

export function createBoundedCache<T>(maxEntries: number, maxKeyLength = Infinity): BoundedCache<T> {
  // A Map keeps its keys in the order in which they were set: the first is the one unused for longest.
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
