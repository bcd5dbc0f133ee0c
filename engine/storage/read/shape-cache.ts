/** What is compiled once for each shape of a query. */
import { createBoundedCache } from '../../query/bounded-cache.ts';

const MAX_SHAPES = 1000;

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
