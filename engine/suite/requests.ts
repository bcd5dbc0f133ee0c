/** What a case sends, what it expects, and the addresses of record types. */
import type { JsonObject, JsonValue } from '../json.ts';
import type { RecordType } from '../model/model.ts';
import type { ProblemCode } from '../problem.ts';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  /** Sent as it is, in place of `body`. */
  readonly text?: string;
  /** Sent with another token than the one of the run, or with none. */
  readonly token?: 'none' | 'unknown' | 'reader';
}

export interface Expected {
  readonly status: number;
  /** `*` stands for any run of characters; null: the header must be absent. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** `ANY` may stand for values. */
  readonly body?: JsonValue;
  /** The record type of the body, which knows how its values are compared. */
  readonly type?: RecordType;
  /** The code of the problem, and where its errors are, in any order. */
  readonly code?: ProblemCode;
  readonly pointers?: readonly string[];
  readonly parameters?: readonly string[];
}

/** Any value, but the key must be there. */
export const ANY: JsonObject = { $any: true };
export const isAny = (value: JsonValue): boolean => value === ANY;

/** An identifier that no record has, because clients cannot choose it. */
export const MISSING = 2 ** 52 + 1;

export const collection = ({ path }: Pick<RecordType, 'path'>, query = ''): string =>
  `/api/${encodeURIComponent(path)}${query}`;

export const item = (type: RecordType, id: string | number, query = ''): string => `${collection(type)}/${id}${query}`;

/** `_cnd[field][gte]=value` */
export const condition = (steps: readonly string[], value: unknown): string =>
  `_cnd${steps.map((step) => `[${encodeURIComponent(step)}]`).join('')}=${encodeURIComponent(String(value))}`;

/** Only records that the case knows. */
export const among = ({ identifier }: RecordType, ids: readonly number[]): string =>
  `?${ids.map((id) => condition([identifier.name, 'in'], id)).join('&')}`;

/** What writes of a record need where its type requires If-Match. */
export const guard = ({ preconditions }: RecordType): Pick<Request, 'headers'> =>
  preconditions === 'required' ? { headers: { 'if-match': '*' } } : {};

export const problem = (
  status: number,
  code: ProblemCode,
  places: Pick<Expected, 'pointers' | 'parameters'> = {},
): Expected => ({ status, code, ...places });

export const shows = (
  type: RecordType,
  status: number,
  body: JsonValue,
  headers: NonNullable<Expected['headers']> = {},
): Expected => ({ status, body, type, headers });
