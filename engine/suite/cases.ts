/** A case of a suite as plain data: requests, each with the response that is expected. */
import type { JsonObject, JsonValue } from '../json.ts';
import type { RecordType } from '../model/model.ts';
import type { ProblemCode } from '../problem.ts';

/** Paths and headers may hold `{NAME}`, bodies `{ "$ref": NAME }`: a value that the response to an earlier request had. */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  /** Sent as it is, in place of `body`. */
  readonly text?: string;
  /** Sent with another token than the one of the replay, or with none. */
  readonly token?: 'none' | 'unknown' | 'reader';
}

export interface Expected {
  readonly status: number;
  /** `*` stands for any run of characters; null: the header must be absent. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** `ANY` and `{ "$ref": NAME }` may stand for values. */
  readonly body?: JsonValue;
  /** The record type of the body, which tells how its values are compared. */
  readonly type?: string;
  /** What is wrong with the request: the code of the problem, and where its errors are, in any order. */
  readonly code?: ProblemCode;
  readonly pointers?: readonly string[];
  readonly parameters?: readonly string[];
}

export interface Step {
  readonly request: Request;
  readonly expected: Expected;
  /** By name, what to keep of the response: a JSON Pointer into the body, or a header. */
  readonly keep?: Readonly<Record<string, string>>;
  /** The record that a list shows first is borrowed: afterwards these fields are as before. Without a record, the case is skipped. */
  readonly borrows?: readonly string[];
  /** There may be a record with the same unique value already, since samples are few: it is used, or the case is skipped. */
  readonly taken?: 'use' | 'skip';
}

export interface Case {
  /** The record type; '' where the case is about the service. */
  readonly type: string;
  /** The request that the case is about. */
  readonly title: string;
  readonly steps: readonly Step[];
}

/** Any value, but the key must be there. */
export const ANY: JsonObject = { $any: true };
export const ref = (name: string): JsonObject => ({ $ref: name });

/** An identifier that no record has, because clients cannot choose it. */
export const MISSING = 2 ** 52 + 1;

export const collection = ({ path }: Pick<RecordType, 'path'>, query = ''): string =>
  `/api/${encodeURIComponent(path)}${query}`;

export const item = (type: RecordType, id: string | number, query = ''): string =>
  `${collection(type)}/${typeof id === 'number' ? id : `{${id}}`}${query}`;

/** `_cnd[field][gte]=value` */
export const condition = (steps: readonly string[], value: unknown): string =>
  `_cnd${steps.map((step) => `[${encodeURIComponent(step)}]`).join('')}=${encodeURIComponent(String(value))}`;

/** Only records that the case knows. */
export const among = ({ identifier }: RecordType, names: readonly string[]): string =>
  `?${names.map((name) => `${condition([identifier.name, 'in'], '')}{${name}}`).join('&')}`;

/** What writes of a record need where its type requires If-Match. */
export const guard = ({ preconditions }: RecordType): Pick<Request, 'headers'> =>
  preconditions === 'required' ? { headers: { 'if-match': '*' } } : {};

export const problem = (
  status: number,
  code: ProblemCode,
  places: Pick<Expected, 'pointers' | 'parameters'> = {},
): Expected => ({ status, code, ...places });

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export const onlyReads = ({ steps }: Case): boolean => steps.every(({ request }) => READS.has(request.method));
