/** Errors for clients (RFC 9457), whose catalogue is `problems.json`, and errors for operators. */
import { MAX_ECHO, shortened } from './names.ts';
import kinds from './problems.json';

export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** Seconds; undefined if a retry cannot help (RFC 9110, 10.2.3). */
  readonly retryAfter?: number | undefined;
  /** The requests that may get the problem; if missing, each operation says whether it may. */
  readonly requests?: 'all' | 'writes' | 'bodies';
}

export type ProblemCode = keyof typeof kinds;

export const problemKinds = kinds as Readonly<Record<ProblemCode, ProblemKind>>;
export const problemCodes = Object.keys(kinds) as readonly ProblemCode[];

export type FaultPlace =
  | { readonly pointer: string }
  | { readonly parameter: string }
  | { readonly header: string }
  | { readonly relation: string };

export type Fault = FaultPlace & {
  readonly code: string;
  readonly message: string;
  /** 1-based line of the body. */
  readonly line?: number;
  /** The conflicting stored records that the token can read. */
  readonly records?: readonly RecordName[];
};

export interface RecordName {
  readonly type: string;
  readonly identifier: number | string;
}

export const MAX_ERRORS = 100;

interface Extras {
  readonly errors?: readonly Fault[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Overrides the default Retry-After. */
  readonly retryAfter?: number | undefined;
  readonly cause?: unknown;
  readonly rules?: readonly string[];
}

const LONG_STEP = new RegExp(`[^/]{${MAX_ECHO + 1},}`, 'g');

export const shortenedPath = (path: string): string =>
  path.length > MAX_ECHO ? path.replaceAll(LONG_STEP, (step) => shortened(step)) : path;

const shortenedFault = (fault: Fault): Fault => ({
  ...fault,
  ...('pointer' in fault ? { pointer: shortenedPath(fault.pointer) } : {}),
  ...('parameter' in fault ? { parameter: shortened(fault.parameter) } : {}),
});

export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly status: number;
  readonly errors: readonly Fault[];
  readonly headers: Readonly<Record<string, string>>;
  readonly retryAfter: number | undefined;
  /** File and line of the rules of roles that forbid it, for the log. */
  readonly rules: readonly string[];

  constructor(
    code: ProblemCode,
    detail: string,
    { errors = [], headers = {}, retryAfter, cause, rules = [] }: Extras = {},
  ) {
    super(detail, { cause });
    const kind = problemKinds[code];
    this.code = code;
    this.status = kind.status;
    this.retryAfter = retryAfter ?? kind.retryAfter;
    this.errors = errors.map(shortenedFault);
    this.headers = headers;
    this.rules = rules;
  }
}

export const notOffered = (method: string, allow: string, why = ''): Problem =>
  new Problem('method-not-allowed', `${method} is not offered here; ${allow} are${why}`, { headers: { Allow: allow } });

/** Makes a Problem with the message of the first fault and the number of the others. */
export function faultyRequest(
  code: ProblemCode,
  faults: readonly Fault[],
  extras: Omit<Extras, 'errors'> = {},
): Problem {
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return new Problem(code, `${first?.message ?? problemKinds[code].title}${more}`, { ...extras, errors: faults });
}

/** Calls `work`, and rewrites the faults of its Problem, so also its message. */
export async function reworded<T>(work: () => T | Promise<T>, word: (fault: Fault) => Fault): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { code, headers, cause, retryAfter, rules } = error;
    const errors = error.errors.map(word);
    if (errors.every((fault, index) => fault === error.errors[index])) throw error;
    throw faultyRequest(code, errors, { headers, cause, retryAfter, rules });
  }
}

/** The result of the work; undefined if it throws an error. */
export function attempted<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** The error of work that fails; undefined if it does not. */
export const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Runs all checks, and throws one Problem with all faults that have the code of the first. */
export function throwTogether(checks: readonly (() => void)[]): void {
  const problems: Problem[] = [];
  for (const check of checks)
    try {
      check();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problems.push(error);
    }
  const [first] = problems;
  if (!first) return;
  const alike = problems.filter(({ code }) => code === first.code);
  if (alike.length === 1) throw first;
  const errors = alike.flatMap((problem) => problem.errors);
  throw faultyRequest(first.code, errors);
}

export const tooSlow = (patience: number, cause?: unknown): Problem =>
  new Problem(
    'statement-timeout',
    `The database did not finish within ${patience / 1000} seconds (STATEMENT_TIMEOUT). Ask for less: a page instead of the whole list, filters and an order that an index supports, or fewer relations`,
    { cause },
  );

export const answerTooLong = (cause?: unknown): Problem =>
  new Problem(
    'invalid-query',
    'The response would be too long; ask for fewer records at once (with a limit, over HTTP _cnd[limit]), for less of each with fields and include, or for none with Prefer: return=minimal',
    { cause },
  );

/** Refuses a query whose conditions, those of a role included, are too many or too deep. */
export const tooNested = (cause: unknown): Problem =>
  new Problem(
    'invalid-query',
    'The filters, the order and the relations that are shown are too many, or nested too deep, for the database; ask for less at once',
    { cause },
  );

/** The service or command cannot start; its message is for the operator. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}

/** The database is unreachable: a start can wait for it. */
export class NotYetThere extends StartError {}

/** The error that the others name as their cause. */
export const innermost = (error: unknown): unknown =>
  error instanceof Error && error.cause !== undefined ? innermost(error.cause) : error;

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
