/** Reads that replicas answer, where they have what the client has seen before; the primary answers all others. */
import { type Caller, CallerGone, PATIENT } from '../edge/caller.ts';
import type { Model } from '../model/model.ts';
import { Problem } from '../problem.ts';
import { createDatabase, type DatabaseObserver } from './database.ts';
import type { Awaitable, Replica, ServerUsage } from './driver.ts';
import { createReads, type Reads } from './read/reads.ts';

interface ReplicaReads extends Pick<Reads, 'get' | 'page' | 'stream' | 'summary'> {
  usage(): readonly ServerUsage[];
  close(): Promise<void>;
}

/** `placed`: the model that the tables of the replicas are compared with. */
export function createReplicaReads(
  primary: Reads,
  replicas: readonly Replica[],
  placed: Model,
  { onStatement, onWait, log }: DatabaseObserver,
): ReplicaReads {
  const all = replicas.map(({ driver: inner, covers }) => {
    const driver = createDatabase(inner, { onStatement, onWait, log });
    // A replica that is not there yet is compared as soon as it is.
    driver.hold(placed).catch(() => undefined);
    return { driver, covers, reads: createReads(driver) };
  });
  let turn = 0;

  /** What fails on a replica, or does not have its tables there yet, is asked of another server, at last of the primary. */
  async function read<T>(caller: Caller, ask: (reads: Reads) => Awaitable<T>): Promise<T> {
    turn = (turn + 1) % all.length;
    for (const { covers, reads } of [...all.slice(turn), ...all.slice(0, turn)]) {
      if (!covers(caller.position)) continue;
      try {
        return await ask(reads);
      } catch (error) {
        if (isOfRequest(error)) throw error;
      }
    }
    return ask(primary);
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
