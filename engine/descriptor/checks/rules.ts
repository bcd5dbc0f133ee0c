/** Checks across fields, and fields that the service fills in. */
import { type FieldType, patternExcess, type Shape } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonValue } from '../../json/json.ts';
import { comparisonsIn, type FieldComparison, GROUPS, MAX_GROUP_DEPTH } from '../conditions.ts';
import { shapeOf } from '../descriptor.ts';
import type { FieldDraft, TypeDraft } from '../draft.ts';
import { anyOf, type Finding, finding, inQuotes, quoted } from '../report.ts';
import type { At, YamlPath } from '../source.ts';
import { hint } from '../texts.ts';
import { type Findings, notComparable, type TypeCheck, unknownField } from './check.ts';

const comparisonsOf = ({ draft }: TypeDraft): readonly FieldComparison[] =>
  (draft.checks ?? []).flatMap((check, index) =>
    (['must', 'when'] as const).flatMap((part) => comparisonsIn(check[part] ?? {}, ['checks', index, part])),
  );

export const checkChecks: TypeCheck = function* (type) {
  for (const comparison of comparisonsOf(type)) yield* comparisonFaults(type, comparison);
  for (const [index, { at }] of (type.draft.checks ?? []).entries())
    if (at !== undefined) yield* unknownField(type, at, [...type.fields.keys()], ['checks', index, 'at']);
};

function comparisonFaults(type: TypeDraft, comparison: FieldComparison): readonly Finding[] {
  const { field: name, other, operator, fieldPath, operandPath } = comparison;
  const deepest = fieldPath.flatMap((step, index) => (GROUPS.has(String(step)) ? [index] : []))[MAX_GROUP_DEPTH];
  if (deepest !== undefined) {
    const message = `Groups can be nested ${MAX_GROUP_DEPTH} deep at most: take this one apart`;
    return [finding('too-deep', fieldPath.slice(0, deepest + 1), message, 'key')];
  }
  const faults = [
    ...notComparable(type, name, [...type.fields.keys()], fieldPath, 'key'),
    ...(other === undefined ? [] : notComparable(type, other, [...type.fields.keys()], operandPath)),
  ];
  const fieldType = typeOf(type, name);
  if (faults.length > 0 || !fieldType) return faults;
  if (other === name)
    return [finding('bad-operand', operandPath, `${quoted(name)} is compared with itself; name another field`)];
  if (!fieldType.operators.includes(operator)) {
    const message = `${quoted(name)} cannot be compared by ${quoted(operator)}; ${fieldType.name} takes ${anyOf(fieldType.operators)}`;
    return [finding('not-comparable', [...fieldPath, operator], message, 'key')];
  }
  if (other === undefined) return [...operandFaults(comparison, fieldType, shapeOf(type.fields.get(name) ?? {}))];
  const otherType = typeOf(type, other);
  if (!otherType || otherType === fieldType || (fieldType.isNumeric && otherType.isNumeric)) return [];
  const message = `${quoted(other)} (${otherType.name}) cannot be compared with ${quoted(name)} (${fieldType.name}); both must have the same type, or both be numbers`;
  return [finding('not-comparable', operandPath, message)];
}

const typeOf = ({ fields }: TypeDraft, name: string): FieldType | undefined =>
  fieldTypes.get(fields.get(name)?.type ?? '');

/** Operands are values of the field's type; its constraints do not apply. */
function* operandFaults(comparison: FieldComparison, type: FieldType, shape: Shape): Findings {
  const { field, operator, operand, operandPath } = comparison;
  if (operator === 'null') return;
  if (operator === 'like') {
    const excess = patternExcess(String(operand));
    if (excess !== undefined) yield finding('bad-operand', operandPath, excess);
    return;
  }
  const values = Array.isArray(operand) ? (operand as readonly JsonValue[]) : [operand];
  for (const [index, value] of values.entries()) {
    const parsed = value === null || typeof value === 'object' ? undefined : type.parse(String(value));
    if (parsed !== undefined && typeof parsed === typeof value && type.equal(parsed, value)) continue;
    const schema = type.schema(shape);
    const advice = value === null ? '; for null, write { null: true }' : hint(schema, value);
    const message = `${quoted(field)} is of type ${type.name}, and ${quoted(value)} is not ${type.expected(shape)}${advice}`;
    const path = Array.isArray(operand) ? [...operandPath, index] : operandPath;
    const quotation = inQuotes(schema['type'], value, (one) => type.parse(one) !== undefined);
    yield finding('bad-operand', path, message, 'value', quotation);
  }
}

/** Generated fields cannot have keys for values from requests. */
export const checkGenerated: TypeCheck = function* (type) {
  const { draft, fields } = type;
  function* against(name: string, path: YamlPath, why: string, at: At = 'value'): Findings {
    if (fields.get(name)?.generated === undefined) return;
    yield finding('generated-conflict', path, `${quoted(name)} is generated: ${why}`, at);
  }
  const first = new Map<string, string>();
  for (const [name, field] of fields) {
    for (const [word, why] of wordsAgainst(field)) yield* against(name, ['fields', name, word], why);
    const { generated } = field;
    if (generated === undefined) continue;
    const earlier = first.get(generated);
    if (earlier === undefined) first.set(generated, name);
    else {
      const message = `${quoted(earlier)} is ${quoted(generated)} already; one field of a type is enough`;
      yield finding('duplicate-generated', ['fields', name, 'generated'], message);
    }
  }
  for (const [group, names] of (draft.unique ?? []).entries())
    for (const [index, name] of names.entries())
      yield* against(name, ['unique', group, index], 'no request could resolve a conflict; leave it out of the group');
  for (const { field, other = '', fieldPath, operandPath } of comparisonsOf(type)) {
    const why = 'no request could correct it; compare other fields';
    yield* against(field, fieldPath, why, 'key');
    yield* against(other, operandPath, why);
  }
};

function wordsAgainst(field: FieldDraft): readonly (readonly [word: string, why: string])[] {
  const { required, readOnly, unique, nullable, default: fallback } = field;
  const rows: readonly (readonly [boolean, string, string])[] = [
    [required === true, 'required', 'requests cannot set it, so create cannot require it; remove "required"'],
    [fallback !== undefined, 'default', 'the service always fills it in; remove "default"'],
    [readOnly === true, 'readOnly', 'bodies may hold any value of it, which is ignored; remove "readOnly"'],
    [unique === true, 'unique', 'no request could resolve a conflict; remove "unique"'],
    [nullable === false, 'nullable', 'records that were there before the field have null; remove "nullable"'],
    ...Object.keys(shapeOf(field).constraints).map(
      (word) => [true, word, `the service decides what it holds; remove "${word}"`] as const,
    ),
  ];
  return rows.flatMap(([isFaulty, word, why]) => (isFaulty ? [[word, why] as const] : []));
}
