/**
 * Reads that replicas answer, where they have what the client has seen before; the primary answers all others. As long as
 * one server answers that has what a client has seen, no read fails.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Awaitable, orElse } from '../awaitable.ts';
import { type Caller, CallerGone, PATIENT } from '../caller.ts';
import { Problem } from '../problem.ts';
import type { Driver, Replica } from './driver.ts';
import { type FittingDriver, fittingDriver } from './fitting.ts';
import { createReads, type Reads } from './read/reads.ts';
import type { Stream } from './store.ts';
import { isUnreachable } from './unavailable.ts';
import { type ServerUsage, usageOf } from './usage.ts';

/** Milliseconds that a read waits for a replica where the primary cannot be reached, and between two looks at them. */
const PATIENCE_MS = 1000;
const FIRST_PAUSE_MS = 20;

interface ReplicaReads extends Pick<Reads, 'get' | 'page' | 'stream' | 'summary'> {
  usage(): readonly ServerUsage[];
  close(): Promise<void>;
}

interface KnownReplica extends Replica {
  readonly reads: Reads;
}

interface ReplicaOptions {
  readonly replicas: readonly Replica[];
  /** What a driver that notices changed tables holds. */
  readonly held: Readonly<Parameters<FittingDriver['hold']>>;
  /** Wraps the driver of each replica. */
  readonly observed: (driver: Driver) => Driver;
}

type Ask<T> = (reads: Reads) => Awaitable<T>;

export function createReplicaReads(primary: Reads, { replicas, held, observed }: ReplicaOptions): ReplicaReads {
  const all = replicas.map(({ driver: inner, ...replica }): KnownReplica => {
    const driver = fittingDriver(observed(inner));
    // A replica that is not there yet is compared as soon as it is.
    orElse(
      () => driver.hold(...held),
      () => undefined,
    );
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
  function read<T>(
    caller: Caller,
    ask: Ask<T>,
    ofPrimary: () => Awaitable<T>,
    failed?: readonly KnownReplica[],
  ): Awaitable<T> {
    const replica = fresh(caller.position, failed);
    if (replica === undefined) return ofPrimary();
    return orElse(
      () => ask(replica.reads),
      (error) => {
        if (isOfRequest(error)) throw error;
        return read(caller, ask, ofPrimary, [...(failed ?? []), replica]);
      },
    );
  }

  function unlessUnreachable<T>(caller: Caller, ask: Ask<T>): Awaitable<T> {
    return orElse(
      () => ask(primary),
      (error) => {
        if (!isUnreachable(error)) throw error;
        return late(caller, ask).catch(() => {
          throw error;
        });
      },
    );
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

  const first = <T>(caller: Caller, ask: Ask<T>): Awaitable<T> =>
    read(caller, ask, () => unlessUnreachable(caller, ask));

  return {
    get: (view, identifier, caller = PATIENT) => first(caller, (reads) => reads.get(view, identifier, caller)),
    page: (query, count, caller = PATIENT) => first(caller, (reads) => reads.page(query, count, caller)),
    summary: (query, count, caller = PATIENT) => first(caller, (reads) => reads.summary(query, count, caller)),
    stream: (query, count, caller = PATIENT) =>
      first(caller, (reads): Awaitable<Stream> => reads.stream(query, count, caller)),
    usage: () => all.flatMap(({ driver }, index) => usageOf(`replica-${index + 1}`, driver)),
    close: async () => void (await Promise.all(all.map(({ driver }) => driver.close()))),
  };
}

/** Whether the primary would say the same. */
const isOfRequest = (error: unknown): boolean =>
  error instanceof CallerGone ||
  (error instanceof Problem &&
    (error.status < 500 || error.code === 'overloaded' || error.code === 'statement-timeout'));
