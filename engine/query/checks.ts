/** Evaluates the checks of record types. The engine does it rather than the database, so that both databases answer alike. */
import { foldedValue } from '../field-types/case-folding.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { memoized } from '../memo.ts';
import type { Check, CheckComparison, CheckCondition, Field, RecordType } from '../model/model.ts';
import { operators } from './operators.ts';

/** The value of a field, null if it has none. */
type ValueOf = (field: Field) => JsonValue;

/** Whether a record meets a check. */
export const meets = (check: Check, valueOf: ValueOf): boolean => compiled(check)(valueOf);

/** The checks of its type that a new record does not meet, from its values by name; without one it has its default. */
export const unmetBy = ({ checks }: RecordType, values: JsonObject): readonly Check[] =>
  checks.filter(
    (check) =>
      !meets(check, (field) => (Object.hasOwn(values, field.name) ? values[field.name] : defaultOf(field)) ?? null),
  );

const defaultOf = ({ isNowByDefault, type, default: value }: Field): JsonValue | undefined =>
  isNowByDefault ? type.now?.(new Date()) : value;

type Test = (valueOf: ValueOf) => boolean;

const compiled = memoized(({ must, when }: Check): Test => {
  const demands = must.map((one) => tester(one, true));
  const cases = when.map((one) => tester(one, undefined));
  return (valueOf) => !cases.every((test) => test(valueOf)) || demands.every((test) => test(valueOf));
});

/** `withNull`: what a comparison with null comes to; undefined: what it would for a list filter. */
function tester(condition: CheckCondition, withNull: boolean | undefined): Test {
  if (!('group' in condition)) return comparisonTester(condition, withNull);
  const { group, items } = condition;
  // Null says nothing about what must hold, nor about what must not.
  const inner = group === 'none' && withNull !== undefined ? !withNull : withNull;
  const all = items.map((item): Test => {
    const tests = item.map((one) => tester(one, inner));
    return (valueOf) => tests.every((test) => test(valueOf));
  });
  if (group === 'all') return (valueOf) => all.every((test) => test(valueOf));
  return (valueOf) => all.some((test) => test(valueOf)) === (group === 'any');
}

function comparisonTester({ field, operator, operand, other }: CheckComparison, withNull: boolean | undefined): Test {
  if (operator === 'null') return (valueOf) => (valueOf(field) === null) === operand;
  const { compare } = field.type;
  // As the tables have it: other instances hold what they write to the same.
  const isFolded = field.folded !== undefined || other?.folded !== undefined;
  const plain = (value: JsonValue): JsonValue => (isFolded ? foldedValue(value) : value);
  const given = plain(operand);
  const test = operators[operator].tester(given);
  return (valueOf) => {
    const value = plain(valueOf(field));
    const compared = other ? plain(valueOf(other)) : given;
    if (value !== null && compared !== null) return test(value, compared, compare);
    return withNull ?? (operator === 'ne' && value !== compared);
  };
}
