/** A write that the contract refuses, found while the reference model works it out. */
import type { ProblemCode } from '../../problem.ts';

/** Said here once more: what is expected does not come from the catalogue that the service answers from. */
const STATUS = {
  'record-not-found': 404,
  'identifier-conflict': 409,
  'link-conflict': 409,
  'restrict-conflict': 409,
  'unique-conflict': 409,
  'invalid-body': 422,
  'invalid-reference': 422,
} as const satisfies Partial<Record<ProblemCode, number>>;

export type RefusalCode = keyof typeof STATUS;

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly status: number;
  /** JSON Pointers into the body. */
  readonly pointers: readonly string[];

  constructor(code: RefusalCode, pointers: readonly string[], why: string) {
    super(why);
    this.code = code;
    this.status = STATUS[code];
    this.pointers = pointers;
  }
}
