/** Slots for searches: few run at a time, the others wait in a bounded queue, and clients take turns. */
import { type Caller, CallerGone } from '../caller.ts';
import { unavailable } from './unavailable.ts';

export interface Places {
  /** Resolves with a function that frees the slot. `slow`: for work that may take long; one slot stays free for other work. */
  take(caller: Caller, slow?: boolean): Promise<() => void>;
  /** Rejects all that wait, and all that come later. */
  close(): void;
}

interface PlacesOptions {
  readonly places: number;
  /** Milliseconds that a search may wait for a slot. */
  readonly patience: number;
  /** Why one is refused that has waited too long, or finds the queue full. */
  readonly late?: WaitOptions<unknown>['late'];
}

interface Taken {
  readonly origin: string;
  readonly slow: boolean;
}

/** Work that waits in a queue; either call takes it out. */
export interface Waiting {
  readonly begin: () => void;
  readonly refuse: (reason: Error) => void;
}

type QueuedSearch = Waiting & { readonly taken: Taken };

interface WaitOptions<T> {
  readonly caller: Caller;
  /** Milliseconds after which it is refused with `late`. */
  readonly patience: number;
  readonly late: Parameters<typeof unavailable>[0];
  /** What the wait resolves with. */
  readonly enter: () => T;
}

/** Waits at the end of the queue until it is begun or refused, its time is up, or its caller has gone. */
export function waitIn<W extends object, T>(
  queue: (W & Waiting)[],
  work: W,
  { caller, patience, late, enter }: WaitOptions<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void): void => {
      clearTimeout(timer);
      stop();
      queue.splice(queue.indexOf(waiting), 1);
      outcome();
    };
    const waiting = {
      ...work,
      begin: () => settle(() => resolve(enter())),
      refuse: (reason: Error) => settle(() => reject(reason)),
    };
    const timer = patience === Infinity ? undefined : setTimeout(() => waiting.refuse(unavailable(late)), patience);
    const stop = caller.onGone(() => waiting.refuse(new CallerGone()));
    queue.push(waiting);
  });
}

const MAX_WAITING = 100;
/** The memory of a waiting request: its connection, its head, what it asks for. */
const WAITING_BYTES = 64 * 1024;

export function createPlaces({ places, patience, late = 'crowded' }: PlacesOptions): Places {
  const taken = new Set<Taken>();
  const queue: QueuedSearch[] = [];
  let closed = false;

  const slowOnes = (): number => [...taken].filter(({ slow }) => slow).length;
  const isFree = (slow: boolean): boolean => taken.size < places && (!slow || slowOnes() < Math.max(1, places - 1));

  function leaving(one: Taken): () => void {
    taken.add(one);
    return () => {
      if (taken.delete(one)) chosen()?.begin();
    };
  }

  /** The first one whose client has no slot yet, else the first one. */
  function chosen(): QueuedSearch | undefined {
    const able = queue.filter((waiting) => isFree(waiting.taken.slow));
    const served = new Set([...taken].map(({ origin }) => origin));
    return able.find((waiting) => !served.has(waiting.taken.origin)) ?? able[0];
  }

  function wait(caller: Caller, own: Taken): Promise<() => void> {
    if (queue.length >= MAX_WAITING) makeRoom(own.origin);
    caller.take(WAITING_BYTES);
    return waitIn(queue, { taken: own }, { caller, patience, late, enter: () => leaving(own) });
  }

  /** Rejects the last search of the client that has most in the queue; throws if that is the client of this search. */
  function makeRoom(origin: string): void {
    const counts = new Map<string, number>([[origin, 1]]);
    for (const waiting of queue) counts.set(waiting.taken.origin, (counts.get(waiting.taken.origin) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const last = queue.findLast((waiting) => counts.get(waiting.taken.origin) === most);
    if (counts.get(origin) === most || !last) throw unavailable(late);
    last.refuse(unavailable(late));
  }

  return {
    take: async (caller, slow = false) => {
      if (caller.isGone) throw new CallerGone();
      if (closed) throw unavailable('stopping');
      const own: Taken = { origin: caller.origin, slow };
      return chosen() === undefined && isFree(slow) ? leaving(own) : wait(caller, own);
    },
    close: () => {
      closed = true;
      while (queue.length > 0) queue[0]?.refuse(unavailable('stopping'));
    },
  };
}
