/** Logs when a database begins to fail as a whole, when what failed works again, and what requests wait for in vain. */
import type { Log } from '../log.ts';
import type { Awaitable } from './driver.ts';
import { isOutage, type Shortage, SHORTAGES, Unavailable } from './unavailable.ts';

/** A lasting shortage has a line a minute; its gauge falls a minute after the last refused request. */
const SHORTAGE_INTERVAL_MS = 60_000;

interface ShortageState {
  lastAt: number;
  loggedAt: number;
  /** Refused requests since the last line. */
  requests: number;
}

/** `textOf`: what the database said, without values of records. */
export function createOutages(database: string, log: Log | undefined, textOf: (error: unknown) => string) {
  /** `ofWrite`: a write has failed, so only a write can show that the database works. */
  let outage: { readonly since: number; ofWrite: boolean; requests: number } | undefined;
  const shortages = new Map<Shortage, ShortageState>();

  const isShort = (of: Shortage): boolean =>
    performance.now() - (shortages.get(of)?.lastAt ?? -Infinity) < SHORTAGE_INTERVAL_MS;

  /** `error`: with which requests are refused. */
  function runShort(of: Shortage, error?: Unavailable): void {
    const now = performance.now();
    const { loggedAt = -Infinity, requests = 0 } = shortages.get(of) ?? {};
    const isDue = now - loggedAt >= SHORTAGE_INTERVAL_MS;
    shortages.set(of, { lastAt: now, loggedAt: isDue ? now : loggedAt, requests: isDue ? 0 : requests + 1 });
    const refused = error && { cause: textOf(innermost(error)), refusedRequests: requests + 1 };
    if (isDue) log?.warn({ database, ...refused }, SHORTAGES[of]);
  }

  function failed(error: unknown, of: 'read' | 'write' | undefined): void {
    if (error instanceof Unavailable && error.shortage) runShort(error.shortage, error);
    if (!log || !isOutage(error)) return;
    if (outage === undefined) {
      outage = { since: performance.now(), ofWrite: false, requests: 0 };
      const cause = textOf(innermost(error));
      log.error({ database, problem: error.code, cause }, error.message.replace(/; try again$/, ''));
    }
    outage.ofWrite ||= of === 'write';
    if (of) outage.requests += 1;
  }

  /** Ignores work that began before the outage, as its connection may have been open. */
  function succeeded(began: number, of: 'read' | 'write' | undefined): void {
    if (outage === undefined || began < outage.since || (outage.ofWrite && of !== 'write')) return;
    const milliseconds = Math.round(performance.now() - outage.since);
    log?.info({ database, failedRequests: outage.requests, milliseconds }, 'the database works again');
    outage = undefined;
  }

  return {
    runShort,
    shortages: () => ({ connections: isShort('connections'), locks: isShort('locks') }),
    /** `of`: missing if no request asks. `hasWritten`: a write that changes no row shows no more than a read. */
    watched: async <T>(
      ask: () => Awaitable<T>,
      of?: 'read' | 'write',
      hasWritten: (result: T) => boolean = () => true,
    ): Promise<T> => {
      const began = performance.now();
      try {
        const result = await ask();
        succeeded(began, hasWritten(result) ? of : 'read');
        return result;
      } catch (error) {
        failed(error, of);
        throw error;
      }
    },
  };
}

function innermost(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? innermost(error.cause) : error;
}
