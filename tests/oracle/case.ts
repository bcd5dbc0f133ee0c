/** A request, and the response that the oracle expects. */
import type { JsonValue } from '../../engine/json/json.ts';
import type { ProblemCode } from '../../engine/problem.ts';

/**
 * Paths hold variables as `{Order:1}`, bodies as `{ "$ref": "Order:1" }`. The first response that shows the value of a
 * variable binds it; `{*}` in a header is any word. `{ "$json": text }` is exactly that text. An object with `$keys` has
 * these keys in this order.
 */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
}

export interface ExpectedRecord {
  readonly type: string;
  readonly identifier: string | number;
}

export interface ExpectedProblem {
  readonly code: ProblemCode;
  readonly pointers?: readonly string[];
  readonly parameters?: readonly string[];
  /** Stored records in the way, which the errors must name. */
  readonly records?: readonly ExpectedRecord[];
}

export interface Expectation {
  readonly status: number;
  /** null: the header must be absent. Variables are bound here too. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: JsonValue;
  readonly problem?: ExpectedProblem;
}
