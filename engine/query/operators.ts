/** The operators of list filters and checks. The engine evaluates checks itself, for equal results on both databases. */
import { foldedValue } from '../field-types/case-folding.ts';
import { MAX_IN_VALUES, type OperatorName } from '../field-types/field-type.ts';
import { integer } from '../field-types/integer.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { Check, CheckCondition, Field, RecordType } from '../model/model.ts';

export interface Operator {
  readonly name: OperatorName;
  readonly description: string;
  readonly operand: 'value' | 'values' | 'flag';
  /** SQL for a comparable column; `test` does the same here. `like`: the LIKE operator that ignores ASCII case. */
  condition(column: string, count: number, like: string): string;
  test(value: JsonValue, operand: JsonValue, compare: (a: JsonValue, b: JsonValue) => number): boolean;
}

/** Compares with one value; null matches only `ne`. */
const comparing = (
  name: OperatorName,
  sign: string,
  fits: (order: number) => boolean,
  description: string,
): Operator => ({
  name,
  description,
  operand: 'value',
  condition: (column) => `${column} ${sign} ?`,
  test: (value, operand, compare) => fits(compare(value, operand)),
});

const many = (value: JsonValue): readonly JsonValue[] => (Array.isArray(value) ? value : [value]);

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
    operand: 'values',
    condition: (column, count) => `${column} in (${Array.from({ length: count }, () => '?').join(', ')})`,
    test: (value, operand, compare) => many(operand).some((listed) => compare(value, listed) === 0),
  },
  like: {
    name: 'like',
    description: 'Matches the whole text: * matches any run of characters, and ASCII letters match in either case.',
    operand: 'value',
    condition: (column, _, like) => `${column} ${like} ? escape '\\'`,
    test: (value, operand) => hasSegments(lowered(String(value)), lowered(String(operand)).split(/\*+/)),
  },
  null: {
    name: 'null',
    description: 'true finds records without a value, false those with one.',
    operand: 'flag',
    condition: (column, count) => `${column} is ${count === 1 ? '' : 'not '}null`,
    test: () => true,
  },
};

/** The `count` of `condition`: the number of operands; for a flag, 1 for true and 0 for false. */
export const countOf = (name: OperatorName, value: JsonValue): number =>
  operators[name].operand === 'flag' ? Number(value) : many(value).length;

export function operandsOf(name: OperatorName, value: JsonValue): readonly JsonValue[] {
  if (operators[name].operand === 'flag') return [];
  return name === 'like' ? [pattern(String(value))] : many(value);
}

export const operatorsByName: ReadonlyMap<string, Operator> = new Map(Object.entries(operators));

export const countOperators: readonly OperatorName[] = integer.operators.filter((name) => name !== operators.null.name);

/** A pattern for SQL's LIKE, escaped by a backslash, from text with `*` as wildcard. */
const pattern = (text: string): string => text.replace(/[%_\\]/g, '\\$&').replace(/\*+/g, '%');

const LAST_POINT = 0x10ffff;

/** The range of strings with the pattern's prefix, by code point; undefined for `*…`. */
export function rangeOfPattern(text: string): readonly [from: string, below: string] | undefined {
  const [first = ''] = text.split('*', 1);
  const points = [...first].map((sign) => sign.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  return [first, String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)];
}

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

type ValueOf = (field: Field) => JsonValue;

export const meets = ({ must, when }: Check, valueOf: ValueOf): boolean =>
  !when.every((one) => holds(one, valueOf, undefined)) || must.every((one) => holds(one, valueOf, true));

/** The checks that a new record fails. `values`: by name; other fields have their defaults. */
export function unmetBy({ checks }: RecordType, values: JsonObject): readonly Check[] {
  const valueOf = ({ name, isNowByDefault, type, default: value }: Field): JsonValue =>
    (Object.hasOwn(values, name) ? values[name] : isNowByDefault ? type.now?.(new Date()) : value) ?? null;
  return checks.filter((check) => !meets(check, valueOf));
}

/** `withNull`: the result of a comparison with null; undefined: as in a list filter. */
function holds(condition: CheckCondition, valueOf: ValueOf, withNull: boolean | undefined): boolean {
  if ('group' in condition) {
    const { group, items } = condition;
    // Comparing with null must not fail a check, even inside `none`.
    const inner = group === 'none' && withNull !== undefined ? !withNull : withNull;
    const itemHolds = (item: readonly CheckCondition[]): boolean => item.every((one) => holds(one, valueOf, inner));
    return group === 'all' ? items.every(itemHolds) : items.some(itemHolds) === (group === 'any');
  }
  const { field, operator, operand, other } = condition;
  if (operator === 'null') return (valueOf(field) === null) === operand;
  // Folds case only if the tables do, so that all instances agree.
  const isFolded = field.folded !== undefined || other?.folded !== undefined;
  const [value = null, compared = null] = [valueOf(field), other ? valueOf(other) : operand].map((one) =>
    isFolded ? foldedValue(one) : one,
  );
  if (value !== null && compared !== null) return operators[operator].test(value, compared, field.type.compare);
  return withNull ?? (operator === 'ne' && value !== compared);
}
