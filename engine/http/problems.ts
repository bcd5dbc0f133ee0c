/** The one place where an error becomes an answer (RFC 9457). */
import type { IncomingMessage } from 'node:http';
import { CallerGone } from '../edge/caller.ts';
import type { Log } from '../log.ts';
import {
  answerTooLong,
  type Fault,
  MAX_ERRORS,
  Problem,
  type ProblemCode,
  problemKinds,
  shortenedPath,
} from '../problem.ts';
import type { Answer } from './answer.ts';
import { MissingObject } from '../storage/unavailable.ts';
import { PROBLEM_TYPE } from './negotiation.ts';

/** The token lacks a right (RFC 6750, 3.1). */
const INSUFFICIENT_SCOPE = { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' };

/** An answer whose body is text. */
type ProblemAnswer = Answer & { readonly body: string };

interface FailedRequest {
  readonly request: IncomingMessage;
  /** The path of the request. */
  readonly instance: string;
  readonly requestId: string;
}

export function problemAnswer(
  error: unknown,
  { request, instance, requestId }: FailedRequest,
  log: Log,
): ProblemAnswer {
  const problem = problemFor(error, requestId, log);
  answered.set(request, problem.code);
  return render(forClient(problem, request), instance);
}

const answered = new WeakMap<IncomingMessage, ProblemCode>();

/** The code of the problem that a request was answered with, for log and metrics. */
export const problemAnswered = (request: IncomingMessage): ProblemCode | undefined => answered.get(request);

/** An error that is not a Problem is a fault of the service: logged, and not sent. */
export function problemFor(error: unknown, requestId: string, log: Log): Problem {
  if (error instanceof Problem) {
    if (error.code === 'missing-privilege' || error instanceof MissingObject)
      log.error({ requestId, err: error.cause }, error.message);
    return error;
  }
  if (isTooLong(error)) return answerTooLong(error);
  // Nobody is there to see it, and it is not a fault of the service.
  if (error instanceof CallerGone) return new Problem('bad-request', error.message);
  log.error({ requestId, err: error }, 'a request failed');
  return new Problem('internal-error', 'The service could not answer; its log says why');
}

/** Seconds after which a write of unknown outcome may be sent again, if it cannot be done twice. */
const REPEAT_AFTER = 1;
const IDEMPOTENT = new Set(['PUT', 'DELETE']);

function forClient(problem: Problem, { method = '', headers }: IncomingMessage): Problem {
  if (problem.code !== 'outcome-unknown') return problem;
  const isRepeatable = IDEMPOTENT.has(method) || headers['idempotency-key'] !== undefined;
  return isRepeatable ? new Problem(problem.code, problem.message, { retryAfter: REPEAT_AFTER }) : problem;
}

/** A text longer than V8 allows: half a gigabyte. Told by its shape, not its class: errors may come from another realm. */
function isTooLong(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { name, message, code } = error as {
    readonly name?: unknown;
    readonly message?: unknown;
    readonly code?: unknown;
  };
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
      ...(code === 'forbidden' ? INSUFFICIENT_SCOPE : {}),
      ...headers,
    },
    body: JSON.stringify({
      type: `urn:problem:${code}`,
      title: problemKinds[code].title,
      status,
      detail: message,
      instance: instance === undefined ? undefined : shortenedPath(instance),
      message,
      ...listed(errors),
    }),
  };
}

function listed(errors: readonly Fault[]): object {
  if (errors.length === 0) return {};
  if (errors.length <= MAX_ERRORS) return { errors };
  return { errors: errors.slice(0, MAX_ERRORS), errorCount: errors.length };
}
