/** What fields owe to rules: checks across them, and what the service fills in. */
import { type FieldType, patternExcess } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import { isObject, type JsonValue } from '../../json/json.ts';
import { comparisonsIn, type FieldComparison, GROUPS, MAX_GROUP_DEPTH } from '../conditions.ts';
import { shapeOf } from '../defaults.ts';
import type { CheckDescriptor } from '../descriptor.ts';
import type { FieldDraft, TypeDraft } from '../draft.ts';
import { anyOf, type Finding, finding, quoted } from '../report.ts';
import type { At, YamlPath } from '../source.ts';
import { hint, needsQuotes } from '../texts.ts';
import { repeated, type TypeCheck, unknownField } from './check.ts';

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
  const deepest = groups[MAX_GROUP_DEPTH];
  if (deepest !== undefined) {
    const message = `Groups can be nested ${MAX_GROUP_DEPTH} deep at most: take this one apart`;
    return [finding('too-deep', place.slice(0, deepest + 1), 'key', message)];
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
  const excess = operator === 'like' ? patternExcess(String(operand)) : undefined;
  if (excess !== undefined) return [finding('bad-operand', at, 'value', excess)];
  const values = Array.isArray(operand) ? (operand as readonly JsonValue[]) : [operand];
  return values.flatMap((value, index) => {
    if (isValueOf(type, value) || operator === 'like') return [];
    const shape = { constraints: {}, examples: [] };
    const { type: expected } = type.schema(shape);
    const advice = value === null ? '; for null, write { null: true }' : hint(expected, value);
    const message = `${quoted(field)} is of type ${type.name}, and ${quoted(value)} is not a value of that type${advice}`;
    const place = Array.isArray(operand) ? [...at, index] : at;
    return [finding('bad-operand', place, 'value', message, needsQuotes(expected, value))];
  });
}

/** Whether a filter in a query string could name the value, whatever the constraints of the field. */
function isValueOf(type: FieldType, value: JsonValue): boolean {
  const parsed =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      ? type.parse(String(value))
      : undefined;
  return parsed !== undefined && typeof parsed === typeof value && type.equal(parsed, value);
}

// Fields that the service fills in: nothing in the descriptor may say how requests set them.

export const checkGenerated: TypeCheck = (type) => [
  ...[...type.fields].flatMap(([name, field]) =>
    isGenerated(field) ? wordsAgainst(field).map(([word, why]) => against(name, ['fields', name, word], why)) : [],
  ),
  ...checkTwice(type),
  ...checkGroups(type),
  ...checkRules(type),
];

const isGenerated = ({ generated }: FieldDraft = {}): boolean => generated !== undefined;

const against = (name: string, path: YamlPath, why: string, at: At = 'value'): Finding =>
  finding('generated-conflict', path, at, `${quoted(name)} is generated: ${why}`);

/** The words of a field that are about values in requests. */
function wordsAgainst(field: FieldDraft): readonly (readonly [word: string, why: string])[] {
  const { required, readOnly, unique, nullable, default: fallback } = field;
  const constraints = Object.keys(shapeOf(field).constraints);
  const rows: readonly (readonly [boolean, string, string])[] = [
    [required === true, 'required', 'requests cannot set it, so create cannot require it; remove "required"'],
    [fallback !== undefined, 'default', 'the service always fills it in; remove "default"'],
    [readOnly === true, 'readOnly', 'bodies may hold any value of it, which is ignored; remove "readOnly"'],
    [unique === true, 'unique', 'no request could resolve a conflict; remove "unique"'],
    [nullable === false, 'nullable', 'records that were there before the field have null; remove "nullable"'],
    ...constraints.map((word) => [true, word, `the service decides what it holds; remove "${word}"`] as const),
  ];
  return rows.flatMap(([isFaulty, word, why]) => (isFaulty ? [[word, why] as const] : []));
}

function checkTwice({ fields }: TypeDraft): readonly Finding[] {
  const generated = [...fields].flatMap(([name, field]) => (isGenerated(field) ? [[name, field.generated]] : []));
  const words = generated.map(([, word]) => word);
  return repeated(words).map((index) => {
    const [name = '', word] = generated[index] ?? [];
    const [first] = generated[words.indexOf(word)] ?? [];
    const message = `${quoted(first)} is ${quoted(word)} already; one field of a type is enough`;
    return finding('duplicate-generated', ['fields', name, 'generated'], 'value', message);
  });
}

const checkGroups = ({ draft, fields }: TypeDraft): readonly Finding[] =>
  (draft.unique ?? []).flatMap((names, group) =>
    names.flatMap((name, index) =>
      isGenerated(fields.get(name))
        ? [against(name, ['unique', group, index], 'no request could resolve a conflict; leave it out of the group')]
        : [],
    ),
  );

const checkRules = ({ draft, fields }: TypeDraft): readonly Finding[] =>
  (draft.checks ?? []).flatMap((check, index) =>
    (['must', 'when'] as const).flatMap((part) => {
      const conditions = check[part];
      if (!isObject(conditions)) return [];
      return comparisonsIn(conditions).flatMap(({ field, other, place, path }) => {
        const why = 'no request could correct it; compare other fields';
        return [
          ...(isGenerated(fields.get(field)) ? [against(field, ['checks', index, part, ...place], why, 'key')] : []),
          ...(isGenerated(fields.get(other ?? ''))
            ? [against(other ?? '', ['checks', index, part, ...path], why)]
            : []),
        ];
      });
    }),
  );
