/** Limits each kind of work on a database; further work waits in a bounded queue, where clients take turns. */
import { type Caller, CallerGone, onGone } from '../edge/caller.ts';
import type { Kind, ServerUsage, Slots } from './driver.ts';
import { unavailable } from './unavailable.ts';

export type OnWait = (kind: Kind, milliseconds: number) => void;

const TIMED_OUT = { read: 'busy', scan: 'crowded', write: 'busy', stream: 'streaming', slowList: 'crowded' } as const;
/** Maximum waiting requests per client and kind in QUEUED_KINDS; memory limits their sum, connections limit other kinds. */
const MAX_QUEUED_PER_CLIENT = 100;
const QUEUED_KINDS: ReadonlySet<Kind> = new Set(['scan', 'slowList', 'stream']);
const QUEUED_REQUEST_BYTES = 64 * 1024;
/** Running writes per row: one holds the lock, one waits for it; more would only occupy connections. */
const MAX_WRITES_PER_ROW = 2;

interface Work {
  readonly kind: Kind;
  readonly origin: string;
  readonly row: string | undefined;
}

interface Waiting extends Work {
  readonly begin: () => void;
  readonly refuse: (reason: Error) => void;
}

export function createAdmission({ limits, shared, waitMs }: Slots, onWait?: OnWait) {
  const taken = new Set<Work>();
  const busy: Record<Kind, number> = { read: 0, scan: 0, write: 0, stream: 0, slowList: 0 };
  const queue: Waiting[] = [];
  let closed = false;

  function isFree({ kind, row }: Work): boolean {
    if (busy[kind] >= (limits[kind] ?? Infinity)) return false;
    for (const { kinds, limit } of shared)
      if (kinds.includes(kind) && kinds.reduce((sum, one) => sum + busy[one], 0) >= limit) return false;
    if (row === undefined || limits.write === undefined) return true;
    return [...taken].filter((work) => work.row === row).length < MAX_WRITES_PER_ROW;
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

  /** The first runnable work of a client that has none running, else the first runnable work. */
  function next(): Waiting | undefined {
    const served = new Set([...taken].map(({ origin }) => origin));
    const able = queue.filter(isFree);
    return able.find(({ origin }) => !served.has(origin)) ?? able[0];
  }

  function wait(work: Work, caller: Caller): Promise<() => void> {
    const { kind, origin } = work;
    if (QUEUED_KINDS.has(kind)) {
      const own = queue.filter((waiting) => waiting.kind === kind && waiting.origin === origin);
      if (own.length >= MAX_QUEUED_PER_CLIENT) throw unavailable(TIMED_OUT[kind]);
      caller.take(QUEUED_REQUEST_BYTES);
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
      const limit = waitMs(kind);
      const timer =
        limit === Infinity ? undefined : setTimeout(() => waiting.refuse(unavailable(TIMED_OUT[kind])), limit);
      queue.push(waiting);
      const stop = onGone(caller, () => waiting.refuse(new CallerGone()));
    });
  }

  const countOf = (kind: Kind): number => queue.filter((waiting) => waiting.kind === kind).length;
  return {
    take: async (kind: Kind, caller: Caller, row?: string): Promise<() => void> => {
      if (caller.signal.aborted) throw new CallerGone();
      if (closed) throw unavailable('stopping');
      const work: Work = { kind, origin: caller.origin, row };
      if (!isFree(work) || (queue.length > 0 && next() !== undefined)) return wait(work, caller);
      onWait?.(kind, 0);
      return enter(work);
    },
    waiting: (): ServerUsage['waiting'] => ({
      read: countOf('read'),
      scan: countOf('scan'),
      write: countOf('write'),
      stream: countOf('stream'),
    }),
    close: (): void => {
      closed = true;
      while (queue.length > 0) queue[0]?.refuse(unavailable('stopping'));
    },
  };
}
