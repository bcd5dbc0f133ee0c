/** What a field type defines. Shared code calls it, and never branches on a type's name. */
import type { JsonObject, JsonValue } from '../json/json.ts';

export type DialectName = 'sqlite' | 'postgres';
export type SqlValue = string | number | null;

/** What the service fills in when it writes a record: a time, or the name of the token. */
export type Generated = 'createdAt' | 'updatedAt' | 'createdBy' | 'updatedBy';

/** The operators of list filters, defined in query/operators.ts. */
export type OperatorName = 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'in' | 'like' | 'null';

/** Values of one `in`. */
export const MAX_IN_VALUES = 100;
/** Characters in one pattern of `like`, and `*` among them: databases take time in proportion to the pattern's length. */
export const MAX_PATTERN_LENGTH = 200;
const MAX_WILDCARDS = 5;
/** Why a pattern of `like` is too long, as a sentence; undefined if it is not. */
export function patternExcess(text: string): string | undefined {
  if ([...text].length > MAX_PATTERN_LENGTH) return `A pattern can have at most ${MAX_PATTERN_LENGTH} characters`;
  return text.split('*').length - 1 > MAX_WILDCARDS ? `A pattern can have at most ${MAX_WILDCARDS} *` : undefined;
}

/** What summaries can make of the values of a field. */
export type AggregateName = 'sum' | 'min' | 'max';
/** What summaries can group points in time by. */
export type PeriodName = 'day' | 'month';

export type ColumnSql = (column: string) => string;

/** The part of a field that its type reads: the constraint keywords and the examples of the descriptor. */
export interface Shape {
  readonly constraints: Readonly<Record<string, JsonValue>>;
  readonly examples: readonly JsonValue[];
}

/** The keyword whose value says what each item of an array must be. */
export const ITEMS = 'items';

/** What each item of an array must be. */
export interface ItemShape extends Shape {
  readonly type: FieldType;
  readonly nullable: boolean;
  readonly description: string;
}

/** A constraint keyword that contradicts another. */
export interface KeywordFault {
  readonly keyword: string;
  readonly message: string;
}

/** How one database stores a field type. None of the functions is called with null. */
export interface ColumnType {
  /** The column type in DDL. */
  readonly sqlType: string;
  /** SQL of a check constraint, which also binds other programs that write to the table. */
  readonly limits?: (column: string, shape: Shape) => string;
  encode(value: JsonValue): SqlValue;
  decode(value: SqlValue): JsonValue;
  /** SQL of what `decode` takes; the column itself where it is missing. */
  readonly read?: ColumnSql;
  /** SQL: the JSON text of a column that is not null (null may give null). */
  json(column: string): string;
  /** SQL: the expression that orders, comparisons and unique indexes use. */
  comparable(column: string): string;
  /** The bound value that `comparable` is compared with. */
  operand(value: JsonValue): SqlValue;
  /** SQL: the column's value from a key of a JSON object. `path` is a literal path to a key that exists. */
  extracted(document: string, path: string): string;
  /** SQL: the value that stands for the present. */
  readonly now?: string;
  /**
   * SQL: the time of the database, cut to milliseconds: when the statement began, and when it comes to this row. `given`:
   * the value of a text that says the time itself.
   */
  readonly clock?: { readonly statement: string; readonly row: string; readonly given: ColumnSql };
  /** SQL of aggregates: their results are read like the column. */
  readonly aggregates?: Partial<Readonly<Record<AggregateName, ColumnSql>>>;
  /** SQL by which sums are ordered; missing if they are ordered as values are. */
  readonly sumOrder?: ColumnSql;
  /** SQL: an aggregate that picks one of the texts of equal values; missing if these are stored alike. */
  readonly spelling?: ColumnSql;
  /** SQL: the text of the day or the month (UTC) that a value lies in. */
  readonly periods?: Readonly<Record<PeriodName, ColumnSql>>;
  /** SQL that converts a column of another field type, by its name. Only types whose values can all be converted. */
  readonly takes?: Readonly<Record<string, (column: string) => string>>;
}

/** Keywords that can only be compared together, such as precision and scale. */
interface Together {
  readonly keywords: readonly string[];
  /** Whether `after` accepts everything that `before` accepts. */
  widens(before: Shape, after: Shape): boolean;
}

export interface FieldType {
  readonly name: string;
  readonly operators: readonly OperatorName[];
  /** No value has a comma in it: several can be joined by commas in a query string. */
  readonly hasNoCommas?: true;
  /** Free text: it can name a record, and descriptors can let case be ignored where values are compared. */
  readonly isText?: true;
  /** The column stores the JSON text that was sent, which is never parsed into a value. */
  readonly keepsText?: true;
  /** Maximum characters in the JSON text of a value; Infinity if only the limits of request bodies bound it. */
  longest(shape: Shape): number;
  /** All values, if there are few. */
  readonly fewValues?: readonly JsonValue[];
  /** JSON Schema (draft 2020-12) of a non-null value. */
  schema(shape: Shape): JsonObject;
  /** undefined if the values have no items, or if these can be anything. */
  item?(shape: Shape): ItemShape | undefined;
  /** Completes "… must be": "an integer from 0 to 9". */
  expected(shape: Shape): string;
  /** Constraints that contradict each other. */
  faults(shape: Shape): readonly KeywordFault[];
  readonly together?: Together;
  /** Parses the value of a filter in a query string; undefined if it is not a value of this type. */
  parse(text: string): JsonValue | undefined;
  /** An accepted value as it is answered; missing where that is as it was sent. */
  canonical?(value: JsonValue): JsonValue;
  /** Whether two values are equal, however they are written. */
  equal(a: JsonValue, b: JsonValue): boolean;
  /** Compares two non-null values, as `Array.sort` expects. */
  compare(a: JsonValue, b: JsonValue): number;
  /** Types with the same word compare their values with each other's, in the same way; others only with their own. */
  readonly comparedAs?: 'number';
  /** What the service can fill in fields of this type. */
  readonly generates?: readonly Generated[];
  /** The value that stands for this time. A type that has it takes "default: now". */
  now?(time: Date): string;
  readonly columns: Readonly<Record<DialectName, ColumnType>>;
  /**
   * A value that records hardly ever have, whatever the constraints say: it is held for a moment by a record that gives up
   * a unique value. Another place gives another value. Missing where limits are part of the column, or values are few.
   */
  spare?(place: number): JsonValue;
  /** An accepted value; another seed gives another value, as far as the constraints allow. */
  good(shape: Shape, seed: number): JsonValue;
  /** Accepted values at the limits of the constraints. */
  edges(shape: Shape): readonly JsonValue[];
  /** Accepted JSON texts that JSON.stringify never produces, for a type that stores the text. */
  texts?(shape: Shape): readonly string[];
  /** Rejected values other than null. No item of theirs is the reason. */
  bad(shape: Shape): readonly JsonValue[];
}

export const COMPARING = [
  'eq',
  'ne',
  'lt',
  'lte',
  'gt',
  'gte',
  'in',
  'null',
] as const satisfies readonly OperatorName[];

/** What query strings may write for true and false: JavaScript, PHP and Python differ. */
const TRUTH: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'True', '1'].map((text) => [text, true] as const),
  ...['false', 'False', '0'].map((text) => [text, false] as const),
]);

/** undefined if the text is neither. */
export const parseTruth = (text: string): boolean | undefined => TRUTH.get(text);

/** What JSON takes for a number, and filters as well. */
export const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i;

export const byNumber = (a: JsonValue, b: JsonValue): number => Number(a) - Number(b);

/** A numeric constraint, or the fallback if the descriptor does not set it. */
export function numeric(shape: Shape, keyword: string, fallback: number): number {
  const value = shape.constraints[keyword];
  return typeof value === 'number' ? value : fallback;
}

/** Maximum characters in the JSON text of a number, a date or a time. */
export const SHORT = 48;

/** A fault if the lower bound is above the upper one. */
export function boundsFault(shape: Shape, lower: string, upper: string): readonly KeywordFault[] {
  const from = shape.constraints[lower];
  const to = shape.constraints[upper];
  if (from === undefined || to === undefined || Number(from) <= Number(to)) return [];
  return [{ keyword: lower, message: `${lower} ${String(from)} is above ${upper} ${String(to)}` }];
}

/** The values of `enum`, or undefined without one. */
export function listed(shape: Shape): readonly JsonValue[] | undefined {
  const values = shape.constraints['enum'];
  return Array.isArray(values) ? values : undefined;
}

/** Completes "expected …" where only some values are accepted; undefined without `enum`. */
export const expectedOf = (shape: Shape): string | undefined => {
  const values = listed(shape)?.map((value) => JSON.stringify(value));
  return values && `one of ${values.join(', ')}`;
};

/** The item at `seed`, modulo the number of items. */
export function pick<T>(items: readonly T[], seed: number): T {
  const item = items[seed % items.length];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}

/** The schema of a value that must not be null. */
export function withoutNull(schema: JsonObject): JsonObject {
  // Not a list of all types: Ajv does not accept Infinity, which 1e400 is parsed to, as a number.
  return schema['type'] === undefined ? { ...schema, not: { type: 'null' } } : schema;
}

/** The schema, extended to accept null. */
export function withNull(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: [type, 'null'].flat() }),
    ...(Array.isArray(values) ? { enum: [...(values as JsonValue[]), null] } : {}),
  };
}
