/** Reader processes that are lent to one search at a time, so that a search can be ended by killing its process. */
import { availableParallelism } from 'node:os';
import { type Caller, CallerGone } from '../../caller.ts';
import { createPlaces } from '../places.ts';
import { type ReaderProcess, startReader } from './reader-process.ts';
import type { ReaderOptions } from './scan-protocol.ts';

export interface Lent {
  readonly reader: ReaderProcess;
  giveBack(): void;
}

export interface ReaderPool {
  /** `slow`: for a list whose client may read it as slowly as it likes. */
  take(caller: Caller, slow: boolean): Promise<Lent>;
  close(): void;
}

export interface PoolOptions extends ReaderOptions {
  /** Milliseconds that a search may wait for a process, and then that each of its statements may take. */
  readonly patience: number;
}

/** Two at least, so that one search does not stop all others; more only take memory. */
const MAX_READERS = Math.min(4, Math.max(2, availableParallelism()));
/** Milliseconds that a process is kept for the next search; the last one stays. */
const IDLE = 30_000;

export function createReaderPool({ patience, ...options }: PoolOptions): ReaderPool {
  const places = createPlaces({ places: MAX_READERS, patience });
  const idle = new Map<ReaderProcess, NodeJS.Timeout>();
  const all = new Set<ReaderProcess>();

  function start(): ReaderProcess {
    const reader: ReaderProcess = startReader(options, patience, () => {
      all.delete(reader);
      wake(reader);
    });
    all.add(reader);
    return reader;
  }

  function wake(reader: ReaderProcess): ReaderProcess {
    clearTimeout(idle.get(reader));
    idle.delete(reader);
    return reader;
  }

  function rest(reader: ReaderProcess): void {
    const end = (): void => {
      if (idle.size > 1) reader.kill();
    };
    if (!reader.isGone) idle.set(reader, setTimeout(end, IDLE).unref());
  }

  return {
    take: async (caller, slow) => {
      const leave = await places.take(caller, slow);
      if (caller.isGone) {
        leave();
        throw new CallerGone();
      }
      const [free] = idle.keys();
      const reader = free ? wake(free) : start();
      return {
        reader,
        giveBack: () => {
          rest(reader);
          leave();
        },
      };
    },
    close: () => {
      places.close();
      for (const reader of all) reader.kill();
    },
  };
}
