/** A frozen graph with cycles cannot be made at one stroke: parts are drafts until it is closed. */

/** The same object while it is being put together. */
export type Draft<T> = { -readonly [K in keyof T]: DraftPart<T[K]> };
type DraftPart<T> = T extends ReadonlyMap<infer K, infer V> ? Map<K, V> : T extends readonly (infer I)[] ? I[] : T;

/** Freezes everything that can be reached, maps' values included. */
export function freezeGraph<T>(root: T): T {
  const seen = new Set<unknown>();
  const queue: unknown[] = [root];
  for (const part of queue) {
    if (typeof part !== 'object' || part === null || seen.has(part)) continue;
    seen.add(part);
    Object.freeze(part);
    queue.push(...(part instanceof Map ? part.values() : Object.values(part)));
  }
  return root;
}
