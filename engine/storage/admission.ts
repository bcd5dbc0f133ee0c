/** One admission for all work: each kind has its share of the database, the rest waits in a bounded queue, and clients take turns. */
import { type Caller, CallerGone } from '../edge/caller.ts';
import { unavailable } from './unavailable.ts';

/** `slowList`: a whole list that needs a slot of the searches as well, where its driver says so. */
export type Kind = 'read' | 'scan' | 'write' | 'stream' | 'slowList';

/** How much of each kind a driver does at a time. */
export interface Slots {
  /** Missing: as many as there are. */
  readonly most: { readonly [kind in Kind]?: number };
  /** Kinds that share slots. */
  readonly shared: readonly { readonly kinds: readonly Kind[]; readonly most: number }[];
  /** Milliseconds that each may wait. */
  readonly patience: Readonly<Record<Kind, number>>;
}

export type WaitingWork = Readonly<Record<Exclude<Kind, 'slowList'>, number>>;

export type OnWait = (kind: Kind, milliseconds: number) => void;

/** Why one is refused that has waited too long, or finds the queue full. */
const LATE = { read: 'busy', scan: 'crowded', write: 'busy', stream: 'streaming', slowList: 'crowded' } as const;
/** Searches and lists of one client that wait; the memory bounds those of all. Other work is bounded by connections. */
const MOST_WAITING = 100;
const QUEUED: ReadonlySet<Kind> = new Set(['scan', 'slowList', 'stream']);
/** The memory of a waiting search: its connection, its head, what it asks for. */
const WAITING_BYTES = 64 * 1024;
/** One that writes, and one that is ready when the row comes free. */
const WRITES_OF_ROW = 2;

interface Work {
  readonly kind: Kind;
  readonly origin: string;
  readonly row: string | undefined;
}

interface Waiting extends Work {
  readonly begin: () => void;
  readonly refuse: (reason: Error) => void;
}

export function createAdmission({ most, shared, patience }: Slots, onWait?: OnWait) {
  const taken = new Set<Work>();
  const busy: Record<Kind, number> = { read: 0, scan: 0, write: 0, stream: 0, slowList: 0 };
  const queue: Waiting[] = [];
  let closed = false;

  function isFree({ kind, row }: Work): boolean {
    if (busy[kind] >= (most[kind] ?? Infinity)) return false;
    for (const { kinds, most: all } of shared)
      if (kinds.includes(kind) && kinds.reduce((sum, one) => sum + busy[one], 0) >= all) return false;
    if (row === undefined || most.write === undefined) return true;
    return [...taken].filter((work) => work.row === row).length < WRITES_OF_ROW;
  }

  function enter(work: Work): () => void {
    taken.add(work);
    busy[work.kind] += 1;
    return () => {
      if (!taken.delete(work)) return;
      busy[work.kind] -= 1;
      if (queue.length > 0) next()?.begin();
    };
  }

  /** The first one whose client has no slot yet, else the first one. */
  function next(): Waiting | undefined {
    const served = new Set([...taken].map(({ origin }) => origin));
    const able = queue.filter(isFree);
    return able.find(({ origin }) => !served.has(origin)) ?? able[0];
  }

  function wait(work: Work, caller: Caller): Promise<() => void> {
    const { kind, origin } = work;
    if (QUEUED.has(kind)) {
      const own = queue.filter((waiting) => waiting.kind === kind && waiting.origin === origin);
      if (own.length >= MOST_WAITING) throw unavailable(LATE[kind]);
      caller.take(WAITING_BYTES);
    }
    return new Promise((resolve, reject) => {
      const began = performance.now();
      const settle = (outcome: () => void): void => {
        clearTimeout(timer);
        stop();
        queue.splice(queue.indexOf(waiting), 1);
        onWait?.(kind, performance.now() - began);
        outcome();
      };
      const waiting: Waiting = {
        ...work,
        begin: () => settle(() => resolve(enter(work))),
        refuse: (reason) => settle(() => reject(reason)),
      };
      const limit = patience[kind];
      const timer = limit === Infinity ? undefined : setTimeout(() => waiting.refuse(unavailable(LATE[kind])), limit);
      queue.push(waiting);
      const stop = caller.onGone(() => waiting.refuse(new CallerGone()));
    });
  }

  const countOf = (kind: Kind): number => queue.filter((waiting) => waiting.kind === kind).length;
  return {
    /** Resolves with a function that frees the slot. `row`: what a write will wait for, if that is known. */
    take: async (kind: Kind, caller: Caller, row?: string): Promise<() => void> => {
      if (caller.isGone) throw new CallerGone();
      if (closed) throw unavailable('stopping');
      const work: Work = { kind, origin: caller.origin, row };
      if (!isFree(work) || (queue.length > 0 && next() !== undefined)) return wait(work, caller);
      onWait?.(kind, 0);
      return enter(work);
    },
    waiting: (): WaitingWork => ({
      read: countOf('read'),
      scan: countOf('scan'),
      write: countOf('write'),
      stream: countOf('stream'),
    }),
    /** Rejects all that wait, and all that come later. */
    close: (): void => {
      closed = true;
      while (queue.length > 0) queue[0]?.refuse(unavailable('stopping'));
    },
  };
}
