/** Long lists that are under way at the same time: each holds a snapshot, and with it a connection. */
import { Problem } from '../problem.ts';
import type { Store, Stream } from './store.ts';

export function limitStreams(store: Store, most: number): Store {
  let open = 0;
  async function* untilTheirEnd(chunks: AsyncIterable<string>): AsyncGenerator<string> {
    try {
      yield* chunks;
    } finally {
      open -= 1;
    }
  }
  const stream: Store['stream'] = async (query, counted, caller): Promise<Stream> => {
    // Before it is opened: pieces that nobody begins to read do not end.
    if (open >= most)
      throw new Problem('storage-busy', `${most} whole lists are being read already; try again, or ask for pages`);
    open += 1;
    try {
      const { total, chunks } = await store.stream(query, counted, caller);
      return { total, chunks: untilTheirEnd(chunks) };
    } catch (error) {
      open -= 1;
      throw error;
    }
  };
  return { ...store, stream };
}
