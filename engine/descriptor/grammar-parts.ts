/** The parts of the grammar: fields, and the JSON Schema shapes that they and relations consist of. */
import type { JsonObject } from '../json.ts';
import type { Generated } from '../field-types/field-type.ts';
import { fieldTypes } from '../field-types/registry.ts';

/** A mapping with these keys and no others. */
export const strict = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  properties,
  ...(required.length > 0 ? { required } : {}),
  additionalProperties: false,
});

/** A mapping that has `key`, with a value that fits. */
export const has = (key: string, value: JsonObject): JsonObject => ({
  type: 'object',
  properties: { [key]: value },
  required: [key],
});

export const ref = (definition: string): JsonObject => ({ $ref: `#/definitions/${definition}` });

/**
 * A mapping whose `key` decides what else it may hold: one definition for each of its values, and one for a mapping
 * where the key is missing or wrong. Editors offer the keys of the definition that applies.
 */
export function chosenBy(
  key: string,
  choices: Readonly<Record<string, string>>,
  otherwise: string,
  description: string,
): JsonObject {
  const branches = Object.entries(choices).map(([value, definition]) => ({
    if: has(key, { const: value }),
    then: ref(definition),
  }));
  const unknown = { if: has(key, { enum: Object.keys(choices) }), else: ref(otherwise) };
  return { type: 'object', description, allOf: [unknown, ...branches] };
}

/** Every key of these mappings, with the mappings that take it. */
export function owners(mappings: Readonly<Record<string, JsonObject>>): ReadonlyMap<string, readonly string[]> {
  const keys = Object.keys(Object.assign({}, ...Object.values(mappings)));
  return new Map(
    keys.map((key) => [key, Object.keys(mappings).filter((name) => Object.hasOwn(mappings[name] ?? {}, key))]),
  );
}

const MAX_TITLE = 100;

/** What people call something. */
export const titleWord = (description: string, maxLength = MAX_TITLE): JsonObject => ({
  type: 'string',
  minLength: 1,
  maxLength,
  description,
});

/** A plural that is made of a title is a little longer. */
export const pluralWord = (description: string): JsonObject => titleWord(description, MAX_TITLE + 10);

// Fields: each field type has its own keywords and no others.

const flag = (fallback: boolean | undefined, description: string): JsonObject => ({
  type: 'boolean',
  ...(fallback === undefined ? {} : { default: fallback }),
  description,
});

const types = [...fieldTypes.values()];

const typeWord: JsonObject = {
  enum: types.map(({ name }) => name),
  description: ['The type of the values.', ...types.map(({ name, description }) => `${name}: ${description}`)].join(
    '\n\n',
  ),
};

/** The keys of every field. */
const commonFieldWords: JsonObject = {
  type: typeWord,
  title: titleWord('What people call the field. Default: made from its name: unitPrice becomes "Unit price".'),
  description: { type: 'string', description: 'What the field means. Shown in the API documentation.' },
  default: {
    description:
      'The value if create leaves the field out. Quote decimals, dates and timestamps: "0". For a date or a timestamp, now stands for the time of the request, in UTC.',
  },
  required: flag(false, 'Whether create must contain the field.'),
  nullable: flag(
    undefined,
    'Whether null is accepted. Default: true if the field has no default and is not required, otherwise false.',
  ),
  renamedFrom: {
    type: 'string',
    description: 'The former name of the field. Databases that have it under that name keep its values.',
  },
  readOnly: flag(false, 'Whether requests cannot change the field. They can repeat the stored value.'),
  sensitive: flag(
    false,
    'Whether the values are confidential: they never appear in logs or in messages of responses. OpenAPI marks the field with x-sensitive.',
  ),
  examples: {
    type: 'array',
    items: {},
    description: 'Valid values, used in the API documentation and in generated tests.',
  },
};

/** Also for the API documentation. */
export const generatedMeanings = {
  createdAt: 'the time when the record was created',
  updatedAt: 'the time when one of its own values last changed',
  createdBy: 'the name of the token that created the record; null if the service has no tokens',
  updatedBy: 'the name of the token that last changed one of its own values; null if the service has no tokens',
} as const satisfies Record<Generated, string>;

/** The keys of fields whose values can be compared. */
const comparable: JsonObject = {
  unique: flag(false, 'Whether values must be unique. Any number of records can have null.'),
  index: flag(false, 'Whether the column has an index, for lists sorted or filtered by this field.'),
};

/** The field types that take each word of `generated`. */
export const generatedBy: ReadonlyMap<string, readonly string[]> = owners(
  Object.fromEntries(
    types.map(({ name, generates = [] }) => [name, Object.fromEntries(generates.map((word) => [word, true]))]),
  ),
);

const generated = (words: readonly Generated[]): JsonObject => ({
  generated: {
    enum: words,
    description: [
      'What the service fills in, whatever bodies say.',
      ...words.map((word) => `${word}: ${generatedMeanings[word]}.`),
    ].join('\n\n'),
  },
});

/** The keys of fields whose values are texts in which case can be ignored. */
const foldable: JsonObject = {
  caseless: flag(
    false,
    'Whether values that differ only in case, or in how accents are encoded, are equal: in unique, in filters, in order and in checks. Responses show each value as it was written.',
  ),
};

/** The keys of fields whose values are free text. */
const ofTexts: JsonObject = {
  ...foldable,
  multiline: flag(
    false,
    'Whether values have several lines, for the input of forms. OpenAPI marks it with x-multiline.',
  ),
};

/** The keys of fields whose values can be listed. */
const listable: JsonObject = {
  titles: {
    type: 'object',
    additionalProperties: titleWord('What people call the value.'),
    description:
      'What people call the values of enum: { p: Percent, a: Amount }. Default: made from the value: in_progress becomes "In progress".',
  },
};

const wordsOfFieldType: Readonly<Record<string, JsonObject>> = Object.fromEntries(
  types.map((type) => [
    type.name,
    {
      ...commonFieldWords,
      ...(type.operators.length > 0 ? comparable : {}),
      ...(type.generates ? generated(type.generates) : {}),
      ...(type.isText ? ofTexts : {}),
      ...(type.keywords['enum'] === undefined ? {} : listable),
      ...type.keywords,
    },
  ]),
);

/** The field types that take each key, for messages about a key with the wrong type. */
export const fieldWords = owners(wordsOfFieldType);

/** If the type is missing or misspelt, every key of any type is accepted: what it means may differ by type. */
const untyped = {
  ...Object.fromEntries([...fieldWords.keys()].map((word) => [word, true])),
  ...comparable,
  ...ofTexts,
  ...listable,
  ...commonFieldWords,
};

const fieldDefinitionNames = Object.fromEntries(types.map(({ name }) => [name, `${name}Field`]));

export const fieldDefinitions: JsonObject = {
  field: chosenBy(
    'type',
    fieldDefinitionNames,
    'untypedField',
    'A field of the record. Its name is the key in JSON and the name of the column.',
  ),
  untypedField: strict(untyped, ['type']),
  ...Object.fromEntries(
    types.map(({ name, description }) => [
      `${name}Field`,
      { ...strict(wordsOfFieldType[name] ?? {}, ['type']), description },
    ]),
  ),
};

// Items of arrays: a field type with its own keywords.

const commonItemWords: JsonObject = {
  type: typeWord,
  description: { type: 'string', description: 'What an item means. Shown in the API documentation.' },
  nullable: flag(false, 'Whether an item can be null.'),
  examples: {
    type: 'array',
    items: {},
    description: 'Valid items, used in the API documentation and in generated tests.',
  },
};

const wordsOfItems: Readonly<Record<string, JsonObject>> = Object.fromEntries(
  types.map((type) => [type.name, { ...commonItemWords, ...type.keywords }]),
);

/** The field types whose items take each key. */
export const itemWords = owners(wordsOfItems);

export const itemDefinitions: JsonObject = {
  item: chosenBy(
    'type',
    Object.fromEntries(types.map(({ name }) => [name, `${name}Item`])),
    'untypedItem',
    'What each item of an array must be.',
  ),
  untypedItem: strict(
    { ...Object.fromEntries([...itemWords.keys()].map((word) => [word, true])), ...commonItemWords },
    ['type'],
  ),
  ...Object.fromEntries(
    types.map(({ name, description }) => [
      `${name}Item`,
      { ...strict(wordsOfItems[name] ?? {}, ['type']), description },
    ]),
  ),
};
