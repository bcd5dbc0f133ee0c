/**
 * Reads that replicas answer, where they have what the client has seen before; the primary answers all others. As long as
 * one server answers that has what a client has seen, no read fails.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Caller, CallerGone, PATIENT } from '../edge/caller.ts';
import { Problem } from '../problem.ts';
import type { Awaitable, Replica, ServerUsage } from './driver.ts';
import { createDatabase, type Database, type DatabaseObserver } from './database.ts';
import { createReads, type Reads } from './read/reads.ts';
import { isUnreachable } from './unavailable.ts';

/** Milliseconds that a read waits for a replica where the primary cannot be reached, and between two looks at them. */
const PATIENCE_MS = 1000;
const FIRST_PAUSE_MS = 20;

interface ReplicaReads extends Pick<Reads, 'get' | 'page' | 'stream' | 'summary'> {
  usage(): readonly ServerUsage[];
  close(): Promise<void>;
}

interface KnownReplica extends Replica {
  readonly driver: Database;
  readonly reads: Reads;
}

interface ReplicaOptions {
  readonly replicas: readonly Replica[];
  /** The model that their tables are compared with. */
  readonly held: Readonly<Parameters<Database['hold']>>;
  readonly observer: DatabaseObserver;
}

type Ask<T> = (reads: Reads) => Awaitable<T>;

export function createReplicaReads(primary: Reads, { replicas, held, observer }: ReplicaOptions): ReplicaReads {
  const all = replicas.map(({ driver: inner, ...replica }): KnownReplica => {
    const { onStatement, onWait, log } = observer;
    const driver = createDatabase(inner, { onStatement, onWait, log });
    // A replica that is not there yet is compared as soon as it is.
    driver.hold(...held).catch(() => undefined);
    return { ...replica, driver, reads: createReads(driver) };
  });
  let turn = 0;

  function fresh(position: string | undefined, failed?: readonly KnownReplica[]): KnownReplica | undefined {
    for (let count = 0; count < all.length; count += 1) {
      const replica = all[(turn += 1) % all.length];
      if (replica?.covers(position) && !failed?.includes(replica)) return replica;
    }
    return undefined;
  }

  /** What fails on a replica, or does not have its tables there yet, is asked of another server, at last of the primary. */
  async function read<T>(caller: Caller, ask: Ask<T>): Promise<T> {
    const failed: KnownReplica[] = [];
    for (let replica = fresh(caller.position); replica; replica = fresh(caller.position, failed)) {
      try {
        return await ask(replica.reads);
      } catch (error) {
        if (isOfRequest(error)) throw error;
        failed.push(replica);
      }
    }
    try {
      return await ask(primary);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      return await late(caller, ask).catch(() => {
        throw error;
      });
    }
  }

  /** Of a replica that is only a little behind, or back again. Rejects if there is none in time. */
  async function late<T>(caller: Caller, ask: Ask<T>): Promise<T> {
    const end = performance.now() + PATIENCE_MS;
    for (let wait = FIRST_PAUSE_MS; performance.now() < end; wait = Math.min(2 * wait, PATIENCE_MS)) {
      await Promise.race([Promise.all(all.map(({ look }) => look())), pause(PATIENCE_MS)]);
      if (caller.isGone) throw new CallerGone();
      const replica = fresh(caller.position);
      if (replica) return ask(replica.reads);
      await pause(wait);
    }
    throw new Error('no replica has what the client has seen');
  }

  return {
    get: (view, identifier, caller = PATIENT) => read(caller, (reads) => reads.get(view, identifier, caller)),
    page: (query, count, caller = PATIENT) => read(caller, (reads) => reads.page(query, count, caller)),
    summary: (query, count, caller = PATIENT) => read(caller, (reads) => reads.summary(query, count, caller)),
    stream: (query, count, caller = PATIENT) => read(caller, (reads) => reads.stream(query, count, caller)),
    usage: () => all.flatMap(({ driver }, index) => driver.usageOf(`replica-${index + 1}`)),
    close: async () => void (await Promise.all(all.map(({ driver }) => driver.close()))),
  };
}

/** Whether the primary would say the same. */
const isOfRequest = (error: unknown): boolean =>
  error instanceof CallerGone ||
  (error instanceof Problem &&
    (error.status < 500 || error.code === 'overloaded' || error.code === 'statement-timeout'));
