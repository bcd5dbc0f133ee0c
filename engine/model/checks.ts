/** Rules across fields: resolved from descriptors, written as descriptors write them, and worded for people. */
import { type FieldComparison, comparisonsIn } from '../descriptor/conditions.ts';
import type { CheckDescriptor, ConditionsDescriptor } from '../descriptor/descriptor.ts';
import type { OperatorName } from '../field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Check, CheckCondition, Field } from './model.ts';

/** What a check demands, without its words: two with the same rule are the same. */
export type CheckRule = Pick<CheckDescriptor, 'must' | 'when'>;

/** The fields by name; all that the check names must be there. */
export function resolveCheck(descriptor: CheckDescriptor, fields: ReadonlyMap<string, Field>): Check {
  const named = (name: string): Field => {
    const field = fields.get(name);
    if (field === undefined) throw new Error(`"${name}" was not checked by the descriptor stage`);
    return field;
  };
  const resolved = (conditions: ConditionsDescriptor): readonly CheckCondition[] =>
    comparisonsIn(conditions).map(({ field, operator, operand, other }) => ({
      field: named(field),
      operator,
      operand,
      other: other === undefined ? undefined : named(other),
    }));
  const { must, when = {}, message = sentence(descriptor), at } = descriptor;
  const parts = { must: resolved(must), when: resolved(when) };
  const all = [...parts.must, ...parts.when];
  const compared = all.flatMap(({ field, other }) => (other ? [field, other] : [field]));
  const [first] = compared;
  if (first === undefined) throw new Error('A check without conditions was not refused by the descriptor stage');
  return {
    ...parts,
    message,
    at: at === undefined ? first : named(at),
    fields: [...new Set(compared)],
  };
}

/** The fields that a rule names. */
export const fieldsOf = ({ must, when = {} }: CheckRule): ReadonlySet<string> =>
  new Set([...comparisonsIn(must), ...comparisonsIn(when)].flatMap(({ field, other = field }) => [field, other]));

/** As the descriptor could write it; `nameOf`: what each field is called there. */
export function ruleOf({ must, when }: Check, nameOf: (field: Field) => string = ({ name }) => name): CheckRule {
  const written = (conditions: readonly CheckCondition[]): ConditionsDescriptor => {
    const byField = Map.groupBy(conditions, ({ field }) => nameOf(field));
    const operands = (some: readonly CheckCondition[]): JsonObject =>
      Object.fromEntries(
        some.map(({ operator, operand, other }) => [operator, other ? { field: nameOf(other) } : operand]),
      );
    return Object.fromEntries([...byField].map(([name, some]) => [name, operands(some)]));
  };
  return { must: written(must), ...(when.length > 0 ? { when: written(when) } : {}) };
}

/** The same text for the same rule, in whatever order it is written. */
export const ruleKey = ({ must, when = {} }: CheckRule): string => JSON.stringify([keysOf(must), keysOf(when)]);

const keysOf = (conditions: ConditionsDescriptor): readonly string[] =>
  comparisonsIn(conditions)
    .map(({ field, operator, operand, other }: FieldComparison) =>
      JSON.stringify([field, operator, operand, other ?? null]),
    )
    .toSorted();

// In words.

type PhraseForms = readonly [must: string, when: string];

const wordsOf: Readonly<Record<OperatorName, PhraseForms>> = {
  eq: ['be', 'is'],
  ne: ['not be', 'is not'],
  lt: ['be less than', 'is less than'],
  lte: ['be at most', 'is at most'],
  gt: ['be more than', 'is more than'],
  gte: ['be at least', 'is at least'],
  in: ['be one of', 'is one of'],
  like: ['match', 'matches'],
  null: ['be null', 'is null'],
};
const NOT_NULL: PhraseForms = ['not be null', 'is not null'];

/** `"max" must be at least "min" if "kind" is "range"`. */
export function sentence({ must, when = {} }: CheckRule): string {
  const said = (conditions: ConditionsDescriptor, words: (one: FieldComparison) => string): string =>
    comparisonsIn(conditions)
      .map((one) => `"${one.field}" ${words(one)}`)
      .join(' and ');
  const cases = said(when, (one) => phrase(one, 1));
  return said(must, (one) => `must ${phrase(one, 0)}`) + (cases === '' ? '' : ` if ${cases}`);
}

function phrase({ operator, operand, other }: FieldComparison, form: 0 | 1): string {
  if (operator === 'null') return (operand === true ? wordsOf.null : NOT_NULL)[form];
  const values = (Array.isArray(operand) ? operand : [operand]) as readonly JsonValue[];
  const compared = other === undefined ? values.map((one) => JSON.stringify(one)).join(', ') : `"${other}"`;
  return `${wordsOf[operator][form]} ${compared}`;
}
