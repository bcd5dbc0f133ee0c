/** The operators of list filters: one entry each, read by the parser, SQL, OpenAPI and the suites. */
import type { OperatorName } from '../field-types/field-type.ts';
import type { JsonValue } from '../json.ts';
import type { Filter } from './list-query.ts';

export const MAX_IN_VALUES = 100;
/** `*` in one pattern of `like`. */
export const MAX_WILDCARDS = 8;
/** Characters in one pattern of `like`; SQLite refuses patterns above 50,000 bytes. */
export const MAX_PATTERN_LENGTH = 1000;

export interface Operator {
  readonly name: OperatorName;
  readonly description: string;
  /** What the query string gives: one value, a list of them, or true or false. */
  readonly wants: 'value' | 'values' | 'flag';
  /** SQL over a comparable column, a `?` for each operand. `count`: how many values; of a flag, 1 for true and 0 for false. `like`: the word for it. */
  condition(column: string, count: number, like?: string): string;
  /** The values that are bound, in order. */
  operands(value: JsonValue): readonly JsonValue[];
  /** Why a value is too much for it, as a sentence; undefined where it is not. */
  excess(value: JsonValue): string | undefined;
}

const one = (value: JsonValue): readonly JsonValue[] => [value];
const none = (): undefined => undefined;
const many = (value: JsonValue): readonly JsonValue[] => (Array.isArray(value) ? value : [value]);

/** An operator that compares with one value; null is never among what it finds. */
const comparing = (name: OperatorName, sign: string, description: string): Operator => ({
  name,
  description,
  wants: 'value',
  condition: (column) => `${column} ${sign} ?`,
  operands: one,
  excess: none,
});

export const operators: Readonly<Record<OperatorName, Operator>> = {
  eq: comparing('eq', '=', 'Equal to the value.'),
  ne: comparing('ne', 'is distinct from', 'Not equal to the value; records without a value are found too.'),
  lt: comparing('lt', '<', 'Less than the value.'),
  lte: comparing('lte', '<=', 'Less than or equal to the value.'),
  gt: comparing('gt', '>', 'Greater than the value.'),
  gte: comparing('gte', '>=', 'Greater than or equal to the value.'),
  in: {
    name: 'in',
    description: `Equal to one of the values; the key is repeated for each, at most ${MAX_IN_VALUES} times.`,
    wants: 'values',
    condition: (column, count) => `${column} in (${Array.from({ length: count }, () => '?').join(', ')})`,
    operands: many,
    excess: (value) =>
      many(value).length > MAX_IN_VALUES ? `At most ${MAX_IN_VALUES} values can be given` : undefined,
  },
  like: {
    name: 'like',
    description: 'Matches the whole text: * stands for any run of characters, ASCII letters compare without case.',
    wants: 'value',
    condition: (column, _count, like = 'like') => `${column} ${like} ? escape '\\'`,
    operands: (value) => [pattern(String(value))],
    excess: (value) => patternExcess(String(value)),
  },
  null: {
    name: 'null',
    description: 'true finds records without a value, false those with one.',
    wants: 'flag',
    condition: (column, count) => `${column} is ${count === 1 ? '' : 'not '}null`,
    operands: () => [],
    excess: none,
  },
};

/** By the name a client writes. */
export const operatorsByName: ReadonlyMap<string, Operator> = new Map(Object.entries(operators));

/** The `count` of a filter's condition: with its path and operator all that its SQL depends on. */
export function operandCount({ operator, value }: Filter): number {
  if (operators[operator].wants === 'flag') return value === true ? 1 : 0;
  return operators[operator].wants === 'values' ? many(value).length : 1;
}

/** A pattern of SQL's LIKE, escaped by a backslash, for text in which `*` stands for any run. */
export function pattern(text: string): string {
  return text.replace(/[%_\\]/g, '\\$&').replace(/\*+/g, '%');
}

function patternExcess(text: string): string | undefined {
  if (text.length > MAX_PATTERN_LENGTH) return `A pattern has at most ${MAX_PATTERN_LENGTH} characters`;
  return text.split('*').length - 1 > MAX_WILDCARDS ? `A pattern has at most ${MAX_WILDCARDS} *` : undefined;
}
