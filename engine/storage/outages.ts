/** Logs when a database begins to fail as a whole, when what failed works again, and what requests wait for in vain. */
import type { Log } from '../log.ts';
import { innermost } from '../problem.ts';
import { isOutage, isShortage, type Shortage, SHORTAGES } from './unavailable.ts';

export type Purpose = 'read' | 'write' | undefined;

/** A shortage that ended a minute ago is over. */
const SHORTAGE_MS = 60_000;

/** `textOf`: what the database said, without values of records. */
export function createOutages(database: string, log: Log | undefined, textOf: (error: unknown) => string) {
  const seenAt = new Map<Shortage, number>();
  const isShort = (of: Shortage): boolean => performance.now() - (seenAt.get(of) ?? -Infinity) < SHORTAGE_MS;
  const outages = {
    /** `ofWrite`: a write has failed, so only a write can show that the database works. */
    current: undefined as { readonly since: number; ofWrite: boolean; requests: number } | undefined,
    shortages: () => ({ connections: isShort('connections'), locks: isShort('locks') }),
    runShort: (of: Shortage, error?: unknown): void => {
      if (!isShort(of)) log?.warn({ database, ...(error ? { cause: textOf(innermost(error)) } : {}) }, SHORTAGES[of]);
      seenAt.set(of, performance.now());
    },
    /** `of`: undefined if no request asks. */
    failed: (error: unknown, of: Purpose): void => {
      if (isShortage(error)) outages.runShort(error.reason, error);
      if (!log || !isOutage(error)) return;
      if (outages.current === undefined) {
        outages.current = { since: performance.now(), ofWrite: false, requests: 0 };
        const cause = textOf(innermost(error));
        log.error({ database, problem: error.code, cause }, error.message.replace(/; try again$/, ''));
      }
      outages.current.ofWrite ||= of === 'write';
      if (of) outages.current.requests += 1;
    },
    /** Called during an outage. Ignores work that began before, as its connection may have been open. */
    succeeded: (began: number, of: Purpose): void => {
      const { since = Infinity, ofWrite, requests } = outages.current ?? {};
      if (began < since || (ofWrite && of !== 'write')) return;
      const milliseconds = Math.round(performance.now() - since);
      log?.info({ database, failedRequests: requests, milliseconds }, 'the database works again');
      outages.current = undefined;
    },
  };
  return outages;
}
