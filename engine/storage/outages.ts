/** What an operator is told of a database that fails as a whole: one line when it begins, and one when it is over. */
import type { Awaitable } from '../awaitable.ts';
import type { Log } from '../log.ts';
import { PATIENT } from '../caller.ts';
import type { Driver, Snapshot } from './driver.ts';
import { type AroundMethod, readerThrough } from './methods.ts';
import { stateOf } from './postgres/errors.ts';
import { isOutage } from './unavailable.ts';

interface Outage {
  readonly since: number;
  /** Whether a write found it: then only a write shows that it is over. */
  readonly ofWrite: boolean;
  requests: number;
}

/** Milliseconds in which lost connections are counted before they are told. */
const GATHER = 1000;

/** Connections that a server has closed, though nothing may have failed because of it. */
export function lostConnections(address: string, log: Log): (error: unknown) => void {
  let connections = 0;
  return (error) => {
    connections += 1;
    if (connections > 1) return;
    const tell = (): void => {
      log.warn({ database: address, connections, cause: causeOf(error) }, 'the database closed connections');
      connections = 0;
    };
    setTimeout(tell, GATHER).unref();
  };
}

/** The last cause, without values of records. */
function causeOf(error: unknown): string {
  let cause = error;
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause;
  return stateOf(cause);
}

interface During {
  readonly ofWrite?: boolean;
  /** Whether it is for a request. */
  readonly counts?: boolean;
}

/** The driver, watched. */
export function watchedDriver(driver: Driver, log: Log): Driver {
  const { address: database } = driver;
  let outage: Outage | undefined;
  /** Work that began before the last failure does not show that the outage is over. */
  let failures = 0;

  function failed(error: unknown, { ofWrite = false, counts = true }: During): void {
    if (!isOutage(error)) return;
    failures += 1;
    if (outage === undefined) {
      outage = { since: performance.now(), ofWrite: ofWrite && error.code === 'storage-full', requests: 0 };
      log.error({ database, problem: error.code, cause: causeOf(error) }, error.message.replace(/; try again$/, ''));
    }
    if (counts) outage.requests += 1;
  }

  function succeeded(ofWrite: boolean, before: number): void {
    if (outage === undefined || before !== failures || (outage.ofWrite && !ofWrite)) return;
    const { since, requests } = outage;
    outage = undefined;
    const milliseconds = Math.round(performance.now() - since);
    log.info({ database, failedRequests: requests, milliseconds }, 'the database works again');
  }

  function during<T>(ask: () => Awaitable<T>, how: During = {}): Awaitable<T> {
    const before = failures;
    const answered = (result: T): T => {
      succeeded(how.ofWrite ?? false, before);
      return result;
    };
    const refuse = (error: unknown): never => {
      failed(error, how);
      throw error;
    };
    try {
      const result = ask();
      return result instanceof Promise ? result.then(answered, refuse) : answered(result);
    } catch (error) {
      return refuse(error);
    }
  }

  const around: AroundMethod = (ask) => (first, second) => during(() => ask(first, second));

  async function* watchedTexts(texts: ReturnType<Snapshot['texts']>): AsyncGenerator<readonly string[]> {
    try {
      yield* texts;
    } catch (error) {
      failed(error, {});
      throw error;
    }
  }
  const watched = (snapshot: Snapshot): Snapshot => ({
    ...snapshot,
    ...readerThrough(around, snapshot),
    texts: (statement, values) => watchedTexts(snapshot.texts(statement, values)),
  });
  const { writeAlone } = driver;

  return {
    ...driver,
    ...readerThrough(around, driver),
    read: (work, caller, single) => during(() => driver.read(work, caller, single), { counts: caller !== PATIENT }),
    scan: (work, ...how) => during(() => driver.scan(work, ...how)),
    write: async (...asked) => during(() => driver.write(...asked), { ofWrite: true }),
    writeAlone: writeAlone && (async (...asked) => during(() => writeAlone(...asked), { ofWrite: true })),
    snapshot: (caller, heavy) => during(async () => watched(await driver.snapshot(caller, heavy))),
    ping: () => during(() => driver.ping(), { counts: false }),
  };
}
