/** A case of a suite: requests as plain data, each with what it must answer and which tables it must change. */
import type { JsonValue } from '../json.ts';
import type { ProblemCode } from '../problem.ts';

/**
 * Paths hold variables as `{Order:1}`, bodies as `{ "$ref": "Order:1" }`. The first answer that shows the value
 * of a variable binds it. `{ "$merge": [a, b] }` is a with the keys of b, `{ "$exact": a }` is a with its keys in order.
 */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  /** The bytes to send where `body` is not what JSON.stringify writes. */
  readonly text?: string;
}

export interface ExpectedProblem {
  readonly code?: ProblemCode;
  /** JSON Pointers into the body: these and no others. */
  readonly pointers?: readonly string[];
  /** Query parameters: these and no others. */
  readonly parameters?: readonly string[];
}

export interface Expectation {
  readonly status: number;
  /** null: the header must be absent. Variables are bound here as well. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** The variable that stands for the address of each relation in `Link`; null where the relation must be absent. */
  readonly links?: Readonly<Record<string, string | null>>;
  readonly body?: JsonValue;
  /** Nothing after the headers. */
  readonly empty?: true;
  readonly problem?: ExpectedProblem;
  /** An answer that does not fit ends the case as skipped: the database lacks what the case needs. */
  readonly orSkip?: true;
}

export interface Step {
  readonly request: Request;
  readonly expect: Expectation;
  /** The tables whose rows must differ afterwards; all others must be as they were. undefined: it depends on the record. */
  readonly changes: readonly string[] | undefined;
}

export interface Case {
  readonly type: string;
  readonly group: string;
  readonly title: string;
  readonly steps: readonly Step[];
  /** Removes what the steps made and puts back what they changed; runs after a failure too. */
  readonly cleanup: readonly Step[];
  /** How many records of each type stay behind, because their type offers no delete. */
  readonly leaves: Readonly<Record<string, number>>;
  /** Changes what no request can put back: not for databases that anyone still needs. */
  readonly irreversible?: true;
}

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether every request of the case only reads. */
export const onlyReads = (one: Case): boolean =>
  [...one.steps, ...one.cleanup].every((step) => READING.has(step.request.method));
