/** The conditions of checks: which fields they compare with what. */
import type { OperatorName } from '../field-types/field-type.ts';
import { isObject, type JsonValue } from '../json/json.ts';
import type { ConditionsDescriptor } from './descriptor.ts';
import type { YamlPath } from './source.ts';

/** The groups of conditions, in query strings and in checks. */
export type GroupKind = 'any' | 'all' | 'none';
export const GROUPS: ReadonlyMap<string, GroupKind> = new Map([
  ['$any', 'any'],
  ['$all', 'all'],
  ['$none', 'none'],
]);
/** `$any` for `any`. */
export const groupMeant = (name: string): string | undefined => (GROUPS.has(`$${name}`) ? `$${name}` : undefined);

/** How deep groups can be nested. */
export const MAX_GROUP_DEPTH = 3;

/** One comparison of a condition. */
export interface FieldComparison {
  readonly field: string;
  readonly operator: OperatorName;
  /** Null where another field is compared with. */
  readonly operand: JsonValue;
  readonly other: string | undefined;
  /** The paths of the field and of the operand, within the conditions. */
  readonly place: YamlPath;
  readonly path: YamlPath;
}

/** Any, all or none of the items hold, each of which is several conditions. */
export interface WrittenGroup {
  readonly group: GroupKind;
  readonly items: readonly (readonly WrittenCondition[])[];
}

export type WrittenCondition = FieldComparison | WrittenGroup;

/** The key of an operand that is a field. */
const FIELD = 'field';

/** Conditions that hold together. `at`: where they stand. */
export const conditionsIn = (conditions: ConditionsDescriptor, at: YamlPath = []): readonly WrittenCondition[] =>
  Object.entries(conditions).flatMap(([key, value]): readonly WrittenCondition[] => {
    const place = [...at, key];
    const group = GROUPS.get(key);
    if (group !== undefined) return [{ group, items: itemsIn(value, place) }];
    if (!isObject(value)) return comparison(key, 'eq', value, place, place);
    return Object.entries(value).flatMap(([operator, operand]) =>
      comparison(key, operator as OperatorName, operand, place, [...place, operator]),
    );
  });

/** No items where the grammar reports a fault. */
const itemsIn = (value: JsonValue, place: YamlPath): WrittenGroup['items'] =>
  (Array.isArray(value) ? value : []).map((item: JsonValue, index) =>
    isObject(item) ? conditionsIn(item, [...place, index]) : [],
  );

/** All comparisons, those in groups included. */
export const comparisonsIn = (conditions: ConditionsDescriptor): readonly FieldComparison[] =>
  comparisonsOf(conditionsIn(conditions));

const comparisonsOf = (conditions: readonly WrittenCondition[]): readonly FieldComparison[] =>
  conditions.flatMap((one) => ('group' in one ? one.items.flatMap(comparisonsOf) : [one]));

/** No comparison if the operand should name a field and does not, which the grammar reports. */
function comparison(
  field: string,
  operator: OperatorName,
  operand: JsonValue,
  place: YamlPath,
  path: YamlPath,
): readonly FieldComparison[] {
  if (!isObject(operand)) return [{ field, operator, operand, other: undefined, place, path }];
  const other = operand[FIELD];
  return typeof other === 'string' ? [{ field, operator, operand: null, other, place, path: [...path, FIELD] }] : [];
}

/** Advice for an operand that cannot be a value, such as null or a list; otherwise the empty string. */
export function operandHint(operator: string | number | undefined, operand: unknown): string {
  if (operand === null) return `; for null, write { null: ${operator === 'ne' ? 'false' : 'true'} }`;
  return Array.isArray(operand) ? '; for one of several values, write { in: [a, b] }' : '';
}
