/** A request that the contract refuses. */
import type { ProblemCode } from '../../engine/problem.ts';
import type { ExpectedProblem } from './case.ts';

/** Stated once more: what is expected does not come from the catalogue that the service answers from. */
const STATUS = {
  'invalid-query': 400,
  'too-many-related': 400,
  'record-not-found': 404,
  'identifier-conflict': 409,
  'link-conflict': 409,
  'restrict-conflict': 409,
  'too-many-affected': 409,
  'unique-conflict': 409,
  'invalid-body': 422,
  'invalid-reference': 422,
} as const satisfies Partial<Record<ProblemCode, number>>;

export type RefusalCode = keyof typeof STATUS;

type Details = Omit<ExpectedProblem, 'code'>;

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly problem: ExpectedProblem;

  constructor(code: RefusalCode, places: Details, why: string) {
    super(why);
    this.status = STATUS[code];
    this.problem = { code, ...places };
  }
}

export function refuse(code: RefusalCode, details: Details = {}, why: string = code): never {
  throw new Refusal(code, details, why);
}

/** Refuses for all places together, where there are any. */
export function refuseAt(code: RefusalCode, pointers: readonly string[]): void {
  if (pointers.length > 0) refuse(code, { pointers }, `${code} at ${pointers.join(', ')}`);
}

/** Only the service knows what comes: the request is left out. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}
