/** The one place where an error becomes an answer (RFC 9457). */
import type { Log } from '../log.ts';
import { type Fault, Problem, type ProblemCode, problemKinds } from '../problem.ts';
import { type Answer, PROBLEM_TYPE } from './answer.ts';

/** Faults that one answer lists; of the others it says how many there are. */
export const MAX_ERRORS = 100;

/** Seconds after which another attempt is worth while (RFC 9110, 10.2.3). */
const RETRY_AFTER: { readonly [code in ProblemCode]?: string } = { 'storage-busy': '1' };

/** `instance` is the path of the request. What is not a Problem is a fault of the service: it is logged, not told. */
export function problemAnswer(error: unknown, instance: string, requestId: string, log: Log): Answer {
  if (error instanceof Problem) return render(error, instance);
  log.error({ requestId, err: error }, 'a request failed');
  return render(new Problem('internal-error', 'The service could not answer; its log says why'), instance);
}

function render(problem: Problem, instance: string): Answer {
  const { code, status, headers } = problem;
  const retryAfter = RETRY_AFTER[code];
  return {
    status,
    headers: {
      'Content-Type': PROBLEM_TYPE,
      ...(retryAfter === undefined ? {} : { 'Retry-After': retryAfter }),
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
