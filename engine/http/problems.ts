/** The one place where an error becomes an answer (RFC 9457). */
import type { Log } from '../log.ts';
import { answerTooLong, type Fault, MAX_ERRORS, Problem, type ProblemCode, problemKinds } from '../problem.ts';
import { type Answer, PROBLEM_TYPE } from './answer.ts';

/** What goes with a code wherever it comes from: when to try again (RFC 9110, 10.2.3), what the token lacks (RFC 6750, 3.1). */
const HEADERS: { readonly [code in ProblemCode]?: Answer['headers'] } = {
  'storage-busy': { 'Retry-After': '1' },
  'statement-timeout': { 'Retry-After': '10' },
  overloaded: { 'Retry-After': '1' },
  forbidden: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
};

/** `instance` is the path of the request. What is not a Problem is a fault of the service: it is logged, not told. */
export function problemAnswer(error: unknown, instance: string, requestId: string, log: Log): Answer {
  if (error instanceof Problem) return render(error, instance);
  if (isTooLong(error)) return render(answerTooLong(error), instance);
  log.error({ requestId, err: error }, 'a request failed');
  return render(new Problem('internal-error', 'The service could not answer; its log says why'), instance);
}

/** Beyond what V8 holds in one text: half a gigabyte. By its shape, not its class: errors may come from another realm. */
function isTooLong(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { name, message, code } = error as {
    readonly name?: unknown;
    readonly message?: unknown;
    readonly code?: unknown;
  };
  return code === 'ERR_STRING_TOO_LONG' || (name === 'RangeError' && message === 'Invalid string length');
}

export function render(problem: Problem, instance: string): Answer {
  const { code, status, headers } = problem;
  return {
    status,
    headers: {
      'Content-Type': PROBLEM_TYPE,
      ...HEADERS[code],
      ...headers,
    },
    body: JSON.stringify({
      type: `urn:problem:${code}`,
      title: problemKinds[code].title,
      status,
      detail: problem.message,
      instance,
      message: problem.message,
      ...listed(problem.errors),
    }),
  };
}

function listed(errors: readonly Fault[]): object {
  if (errors.length === 0) return {};
  if (errors.length <= MAX_ERRORS) return { errors };
  return { errors: errors.slice(0, MAX_ERRORS), errorCount: errors.length };
}
