/** The interface of a field type. Shared code never branches on a type's name. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { Periods } from './periods.ts';

export type DialectName = 'sqlite' | 'postgres';
export type SqlValue = string | number | null;

export type Generated = 'createdAt' | 'updatedAt' | 'createdBy' | 'updatedBy';

export type OperatorName = 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'in' | 'like' | 'null';

/** Maximum values of one `in`. */
export const MAX_IN_VALUES = 100;
/** Databases match `like` in time proportional to the length of the pattern. */
const MAX_PATTERN_LENGTH = 200;
const MAX_WILDCARDS = 5;
/** Why a pattern of `like` is too long, as a sentence; undefined if it is not. */
export function patternExcess(text: string): string | undefined {
  if ([...text].length > MAX_PATTERN_LENGTH) return `A pattern can have at most ${MAX_PATTERN_LENGTH} characters`;
  return text.split('*').length - 1 > MAX_WILDCARDS ? `A pattern can have at most ${MAX_WILDCARDS} *` : undefined;
}

export type AggregateName = 'sum' | 'avg' | 'min' | 'max';

type ColumnSql = (column: string) => string;

/** The part of a field that its type reads. */
export interface Shape {
  readonly constraints: Readonly<Record<string, JsonValue>>;
  readonly examples: readonly JsonValue[];
}

export const ITEMS = 'items';

export interface ItemShape extends Shape {
  readonly type: FieldType;
  readonly nullable: boolean;
  readonly description: string;
}

export interface KeywordFault {
  readonly keyword: string;
  readonly message: string;
}

/** How a database stores a field type. The functions are never called with null. */
export interface ColumnType {
  readonly sqlType: string;
  readonly limits?: (column: string, shape: Shape) => string;
  encode(value: JsonValue): SqlValue;
  decode(value: SqlValue): JsonValue;
  /** SQL for the argument of `decode`; default: the column. */
  readonly read?: ColumnSql;
  /** SQL for the JSON of a column that is not null. */
  readonly json: ColumnSql;
  /** SQL for orders, comparisons and indexes. */
  readonly comparable: ColumnSql;
  /** The bound value that `comparable` is compared with. */
  operand(value: JsonValue): SqlValue;
  /** SQL for the column's value in a JSON object. `path`: a literal path to a key that exists. */
  extracted(document: string, path: string): string;
  /** SQL for the current time, for `default: now`. */
  readonly now?: string;
  /** SQL for the time in milliseconds: at the start of the statement, at this row, and of a `given` text. */
  readonly clock?: { readonly statement: string; readonly row: string; readonly given: ColumnSql };
  /** SQL for aggregates, if not standard SQL. Results are read like the column. */
  readonly aggregates?: Partial<Readonly<Record<AggregateName, ColumnSql>>>;
  /** SQL for ordering sums, if not `comparable`. */
  readonly sumOrder?: ColumnSql;
  /** SQL for an aggregate that picks one spelling of equal values. */
  readonly spelling?: ColumnSql;
  readonly periods?: Periods;
  /** By the name of another field type: SQL to convert its column, if all values can be converted. */
  readonly convertsFrom?: Readonly<Record<string, ColumnSql>>;
}

export interface FieldType {
  readonly name: string;
  readonly operators: readonly OperatorName[];
  /** Free text: it can name a record, be `caseless`, and contain commas. */
  readonly isText?: true;
  /** The column stores the JSON as sent. */
  readonly keepsText?: true;
  /** JSON Schema (draft 2020-12) of a non-null value. */
  schema(shape: Shape): JsonObject;
  /** undefined if items can have any type. */
  item?(shape: Shape): ItemShape | undefined;
  /** Completes "… must be": "an integer from 0 to 9". */
  expected(shape: Shape): string;
  faults(shape: Shape): readonly KeywordFault[];
  /** Keywords compared together: `widens` returns whether `after` accepts all that `before` accepts. */
  readonly comparedTogether?: {
    readonly keywords: readonly string[];
    widens(before: Shape, after: Shape): boolean;
  };
  /** The value of a filter in a query string; undefined if it is not of this type. */
  parse(text: string): JsonValue | undefined;
  /** An accepted value as responses show it, if not as sent. */
  canonical?(value: JsonValue): JsonValue;
  equal(a: JsonValue, b: JsonValue): boolean;
  /** As `Array.sort` expects. Neither value is null. */
  compare(a: JsonValue, b: JsonValue): number;
  /** Checks can compare fields of numeric types with each other. */
  readonly isNumeric?: true;
  /** The value for this time, for types that take "default: now". */
  now?(time: Date): string;
  readonly columns: Readonly<Record<DialectName, ColumnType>>;
  /** A value that probably no record has, for a write that must clear a unique value temporarily. */
  temporary?(index: number): JsonValue;
  /** An accepted value, different by seed as far as the constraints allow. */
  good(shape: Shape, seed: number): JsonValue;
  /** Accepted values at the limits of the constraints. */
  edges(shape: Shape): readonly JsonValue[];
  /** Rejected values other than null, of another type or beyond the limits of the type itself. */
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

export const numeral = {
  operators: COMPARING,
  faults: (shape: Shape) => boundsFault(shape, 'minimum', 'maximum'),
  equal: (a: JsonValue, b: JsonValue) => a === b,
  compare: (a: JsonValue, b: JsonValue) => Number(a) - Number(b),
  isNumeric: true,
} as const;

/** Parses true and false as JavaScript, PHP or Python write them; undefined for other strings. */
export function parseTruth(text: string): boolean | undefined {
  if (['true', 'True', '1'].includes(text)) return true;
  return ['false', 'False', '0'].includes(text) ? false : undefined;
}

export const parsedNumber = (text: string): number | undefined =>
  /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text) ? Number(text) + 0 : undefined;

/** ` of 1 to 40 characters`, or the empty string without bounds. */
export function sizeOf(least: unknown, most: unknown, noun: string): string {
  if (least === undefined && most === undefined) return '';
  const [from, to] = [String(least), String(most)];
  const both = from === to ? to : `${from} to ${to}`;
  const bounds = least === undefined ? `at most ${to}` : most === undefined ? `at least ${from}` : both;
  return ` of ${bounds} ${noun}${(most ?? least) === 1 ? '' : 's'}`;
}

/** ` from 0 to 9`, ` of at least 0`, or the empty string without bounds. */
export function rangeOf({ minimum, maximum }: Shape['constraints']): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${String(minimum)} to ${String(maximum)}`;
  if (minimum !== undefined) return ` of at least ${String(minimum)}`;
  return maximum === undefined ? '' : ` of at most ${String(maximum)}`;
}

/** A numeric constraint, or the fallback if the descriptor does not set it. */
export function numeric(shape: Shape, keyword: string, fallback: number): number {
  const value = shape.constraints[keyword];
  return typeof value === 'number' ? value : fallback;
}

export function boundsFault(shape: Shape, lower: string, upper: string): readonly KeywordFault[] {
  const from = shape.constraints[lower];
  const to = shape.constraints[upper];
  if (from === undefined || to === undefined || Number(from) <= Number(to)) return [];
  return [{ keyword: lower, message: `${lower} ${String(from)} is above ${upper} ${String(to)}` }];
}

/** The values of `enum`; undefined without one. */
export function listed(shape: Shape): readonly JsonValue[] | undefined {
  const values = shape.constraints['enum'];
  return Array.isArray(values) ? values : undefined;
}

/** Completes "expected …" where only some values are accepted; undefined without `enum`. */
export const expectedOf = (shape: Shape): string | undefined => {
  const values = listed(shape)?.map((value) => JSON.stringify(value));
  return values && `one of ${values.join(', ')}`;
};

/** The item at `seed`, modulo the number of items. Throws if there is none. */
export function pick<T>(items: readonly T[], seed: number): T {
  const item = items[seed % items.length];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}

export function withoutNull(schema: JsonObject): JsonObject {
  // A list of all types would reject Infinity, parsed from 1e400: to Ajv it is no number.
  return schema['type'] === undefined ? { ...schema, not: { type: 'null' } } : schema;
}

export function withNull(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: [type, 'null'].flat() }),
    ...(Array.isArray(values) ? { enum: [...(values as JsonValue[]), null] } : {}),
  };
}

/** Whether changed constraints accept every value that was accepted before. When in doubt, false. */
export function widens(type: FieldType, before: Shape, after: Shape): boolean {
  const { keywords = [], widens: widen } = type.comparedTogether ?? {};
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
