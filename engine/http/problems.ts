/** The one place where an error becomes an answer (RFC 9457). */
import type { IncomingMessage } from 'node:http';
import { CallerGone } from '../edge/caller.ts';
import type { Log } from '../log.ts';
import { answerTooLong, MAX_ERRORS, Problem, type ProblemCode, problemKinds, shortenedPath } from '../problem.ts';
import { MissingObject } from '../storage/unavailable.ts';
import type { Answer } from './answer.ts';

const PROBLEM_TYPE = 'application/problem+json';

type ProblemAnswer = Answer & { readonly body: string };

/** The code of the problem that a request was answered with, for log and metrics. */
const answered = new WeakMap<IncomingMessage, ProblemCode>();
export const problemAnswered = (request: IncomingMessage): ProblemCode | undefined => answered.get(request);

/** `instance`: the path of the request. */
export function problemAnswer(
  error: unknown,
  request: IncomingMessage,
  instance: string,
  requestId: string,
  log: Log,
): ProblemAnswer {
  const problem = problemFor(error, requestId, log);
  answered.set(request, problem.code);
  const isRepeatable = IDEMPOTENT.has(request.method) || request.headers['idempotency-key'] !== undefined;
  if (problem.code !== 'outcome-unknown' || !isRepeatable) return render(problem, instance);
  return render(new Problem(problem.code, problem.message, { retryAfter: 1 }), instance);
}

/** Writes that may be sent again though their outcome is unknown. */
const IDEMPOTENT = new Set<string | undefined>(['PUT', 'DELETE']);

/** An error that is not a Problem is a fault of the service: it is logged, and not sent. */
export function problemFor(error: unknown, requestId: string, log: Log): Problem {
  if (error instanceof Problem) {
    if (error.code === 'missing-privilege' || error instanceof MissingObject)
      log.error({ requestId, err: error.cause }, error.message);
    return error;
  }
  if (isTooLong(error)) return answerTooLong(error);
  // A client that has left is no fault of the service, and will not see this problem.
  if (error instanceof CallerGone) return new Problem('bad-request', error.message);
  log.error({ requestId, err: error }, 'a request failed');
  return new Problem('internal-error', 'The service could not answer; its log says why');
}

/** Whether a text would be longer than V8 allows: half a gigabyte. The error may come from another realm, of another class. */
function isTooLong(error: unknown): boolean {
  const { name, message, code } = Object(error) as Partial<Record<'name' | 'message' | 'code', unknown>>;
  return code === 'ERR_STRING_TOO_LONG' || (name === 'RangeError' && message === 'Invalid string length');
}

/** `instance` is undefined if the request could not be parsed. */
export function render(problem: Problem, instance?: string): ProblemAnswer {
  const { code, status, message, errors, headers, retryAfter } = problem;
  return {
    status,
    headers: {
      'Content-Type': PROBLEM_TYPE,
      ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
      // The token lacks a right (RFC 6750, 3.1).
      ...(code === 'forbidden' ? { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' } : {}),
      ...headers,
    },
    body: JSON.stringify({
      type: `urn:problem:${code}`,
      title: problemKinds[code].title,
      status,
      detail: message,
      instance: instance === undefined ? undefined : shortenedPath(instance),
      message,
      ...(errors.length > 0 ? { errors: errors.slice(0, MAX_ERRORS) } : {}),
      ...(errors.length > MAX_ERRORS ? { errorCount: errors.length } : {}),
    }),
  };
}
