/** The conditions of checks: fields, operators and operands. */
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

export const MAX_GROUP_DEPTH = 3;

export interface FieldComparison {
  readonly field: string;
  readonly operator: OperatorName;
  /** Null if `other` names a field. */
  readonly operand: JsonValue;
  readonly other: string | undefined;
  readonly fieldPath: YamlPath;
  readonly operandPath: YamlPath;
}

export interface WrittenGroup {
  readonly group: GroupKind;
  readonly items: readonly (readonly WrittenCondition[])[];
}

export type WrittenCondition = FieldComparison | WrittenGroup;

const FIELD = 'field';

/** `at`: the path of the conditions. */
export const conditionsIn = (conditions: ConditionsDescriptor, at: YamlPath = []): readonly WrittenCondition[] =>
  Object.entries(conditions).flatMap(([key, value]): readonly WrittenCondition[] => {
    const path = [...at, key];
    const group = GROUPS.get(key);
    if (group !== undefined) return [{ group, items: itemsIn(value, path) }];
    if (!isObject(value)) return comparison(key, 'eq', value, path, path);
    return Object.entries(value).flatMap(([operator, operand]) =>
      comparison(key, operator as OperatorName, operand, path, [...path, operator]),
    );
  });

const itemsIn = (value: JsonValue, path: YamlPath): WrittenGroup['items'] =>
  (Array.isArray(value) ? value : []).map((item: JsonValue, index) =>
    isObject(item) ? conditionsIn(item, [...path, index]) : [],
  );

/** All comparisons, including groups. */
export function comparisonsIn(conditions: ConditionsDescriptor, at: YamlPath = []): readonly FieldComparison[] {
  const flat = (some: readonly WrittenCondition[]): readonly FieldComparison[] =>
    some.flatMap((one) => ('group' in one ? one.items.flatMap(flat) : [one]));
  return flat(conditionsIn(conditions, at));
}

/** Empty if the operand names no field: the grammar reports it. */
function comparison(
  field: string,
  operator: OperatorName,
  operand: JsonValue,
  fieldPath: YamlPath,
  operandPath: YamlPath,
): readonly FieldComparison[] {
  if (!isObject(operand)) return [{ field, operator, operand, other: undefined, fieldPath, operandPath }];
  const other = operand[FIELD];
  return typeof other === 'string'
    ? [{ field, operator, operand: null, other, fieldPath, operandPath: [...operandPath, FIELD] }]
    : [];
}

/** Advice for an operand that cannot be a value, such as null or a list; else the empty string. */
export function operandHint(operator: string | number | undefined, operand: unknown): string {
  if (operand === null) return `; for null, write { null: ${operator === 'ne' ? 'false' : 'true'} }`;
  return Array.isArray(operand) ? '; for one of several values, write { in: [a, b] }' : '';
}
