/** Checks across fields, and fields that the service fills in. */
import { type FieldType, patternExcess } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonValue } from '../../json/json.ts';
import { comparisonsIn, type FieldComparison, GROUPS, MAX_GROUP_DEPTH } from '../conditions.ts';
import { shapeOf } from '../descriptor.ts';
import type { FieldDraft, TypeDraft } from '../draft.ts';
import { anyOf, type Finding, finding, quoted } from '../report.ts';
import type { At, YamlPath } from '../source.ts';
import { hint, needsQuotes } from '../texts.ts';
import { notComparable, repeated, type TypeCheck, unknownField } from './check.ts';

/** A comparison of a check, with the places of its field and its operand in the descriptor. */
interface PlacedComparison extends FieldComparison {
  readonly fieldAt: YamlPath;
  readonly operandAt: YamlPath;
}

const comparisonsOf = ({ draft }: TypeDraft): readonly PlacedComparison[] =>
  (draft.checks ?? []).flatMap((check, index) =>
    (['must', 'when'] as const).flatMap((part) =>
      comparisonsIn(check[part] ?? {}).map((one) => {
        const at = ['checks', index, part];
        return { ...one, fieldAt: [...at, ...one.place], operandAt: [...at, ...one.path] };
      }),
    ),
  );

export const checkChecks: TypeCheck = (type) => [
  ...comparisonsOf(type).flatMap((one) => comparisonFaults(type, one)),
  ...(type.draft.checks ?? []).flatMap(({ at }, index) =>
    at === undefined ? [] : unknownField(type, at, [...type.fields.keys()], ['checks', index, 'at']),
  ),
];

function comparisonFaults(type: TypeDraft, comparison: PlacedComparison): readonly Finding[] {
  const { field: name, other, operator, fieldAt, operandAt } = comparison;
  const deepest = fieldAt.flatMap((step, index) => (GROUPS.has(String(step)) ? [index] : []))[MAX_GROUP_DEPTH];
  if (deepest !== undefined) {
    const message = `Groups can be nested ${MAX_GROUP_DEPTH} deep at most: take this one apart`;
    return [finding('too-deep', fieldAt.slice(0, deepest + 1), message, 'key')];
  }
  const faults = [
    ...fieldFaults(type, name, fieldAt, 'key'),
    ...(other === undefined ? [] : fieldFaults(type, other, operandAt, 'value')),
  ];
  const fieldType = typeOf(type, name);
  if (faults.length > 0 || !fieldType) return faults;
  if (other === name)
    return [finding('bad-operand', operandAt, `${quoted(name)} is compared with itself; name another field`)];
  if (!fieldType.operators.includes(operator)) {
    const message = `${quoted(name)} cannot be compared by ${quoted(operator)}; ${fieldType.name} takes ${anyOf(fieldType.operators)}`;
    return [finding('not-comparable', [...fieldAt, operator], message, 'key')];
  }
  if (other === undefined) return operandFaults(comparison, fieldType);
  const otherType = typeOf(type, other);
  if (!otherType || areComparable(fieldType, otherType)) return [];
  const message = `${quoted(other)} (${otherType.name}) cannot be compared with ${quoted(name)} (${fieldType.name}); both must have the same type, or both be numbers`;
  return [finding('not-comparable', operandAt, message)];
}

const typeOf = ({ fields }: TypeDraft, name: string): FieldType | undefined =>
  fieldTypes.get(fields.get(name)?.type ?? '');

const fieldFaults = (type: TypeDraft, name: string, path: YamlPath, at: At): readonly Finding[] => [
  ...unknownField(type, name, [...type.fields.keys()], path, at),
  ...notComparable(type, name, path, at),
];

const areComparable = (one: FieldType, other: FieldType): boolean =>
  one === other || (one.isNumeric === true && other.isNumeric === true);

/** Operands are values as bodies hold them. */
function operandFaults({ field, operator, operand, operandAt }: PlacedComparison, type: FieldType): readonly Finding[] {
  if (operator === 'null') return [];
  if (operator === 'like') {
    const excess = patternExcess(String(operand));
    return excess === undefined ? [] : [finding('bad-operand', operandAt, excess)];
  }
  const values = Array.isArray(operand) ? (operand as readonly JsonValue[]) : [operand];
  return values.flatMap((value, index) => {
    if (isValueOf(type, value)) return [];
    const { type: expected } = type.schema({ constraints: {}, examples: [] });
    const advice = value === null ? '; for null, write { null: true }' : hint(expected, value);
    const message = `${quoted(field)} is of type ${type.name}, and ${quoted(value)} is not a value of that type${advice}`;
    const place = Array.isArray(operand) ? [...operandAt, index] : operandAt;
    return [finding('bad-operand', place, message, 'value', needsQuotes(expected, value))];
  });
}

/** Whether a filter in a query string could name the value, whatever the constraints of the field. */
function isValueOf(type: FieldType, value: JsonValue): boolean {
  const parsed = value === null || typeof value === 'object' ? undefined : type.parse(String(value));
  return parsed !== undefined && typeof parsed === typeof value && type.equal(parsed, value);
}

// Fields that the service fills in: nothing in the descriptor may say how requests set them.

export const checkGenerated: TypeCheck = (type) => {
  const { draft, fields } = type;
  const against = (name: string, path: YamlPath, why: string, at: At = 'value'): readonly Finding[] =>
    fields.get(name)?.generated === undefined
      ? []
      : [finding('generated-conflict', path, `${quoted(name)} is generated: ${why}`, at)];
  const why = 'no request could correct it; compare other fields';
  return [
    ...[...fields].flatMap(([name, field]) =>
      wordsAgainst(field).flatMap(([word, reason]) => against(name, ['fields', name, word], reason)),
    ),
    ...checkTwice(type),
    ...(draft.unique ?? []).flatMap((names, group) =>
      names.flatMap((name, index) =>
        against(name, ['unique', group, index], 'no request could resolve a conflict; leave it out of the group'),
      ),
    ),
    ...comparisonsOf(type).flatMap(({ field, other = '', fieldAt, operandAt }) => [
      ...against(field, fieldAt, why, 'key'),
      ...against(other, operandAt, why),
    ]),
  ];
};

/** The words of a field that are about values in requests. */
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

function checkTwice({ fields }: TypeDraft): readonly Finding[] {
  const generated = [...fields].flatMap(([name, field]) =>
    field.generated === undefined ? [] : [[name, field.generated] as const],
  );
  const words = generated.map(([, word]) => word);
  return repeated(words).map((index) => {
    const [name = '', word] = generated[index] ?? [];
    const [first] = generated.find(([, one]) => one === word) ?? [];
    const message = `${quoted(first)} is ${quoted(word)} already; one field of a type is enough`;
    return finding('duplicate-generated', ['fields', name, 'generated'], message);
  });
}
