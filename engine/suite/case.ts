/** A case of a suite: requests as plain data, each with what it must answer and which tables it must change. */
import type { JsonValue } from '../json.ts';
import type { ProblemCode } from '../problem.ts';

/**
 * Paths hold variables as `{Order:1}`, bodies as `{ "$ref": "Order:1" }`. The first answer that shows the value
 * of a variable binds it; `{*}` in a header is any word. `{ "$merge": [a, b] }` is a with the keys of b; `{ "$json": text }` is
 * exactly that text. An object with `$keys` has these keys in this order.
 */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  /** The bytes to send where no `body` can stand for them. */
  readonly text?: string;
  /** Spaces are added to the body until it has so many bytes. */
  readonly padTo?: number;
  /** What goes over the wire, byte by byte, instead of all that; the answer is whatever comes before the connection ends. */
  readonly raw?: string;
  /** Who sends it, where that is not the one whose token is replayed with. */
  readonly as?: Sender;
}

/** Somebody without a token, with one that nobody gave out, or with one that may read everything and write nothing. */
export type Sender = 'nobody' | 'stranger' | 'reader';

/** What a service must be brought into from outside: no request does that. */
export const CONDITIONS = {
  'database held': 'another program keeps the database for its own writes',
  'database full': 'the database has no space left on its disk',
  'memory used up': 'the service has no memory left for another request',
  'service stopping': 'the service was told to stop; it is never as before',
} as const;

export type Condition = keyof typeof CONDITIONS;

export interface ExpectedProblem {
  readonly code?: ProblemCode;
  /** JSON Pointers into the body: these and no others. */
  readonly pointers?: readonly string[];
  /** Query parameters: these and no others. */
  readonly parameters?: readonly string[];
  /** Request headers: these and no others. */
  readonly headers?: readonly string[];
  /** What was sent had no path that could be read. */
  readonly unaddressed?: true;
}

export interface Expectation {
  readonly status: number;
  /** null: the header must be absent. Variables are bound here as well. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** The variable that stands for the address of each relation in `Link`, `*` for any; null where the relation must be absent. */
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
  /** What must be so while the request is under way. */
  readonly given?: Condition;
  /** Sent again, up to so many times in all, until the answer is as expected. */
  readonly attempts?: number;
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

/** What the case needs besides requests. */
export const conditionsOf = ({ steps }: Case): readonly Condition[] => steps.flatMap(({ given }) => given ?? []);

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether every request of the case only reads. */
export const onlyReads = (one: Case): boolean =>
  [...one.steps, ...one.cleanup].every((step) => READING.has(step.request.method));
