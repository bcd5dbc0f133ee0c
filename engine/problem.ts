/** Errors: those that clients see (RFC 9457) with the catalogue of their codes, and those that operators see. */
import { MAX_ECHO, shortened } from './names.ts';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** The cause and the cure, as Markdown. */
  readonly cause: string;
  /** Seconds after which the client may try again (RFC 9110, 10.2.3), if trying again can help. */
  readonly retryAfter?: number;
}

/** Every problem code. `npm run docs` writes them to docs/reference/problems.md. */
export const problemKinds = {
  'bad-request': {
    status: 400,
    title: 'This is not a valid HTTP request',
    cause:
      'The request is not valid HTTP, has two readings (two `Host` headers, a `Transfer-Encoding` other than `chunked`). The connection is closed.',
  },
  'invalid-query': {
    status: 400,
    title: 'The query string is not valid',
    cause: 'A parameter is unknown, malformed or has a wrong value; `errors` says which.',
  },
  'invalid-header': {
    status: 400,
    title: 'A request header is not valid',
    cause: 'A request header is not valid, such as a blank Idempotency-Key.',
  },
  'invalid-identifier': {
    status: 400,
    title: 'The identifier in the path is not valid',
    cause: 'The path needs an integer from 1 to 9007199254740991, without leading zeros.',
  },
  'invalid-json': {
    status: 400,
    title: 'The body is not valid JSON',
    cause:
      'The body is empty, not UTF-8, not JSON, repeats a key, or is nested deeper than 64 levels. The message gives line and column.',
  },
  'invalid-csv': {
    status: 400,
    title: 'The body is not valid CSV',
    cause:
      'The body is not UTF-8 or not CSV, or a line has more or fewer cells than the first one. The message gives the line.',
  },
  'too-many-related': {
    status: 400,
    title: 'Too many related records',
    cause:
      'The response would show too many related records. Leave some out with `include`, `fields` or `shown: false`.',
  },
  'too-many-groups': {
    status: 400,
    title: 'The summary has too many groups',
    cause:
      'A summary has more than 10,000 groups. Ask for some of them with `_cnd[limit]`, filter the records, or group by fewer fields.',
  },
  unauthorized: {
    status: 401,
    title: 'The request needs a token',
    cause: '`Authorization: Bearer TOKEN` is missing, or the token is unknown.',
  },
  forbidden: {
    status: 403,
    title: 'The token does not allow this',
    cause:
      'The token does not allow this: it may only read here, or may not write a type in which the body creates a record or sets a link.',
  },
  'origin-not-allowed': {
    status: 403,
    title: 'Pages of this origin may not use the service',
    cause:
      'A web page of another site caused the request. Without tokens none may use the service, and none may use `/mcp`, unless `CORS_ORIGINS` lists its origin.',
  },
  'path-not-found': {
    status: 404,
    title: 'No such path',
    cause: 'Nothing exists at this path; the message names the nearest one.',
  },
  'record-not-found': {
    status: 404,
    title: 'No such record',
    cause: 'No record has this identifier, or it has been deleted.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The path does not support this method',
    cause: 'The path does not support this method; `Allow` lists those it supports.',
  },
  'not-acceptable': {
    status: 406,
    title: 'None of the accepted media types can be served',
    cause: '`Accept` rules out `application/json`.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    cause: 'The request did not arrive within `REQUEST_TIMEOUT`. The connection is closed.',
  },
  'unique-conflict': {
    status: 409,
    title: 'Another record already has this value',
    cause: 'Another record already has a value that must be unique; `records` names it.',
  },
  'identifier-conflict': {
    status: 409,
    title: 'The identifier is already taken',
    cause: 'The identifier in the body is taken. Leave it out to have one assigned.',
  },
  'link-conflict': {
    status: 409,
    title: 'A related record can only be linked here, not changed',
    cause:
      'The body changes a related record that can only be linked here. Send its identifier alone, or change it at its own path.',
  },
  'restrict-conflict': {
    status: 409,
    title: 'Other records refer to this one',
    cause: 'Other records refer to the one to be deleted; `records` names them.',
  },
  'too-many-affected': {
    status: 409,
    title: 'The request would affect more records than it allows',
    cause: 'A deletion by filters would delete or unlink more records than `max-affected` allows.',
  },
  'precondition-failed': {
    status: 412,
    title: 'The record was changed in the meantime',
    cause: 'The record is not what `If-Match` expects. Read it again, then decide.',
  },
  'content-too-large': {
    status: 413,
    title: 'The body, or what it asks for, is too large',
    cause:
      'The body is larger than `BODY_LIMIT`, has more than 20,000 keys or 10,000 items in an array, or names records too long for `MEMORY_LIMIT`: send fewer at once.',
  },
  'batch-too-large': {
    status: 413,
    title: 'The batch has too many records',
    cause: 'The array, or the lines, have more than 1,000 records. Send them in parts.',
  },
  'uri-too-long': { status: 414, title: 'The URL is too long', cause: 'The URL is longer than 16,000 characters.' },
  'unsupported-media-type': {
    status: 415,
    title: 'The media type of the body is not supported',
    cause: 'The body is compressed, or its type is not one that `Accept` or `Accept-Patch` of the response names.',
  },
  'misdirected-request': {
    status: 421,
    title: 'The request is for another host',
    cause:
      '`Host` does not name this service. Without tokens it goes by `localhost`, its address, and the names in `ALLOWED_HOSTS`.',
  },
  'invalid-body': {
    status: 422,
    title: 'The body does not match the record type',
    cause:
      'Keys or values of the body do not fit the record type, or contradict each other. `errors` lists all of them in the order of the body.',
  },
  'invalid-reference': {
    status: 422,
    title: 'A related record in the body cannot be used',
    cause: 'A related record in the body does not exist, or cannot be linked or created there.',
  },
  'too-many-rows': {
    status: 422,
    title: 'The write would touch too many rows',
    cause:
      'The write would delete, unlink or change more than 10,000 rows. `errors` names the set; `records delete --chunked` removes large trees.',
  },
  'refused-by-database': {
    status: 422,
    title: 'A rule of the database refuses this',
    cause:
      'A trigger, domain, constraint or policy that others have added to the database refuses the write. The message is theirs.',
  },
  'idempotency-conflict': {
    status: 422,
    title: 'The idempotency key was used for another request',
    cause: 'The Idempotency-Key was already used for a different request.',
  },
  'precondition-required': {
    status: 428,
    title: 'The request needs If-Match',
    cause:
      'Changes to this type need `If-Match`, or `"@etag"` in each item of an array: send the `ETag` that `GET` returned.',
  },
  'rate-limited': {
    status: 429,
    title: 'Too many requests',
    cause:
      'More requests in a minute than `RATE_LIMIT`. Wait for `Retry-After` seconds; `RateLimit` says how many are left.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The headers are too large',
    cause: 'Request line and headers are larger than 32 KiB. The connection is closed.',
  },
  'internal-error': {
    status: 500,
    title: 'The service failed',
    cause: 'A fault of the service. The cause is in its log.',
  },
  'missing-privilege': {
    status: 503,
    title: 'The service lacks a privilege in the database',
    cause:
      'The database user of the service may not do this. An administrator of the database must grant the privilege; the log of the service says which one.',
  },
  'statement-timeout': {
    status: 503,
    title: 'The database took too long',
    retryAfter: 10,
    cause:
      'The database needed longer than `STATEMENT_TIMEOUT` for a statement, which was stopped. Ask for less: a page, an indexed filter or order, fewer relations.',
  },
  'storage-busy': {
    status: 503,
    title: 'The database is busy',
    retryAfter: 1,
    cause:
      'The database is busy, too many searches or long pages are waiting, or the tables changed (`/health/ready` says how). Retry after `Retry-After` seconds.',
  },
  overloaded: {
    status: 503,
    title: 'The service is overloaded',
    retryAfter: 1,
    cause: 'All of `MEMORY_LIMIT` is in use. Retry after `Retry-After` seconds.',
  },
  'outcome-unknown': {
    status: 504,
    title: 'The write may have been done',
    cause:
      'The connection to the database was lost before it said whether the write was done. With `Retry-After`, send the request again; without, look first.',
  },
  'storage-full': {
    status: 507,
    title: 'The disk is full',
    cause: "The database's disk is full. Nothing was changed.",
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof problemKinds;

/** The location of a fault: in the body (JSON Pointer, RFC 6901), in a query parameter, in a header, or in a relation. */
type FaultPlace =
  | { readonly pointer: string }
  | { readonly parameter: string }
  | { readonly header: string }
  | { readonly relation: string };

/** One fault of a request. `code` identifies its kind, such as `required` or `unknown-key`. */
export type Fault = FaultPlace & {
  readonly code: string;
  readonly message: string;
  /** In bodies that hold a record on each line: the number of the line, from 1. */
  readonly line?: number;
  /** The stored records in the way, or the first of many; only those that the token may read. */
  readonly records?: readonly RecordName[];
};

/** A stored record, as responses name it. */
export interface RecordName {
  readonly type: string;
  readonly identifier: number;
}

/** The maximum number of faults in a response, which also has the total number. */
export const MAX_ERRORS = 100;

interface Extras {
  readonly errors?: readonly Fault[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Overrides the default Retry-After. */
  readonly retryAfter?: number;
  /** For the log only; never sent. */
  readonly cause?: unknown;
}

const LONG_STEP = new RegExp(`[^/]{${MAX_ECHO + 1},}`, 'g');

/** A path or pointer whose steps are not too long to repeat. */
export const shortenedPath = (path: string): string =>
  path.length > MAX_ECHO ? path.replaceAll(LONG_STEP, (step) => shortened(step)) : path;

const shortenedFault = (fault: Fault): Fault => ({
  ...fault,
  ...('pointer' in fault ? { pointer: shortenedPath(fault.pointer) } : {}),
  ...('parameter' in fault ? { parameter: shortened(fault.parameter) } : {}),
});

/** Thrown anywhere during a request, and turned into a response in one place. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly status: number;
  readonly errors: readonly Fault[];
  readonly headers: Readonly<Record<string, string>>;
  /** Seconds; undefined where trying again does not help. */
  readonly retryAfter: number | undefined;

  constructor(code: ProblemCode, detail: string, { errors = [], headers = {}, retryAfter, cause }: Extras = {}) {
    super(detail, { cause });
    const kind: ProblemKind = problemKinds[code];
    this.code = code;
    this.status = kind.status;
    this.retryAfter = retryAfter ?? kind.retryAfter;
    this.errors = errors.map(shortenedFault);
    this.headers = headers;
  }
}

/** A problem made of faults: its detail is the first message and the number of the others. */
export function faultyRequest(code: ProblemCode, faults: readonly Fault[]): Problem {
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return new Problem(code, `${first?.message ?? problemKinds[code].title}${more}`, { errors: faults });
}

/** Throws what all of these checks refuse for the reason of the first. */
export function throwTogether(checks: readonly (() => void)[]): void {
  const problems: Problem[] = [];
  for (const check of checks)
    try {
      check();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problems.push(error);
    }
  const [first] = problems;
  if (!first) return;
  const alike = problems.filter(({ code }) => code === first.code);
  throw alike.length === 1
    ? first
    : faultyRequest(
        first.code,
        alike.flatMap(({ errors }) => errors),
      );
}

/** A database statement was stopped after `patience` milliseconds. */
export const tooSlow = (patience: number, cause?: unknown): Problem =>
  new Problem(
    'statement-timeout',
    `The database did not finish within ${patience / 1000} seconds (STATEMENT_TIMEOUT). Ask for less: a page instead of the whole list, filters and an order that an index supports, or fewer relations`,
    { cause },
  );

/** A page is read at once, and held until it is sent. */
export const pageTooLong = (most: number): Problem =>
  faultyRequest('invalid-query', [
    {
      parameter: '_cnd[limit]',
      code: 'page-too-long',
      message: `The page has more than ${most} bytes; ask for fewer records with _cnd[limit], or for less of each with fields and include`,
    },
  ]);

/** The records that a batch answers are held like a page. */
export const manyTooLong = (most: number): Problem =>
  new Problem(
    'invalid-query',
    `The answer would have more than ${most} bytes; send fewer records at once, ask for less of each with fields and include, or for none with Prefer: return=minimal`,
  );

export const isPageTooLong = (error: unknown): boolean =>
  error instanceof Problem && error.errors.some(({ code }) => code === 'page-too-long');

/** No text holds the answer: less can be asked for. */
export const answerTooLong = (cause: unknown): Problem =>
  new Problem(
    'invalid-query',
    'The answer would be too long; ask for fewer records with _cnd[limit], or for less of each with fields and include',
    { cause },
  );

/** Why the engine cannot start; the message can be printed as it is. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}

/** The database cannot be reached, or is still starting: a start may wait for it. */
export class NotYetThere extends StartError {}

/** Why something failed, for the message of another error. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
