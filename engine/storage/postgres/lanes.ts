/**
 * Which work may have a connection. Writes wait for rows, and searches take long: together they leave some connections to
 * single reads, writes leave one to searches, and writes of one record leave some to writes of others. How many searches
 * there may be is decided before they come here.
 */
import { type Caller, CallerGone, PATIENT } from '../../caller.ts';
import type { DatabaseUsage, OnWait, Purpose } from '../usage.ts';
import { type Waiting, waitIn } from '../places.ts';
import { unavailable } from '../unavailable.ts';
import type { PostgresConnection } from './connection.ts';
import type { Connections } from './pool.ts';

/** The connections, as each kind of work has them. */
export interface Shares {
  readonly read: Connections;
  readonly scan: Connections;
  readonly stream: Connections;
  /** `row`: what the write will wait for, if that is known. */
  write(row?: string): Connections;
  usage(): DatabaseUsage;
  close(): void;
}

interface ShareOptions {
  readonly requests: Connections;
  readonly streams: Connections;
  /** Milliseconds that work may wait for a place. */
  readonly patience: Readonly<Record<LongWork, number>>;
  readonly onWait: OnWait | undefined;
}

export function createShares({ requests, streams, patience, onWait }: ShareOptions): Shares {
  const lanes = createLanes(requests.usage().most, patience);
  const waiting = { read: 0, scan: 0, write: 0, stream: 0 };

  async function waited<T>(purpose: Purpose, take: () => Promise<T>): Promise<T> {
    const began = performance.now();
    waiting[purpose] += 1;
    try {
      return await take();
    } finally {
      waiting[purpose] -= 1;
      onWait?.(purpose, performance.now() - began);
    }
  }

  async function placed(kind: LongWork, caller: Caller, row?: string): Promise<PostgresConnection> {
    const leave = await lanes.take(kind, caller, row);
    try {
      const connection = await requests.take(caller);
      const release = (): void => {
        connection.release();
        leave();
      };
      return { ...connection, release };
    } catch (error) {
      leave();
      throw error;
    }
  }

  const share = (
    purpose: Purpose,
    connections: Connections,
    take: (caller: Caller) => Promise<PostgresConnection>,
  ): Connections => ({ ...connections, take: (caller = PATIENT) => waited(purpose, () => take(caller)) });

  return {
    read: share('read', requests, requests.take),
    scan: share('scan', requests, (caller) => placed('scan', caller)),
    stream: share('stream', streams, streams.take),
    write: (row) => share('write', requests, (caller) => placed('write', caller, row)),
    usage: () => ({ pools: { requests: requests.usage(), streams: streams.usage() }, waiting }),
    close: () => lanes.close(),
  };
}

type LongWork = 'write' | 'scan';

interface Lanes {
  /** Resolves with a function that frees the place. `row`: what the work will wait for, if that is known. */
  take(kind: LongWork, caller: Caller, row?: string): Promise<() => void>;
  /** Rejects all work that waits. */
  close(): void;
}

interface QueuedWork extends Waiting {
  readonly kind: LongWork;
  readonly row: string | undefined;
}

/** One that writes, and one that is ready when the row comes free. */
const WRITES_OF_ROW = 2;

/** `connections`: all that there are. */
function createLanes(connections: number, patience: ShareOptions['patience']): Lanes {
  const places = Math.max(1, connections - Math.max(1, Math.floor(connections / 5)));
  const mostWrites = Math.max(1, places - 1);
  const busy = { write: 0, scan: 0 };
  const rows = new Map<string, number>();
  const queue: QueuedWork[] = [];

  const isFree = (kind: LongWork, row: string | undefined): boolean =>
    busy.write + busy.scan < places &&
    (kind === 'scan' || busy.write < mostWrites) &&
    (row === undefined || (rows.get(row) ?? 0) < WRITES_OF_ROW);

  function entered(kind: LongWork, row: string | undefined): () => void {
    busy[kind] += 1;
    if (row !== undefined) rows.set(row, (rows.get(row) ?? 0) + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      busy[kind] -= 1;
      if (row !== undefined) leaveRow(row);
      queue.find((waiting) => isFree(waiting.kind, waiting.row))?.begin();
    };
  }

  function leaveRow(row: string): void {
    const others = (rows.get(row) ?? 1) - 1;
    if (others === 0) rows.delete(row);
    else rows.set(row, others);
  }

  function wait(kind: LongWork, caller: Caller, row: string | undefined): Promise<() => void> {
    const enter = (): (() => void) => entered(kind, row);
    return waitIn(queue, { kind, row }, { caller, patience: patience[kind], late: 'busy', enter });
  }

  return {
    take: async (kind, caller, row) => {
      if (caller.isGone) throw new CallerGone();
      return isFree(kind, row) ? entered(kind, row) : wait(kind, caller, row);
    },
    close: () => {
      while (queue.length > 0) queue[0]?.refuse(unavailable('stopping'));
    },
  };
}
