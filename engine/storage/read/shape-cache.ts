/** What is compiled once for each shape. Clients choose the shapes, so the oldest give way. */
const MAX_SHAPES = 1000;

export function createShapeCache<Q, C>(compile: (query: Q) => C): (shape: string, query: Q) => C {
  const known = new Map<string, C>();
  return (shape, query) => {
    const found = known.get(shape);
    if (found !== undefined) return found;
    const fresh = compile(query);
    known.set(shape, fresh);
    for (const oldest of known.keys()) {
      if (known.size <= MAX_SHAPES) break;
      known.delete(oldest);
    }
    return fresh;
  };
}
