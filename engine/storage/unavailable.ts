/** Reasons why the database is unavailable: drivers translate their errors into these problems, and probes report them. */
import { type Fault, Problem, type ProblemCode } from '../problem.ts';
import type { RulePlace } from './driver.ts';
import type { ModelNumbers } from './store.ts';

const BUSY = 'The database is busy; try again';
const reasons = {
  busy: BUSY,
  connections: BUSY,
  locks: BUSY,
  unreachable: 'The database cannot be reached; try again',
  readOnly: 'The database takes no writes at the moment: it, or its disk, is read-only; try again',
  broken: 'The database cannot use its disk; try again',
  moved: 'The file of the database was moved, removed or replaced',
  changed: 'Another version of the service changed the tables, and this one cannot use them; try again later',
  cutOff: 'The search was cut off; try again',
  crowded:
    'Too many searches and long pages are waiting for the database; try again, or ask for what an index answers, or for shorter pages',
  streaming: 'Too many whole lists are being read; try again, or ask for pages',
  stopping: 'The service is stopping',
} as const;

const CHANGED_RETRY_AFTER_S = 5;

type Reason = keyof typeof reasons;

/** What requests wait for in vain, while others are served; in words for the log. */
export const SHORTAGES = {
  connections: 'the database server takes no more connections',
  locks: 'another transaction keeps rows or tables locked',
  cutOff: 'a search process ended before its search',
  lag: 'a replica lags behind the primary',
} as const;
export type Shortage = keyof typeof SHORTAGES;

export const isShortage = (error: unknown): error is { readonly reason: Shortage } =>
  error instanceof Unavailable && error.reason in SHORTAGES;

export class Unavailable extends Problem {
  readonly reason: Reason;

  constructor(reason: Reason, cause?: unknown) {
    const retryAfter = reason === 'changed' ? CHANGED_RETRY_AFTER_S : undefined;
    super('storage-busy', reasons[reason], { cause, retryAfter });
    this.reason = reason;
  }
}

export const unavailable = (reason: Reason, cause?: unknown): Unavailable => new Unavailable(reason, cause);

/** The tables changed during a request. A retry may succeed, since any write was rolled back. */
export class Outdated extends Unavailable {
  constructor(cause: unknown) {
    super('changed', cause);
  }
}

const OUTAGES: ReadonlySet<Reason> = new Set<Reason>(['unreachable', 'readOnly', 'broken', 'moved']);

export const isOutage = (error: unknown): error is Problem =>
  error instanceof Unavailable
    ? OUTAGES.has(error.reason)
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

export const missingPrivilege = (cause: unknown): Problem =>
  new Problem(
    'missing-privilege',
    'The database user of the service lacks a privilege; the log of the service says which one',
    { cause },
  );

/** A table, column or schema that the service needs was removed or hidden by another user of the database. */
export class MissingObject extends Problem {
  constructor(cause: Error) {
    super(
      'storage-busy',
      'The database lacks a table or a column that the service needs; the log of the service says which one',
      { cause },
    );
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

const READINESS_TIMEOUT_MS = 2000;

/** Whether the service can serve requests, for probes and metrics. */
export async function readinessOf(asked: { isDraining(): boolean; ready(): Promise<ModelNumbers> }) {
  const late = new Promise<never>((_, reject) => setTimeout(reject, READINESS_TIMEOUT_MS).unref());
  const found = await Promise.race([asked.ready(), late]).then(
    ({ database, serves }) => ({
      isReady: true,
      isReachable: true,
      says: `ready\nThe database has model ${database}, this instance serves model ${serves}`,
    }),
    (error: unknown) => ({
      isReady: false,
      isReachable: error instanceof Problem && !(error instanceof Unavailable && error.reason === 'unreachable'),
      says: error instanceof Problem ? reasonOf(error) : 'the database does not answer',
    }),
  );
  return asked.isDraining() ? { ...found, isReady: false, says: 'stopping' } : found;
}

const reasonOf = (error: Problem): string =>
  error.cause instanceof Error && (error instanceof MissingObject || error.code === 'missing-privilege')
    ? `${error.message}\n${error.cause.message}`
    : error.message;
