/**
 * Reasons why the database is unavailable: drivers translate their errors into these problems, and probes report them. The
 * log tells when the database begins to fail as a whole, when what failed works again, and what requests wait for in vain.
 */
import type { Log } from '../log.ts';
import { type Fault, innermost, Problem, type ProblemCode } from '../problem.ts';
import type { Awaitable, RulePlace } from './driver.ts';
import kinds from './reasons.json';
import type { ModelNumbers } from './store.ts';

interface ReasonKind {
  /** The message for clients, and the advice that follows it. */
  readonly text: string;
  readonly advice?: string;
  /** Whether the database fails as a whole. */
  readonly isOutage?: boolean;
  /** What requests wait for in vain, while others are served; for the log. */
  readonly shortage?: string;
  /** In seconds. */
  readonly retryAfter?: number;
}

/** outdated: the tables changed during a request. A retry may succeed, since any write was rolled back. */
type Reason = keyof typeof kinds;

const reasons: Readonly<Record<Reason, ReasonKind>> = kinds;

export class Unavailable extends Problem {
  readonly reason: Reason;

  constructor(reason: Reason, cause?: unknown) {
    const { text, advice, retryAfter } = reasons[reason];
    super('storage-busy', advice === undefined ? text : `${text}; ${advice}`, { cause, retryAfter });
    this.reason = reason;
  }
}

export const unavailable = (reason: Reason, cause?: unknown): Unavailable => new Unavailable(reason, cause);

export const isOutage = (error: unknown): error is Problem =>
  error instanceof Unavailable
    ? reasons[error.reason].isOutage === true
    : error instanceof Problem && (error.code === 'storage-full' || error.code === 'outcome-unknown');

const MAX_REFUSAL_CHARS = 1000;

/** A trigger, constraint or policy of others refuses a row. The write adds which record of the body it is. */
export class RefusedByOthers extends Problem {
  readonly place: RulePlace;

  constructor(
    text: string,
    cause: unknown,
    place: RulePlace = {},
    code: ProblemCode = 'refused-by-database',
    errors: readonly Fault[] = [],
  ) {
    super(code, text.slice(0, MAX_REFUSAL_CHARS), { cause, errors });
    this.place = place;
  }
}

/** Another user of the database removed, hid or changed a table, column or schema that the service needs. */
export class MissingObject extends Problem {
  constructor(cause: Error) {
    super('storage-busy', 'A table is not as the service left it; the log of the service says how', { cause });
  }
}

export const diskFull = (cause: unknown, detail = 'The database has no space left on its disk'): Problem =>
  new Problem('storage-full', detail, { cause });

export const outcomeUnknown = (cause: unknown): Problem =>
  new Problem(
    'outcome-unknown',
    'The database did not say whether the write was done. A PUT, a DELETE, or any write with an idempotency key can be sent again as it is; before anything else is sent again, look at what is there',
    { cause },
  );

/** Refuses a statement after its transaction: it would run in the next transaction. */
export const lateStatement = (): Error => new Error('A statement came after the end of its transaction');

export type Purpose = 'read' | 'write';

/** A shortage that ended a minute ago is over. */
const SHORTAGE_MS = 60_000;

/** `textOf`: what the database said, without values of records. */
export function createOutages(database: string, log: Log | undefined, textOf: (error: unknown) => string) {
  const seenAt = new Map<Reason, number>();
  const isShort = (of: Reason): boolean => performance.now() - (seenAt.get(of) ?? -Infinity) < SHORTAGE_MS;
  /** `failing`: a write does not show that reads work, nor a read that writes do. */
  let current: { readonly since: number; readonly failing: Set<Purpose>; requests: number } | undefined;

  function runShort(of: Reason, error?: unknown): void {
    const { shortage } = reasons[of];
    if (shortage === undefined) return;
    if (!isShort(of)) log?.warn({ database, ...(error ? { cause: textOf(innermost(error)) } : {}) }, shortage);
    seenAt.set(of, performance.now());
  }

  function failed(error: unknown, of?: Purpose): void {
    if (error instanceof Unavailable) runShort(error.reason, error);
    if (!log || !isOutage(error)) return;
    if (current === undefined) {
      current = { since: performance.now(), failing: new Set(), requests: 0 };
      const cause = textOf(innermost(error));
      const text = error instanceof Unavailable ? reasons[error.reason].text : error.message;
      log.error({ database, problem: error.code, cause }, text);
    }
    current.failing.add(of ?? 'read');
    if (of) current.requests += 1;
  }

  /** Ignores work that began before the outage, as its connection may have been open. */
  function succeeded(began: number, of: Purpose): void {
    if (!current || began < current.since) return;
    current.failing.delete(of);
    if (current.failing.size > 0) return;
    const milliseconds = Math.round(performance.now() - current.since);
    log?.info({ database, failedRequests: current.requests, milliseconds }, 'the database works again');
    current = undefined;
  }

  return {
    runShort,
    shortages: () => ({ connections: isShort('connections'), locks: isShort('locks') }),
    /** `of`: undefined for a probe, which reads. `hasWritten`: a write that changes no row shows no more than a read. */
    watched: async <T>(ask: () => Awaitable<T>, of?: Purpose, hasWritten?: (result: T) => boolean): Promise<T> => {
      const began = performance.now();
      try {
        const result = await ask();
        if (current) succeeded(began, hasWritten?.(result) === false ? 'read' : (of ?? 'read'));
        return result;
      } catch (error) {
        failed(error, of);
        throw error;
      }
    },
  };
}

const READINESS_TIMEOUT_MS = 2000;

/** Whether the service can serve requests, for probes and metrics. */
export async function readinessOf(asked: { isDraining(): boolean; ready(): Promise<ModelNumbers> }) {
  const late = new Promise<never>((_, reject) => setTimeout(reject, READINESS_TIMEOUT_MS).unref());
  const found = await Promise.race([asked.ready(), late]).then(
    ({ database, serves }) => ({
      isReady: true,
      isReachable: true,
      text: `ready\nThe database has model ${database}, this instance serves model ${serves}`,
    }),
    (error: unknown) => ({
      isReady: false,
      isReachable: error instanceof Problem && !(error instanceof Unavailable && error.reason === 'unreachable'),
      text: error instanceof Problem ? reasonOf(error) : 'the database does not answer',
    }),
  );
  return asked.isDraining() ? { ...found, isReady: false, text: 'stopping' } : found;
}

const reasonOf = (error: Problem): string =>
  error.cause instanceof Error && (error instanceof MissingObject || error.code === 'missing-privilege')
    ? `${error.message}\n${error.cause.message}`
    : error.message;
