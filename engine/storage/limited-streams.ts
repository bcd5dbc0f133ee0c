/** Long lists that are under way at the same time: each holds a snapshot, and with it a connection. */
import { andThen } from '../awaitable.ts';
import { Problem } from '../problem.ts';
import type { Store, Stream } from './store.ts';

export function limitStreams(store: Store, most: number): Store {
  let open = 0;
  const counted = ({ total, chunks }: Stream): Stream => ({ total, chunks: untilTheirEnd(chunks) });
  async function* untilTheirEnd(chunks: AsyncIterable<string>): AsyncGenerator<string> {
    if (open >= most) {
      await chunks[Symbol.asyncIterator]().return?.();
      throw new Problem('storage-busy', `${most} whole lists are being read already; try again, or ask for pages`);
    }
    open += 1;
    try {
      yield* chunks;
    } finally {
      open -= 1;
    }
  }
  return { ...store, stream: (query, wanted) => andThen(store.stream(query, wanted), counted) };
}
