/** The interface of a field type. Shared code calls it, and never branches on a type's name. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../json/json.ts';

export type DialectName = 'sqlite' | 'postgres';
export type SqlValue = string | number | null;

/** A value that the service fills in when it writes a record: a time, or the name of the token. */
export type Generated = 'createdAt' | 'updatedAt' | 'createdBy' | 'updatedBy';

/** The operators of list filters, defined in query/operators.ts. */
export type OperatorName = 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'in' | 'like' | 'null';

/** Values of one `in`. */
export const MAX_IN_VALUES = 100;
/** Characters in one pattern of `like`, and `*` among them: databases take time in proportion to the pattern's length. */
const MAX_PATTERN_LENGTH = 200;
const MAX_WILDCARDS = 5;
/** Why a pattern of `like` is too long, as a sentence; undefined if it is not. */
export function patternExcess(text: string): string | undefined {
  if ([...text].length > MAX_PATTERN_LENGTH) return `A pattern can have at most ${MAX_PATTERN_LENGTH} characters`;
  return text.split('*').length - 1 > MAX_WILDCARDS ? `A pattern can have at most ${MAX_WILDCARDS} *` : undefined;
}

/** Measures of summaries over the values of a field. */
export type AggregateName = 'sum' | 'min' | 'max';
/** Periods by which summaries can group points in time. */
export type PeriodName = 'day' | 'month';

/** Makes SQL from the SQL of a column. */
type ColumnSql = (column: string) => string;

/** The part of a field that its type reads: the constraint keywords and the examples of the descriptor. */
export interface Shape {
  readonly constraints: Readonly<Record<string, JsonValue>>;
  readonly examples: readonly JsonValue[];
}

/** The keyword that describes the items of an array. */
export const ITEMS = 'items';

/** The items of an array. */
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
  readonly sqlType: string;
  /** SQL of a check constraint, which also binds other programs that write to the table. */
  readonly limits?: (column: string, shape: Shape) => string;
  encode(value: JsonValue): SqlValue;
  decode(value: SqlValue): JsonValue;
  /** SQL of what `decode` takes; the column itself where it is missing. */
  readonly read?: ColumnSql;
  /** SQL: the JSON text of a column that is not null (null may give null). */
  readonly json: ColumnSql;
  /** SQL: the expression that orders, comparisons and unique indexes use. */
  readonly comparable: ColumnSql;
  /** The bound value that `comparable` is compared with. */
  operand(value: JsonValue): SqlValue;
  /** SQL: the column's value from a key of a JSON object. `path` is a literal path to a key that exists. */
  extracted(document: string, path: string): string;
  /** SQL: the value that stands for the present. */
  readonly now?: string;
  /**
   * SQL: the time of the database, cut to milliseconds, at the start of the statement and when it comes to this row, and
   * the value of a text that holds a time.
   */
  readonly clock?: { readonly statement: string; readonly row: string; readonly given: ColumnSql };
  /** SQL of aggregates where SQL's own will not do: their results are read like the column. */
  readonly aggregates?: Partial<Readonly<Record<AggregateName, ColumnSql>>>;
  /** SQL by which sums are ordered; missing if they are ordered as values are. */
  readonly sumOrder?: ColumnSql;
  /** SQL: an aggregate that picks one of the texts of equal values; missing if these are stored alike. */
  readonly spelling?: ColumnSql;
  /** SQL: the text of the day or the month (UTC) that a value lies in. */
  readonly periods?: Readonly<Record<PeriodName, ColumnSql>>;
  /** SQL that converts a column of another field type, by its name. Only types whose values can all be converted. */
  readonly takes?: Readonly<Record<string, ColumnSql>>;
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
  /** JSON Schema (draft 2020-12) of a non-null value. */
  schema(shape: Shape): JsonObject;
  /** undefined if the values have no items, or if these can be anything. */
  item?(shape: Shape): ItemShape | undefined;
  /** Completes "… must be": "an integer from 0 to 9". */
  expected(shape: Shape): string;
  faults(shape: Shape): readonly KeywordFault[];
  /** Keywords that can only be compared together, and whether `after` accepts everything that `before` accepts. */
  readonly together?: {
    readonly keywords: readonly string[];
    widens(before: Shape, after: Shape): boolean;
  };
  /** Parses the value of a filter in a query string; undefined if it is not a value of this type. */
  parse(text: string): JsonValue | undefined;
  /** An accepted value as responses show it; missing where that is as it was sent. */
  canonical?(value: JsonValue): JsonValue;
  /** Whether two values are equal, however they are written. */
  equal(a: JsonValue, b: JsonValue): boolean;
  /** Compares two non-null values, as `Array.sort` expects. */
  compare(a: JsonValue, b: JsonValue): number;
  /** Types with the same word compare their values with each other's, in the same way; others only with their own. */
  readonly comparedAs?: 'number';
  /** The values of `generated` that fields of this type can have. */
  readonly generates?: readonly Generated[];
  /** The value that stands for this time. A type that has it takes "default: now". */
  now?(time: Date): string;
  readonly columns: Readonly<Record<DialectName, ColumnType>>;
  /**
   * A value that records hardly ever have, whatever the constraints are: a record that gives up a unique value holds it for
   * a moment. Another place gives another value. Missing where limits are part of the column, or values are few.
   */
  spare?(place: number): JsonValue;
  /** An accepted value; another seed gives another value, as far as the constraints allow. */
  good(shape: Shape, seed: number): JsonValue;
  /** Accepted values at the limits of the constraints. */
  edges(shape: Shape): readonly JsonValue[];
  /** Accepted JSON texts that JSON.stringify never produces, for a type that stores the text. */
  texts?(shape: Shape): readonly string[];
  /** Rejected values other than null, not because of one of their items. */
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

/** Shared properties of types of short values with an order. No number, date or time takes more characters. */
export const ordered = { operators: COMPARING, hasNoCommas: true, longest: () => 48 } as const;

/** Shared properties of number types. */
export const numeral = {
  ...ordered,
  faults: (shape: Shape) => boundsFault(shape, 'minimum', 'maximum'),
  equal: (a: JsonValue, b: JsonValue) => a === b,
  compare: (a: JsonValue, b: JsonValue) => Number(a) - Number(b),
  comparedAs: 'number',
} as const;

/** Query strings may write true and false as JavaScript, PHP or Python do; undefined if the text is neither. */
export function parseTruth(text: string): boolean | undefined {
  if (['true', 'True', '1'].includes(text)) return true;
  return ['false', 'False', '0'].includes(text) ? false : undefined;
}

/** A number in the notation of JSON, which filters take as well; undefined for other texts. */
export const parsedNumber = (text: string): number | undefined =>
  /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text) ? Number(text) + 0 : undefined;

/** A numeric constraint, or the fallback if the descriptor does not set it. */
export function numeric(shape: Shape, keyword: string, fallback: number): number {
  const value = shape.constraints[keyword];
  return typeof value === 'number' ? value : fallback;
}

/** A fault if the lower bound is above the upper one. */
export function boundsFault(shape: Shape, lower: string, upper: string): readonly KeywordFault[] {
  const from = shape.constraints[lower];
  const to = shape.constraints[upper];
  if (from === undefined || to === undefined || Number(from) <= Number(to)) return [];
  return [{ keyword: lower, message: `${lower} ${String(from)} is above ${upper} ${String(to)}` }];
}

/** A number below the minimum and one above the maximum, where the descriptor sets these. */
export const outside = ({ constraints: { minimum, maximum } }: Shape): readonly number[] => [
  ...(minimum === undefined ? [] : [Number(minimum) - 1]),
  ...(maximum === undefined ? [] : [Number(maximum) + 1]),
];

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

/** Whether changed constraints still accept every value that they accepted before. When in doubt, they do not. */
export function widens(type: FieldType, before: Shape, after: Shape): boolean {
  const { keywords = [], widens: widen } = type.together ?? {};
  const others = Object.keys({ ...before.constraints, ...after.constraints }).filter((one) => !keywords.includes(one));
  return (
    others.every((keyword) => keywordWidens(keyword, before.constraints[keyword], after.constraints[keyword])) &&
    (widen?.(before, after) ?? true)
  );
}

function keywordWidens(keyword: string, before: JsonValue | undefined, after: JsonValue | undefined): boolean {
  if (after === undefined) return true;
  if (keyword.startsWith('min')) return Number(after) <= Number(before ?? -Infinity);
  if (keyword.startsWith('max')) return Number(after) >= Number(before ?? Infinity);
  if (keyword !== 'enum') return isDeepStrictEqual(before, after);
  return Array.isArray(before) && Array.isArray(after) && before.every((one) => after.includes(one));
}
