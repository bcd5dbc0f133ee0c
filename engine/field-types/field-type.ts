/** What a field type answers for itself. Shared code asks; it never branches on a type's name. */
import type { JsonObject, JsonValue } from '../json.ts';

export type DialectName = 'sqlite' | 'postgres';
export type SqlValue = string | number | null;

/** The operators that list filters know; what each does stands in query/operators.ts. */
export type OperatorName = 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'in' | 'like' | 'null';

/** The part of a field that its type reads: the constraint keywords of the descriptor, and its examples. */
export interface Shape {
  readonly constraints: Readonly<Record<string, JsonValue>>;
  readonly examples: readonly JsonValue[];
}

/** A constraint keyword that contradicts another one. */
export interface KeywordFault {
  readonly keyword: string;
  readonly message: string;
}

/** How a field type is kept in the columns of one database. None of these is asked for null. */
export interface ColumnType {
  /** The column type in DDL. */
  readonly sqlType: string;
  /** SQL: what a column must keep to, so that no other program can write what the field does not take. */
  readonly limits?: (column: string, shape: Shape) => string;
  encode(value: JsonValue): SqlValue;
  decode(value: SqlValue): JsonValue;
  /** SQL: the JSON text of a column that is not null (null may give null). */
  json(column: string): string;
  /** SQL: the column as it is ordered, compared and kept unique. */
  comparable(column: string): string;
  /** The bound value that `comparable` is compared with. */
  operand(value: JsonValue): SqlValue;
  /** SQL: what the column keeps of a key of a JSON object; `path` is a literal that leads to the key, which is there. */
  extracted(document: string, path: string): string;
  /** By field type: SQL of what the column keeps of a column of that type. Only types all of whose values hold. */
  readonly takes?: Readonly<Record<string, (column: string) => string>>;
}

/** Keywords that say only together what is accepted. */
interface Together {
  readonly keywords: readonly string[];
  /** Whether everything that was accepted is accepted. */
  widens(before: Shape, after: Shape): boolean;
}

export interface FieldType {
  readonly name: string;
  /** One sentence for the grammar's hover text and the manual. */
  readonly description: string;
  /** The constraint keywords a descriptor may set, each with the JSON Schema of its value. */
  readonly keywords: Readonly<Record<string, JsonObject>>;
  readonly operators: readonly OperatorName[];
  /** The column keeps the JSON text that was sent: no value is made of it on its way there and back. */
  readonly keepsText?: true;
  /** Characters that the JSON text of a value has at most; Infinity where only the limits of bodies bound it. */
  longest(shape: Shape): number;
  /** JSON Schema (draft 2020-12) of a value that is not null. */
  schema(shape: Shape): JsonObject;
  /** What a value must be, as the end of a sentence: "an integer from 0 to 9". */
  expected(shape: Shape): string;
  /** Constraints that contradict each other. */
  faults(shape: Shape): readonly KeywordFault[];
  readonly together?: Together;
  /** The value of a filter as the query string writes it; undefined where it is none of this type. */
  parse(text: string): JsonValue | undefined;
  /** Whether two values are the same to a client, however they are written. */
  equal(a: JsonValue, b: JsonValue): boolean;
  /** The order of two values that are not null: below, at or above zero, as `sort` wants it. */
  compare(a: JsonValue, b: JsonValue): number;
  readonly columns: Readonly<Record<DialectName, ColumnType>>;
  /** A value that is accepted; other seeds give other values as far as the constraints allow. */
  good(shape: Shape, seed: number): JsonValue;
  /** Accepted values at the edge of what the constraints allow. */
  edges(shape: Shape): readonly JsonValue[];
  /** Accepted texts that JSON.stringify never writes, for a type that keeps the text. */
  texts?(shape: Shape): readonly string[];
  /** Values that are refused, null apart. */
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

export const byNumber = (a: JsonValue, b: JsonValue): number => Number(a) - Number(b);

/** A numeric constraint, or the fallback where the descriptor does not set it. */
export function numeric(shape: Shape, keyword: string, fallback: number): number {
  const value = shape.constraints[keyword];
  return typeof value === 'number' ? value : fallback;
}

/** Of a number, a date or a time. */
export const SHORT = 48;

/** A fault where the lower bound lies above the upper one. */
export function boundsFault(shape: Shape, lower: string, upper: string): readonly KeywordFault[] {
  const from = shape.constraints[lower];
  const to = shape.constraints[upper];
  if (from === undefined || to === undefined || Number(from) <= Number(to)) return [];
  return [{ keyword: lower, message: `${lower} ${String(from)} is above ${upper} ${String(to)}` }];
}

/** The values of `enum`, or undefined where any value will do. */
export function listed(shape: Shape): readonly JsonValue[] | undefined {
  const values = shape.constraints['enum'];
  return Array.isArray(values) ? values : undefined;
}

/** The `seed`th item, counted round. */
export function pick<T>(items: readonly T[], seed: number): T {
  const item = items[seed % items.length];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}

/** Null beside what the type allows. */
export function withNull(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: [type, 'null'].flat() }),
    ...(Array.isArray(values) ? { enum: [...(values as JsonValue[]), null] } : {}),
  };
}
