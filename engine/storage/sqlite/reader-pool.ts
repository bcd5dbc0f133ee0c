/**
 * Reader processes that are lent to one search at a time, so that a search can be ended by killing its process. Those
 * who find none free wait in a queue that is bounded; clients take turns.
 */
import { availableParallelism } from 'node:os';
import { type Caller, CallerGone } from '../../caller.ts';
import { Problem } from '../../problem.ts';
import { type ReaderProcess, startReader } from './reader-process.ts';
import type { ReaderOptions } from './scan-protocol.ts';

export interface ReaderPool {
  /** `long`: for a list that its reader may take as slowly as it likes; one process at least is left for the others. */
  take(caller: Caller, long: boolean): Promise<ReaderProcess>;
  give(reader: ReaderProcess): void;
  close(): void;
}

export interface PoolOptions extends ReaderOptions {
  /** Milliseconds that a search may wait for a process, and then that each of its statements may take. */
  readonly patience: number;
}

interface Waiting {
  readonly caller: Caller;
  readonly long: boolean;
  readonly lend: (reader: ReaderProcess) => void;
  readonly refuse: (reason: Error) => void;
}

/** Two at least, so that one search does not stop all others; more only take memory. */
const MAX_READERS = Math.min(4, Math.max(2, availableParallelism()));
const MAX_WAITING = 100;
/** Milliseconds that a process is kept for the next search; the last one stays. */
const IDLE = 30_000;

export function createReaderPool({ patience, ...options }: PoolOptions): ReaderPool {
  const idle = new Map<ReaderProcess, NodeJS.Timeout>();
  /** Those that are lent, with the origin of the search. */
  const lent = new Map<ReaderProcess, { readonly origin: string; readonly long: boolean }>();
  const queue: Waiting[] = [];
  let closed = false;

  const longOnes = (): number => [...lent.values()].filter(({ long }) => long).length;
  const mayBegin = (long: boolean): boolean => lent.size < MAX_READERS && (!long || longOnes() < MAX_READERS - 1);

  function start(): ReaderProcess {
    const reader: ReaderProcess = startReader(options, patience, () => {
      clearTimeout(idle.get(reader));
      idle.delete(reader);
      if (lent.delete(reader)) lendNext();
    });
    return reader;
  }

  function lend({ origin }: Caller, long: boolean): ReaderProcess {
    const [free] = idle.keys();
    const reader = free ?? start();
    clearTimeout(idle.get(reader));
    idle.delete(reader);
    lent.set(reader, { origin, long });
    return reader;
  }

  function lendNext(): void {
    const next = chosen();
    if (next) next.lend(lend(next.caller, next.long));
  }

  /** The first one whose client has no process yet, or else the first one. */
  function chosen(): Waiting | undefined {
    const able = queue.filter(({ long }) => mayBegin(long));
    const served = new Set([...lent.values()].map(({ origin }) => origin));
    return able.find(({ caller }) => !served.has(caller.origin)) ?? able[0];
  }

  function wait(caller: Caller, long: boolean): Promise<ReaderProcess> {
    if (queue.length >= MAX_WAITING) makeRoom(caller);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        stop();
        queue.splice(queue.indexOf(waiting), 1);
      };
      const waiting: Waiting = {
        caller,
        long,
        lend: (reader) => (leave(), resolve(reader)),
        refuse: (reason) => (leave(), reject(reason)),
      };
      const timer = patience === Infinity ? undefined : setTimeout(() => waiting.refuse(crowded()), patience);
      const stop = caller.onGone(() => waiting.refuse(new CallerGone()));
      queue.push(waiting);
    });
  }

  /** The client that has most in the queue loses the last of it; throws if that is the one who asks. */
  function makeRoom({ origin }: Caller): void {
    const counts = new Map<string, number>([[origin, 1]]);
    for (const { caller } of queue) counts.set(caller.origin, (counts.get(caller.origin) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const last = queue.findLast(({ caller }) => counts.get(caller.origin) === most);
    if (counts.get(origin) === most || !last) throw crowded();
    last.refuse(crowded());
  }

  return {
    take: async (caller, long) => {
      if (caller.isGone) throw new CallerGone();
      if (closed) throw stopping();
      return queue.length === 0 && mayBegin(long) ? lend(caller, long) : wait(caller, long);
    },
    give: (reader) => {
      if (!lent.delete(reader)) return;
      const end = (): void => {
        if (idle.size > 1) reader.kill(new Error('idle'));
      };
      idle.set(reader, setTimeout(end, IDLE).unref());
      lendNext();
    },
    close: () => {
      closed = true;
      const reason = stopping();
      while (queue.length > 0) queue[0]?.refuse(reason);
      for (const reader of [...idle.keys(), ...lent.keys()]) reader.kill(reason);
    },
  };
}

const stopping = (): Problem => new Problem('storage-busy', 'The service stops');
const crowded = (): Problem =>
  new Problem('storage-busy', 'Too many searches wait for the database; try again, or ask for what an index answers');
