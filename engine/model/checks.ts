/** Checks across fields: resolves them, writes them as descriptors and as sentences. */
import {
  comparisonsIn,
  conditionsIn,
  type FieldComparison,
  type WrittenCondition,
  type WrittenGroup,
} from '../descriptor/conditions.ts';
import type { CheckDescriptor, ConditionsDescriptor } from '../descriptor/descriptor.ts';
import type { OperatorName } from '../field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { Check, CheckComparison, CheckCondition, Field } from './model.ts';

export type CheckRule = Pick<CheckDescriptor, 'must' | 'when'>;

/** Throws an internal Error if the descriptor stage should have refused the descriptor. */
export function defined<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`"${name}" was not checked by the descriptor stage`);
  return value;
}

export function resolveCheck(descriptor: CheckDescriptor, fields: ReadonlyMap<string, Field>): Check {
  const named = (name: string): Field => defined(fields.get(name), name);
  const resolved = (conditions: readonly WrittenCondition[]): readonly CheckCondition[] =>
    conditions.map((one) => {
      if ('group' in one) return { group: one.group, items: one.items.map(resolved) };
      const { field, operator, operand, other } = one;
      return { field: named(field), operator, operand, other: other === undefined ? undefined : named(other) };
    });
  const { must, when = {}, message = sentence(descriptor), at } = descriptor;
  const compared = [...fieldsOf(descriptor)].map(named);
  return {
    must: resolved(conditionsIn(must)),
    when: resolved(conditionsIn(when)),
    message,
    at: at === undefined ? defined(compared[0], 'checks') : named(at),
    fields: compared,
  };
}

export const fieldsOf = ({ must, when = {} }: CheckRule): ReadonlySet<string> =>
  new Set([...comparisonsIn(must), ...comparisonsIn(when)].flatMap(({ field, other = field }) => [field, other]));

/** The rule in descriptor form; `nameOf` names the fields. */
export function ruleOf({ must, when }: Check, nameOf: (field: Field) => string = ({ name }) => name): CheckRule {
  const written = (conditions: readonly CheckCondition[]): ConditionsDescriptor => {
    const byField = Map.groupBy(
      conditions.flatMap((one) => ('group' in one ? [] : [one])),
      ({ field }) => nameOf(field),
    );
    const operands = (some: readonly CheckComparison[]): JsonObject =>
      Object.fromEntries(
        some.map(({ operator, operand, other }) => [operator, other ? { field: nameOf(other) } : operand]),
      );
    const groups = conditions.flatMap((one) =>
      'group' in one ? [[`$${one.group}`, one.items.map(written)] as const] : [],
    );
    return Object.fromEntries([...[...byField].map(([name, some]) => [name, operands(some)] as const), ...groups]);
  };
  return { must: written(must), ...(when.length > 0 ? { when: written(when) } : {}) };
}

/** A key that ignores the order of conditions. */
export const ruleKey = ({ must, when = {} }: CheckRule): string =>
  JSON.stringify([keysOf(conditionsIn(must)), keysOf(conditionsIn(when))]);

const keysOf = (conditions: readonly WrittenCondition[]): readonly string[] =>
  conditions
    .map((one) => {
      if ('group' in one) return JSON.stringify([one.group, one.items.map(keysOf).toSorted()]);
      return JSON.stringify([one.field, one.operator, one.operand, one.other ?? null]);
    })
    .toSorted();

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
  const [demands, cases] = [conditionsIn(must), conditionsIn(when)];
  const isWhole = cases.length === 0;
  return phrases(demands, 0, isWhole) + (isWhole ? '' : ` if ${phrases(cases, 1, true)}`);
}

/** `form`: 0 for demands ("must be"), 1 for facts ("is"). `isWhole`: no other phrase surrounds these. */
const phrases = (conditions: readonly WrittenCondition[], form: 0 | 1, isWhole = false): string =>
  conditions
    .map((one) =>
      'group' in one ? groupPhrase(one, form, isWhole && conditions.length === 1) : comparisonPhrase(one, form),
    )
    .join(' and ');

/** `"a" must be 1 or "b" must be 2`, in parentheses unless `isAlone`. */
function groupPhrase({ group, items }: WrittenGroup, form: 0 | 1, isAlone: boolean): string {
  // `$none` phrases its conditions as facts: "not (a is 1)".
  const parts = items.map((item) => phrases(item, group === 'none' ? 1 : form));
  const all = parts.map((part, index) => ((items[index]?.length ?? 0) > 1 && parts.length > 1 ? `(${part})` : part));
  const said = all.join(group === 'all' ? ' and ' : ' or ');
  if (group === 'none') return `not (${said})`;
  return all.length > 1 && !isAlone ? `(${said})` : said;
}

const comparisonPhrase = (one: FieldComparison, form: 0 | 1): string =>
  `"${one.field}" ${form === 0 ? 'must ' : ''}${phrase(one, form)}`;

function phrase({ operator, operand, other }: FieldComparison, form: 0 | 1): string {
  if (operator === 'null') return (operand === true ? wordsOf.null : NOT_NULL)[form];
  const values = (Array.isArray(operand) ? operand : [operand]) as readonly JsonValue[];
  const compared = other === undefined ? values.map((one) => JSON.stringify(one)).join(', ') : `"${other}"`;
  return `${wordsOf[operator][form]} ${compared}`;
}
