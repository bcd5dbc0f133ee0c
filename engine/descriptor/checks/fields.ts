/** Fields against themselves: constraints, defaults and examples that cannot all be true. */
import type { DiagnosticCode } from '../../diagnostic.ts';
import type { FieldType, Shape } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonValue } from '../../json.ts';
import { FIELD_WORDS } from '../descriptor.ts';
import type { FieldDraft, TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../finding.ts';
import { hint } from '../hint.ts';
import type { Schema } from '../schema.ts';
import type { Path } from '../source.ts';
import type { Check } from './check.ts';

const words: ReadonlySet<string> = new Set(FIELD_WORDS);

export const checkFields: Check = (type, schema) =>
  [...type.fields].flatMap(([name, field]) => [
    ...checkPresence(type, name, field),
    ...checkValues(schema, name, field),
  ]);

/** Whether the field can always have a value that it accepts. */
function checkPresence({ operations }: TypeDraft, name: string, field: FieldDraft): readonly Finding[] {
  const { required = false, readOnly = false, default: fallback } = field;
  const nullable = field.nullable ?? (fallback === undefined && !required);
  const faults: readonly (readonly [boolean, DiagnosticCode, keyof FieldDraft, string])[] = [
    [
      fallback === null && !nullable,
      'null-default',
      'default',
      'is not nullable, yet its default is null; add "nullable: true" or drop the default',
    ],
    [
      !nullable && fallback === undefined && !required,
      'missing-default',
      'nullable',
      'accepts no null: it needs a default or "required: true"',
    ],
    [
      required && readOnly && operations?.has('create') === true,
      'read-only-required',
      'required',
      'is readOnly: no request may give it, so that create cannot require it',
    ],
  ];
  return faults.flatMap(([faulty, code, key, message]) =>
    faulty ? [finding(code, ['fields', name, key], 'value', `${quoted(name)} ${message}`)] : [],
  );
}

function shapeOf(field: FieldDraft): Shape {
  const constraints = Object.entries(field).filter(
    (entry): entry is [string, JsonValue] => !words.has(entry[0]) && entry[1] !== undefined,
  );
  return { constraints: Object.fromEntries(constraints), examples: field.examples ?? [] };
}

function checkValues(schema: Schema, name: string, field: FieldDraft): readonly Finding[] {
  const fieldType = fieldTypes.get(field.type ?? '');
  if (!fieldType) return [];
  const shape = shapeOf(field);
  const path = ['fields', name];
  const faults = fieldType
    .faults(shape)
    .map(({ keyword, message }) => finding('contradictory-constraints', [...path, keyword], 'value', message));
  return faults.length > 0
    ? faults
    : [...checkListed(schema, fieldType, shape, path), ...checkSamples(schema, fieldType, shape, name, field)];
}

/** The default and the examples, which the field must accept. */
function checkSamples(
  schema: Schema,
  fieldType: FieldType,
  shape: Shape,
  name: string,
  field: FieldDraft,
): readonly Finding[] {
  const jsonSchema = fieldType.schema(shape);
  const refusal = (code: DiagnosticCode, value: JsonValue, ...key: Path): readonly Finding[] => {
    if (schema.accepts(jsonSchema, value)) return [];
    const message = `${quoted(name)} refuses ${quoted(value)}: it must be ${fieldType.expected(shape)}${hint(jsonSchema['type'], value)}`;
    return [finding(code, ['fields', name, ...key], 'value', message)];
  };
  const { default: fallback = null } = field;
  return [
    ...(fallback === null ? [] : refusal('bad-default', fallback, 'default')),
    ...shape.examples.flatMap((value, index) => refusal('bad-example', value, 'examples', index)),
  ];
}

/** Values that `enum` lists and another constraint refuses. */
function checkListed(schema: Schema, fieldType: FieldType, shape: Shape, path: readonly string[]): readonly Finding[] {
  const { enum: listed, ...constraints } = shape.constraints;
  if (!Array.isArray(listed)) return [];
  const values: readonly JsonValue[] = listed;
  const others = { ...shape, constraints };
  return values.flatMap((value, index) =>
    schema.accepts(fieldType.schema(others), value)
      ? []
      : [
          finding(
            'contradictory-constraints',
            [...path, 'enum', index],
            'value',
            `${quoted(value)} is listed, yet the field must be ${fieldType.expected(others)}`,
          ),
        ],
  );
}
