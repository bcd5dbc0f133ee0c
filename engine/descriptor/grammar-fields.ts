/** The part of the grammar that describes one field: for each field type its own keywords, and no others. */
import { fieldTypes } from '../field-types/registry.ts';
import type { JsonObject } from '../json.ts';
import { chosenBy, owners, strict } from './grammar-parts.ts';

const flag = (fallback: boolean | undefined, description: string): JsonObject => ({
  type: 'boolean',
  ...(fallback === undefined ? {} : { default: fallback }),
  description,
});

const types = [...fieldTypes.values()];

const typeWord: JsonObject = {
  enum: types.map(({ name }) => name),
  description: [
    'What kind of value the field holds.',
    ...types.map(({ name, description }) => `${name}: ${description}`),
  ].join('\n\n'),
};

/** What every field may say. */
const common: JsonObject = {
  type: typeWord,
  description: { type: 'string', description: 'What the field means, for people: shown in the API documentation.' },
  default: {
    description: 'The value of a field that is left out on create. Decimals, dates and timestamps are quoted: "0".',
  },
  required: flag(false, 'Whether create must give a value.'),
  nullable: flag(
    undefined,
    'Whether null is accepted. Without this word: true where neither default nor required is given, else false.',
  ),
  renamedFrom: {
    type: 'string',
    description: 'The name that the field had before. Databases that know it under that name keep its values.',
  },
  readOnly: flag(false, 'Whether requests may not change the field. They may repeat the value that is stored.'),
  sensitive: flag(
    false,
    'Whether its values are confidential. No log and no message of an answer quotes them; OpenAPI marks the field with x-sensitive.',
  ),
  examples: {
    type: 'array',
    items: {},
    description: 'Values that the field accepts, for the API documentation and the generated tests.',
  },
};

/** What fields may say whose values can be compared. */
const comparable: JsonObject = {
  unique: flag(false, 'Whether no two records may have the same value. Any number may have null.'),
  index: flag(false, 'Whether the database keeps an index, for lists that are ordered or filtered by this field.'),
};

const words: Readonly<Record<string, JsonObject>> = Object.fromEntries(
  types.map((type) => [type.name, { ...common, ...(type.operators.length > 0 ? comparable : {}), ...type.keywords }]),
);

/** Which field types have a word: for those that stand with a type that does not. */
export const fieldWords = owners(words);

/** While the type is missing or misspelt, every word that some type has is known; what it means may differ by type. */
const untyped = {
  ...Object.fromEntries([...fieldWords.keys()].map((word) => [word, true])),
  ...comparable,
  ...common,
};

const definitionNames = Object.fromEntries(types.map(({ name }) => [name, `${name}Field`]));

export const fieldDefinitions: JsonObject = {
  field: chosenBy(
    'type',
    definitionNames,
    'untypedField',
    'A field of the record: its name in JSON, and the name of its column.',
  ),
  untypedField: strict(untyped, ['type']),
  ...Object.fromEntries(
    types.map(({ name, description }) => [`${name}Field`, { ...strict(words[name] ?? {}, ['type']), description }]),
  ),
};
