/** Fields, seeds and variants: constraints, defaults and examples that contradict each other. */
import type { DiagnosticCode } from '../../diagnostic.ts';
import { type FieldType, ITEMS, listed, type Shape } from '../../field-types/field-type.ts';
import { identifierKinds, MAX_GIVEN_IDENTIFIER, MAX_IDENTIFIER_LENGTH } from '../../field-types/identifiers.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonValue } from '../../json/json.ts';
import { DEFAULTS, isNowByDefault, isNullable, NOW, shapeOf } from '../descriptor.ts';
import type { FieldDraft, Schema, TypeDraft } from '../draft.ts';
import { type Finding, finding, inQuotes, quoted } from '../report.ts';
import { hint } from '../texts.ts';
import type { YamlPath } from '../source.ts';
import { type Findings, repeated, type TypeCheck, unknownField } from './check.ts';
import { didYouMean, shortened } from '../../names.ts';

const MAX_LISTED = 200;

export const checkFields: TypeCheck = function* (type, schema) {
  for (const [name, field] of type.fields) {
    yield* checkPresence(type, name, field);
    yield* checkTitles(name, field);
    yield* checkValues(schema, ['fields', name], field);
  }
};

function* checkPresence({ operations }: TypeDraft, name: string, field: FieldDraft): Findings {
  const { required = false, readOnly = false, generated, default: fallback } = field;
  if (generated !== undefined) return;
  const fault = (code: DiagnosticCode, key: keyof FieldDraft, message: string): Finding =>
    finding(code, ['fields', name, key], `${quoted(name)} ${message}`);
  const nullable = isNullable(field);
  if (fallback === null && !nullable)
    yield fault(
      'null-default',
      'default',
      'is not nullable, but its default is null; add "nullable: true" or remove the default',
    );
  else if (required && fallback !== undefined)
    yield fault(
      'unused-default',
      'default',
      'is required, so no create uses its default: only records that are there before the field get it; remove one of the two',
    );
  if (!nullable && fallback === undefined && !required)
    yield fault('missing-default', 'nullable', 'does not accept null, so it needs a default or "required: true"');
  if (required && readOnly && operations?.has('create'))
    yield fault('read-only-required', 'required', 'is readOnly: requests cannot set it, so create cannot require it');
}

function* checkTitles(name: string, field: FieldDraft): Findings {
  if (field.titles === undefined) return;
  const path = ['fields', name, 'titles'];
  const values = listed(shapeOf(field))?.map(String);
  if (!values) {
    const message = `"titles" are those of the values of "enum", which ${quoted(name)} lacks`;
    yield finding('misplaced-key', path, message, 'key');
    return;
  }
  const listedValues = new Set(values);
  for (const value of Object.keys(field.titles)) {
    if (listedValues.has(value)) continue;
    const known = didYouMean(value, values) || `; it has ${shortened(values.join(', '), MAX_LISTED)}`;
    yield finding('unknown-value', [...path, value], `"enum" has no value ${quoted(value)}${known}`, 'key');
  }
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
  if (faults.some(({ path: at }) => at.at(-1) !== 'pattern')) return faults;
  const fallback = isNowByDefault(field) ? null : (field.default ?? null);
  const refused = (code: DiagnosticCode, value: JsonValue, ...key: YamlPath) =>
    checkSample(schema, fieldType, shape, value, code, path, key);
  return [
    ...faults,
    ...checkListed(schema, fieldType, shape, path),
    ...(fallback === null ? [] : refused('bad-default', fallback, 'default')),
    ...shape.examples.flatMap((value, index) => refused('bad-example', value, 'examples', index)),
  ];
}

/** The field must accept its default and its examples, and return them as written. */
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
    const message = `${quoted(owner.at(-1))} does not accept ${quoted(value)}; expected ${expected}${hint(jsonSchema, value)}`;
    const advice = inQuotes(jsonSchema['type'], value, (one) => type.parse(one) !== undefined);
    return [finding(code, path, message, 'value', advice)];
  }
  const answered = type.canonical?.(value) ?? value;
  const message = `${quoted(value)} is answered as ${quoted(answered)}; write it so`;
  return answered === value ? [] : [finding('other-spelling', path, message)];
}

/** Values of `enum` that another constraint rejects. */
function* checkListed(schema: Schema, fieldType: FieldType, shape: Shape, path: YamlPath): Findings {
  const { enum: _, ...constraints } = shape.constraints;
  const others = { ...shape, constraints };
  for (const [index, value] of (listed(shape) ?? []).entries()) {
    if (schema.accepts(fieldType.schema(others), value)) continue;
    const message = `${quoted(value)} is listed, but the field must be ${fieldType.expected(others)}`;
    yield finding('contradictory-constraints', [...path, 'enum', index], message);
  }
}

const IDENTIFIER_WORDS = new Set([...identifierKinds.values()].flatMap(({ keywords }) => keywords));

/** The kind of the identifier, and its constraints; undefined if they are faulty. */
function identifierIn({ draft: { identifier = {} }, hidden }: TypeDraft) {
  const kind = identifierKinds.get(identifier.type ?? DEFAULTS.identifier.type);
  // A faulty section hides the default name.
  if (!kind || (hidden.has(DEFAULTS.identifier.name) && identifier.name === undefined)) return undefined;
  const given = Object.entries(identifier).filter(([key]) => IDENTIFIER_WORDS.has(key)) as [string, JsonValue][];
  const shape = {
    constraints: { ...kind.constraints, ...Object.fromEntries(given) },
    examples: identifier.examples ?? [],
  };
  return { kind, shape, given: given.map(([key]) => key) };
}

export const checkIdentifier: TypeCheck = function* (type, schema) {
  const found = identifierIn(type);
  if (!found) return;
  const { kind, shape, given } = found;
  const { by = kind.by, inRecord = true } = type.draft.identifier ?? {};
  const { name } = kind.type;
  const fault = (code: DiagnosticCode, key: string, message: string, at?: 'key'): Finding =>
    finding(code, ['identifier', key], message, at);
  for (const key of given)
    if (!kind.keywords.includes(key))
      yield fault('misplaced-key', key, `an identifier of type ${name} does not take ${quoted(key)}`, 'key');
  if (by === 'service' && kind.by === 'client')
    yield fault(
      'bad-value',
      'by',
      `the service cannot make identifiers of type ${name}; take type: uuid, or leave it out`,
    );
  if (by === 'client' && !inRecord) {
    const message =
      'no body could bring the identifier, which is not in records (inRecord: false), and clients make (by: client)';
    yield fault('hidden-identifier', 'inRecord', message);
  }
  const { maxLength } = shape.constraints;
  if (Number(maxLength) > MAX_IDENTIFIER_LENGTH) {
    const message = `"maxLength" is at most ${MAX_IDENTIFIER_LENGTH}, since indexes of several columns, and URLs, take no longer identifiers`;
    yield fault('bad-value', 'maxLength', message);
  }
  const faults = kind.type.faults(shape);
  for (const { keyword, message } of faults) yield fault('contradictory-constraints', keyword, message);
  if (faults.length > 0) return;
  const accepting = { ...kind.type, schema: kind.schema, expected: kind.expected };
  for (const [index, value] of shape.examples.entries())
    yield* checkSample(schema, accepting, shape, value, 'bad-example', ['identifier'], ['examples', index]);
};

/** Checks the identifiers of seeds. Validators of the Model check their values. */
export const checkSeeds: TypeCheck = function* (type, schema) {
  const { draft, isRead, hidden, identifier: name } = type;
  const { kind, shape } = identifierIn(type) ?? {};
  const seeds = draft.seed ?? [];
  if (!kind || !shape) return;
  const accepted = kind.schema(shape, MAX_GIVEN_IDENTIFIER);
  const identifiers = seeds.map((seed) => {
    const value = seed && Object.hasOwn(seed, name) ? seed[name] : undefined;
    return value !== undefined && schema.accepts(accepted, value) ? (kind.type.canonical?.(value) ?? value) : value;
  });
  const again = new Set(repeated(identifiers));
  for (const [index, seed] of seeds.entries()) {
    if (seed === null) continue;
    const identifier = identifiers[index];
    const fault = (code: DiagnosticCode, message: string): Finding => finding(code, ['seed', index, name], message);
    if (identifier !== undefined && schema.accepts(accepted, identifier)) {
      if (again.has(index))
        yield fault('duplicate-seed', `an earlier seed record already has the identifier ${quoted(identifier)}`);
    } else if (isRead && !hidden.has(name))
      yield identifier === undefined
        ? fault(
            'seed-identifier',
            `a seed record needs its identifier, ${quoted(name)}, so that it is inserted only once`,
          )
        : fault(
            'seed-identifier',
            `an identifier is ${kind.expected(shape, MAX_GIVEN_IDENTIFIER)}, not ${quoted(identifier)}`,
          );
  }
};

/** Checks that the default variant exists and all can create records. */
export const checkVariants: TypeCheck = function* (type) {
  const { default: chosen, omit = {} } = type.draft.variants ?? {};
  const names = Object.keys(omit);
  if (chosen !== undefined && names.length > 0 && !names.includes(chosen)) {
    const known = didYouMean(chosen, names) || `; it has ${names.join(', ')}`;
    yield finding('unknown-variant', ['variants', 'default'], `"omit" has no variant ${quoted(chosen)}${known}`);
  }
  for (const [variant, omitted] of Object.entries(omit))
    for (const [index, name] of omitted.entries()) {
      const path = ['variants', 'omit', variant, index];
      yield* unknownField(type, name, [...type.fields.keys()], path);
      if (!type.fields.get(name)?.required || !type.operations?.has('create')) continue;
      const message = `${quoted(name)} is required: variant ${quoted(variant)} cannot create records without it`;
      yield finding('variant-omits-required', path, message);
    }
};
