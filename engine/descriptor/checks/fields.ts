/** Fields against themselves: constraints, defaults and examples that cannot all be true. */
import type { FieldType, Shape } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { FIELD_WORDS } from '../descriptor.ts';
import type { FieldDraft, TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../finding.ts';
import type { Schema } from '../schema.ts';
import type { Check } from './check.ts';

const words: ReadonlySet<string> = new Set(FIELD_WORDS);

export const checkFields: Check = (type, schema) =>
  [...type.fields].flatMap(([name, field]) => [
    ...checkPresence(type, name, field),
    ...checkValues(schema, name, field),
  ]);

/** Whether the field can always have a value that it accepts. */
function checkPresence({ operations }: TypeDraft, name: string, field: FieldDraft): readonly Finding[] {
  const path = ['fields', name];
  const required = field.required ?? false;
  const nullable = field.nullable ?? (field.default === undefined && !required);
  const mustBeGiven = field.nullable === false && field.default === undefined && !required;
  return [
    ...(field.default === null && !nullable
      ? [
          finding(
            'null-default',
            [...path, 'default'],
            'value',
            `${quoted(name)} is not nullable, yet its default is null; add "nullable: true" or drop the default`,
          ),
        ]
      : []),
    ...(mustBeGiven
      ? [
          finding(
            'missing-default',
            [...path, 'nullable'],
            'value',
            `${quoted(name)} accepts no null: it needs a default or "required: true"`,
          ),
        ]
      : []),
    ...(required && field.readOnly && operations?.has('create')
      ? [
          finding(
            'read-only-required',
            [...path, 'required'],
            'value',
            `${quoted(name)} is readOnly: no request may give it, so that create cannot require it`,
          ),
        ]
      : []),
  ];
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
  if (faults.length > 0) return faults;
  const refused = (value: JsonValue): boolean => !schema.accepts(fieldType.schema(shape), value);
  const says = (value: JsonValue): string =>
    `${quoted(name)} refuses ${quoted(value)}: it must be ${fieldType.expected(shape)}${hint(fieldType, value)}`;
  const examples = shape.examples.flatMap((value, index) =>
    refused(value) ? [finding('bad-example', [...path, 'examples', index], 'value', says(value))] : [],
  );
  const unfit = field.default !== undefined && field.default !== null && refused(field.default);
  return [
    ...checkListed(schema, fieldType, shape, path),
    ...(unfit ? [finding('bad-default', [...path, 'default'], 'value', says(field.default ?? null))] : []),
    ...examples,
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

/** Numbers that should have been quoted. */
function hint(fieldType: FieldType, value: JsonValue): string {
  const schema: JsonObject = fieldType.schema({ constraints: {}, examples: [] });
  return schema['type'] === 'string' && (typeof value === 'number' || typeof value === 'boolean')
    ? `; write it in quotes: "${String(value)}"`
    : '';
}
