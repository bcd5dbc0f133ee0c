/** The operators of list filters and of checks. The engine evaluates checks itself, so that both databases answer alike. */
import { foldedValue } from '../field-types/case-folding.ts';
import { MAX_IN_VALUES, type OperatorName, patternExcess } from '../field-types/field-type.ts';
import { integer } from '../field-types/integer.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { Check, CheckCondition, Field, RecordType } from '../model/model.ts';

export interface Operator {
  readonly name: OperatorName;
  readonly description: string;
  readonly wants: 'value' | 'values' | 'flag';
  /** With the column all that the condition depends on: how many values; of a flag, 1 for true. */
  count(value: JsonValue): number;
  /** SQL over a comparable column, a `?` for each operand. `like`: the dialect's LIKE that compares ASCII letters without case. */
  condition(column: string, count: number, like: string): string;
  operands(value: JsonValue): readonly JsonValue[];
  /** Why an operand is too large, as a sentence; undefined if it is not. `most`: values of a list. */
  excess(value: JsonValue, most: number): string | undefined;
  /** The same in the engine: whether a value satisfies the condition. Neither it nor the operand is null. */
  test(value: JsonValue, operand: JsonValue, compare: (a: JsonValue, b: JsonValue) => number): boolean;
}

const many = (value: JsonValue): readonly JsonValue[] => (Array.isArray(value) ? value : [value]);

/** An operator that compares with one value; null is never among what it finds. */
const comparing = (
  name: OperatorName,
  sign: string,
  fits: (order: number) => boolean,
  description: string,
): Operator => ({
  name,
  description,
  wants: 'value',
  count: () => 1,
  condition: (column) => `${column} ${sign} ?`,
  operands: (value) => [value],
  excess: () => undefined,
  test: (value, operand, compare) => fits(compare(value, operand)),
});

export const operators: Readonly<Record<OperatorName, Operator>> = {
  eq: comparing('eq', '=', (order) => order === 0, 'Equal to the value.'),
  ne: comparing(
    'ne',
    'is distinct from',
    (order) => order !== 0,
    'Not equal to the value; also finds records without a value.',
  ),
  lt: comparing('lt', '<', (order) => order < 0, 'Less than the value.'),
  lte: comparing('lte', '<=', (order) => order <= 0, 'Less than or equal to the value.'),
  gt: comparing('gt', '>', (order) => order > 0, 'Greater than the value.'),
  gte: comparing('gte', '>=', (order) => order >= 0, 'Greater than or equal to the value.'),
  in: {
    name: 'in',
    description: `Equal to one of the values, at most ${MAX_IN_VALUES}: repeat the key for each, or join them by commas, unless a text can have one.`,
    wants: 'values',
    count: (value) => many(value).length,
    condition: (column, count) => `${column} in (${Array.from({ length: count }, () => '?').join(', ')})`,
    operands: many,
    test: (value, operand, compare) => many(operand).some((listed) => compare(value, listed) === 0),
    excess: (value, most) =>
      many(value).length > most ? `A list of values can have at most ${most} values` : undefined,
  },
  like: {
    name: 'like',
    description: 'Matches the whole text: * matches any run of characters, and ASCII letters match in either case.',
    wants: 'value',
    count: () => 1,
    condition: (column, _count, like) => `${column} ${like} ? escape '\\'`,
    operands: (value) => [pattern(String(value))],
    excess: (value) => patternExcess(String(value)),
    test: (value, operand) => hasSegments(lowered(String(value)), lowered(String(operand)).split(/\*+/)),
  },
  null: {
    name: 'null',
    description: 'true finds records without a value, false those with one.',
    wants: 'flag',
    count: (value) => (value === true ? 1 : 0),
    condition: (column, count) => `${column} is ${count === 1 ? '' : 'not '}null`,
    operands: () => [],
    excess: () => undefined,
    test: () => true,
  },
};

export const operatorsByName: ReadonlyMap<string, Operator> = new Map(Object.entries(operators));

export const countOperators: readonly OperatorName[] = integer.operators.filter((name) => name !== operators.null.name);

/** A pattern of SQL's LIKE, escaped by a backslash, for text in which `*` stands for any run. */
const pattern = (text: string): string => text.replace(/[%_\\]/g, '\\$&').replace(/\*+/g, '%');

const LAST_POINT = 0x10ffff;

/** The range, by code points, of texts that begin as the pattern does; undefined for `*…`. */
export function rangeOfPattern(text: string): readonly [from: string, below: string] | undefined {
  const [first = ''] = text.split('*', 1);
  const points = [...first].map((sign) => sign.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // Surrogates are no characters.
  return [first, String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)];
}

/** Whether the text begins with the first segment and ends with the last, and has the others between them in their order. */
function hasSegments(text: string, [first = '', ...others]: readonly string[]): boolean {
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const segment of others) {
    const found = text.indexOf(segment, at);
    if (found < 0) return false;
    at = found + segment.length;
  }
  return at + last.length <= text.length;
}

const lowered = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

// Checks.

type ValueOf = (field: Field) => JsonValue;

export const meets = ({ must, when }: Check, valueOf: ValueOf): boolean =>
  !when.every((one) => holds(one, valueOf, undefined)) || must.every((one) => holds(one, valueOf, true));

/** The checks of its type that a new record does not meet, from its values by name; without one it has its default. */
export const unmetBy = ({ checks }: RecordType, values: JsonObject): readonly Check[] =>
  checks.filter(
    (check) =>
      !meets(check, (field) => (Object.hasOwn(values, field.name) ? values[field.name] : defaultOf(field)) ?? null),
  );

const defaultOf = ({ isNowByDefault, type, default: value }: Field): JsonValue | undefined =>
  isNowByDefault ? type.now?.(new Date()) : value;

/** `withNull`: what a comparison with null comes to; undefined: what it would for a list filter. */
function holds(condition: CheckCondition, valueOf: ValueOf, withNull: boolean | undefined): boolean {
  if ('group' in condition) {
    const { group, items } = condition;
    // Null says nothing about what must hold, nor about what must not.
    const inner = group === 'none' && withNull !== undefined ? !withNull : withNull;
    const itemHolds = (item: readonly CheckCondition[]): boolean => item.every((one) => holds(one, valueOf, inner));
    return group === 'all' ? items.every(itemHolds) : items.some(itemHolds) === (group === 'any');
  }
  const { field, operator, operand, other } = condition;
  if (operator === 'null') return (valueOf(field) === null) === operand;
  // As the tables have it: other instances hold what they write to the same.
  const isFolded = field.folded !== undefined || other?.folded !== undefined;
  const [value = null, compared = null] = [valueOf(field), other ? valueOf(other) : operand].map((one) =>
    isFolded ? foldedValue(one) : one,
  );
  if (value !== null && compared !== null) return operators[operator].test(value, compared, field.type.compare);
  return withNull ?? (operator === 'ne' && value !== compared);
}
