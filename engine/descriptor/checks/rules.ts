/** Checks across fields: their fields exist, their operators fit, and both sides can be compared. */
import type { FieldType } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonValue } from '../../json.ts';
import { didYouMean } from '../../names.ts';
import { type FieldComparison, comparisonsIn, GROUPS, MAX_GROUPS } from '../conditions.ts';
import type { CheckDescriptor } from '../descriptor.ts';
import type { TypeDraft } from '../draft.ts';
import { anyOf, type Finding, finding, quoted } from '../report.ts';
import type { YamlPath } from '../source.ts';
import { hint } from '../texts.ts';
import { type TypeCheck, unknownField } from './check.ts';

export const checkChecks: TypeCheck = (type) =>
  (type.draft.checks ?? []).flatMap((check, index) => [
    ...conditionFaults(type, check, index, 'must'),
    ...conditionFaults(type, check, index, 'when'),
    ...(check.at === undefined ? [] : fieldFaults(type, check.at, ['checks', index, 'at'], 'value')),
  ]);

const conditionFaults = (
  type: TypeDraft,
  check: Partial<CheckDescriptor>,
  index: number,
  part: 'must' | 'when',
): readonly Finding[] =>
  comparisonsIn(check[part] ?? {}).flatMap((one) => comparisonFaults(type, one, ['checks', index, part]));

function comparisonFaults(type: TypeDraft, comparison: FieldComparison, part: YamlPath): readonly Finding[] {
  const { field: name, other, path } = comparison;
  const [place, at] = [
    [...part, ...comparison.place],
    [...part, ...path],
  ];
  const groups = place.flatMap((step, index) => (GROUPS.has(String(step)) ? [index] : []));
  const deepest = groups[MAX_GROUPS];
  if (deepest !== undefined) {
    const message = `Groups can be nested ${MAX_GROUPS} deep at most: take this one apart`;
    return [finding('too-deep', place.slice(0, deepest + 1), 'key', message)];
  }
  if (name.startsWith('$')) {
    const words = [...GROUPS.keys()];
    const message = `${quoted(name)} is not a group; there are ${anyOf(words)}${didYouMean(name, words)}`;
    return [finding('unknown-field', place, 'key', message)];
  }
  const known = [
    ...fieldFaults(type, name, place, 'key'),
    ...(other === undefined ? [] : fieldFaults(type, other, at, 'value')),
  ];
  const fieldType = typeOf(type, name);
  if (known.length > 0 || !fieldType) return known;
  if (other === name)
    return [finding('bad-operand', at, 'value', `${quoted(name)} is compared with itself; name another field`)];
  if (!fieldType.operators.includes(comparison.operator)) {
    const message = `${quoted(name)} cannot be compared by ${quoted(comparison.operator)}; ${fieldType.name} takes ${anyOf(fieldType.operators)}`;
    return [finding('not-comparable', [...place, comparison.operator], 'key', message)];
  }
  const otherType = other === undefined ? undefined : typeOf(type, other);
  if (other !== undefined)
    return otherType && !areComparable(fieldType, otherType)
      ? [finding('not-comparable', at, 'value', unlike(comparison, fieldType, otherType))]
      : [];
  return operandFaults(comparison, fieldType, at);
}

const typeOf = ({ fields }: TypeDraft, name: string): FieldType | undefined =>
  fieldTypes.get(fields.get(name)?.type ?? '');

function fieldFaults(type: TypeDraft, name: string, path: YamlPath, at: 'key' | 'value'): readonly Finding[] {
  const unknown = unknownField(type, name, [...type.fields.keys()], path, at);
  const fieldType = typeOf(type, name);
  if (unknown.length > 0 || !fieldType || fieldType.operators.length > 0 || path.at(-1) === 'at') return unknown;
  return [
    finding('not-comparable', path, at, `${quoted(name)} is of type ${fieldType.name}, which cannot be compared`),
  ];
}

const areComparable = (one: FieldType, other: FieldType): boolean =>
  one === other || (one.comparedAs !== undefined && one.comparedAs === other.comparedAs);

const unlike = ({ field, other }: FieldComparison, one: FieldType, another: FieldType): string =>
  `${quoted(other)} (${another.name}) cannot be compared with ${quoted(field)} (${one.name}); both must have the same type, or both be numbers`;

/** Operands are values as bodies hold them. */
function operandFaults(
  { field, operator, operand }: FieldComparison,
  type: FieldType,
  at: YamlPath,
): readonly Finding[] {
  if (operator === 'null') return [];
  const values = Array.isArray(operand) ? (operand as readonly JsonValue[]) : [operand];
  return values.flatMap((value, index) => {
    if (isValueOf(type, value) || operator === 'like') return [];
    const shape = { constraints: {}, examples: [] };
    const advice = value === null ? '; for null, write { null: true }' : hint(type.schema(shape)['type'], value);
    const message = `${quoted(field)} is of type ${type.name}, and ${quoted(value)} is not a value of that type${advice}`;
    return [finding('bad-operand', Array.isArray(operand) ? [...at, index] : at, 'value', message)];
  });
}

/** Whether a filter in a query string could name the value, whatever the constraints of the field. */
function isValueOf(type: FieldType, value: JsonValue): boolean {
  const isText = typeof value === 'string';
  const parsed =
    isText || typeof value === 'number' || typeof value === 'boolean' ? type.parse(String(value)) : undefined;
  return (
    parsed !== undefined && (isText ? parsed === value : typeof parsed === typeof value && type.equal(parsed, value))
  );
}
