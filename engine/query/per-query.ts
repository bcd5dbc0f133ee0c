/** What depends on a query alone is worked out once, for as long as somebody keeps the query: clients repeat themselves. */
export function perQuery<Q extends object, A extends readonly unknown[], T>(
  /** `always`: what is the same each time for the same query. */
  work: (query: Q, ...always: A) => T,
): (query: Q, ...always: A) => T {
  const known = new WeakMap<Q, { readonly made: T }>();
  return (query, ...always) => {
    const found = known.get(query);
    if (found !== undefined) return found.made;
    const made = work(query, ...always);
    known.set(query, { made });
    return made;
  };
}
