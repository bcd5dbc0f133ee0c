/** A request that the contract refuses. */
import type { ProblemCode } from '../../engine/problem.ts';
import type { ExpectedProblem } from './case.ts';

/** Stated once more: what is expected does not come from the catalogue that the service answers from. */
const STATUS = {
  'invalid-query': 400,
  'invalid-header': 400,
  'invalid-identifier': 400,
  'invalid-json': 400,
  'invalid-csv': 400,
  'too-many-related': 400,
  unauthorized: 401,
  forbidden: 403,
  'path-not-found': 404,
  'record-not-found': 404,
  'method-not-allowed': 405,
  'not-acceptable': 406,
  'identifier-conflict': 409,
  'link-conflict': 409,
  'restrict-conflict': 409,
  'too-many-affected': 409,
  'unique-conflict': 409,
  'precondition-failed': 412,
  'batch-too-large': 413,
  'content-too-large': 413,
  'uri-too-long': 414,
  'unsupported-media-type': 415,
  'invalid-body': 422,
  'invalid-reference': 422,
  'too-many-rows': 422,
  'idempotency-conflict': 422,
  'precondition-required': 428,
  'storage-busy': 503,
  overloaded: 503,
  'storage-full': 507,
} as const satisfies Partial<Record<ProblemCode, number>>;

export type RefusalCode = keyof typeof STATUS;

interface Details extends Omit<ExpectedProblem, 'code' | 'unaddressed'> {
  /** Headers of the answer. */
  readonly answered?: Readonly<Record<string, string>>;
}

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly problem: ExpectedProblem;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: RefusalCode, { answered = {}, ...places }: Details, why: string) {
    super(why);
    this.status = STATUS[code];
    this.problem = { code, ...places };
    this.headers = answered;
  }
}

export function refuse(code: RefusalCode, details: Details = {}, why: string = code): never {
  throw new Refusal(code, details, why);
}

/** Refuses for all places together, where there are any. */
export function refuseAt(code: RefusalCode, pointers: readonly string[]): void {
  if (pointers.length > 0) refuse(code, { pointers }, `${code} at ${pointers.join(', ')}`);
}

/** No request makes what the case needs: the case is left out. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}
