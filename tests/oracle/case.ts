/** A case of a suite: requests as plain data, each with what it must answer and which tables it must change; and the service that it is for. */
import type { JsonValue } from '../../engine/json.ts';
import type { ProblemCode } from '../../engine/problem.ts';
import { AUTO_RATE, type Settings } from '../../engine/settings.ts';

/**
 * Paths hold variables as `{Order:1}`, bodies as `{ "$ref": "Order:1" }`. The first answer that shows the value
 * of a variable binds it; `{*}` in a header is any word. `{ "$json": text }` is exactly that text. An object with `$keys` has these keys in this order.
 */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  /** The media type in which the records of `body`, an array, are sent: one on each line. */
  readonly lines?: string;
  /** The text to send, where no `body` can express it. */
  readonly text?: string;
  /** Spaces are added to the body until it has this many bytes. */
  readonly padTo?: number;
  /** The bytes to send instead of all that, on a connection of their own; the answer is what arrives before it ends. */
  readonly raw?: string;
  /** The sender, if it is not the one whose token the replay uses. */
  readonly as?: Sender;
}

/** A client without a token, with a token that does not exist, or with one that may only read. */
export type Sender = 'nobody' | 'stranger' | 'reader';

/** States of a service that no request can bring about. */
const CONDITIONS = {
  'database held': 'another program keeps the database for its own writes',
  'database full': 'the database has no space left on its disk',
  'memory used up': 'the service has no memory left for another request',
  'service stopping': 'the service was told to stop; it is never as before',
} as const;

export type Condition = keyof typeof CONDITIONS;

export interface ExpectedRecord {
  readonly type: string;
  /** A variable, or the identifier itself. */
  readonly identifier: string | number;
}

export interface ExpectedProblem {
  readonly code: ProblemCode;
  /** JSON Pointers into the body: exactly these, in this order. */
  readonly pointers?: readonly string[];
  /** Query parameters: exactly these. */
  readonly parameters?: readonly string[];
  /** Request headers: exactly these. */
  readonly headers?: readonly string[];
  /** Stored records in the way, which the errors must name; those that the case knows. */
  readonly records?: readonly ExpectedRecord[];
  /** The request had no readable path. */
  readonly unaddressed?: true;
}

export interface Expectation {
  readonly status: number;
  /** null: the header must be absent. Variables are bound here too. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** By relation in `Link`: the variable for its address, `*` for any address, null where it must be absent. */
  readonly links?: Readonly<Record<string, string | null>>;
  readonly body?: JsonValue;
  /** No bytes after the headers. */
  readonly empty?: true;
  readonly problem?: ExpectedProblem;
  /** If the answer differs, the case is skipped: the database lacks what it needs. */
  readonly orSkip?: true;
}

export interface Step {
  readonly request: Request;
  /** The state of the service during the request. */
  readonly given?: Condition;
  /** The request is sent up to this many times, until the answer is as expected. */
  readonly attempts?: number;
  readonly expect: Expectation;
  /** The tables that must have changed, and no others. undefined: that depends on the record. */
  readonly changes: readonly string[] | undefined;
}

export interface Case {
  readonly type: string;
  readonly group: string;
  readonly title: string;
  readonly steps: readonly Step[];
  /** Removes what the steps made and restores what they changed; runs after a failure too. */
  readonly cleanup: readonly Step[];
  /** How many records of each type stay behind, because the type has no delete. */
  readonly leaves: Readonly<Record<string, number>>;
  /** No request can undo it: not for a database that is still needed. */
  readonly irreversible?: true;
}

/** What the case needs besides requests. */
export const conditionsOf = ({ steps }: Case): readonly Condition[] => steps.flatMap(({ given }) => given ?? []);

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether every request of the case only reads. */
export const onlyReads = (one: Case): boolean =>
  [...one.steps, ...one.cleanup].every((step) => READING.has(step.request.method));

// What descriptors do not say about a service: how it is set up, and who may use it.

/** The settings that requests can observe. */
const TOLD = [
  'bodyLimit',
  'bodyKeys',
  'bodyItems',
  'bodyDepth',
  'batchLimit',
  'writeRows',
  'urlLimit',
  'headerLimit',
  'rateLimit',
  'requestTimeout',
  'corsOrigins',
  'dialects',
] as const satisfies readonly (keyof Settings)[];

/** What is undefined is unknown, and no case depends on it. */
export type Deployment = Partial<Pick<Settings, (typeof TOLD)[number]>> & {
  /** Whether requests need a token. */
  readonly guarded?: boolean;
  /** Whether the replay has a token that may read everything and write nothing. */
  readonly hasReader?: boolean;
  /** Whether it only answers requests for the names of its machine. */
  readonly refusesHosts?: boolean;
  /** There is no proxy in front, and this is a whole service rather than records inside another app. */
  readonly direct?: boolean;
};

/** Only the descriptors are known. */
export const ANYWHERE: Deployment = {};

const hasTokens = ({ tokens, tokensFile }: Settings): boolean => tokens !== '' || tokensFile !== '';

/** A service that is started with these settings, without a proxy. Its address decides which rate `auto` is. */
export function deploymentOf(settings: Settings, guarded = hasTokens(settings)): Deployment {
  const told = TOLD.map((name) => [name, settings[name]] as const).filter(([, value]) => value !== AUTO_RATE);
  return {
    ...Object.fromEntries(told),
    guarded,
    refusesHosts: settings.allowedHosts.length === 0 ? !guarded : !settings.allowedHosts.includes('*'),
    direct: true,
  };
}
