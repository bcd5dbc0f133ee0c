/** Fields, seeds and variants: constraints, defaults and examples that contradict each other. */
import type { DiagnosticCode } from '../../diagnostic.ts';
import { type FieldType, ITEMS, listed, type Shape } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonObject, JsonValue } from '../../json/json.ts';
import { isNowByDefault, isNullable, shapeOf } from '../defaults.ts';
import { NOW } from '../descriptor.ts';
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

/** Whether the field can always have a value that it accepts. */
function checkPresence({ operations }: TypeDraft, name: string, field: FieldDraft): readonly Finding[] {
  const { required = false, readOnly = false, generated, default: fallback } = field;
  if (generated !== undefined) return [];
  const nullable = isNullable(field);
  const faults: readonly (readonly [boolean, DiagnosticCode, keyof FieldDraft, string])[] = [
    [
      fallback === null && !nullable,
      'null-default',
      'default',
      'is not nullable, but its default is null; add "nullable: true" or remove the default',
    ],
    [
      !nullable && fallback === undefined && !required,
      'missing-default',
      'nullable',
      'does not accept null, so it needs a default or "required: true"',
    ],
    [
      required && fallback !== undefined && (fallback !== null || nullable),
      'unused-default',
      'default',
      'is required, so no create uses its default: only records that are there before the field get it; remove one of the two',
    ],
    [
      required && readOnly && operations?.has('create') === true,
      'read-only-required',
      'required',
      'is readOnly: requests cannot set it, so create cannot require it',
    ],
  ];
  return faults.flatMap(([faulty, code, key, message]) =>
    faulty ? [finding(code, ['fields', name, key], 'value', `${quoted(name)} ${message}`)] : [],
  );
}

/** Titles are those of listed values. */
function checkTitles(name: string, field: FieldDraft): readonly Finding[] {
  if (field.titles === undefined) return [];
  const path = ['fields', name, 'titles'];
  const values = listed(shapeOf(field))?.map(String);
  if (!values)
    return [
      finding('misplaced-key', path, 'key', `"titles" are those of the values of "enum", which ${quoted(name)} lacks`),
    ];
  const listedValues = new Set(values);
  return Object.keys(field.titles)
    .filter((value) => !listedValues.has(value))
    .map((value) => {
      const known = didYouMean(value, values) || `; it has ${shortened(values.join(', '), MAX_LISTED)}`;
      return finding('unknown-value', [...path, value], 'key', `"enum" has no value ${quoted(value)}${known}`);
    });
}

function checkValues(schema: Schema, path: readonly string[], field: FieldDraft): readonly Finding[] {
  const fieldType = fieldTypes.get(field.type ?? '');
  if (!fieldType) return [];
  const shape = shapeOf(field);
  const faults = [
    ...checkItems(schema, fieldType, shape, path),
    ...fieldType
      .faults(shape)
      .map(({ keyword, message }) => finding('contradictory-constraints', [...path, keyword], 'value', message)),
  ];
  return faults.length > 0
    ? faults
    : [
        ...checkListed(schema, fieldType, shape, path),
        ...checkSamples(schema, fieldType, shape, path, isNowByDefault(field) ? null : field.default),
      ];
}

function checkItems(schema: Schema, fieldType: FieldType, shape: Shape, path: readonly string[]): readonly Finding[] {
  const item = fieldType.item?.(shape);
  if (item === undefined) return [];
  const words = { type: item.type.name, examples: item.examples, ...item.constraints };
  return checkValues(schema, [...path, ITEMS], words);
}

/** The field must accept its default and its examples. */
function checkSamples(
  schema: Schema,
  fieldType: FieldType,
  shape: Shape,
  path: readonly string[],
  fallback: JsonValue = null,
): readonly Finding[] {
  const jsonSchema = fieldType.schema(shape);
  const respelled = (value: JsonValue, ...key: YamlPath): readonly Finding[] => {
    const answered = fieldType.canonical?.(value) ?? value;
    const message = `${quoted(value)} is answered as ${quoted(answered)}; write it so`;
    return answered === value ? [] : [finding('other-spelling', [...path, ...key], 'value', message)];
  };
  const refusal = (code: DiagnosticCode, value: JsonValue, ...key: YamlPath): readonly Finding[] => {
    if (schema.accepts(jsonSchema, value)) return respelled(value, ...key);
    const message = `${quoted(path.at(-1))} does not accept ${quoted(value)}; expected ${fieldType.expected(shape)}${code === 'bad-default' && fieldType.now ? `, or ${NOW}` : ''}${hint(jsonSchema['type'], value)}`;
    return [finding(code, [...path, ...key], 'value', message, needsQuotes(jsonSchema['type'], value))];
  };
  return [
    ...(fallback === null ? [] : refusal('bad-default', fallback, 'default')),
    ...shape.examples.flatMap((value, index) => refusal('bad-example', value, 'examples', index)),
  ];
}

/** Values of `enum` that another constraint does not accept. */
function checkListed(schema: Schema, fieldType: FieldType, shape: Shape, path: readonly string[]): readonly Finding[] {
  const { enum: _, ...constraints } = shape.constraints;
  const values = listed(shape) ?? [];
  const others = { ...shape, constraints };
  return values.flatMap((value, index) =>
    schema.accepts(fieldType.schema(others), value)
      ? []
      : [
          finding(
            'contradictory-constraints',
            [...path, 'enum', index],
            'value',
            `${quoted(value)} is listed, but the field must be ${fieldType.expected(others)}`,
          ),
        ],
  );
}

// Seed records: each has its own identifier and only known keys. Validators check the values.

export const checkSeeds: TypeCheck = (type) => {
  const seeds = type.draft.seed ?? [];
  const identifiers = seeds.map((seed) => (Object.hasOwn(seed, type.identifier) ? seed[type.identifier] : undefined));
  const duplicates = repeated(identifiers).filter((index) => isIdentifier(identifiers[index]));
  return [
    ...seeds.flatMap((seed, index) => [
      ...checkIdentifier(type, identifiers[index], index),
      ...checkKeys(type, seed, index),
    ]),
    ...duplicates.map((index) =>
      finding(
        'duplicate-seed',
        ['seed', index, type.identifier],
        'value',
        `an earlier seed record already has the identifier ${quoted(identifiers[index])}`,
      ),
    ),
  ];
};

const isIdentifier = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1;

function checkIdentifier({ complete, identifier }: TypeDraft, value: unknown, index: number): readonly Finding[] {
  if (isIdentifier(value) || !complete) return [];
  if (value === undefined)
    return [
      finding(
        'seed-identifier',
        ['seed', index],
        'value',
        `a seed record needs its identifier, ${quoted(identifier)}, so that it is inserted only once`,
      ),
    ];
  return [
    finding(
      'seed-identifier',
      ['seed', index, identifier],
      'value',
      `an identifier is an integer from 1, not ${quoted(value)}`,
    ),
  ];
}

function checkKeys(type: TypeDraft, seed: JsonObject, index: number): readonly Finding[] {
  if (type.draft.open || type.lost.has('open')) return [];
  const known = [type.identifier, ...type.fields.keys(), ...type.relations.keys()];
  return Object.keys(seed).flatMap((key) => unknownField(type, key, known, ['seed', index, key], 'key'));
}

// Variants: the default exists, and each allows creating a record.

export const checkVariants: TypeCheck = (type) => {
  const { default: chosen, omit } = type.draft.variants ?? {};
  if (omit === undefined) return [];
  const names = Object.keys(omit);
  const unknown = chosen !== undefined && !names.includes(chosen);
  return [
    ...(unknown
      ? [
          finding(
            'unknown-variant',
            ['variants', 'default'],
            'value',
            `"omit" has no variant ${quoted(chosen)}${didYouMean(chosen, names) || `; it has ${names.join(', ')}`}`,
          ),
        ]
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
  if (!field.required || !type.operations?.has('create')) return [];
  return [
    finding(
      'variant-omits-required',
      path,
      'value',
      `${quoted(name)} is required: variant ${quoted(variant)} cannot create records without it`,
    ),
  ];
}
