/** Reads that replicas answer, where they have what the client has seen before; the primary answers all others. */
import { type Awaitable, orElse } from '../awaitable.ts';
import { type Caller, CallerGone, PATIENT } from '../caller.ts';
import type { Model } from '../model/model.ts';
import { Problem } from '../problem.ts';
import type { Driver, Replica } from './driver.ts';
import { fittingDriver } from './fitting.ts';
import { createReads, type Reads } from './read/reads.ts';

interface ReplicaReads extends Pick<Reads, 'get' | 'page' | 'stream'> {
  close(): Promise<void>;
}

interface ReplicaOptions {
  readonly replicas: readonly Replica[];
  /** The model of the descriptors, and as it is served over the tables. */
  readonly models: readonly [own: Model, served: Model];
  /** Wraps the driver of each replica. */
  readonly observed: (driver: Driver) => Driver;
}

export function createReplicaReads(primary: Reads, { replicas, models, observed }: ReplicaOptions): ReplicaReads {
  const all = replicas.map(({ driver: inner, covers }) => {
    const driver = fittingDriver(observed(inner));
    // A replica that is not there yet is compared as soon as it is.
    orElse(
      () => driver.hold(...models),
      () => undefined,
    );
    return { driver, covers, reads: createReads(driver) };
  });
  let turn = 0;

  function fresh(position: string | undefined): Reads | undefined {
    for (let count = 0; count < all.length; count += 1) {
      const replica = all[(turn += 1) % all.length];
      if (replica?.covers(position)) return replica.reads;
    }
    return undefined;
  }

  /** A replica that fails, or does not have the tables yet, is not noticed. */
  function read<T>(caller: Caller, ask: (reads: Reads) => Awaitable<T>): Awaitable<T> {
    const reads = fresh(caller.position);
    if (reads === undefined) return ask(primary);
    return orElse(
      () => ask(reads),
      (error) => {
        if (isOfRequest(error)) throw error;
        return ask(primary);
      },
    );
  }

  return {
    get: (view, identifier, caller = PATIENT) => read(caller, (reads) => reads.get(view, identifier, caller)),
    page: (query, count, caller = PATIENT) => read(caller, (reads) => reads.page(query, count, caller)),
    stream: (query, count, caller = PATIENT) => read(caller, (reads) => reads.stream(query, count, caller)),
    close: async () => void (await Promise.all(all.map(({ driver }) => driver.close()))),
  };
}

/** Whether the primary would say the same. */
const isOfRequest = (error: unknown): boolean =>
  error instanceof CallerGone ||
  (error instanceof Problem &&
    (error.status < 500 || error.code === 'overloaded' || error.code === 'statement-timeout'));
