/** Fields, seeds and variants: constraints, defaults and examples that contradict each other. */
import type { DiagnosticCode } from '../../diagnostic.ts';
import { type FieldType, ITEMS, listed, type Shape } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonValue } from '../../json/json.ts';
import { isNowByDefault, isNullable, NOW, shapeOf } from '../descriptor.ts';
import type { FieldDraft, Schema, TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../report.ts';
import { hint, needsQuotes } from '../texts.ts';
import type { YamlPath } from '../source.ts';
import { repeated, type TypeCheck, unknownField } from './check.ts';
import { didYouMean, shortened } from '../../names.ts';

/** Characters of a list of values in a message. */
const MAX_LISTED = 200;

export const checkFields: TypeCheck = (type, schema) =>
  [...type.fields].flatMap(([name, field]) => [
    ...checkPresence(type, name, field),
    ...checkTitles(name, field),
    ...checkValues(schema, ['fields', name], field),
  ]);

const NULL_DEFAULT = 'is not nullable, but its default is null; add "nullable: true" or remove the default';
const MISSING_DEFAULT = 'does not accept null, so it needs a default or "required: true"';
const UNUSED_DEFAULT =
  'is required, so no create uses its default: only records that are there before the field get it; remove one of the two';
const READ_ONLY = 'is readOnly: requests cannot set it, so create cannot require it';

/** Whether the field can always have a value that it accepts. */
function checkPresence({ operations }: TypeDraft, name: string, field: FieldDraft): readonly Finding[] {
  const { required = false, readOnly = false, generated, default: fallback } = field;
  if (generated !== undefined) return [];
  const nullable = isNullable(field);
  const isUnused = required && fallback !== undefined && (fallback !== null || nullable);
  const faults: readonly (readonly [boolean, DiagnosticCode, keyof FieldDraft, string])[] = [
    [fallback === null && !nullable, 'null-default', 'default', NULL_DEFAULT],
    [!nullable && fallback === undefined && !required, 'missing-default', 'nullable', MISSING_DEFAULT],
    [isUnused, 'unused-default', 'default', UNUSED_DEFAULT],
    [required && readOnly && operations?.has('create') === true, 'read-only-required', 'required', READ_ONLY],
  ];
  return faults.flatMap(([faulty, code, key, message]) =>
    faulty ? [finding(code, ['fields', name, key], `${quoted(name)} ${message}`)] : [],
  );
}

/** Titles are those of listed values. */
function checkTitles(name: string, field: FieldDraft): readonly Finding[] {
  if (field.titles === undefined) return [];
  const path = ['fields', name, 'titles'];
  const values = listed(shapeOf(field))?.map(String);
  const lacking = `"titles" are those of the values of "enum", which ${quoted(name)} lacks`;
  if (!values) return [finding('misplaced-key', path, lacking, 'key')];
  const listedValues = new Set(values);
  return Object.keys(field.titles)
    .filter((value) => !listedValues.has(value))
    .map((value) => {
      const known = didYouMean(value, values) || `; it has ${shortened(values.join(', '), MAX_LISTED)}`;
      return finding('unknown-value', [...path, value], `"enum" has no value ${quoted(value)}${known}`, 'key');
    });
}

function checkValues(schema: Schema, path: readonly string[], field: FieldDraft): readonly Finding[] {
  const fieldType = fieldTypes.get(field.type ?? '');
  if (!fieldType) return [];
  const shape = shapeOf(field);
  const item = fieldType.item?.(shape);
  const faults = [
    ...(item
      ? checkValues(schema, [...path, ITEMS], { type: item.type.name, examples: item.examples, ...item.constraints })
      : []),
    ...fieldType
      .faults(shape)
      .map(({ keyword, message }) => finding('contradictory-constraints', [...path, keyword], message)),
  ];
  if (faults.length > 0) return faults;
  const fallback = isNowByDefault(field) ? null : (field.default ?? null);
  const refused = (code: DiagnosticCode, value: JsonValue, ...key: YamlPath) =>
    checkSample(schema, fieldType, shape, value, code, path, key);
  return [
    ...checkListed(schema, fieldType, shape, path),
    ...(fallback === null ? [] : refused('bad-default', fallback, 'default')),
    ...shape.examples.flatMap((value, index) => refused('bad-example', value, 'examples', index)),
  ];
}

/** The field must accept its default and its examples, and answer them as they are written. */
function checkSample(
  schema: Schema,
  type: FieldType,
  shape: Shape,
  value: JsonValue,
  code: DiagnosticCode,
  owner: YamlPath,
  key: YamlPath,
): readonly Finding[] {
  const path = [...owner, ...key];
  const jsonSchema = type.schema(shape);
  if (!schema.accepts(jsonSchema, value)) {
    const expected = `${type.expected(shape)}${code === 'bad-default' && type.now ? `, or ${NOW}` : ''}`;
    const message = `${quoted(owner.at(-1))} does not accept ${quoted(value)}; expected ${expected}${hint(jsonSchema['type'], value)}`;
    return [finding(code, path, message, 'value', needsQuotes(jsonSchema['type'], value))];
  }
  const answered = type.canonical?.(value) ?? value;
  const message = `${quoted(value)} is answered as ${quoted(answered)}; write it so`;
  return answered === value ? [] : [finding('other-spelling', path, message)];
}

/** Values of `enum` that another constraint does not accept. */
function checkListed(schema: Schema, fieldType: FieldType, shape: Shape, path: YamlPath): readonly Finding[] {
  const { enum: _, ...constraints } = shape.constraints;
  const others = { ...shape, constraints };
  return (listed(shape) ?? []).flatMap((value, index) => {
    const message = `${quoted(value)} is listed, but the field must be ${fieldType.expected(others)}`;
    const isAccepted = schema.accepts(fieldType.schema(others), value);
    return isAccepted ? [] : [finding('contradictory-constraints', [...path, 'enum', index], message)];
  });
}

// Seed records: each has its own identifier and only known keys. Validators check the values.

export const checkSeeds: TypeCheck = (type) => {
  const { draft, identifier: name, lost, fields, relations } = type;
  const seeds = draft.seed ?? [];
  const identifiers = seeds.map((seed) => (Object.hasOwn(seed, name) ? seed[name] : undefined));
  const known = [name, ...fields.keys(), ...relations.keys()];
  const isOpen = draft.open === true || lost.has('open');
  return [
    ...seeds.flatMap((seed, index) => [
      ...checkIdentifier(type, identifiers[index], index),
      ...(isOpen ? [] : Object.keys(seed)).flatMap((key) =>
        unknownField(type, key, known, ['seed', index, key], 'key'),
      ),
    ]),
    ...repeated(identifiers)
      .filter((index) => isIdentifier(identifiers[index]))
      .map((index) => {
        const message = `an earlier seed record already has the identifier ${quoted(identifiers[index])}`;
        return finding('duplicate-seed', ['seed', index, name], message);
      }),
  ];
};

const isIdentifier = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1;

function checkIdentifier({ complete, identifier }: TypeDraft, value: unknown, index: number): readonly Finding[] {
  if (isIdentifier(value) || !complete) return [];
  const absent = `a seed record needs its identifier, ${quoted(identifier)}, so that it is inserted only once`;
  if (value === undefined) return [finding('seed-identifier', ['seed', index], absent)];
  const message = `an identifier is an integer from 1, not ${quoted(value)}`;
  return [finding('seed-identifier', ['seed', index, identifier], message)];
}

// Variants: the default exists, and each allows creating a record.

export const checkVariants: TypeCheck = (type) => {
  const { default: chosen = '', omit = {} } = type.draft.variants ?? {};
  const names = Object.keys(omit);
  const known = didYouMean(chosen, names) || `; it has ${names.join(', ')}`;
  const isUnknown = type.draft.variants?.default !== undefined && names.length > 0 && !names.includes(chosen);
  return [
    ...(isUnknown
      ? [finding('unknown-variant', ['variants', 'default'], `"omit" has no variant ${quoted(chosen)}${known}`)]
      : []),
    ...Object.entries(omit).flatMap(([variant, fields]) =>
      fields.flatMap((field, index) => checkOmitted(type, variant, field, index)),
    ),
  ];
};

function checkOmitted(type: TypeDraft, variant: string, name: string, index: number): readonly Finding[] {
  const path = ['variants', 'omit', variant, index];
  const field = type.fields.get(name);
  if (!field) return unknownField(type, name, [...type.fields.keys()], path);
  const message = `${quoted(name)} is required: variant ${quoted(variant)} cannot create records without it`;
  return field.required && type.operations?.has('create') ? [finding('variant-omits-required', path, message)] : [];
}
