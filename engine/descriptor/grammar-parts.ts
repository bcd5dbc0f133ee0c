/** The few shapes of JSON Schema that the grammar is put together from. */
import type { JsonObject } from '../json.ts';
import { fieldTypes } from '../field-types/registry.ts';
import type { RelationKind } from './descriptor.ts';

/** A mapping with these keys and no others. */
export const strict = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  properties,
  ...(required.length > 0 ? { required } : {}),
  additionalProperties: false,
});

/** A mapping whose `key` is there and fits. */
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

/** Every key of these mappings, with the mappings that have it. */
export function owners(mappings: Readonly<Record<string, JsonObject>>): ReadonlyMap<string, readonly string[]> {
  const keys = Object.keys(Object.assign({}, ...Object.values(mappings)));
  return new Map(
    keys.map((key) => [key, Object.keys(mappings).filter((name) => Object.hasOwn(mappings[name] ?? {}, key))]),
  );
}

// The part of the grammar that describes one field: for each field type its own keywords, and no others.

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
const commonFieldWords: JsonObject = {
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

const wordsOfFieldType: Readonly<Record<string, JsonObject>> = Object.fromEntries(
  types.map((type) => [
    type.name,
    { ...commonFieldWords, ...(type.operators.length > 0 ? comparable : {}), ...type.keywords },
  ]),
);

/** Which field types have a word: for those that stand with a type that does not. */
export const fieldWords = owners(wordsOfFieldType);

/** While the type is missing or misspelt, every word that some type has is known; what it means may differ by type. */
const untyped = {
  ...Object.fromEntries([...fieldWords.keys()].map((word) => [word, true])),
  ...comparable,
  ...commonFieldWords,
};

const fieldDefinitionNames = Object.fromEntries(types.map(({ name }) => [name, `${name}Field`]));

export const fieldDefinitions: JsonObject = {
  field: chosenBy(
    'type',
    fieldDefinitionNames,
    'untypedField',
    'A field of the record: its name in JSON, and the name of its column.',
  ),
  untypedField: strict(untyped, ['type']),
  ...Object.fromEntries(
    types.map(({ name, description }) => [
      `${name}Field`,
      { ...strict(wordsOfFieldType[name] ?? {}, ['type']), description },
    ]),
  ),
};

// The part of the grammar that describes one relation: for each kind its own words, and no others.

const text = (description: string): JsonObject => ({ type: 'string', description });
const column = (description: string): JsonObject => ({ $ref: '#/definitions/name', description });

const kinds = {
  belongsTo: 'this record refers to one other; its table has the column',
  hasOne: 'at most one other record refers to this one',
  hasMany: 'any number of other records refer to this one',
  manyToMany: 'any number on both sides, kept in a table of its own',
} as const satisfies Record<RelationKind, string>;

const kindWord: JsonObject = {
  enum: Object.keys(kinds),
  description: [
    'How many records stand on each side.',
    ...Object.entries(kinds).map(([kind, meaning]) => `${kind}: ${meaning}.`),
  ].join('\n\n'),
};

const commonRelationWords: JsonObject = {
  kind: kindWord,
  type: text('The type of the related records, as its descriptor names it.'),
  description: text('What the relation means, for people: shown in the API documentation.'),
  inverse: text(
    'The relation of the other type that is the same connection seen from there. One of the two sides may say it, or both.',
  ),
  renamedFrom: text(
    'The name that the relation had before. Databases that know it under that name keep its connections.',
  ),
  nested: {
    enum: ['write', 'link'],
    description:
      'What a related record inside a body may do. write: it is created and changed too. link: it is only linked. Default: write where owned, else link.',
  },
  fields: {
    type: 'array',
    items: { type: 'string' },
    uniqueItems: true,
    description: 'What the related record shows here; its identifier is always shown. Default: all its own fields.',
  },
  shown: {
    type: 'boolean',
    default: true,
    description:
      'Whether answers show the relation without being asked. false: only where include or fields names it, as suits large sets. Bodies may hold it either way.',
  },
};

const owned: JsonObject = {
  type: 'boolean',
  default: false,
  description:
    'Whether the related records live and die with this one: left out of a set they are deleted, and so they are with their parent.',
};

const childColumn = column(
  'The column in the table of the related type. Only for a relation without inverse: else the belongsTo there has it.',
);

const own = {
  belongsTo: {
    column: column(
      'The column that keeps the identifier of the related record. Default: the name of the relation and "_id".',
    ),
    required: { type: 'boolean', default: false, description: 'Whether every record must have one.' },
    onDelete: {
      enum: ['restrict', 'cascade', 'setNull'],
      default: 'restrict',
      description:
        'When the related record is deleted. restrict: it cannot be while this one refers to it. cascade: this one is deleted too. setNull: this one stays, without it.',
    },
  },
  hasOne: { column: childColumn, owned },
  hasMany: { column: childColumn, owned },
  manyToMany: {
    through: {
      $ref: '#/definitions/table',
      description: 'The table that connects both sides. Default: a name made of the type and the relation.',
    },
  },
} as const satisfies Record<RelationKind, JsonObject>;

const wordsOfKind = Object.fromEntries(
  Object.entries(own).map(([kind, extra]): [string, JsonObject] => [kind, { ...commonRelationWords, ...extra }]),
);

/** Which kinds of relation have a word: for those that stand with a kind that does not. */
export const relationWords = owners(wordsOfKind);

/** While the kind is missing or misspelt, every word that some kind has is known. */
const ofNoKind: JsonObject = Object.assign({}, ...Object.values(wordsOfKind));

const relationDefinitionNames = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, `${kind}Relation`]));

export const relationDefinitions: JsonObject = {
  relation: chosenBy(
    'kind',
    relationDefinitionNames,
    'relationOfNoKind',
    'A relation of the record: its name in JSON.',
  ),
  relationOfNoKind: strict(ofNoKind, ['kind', 'type']),
  ...Object.fromEntries(
    Object.entries(wordsOfKind).map(([kind, properties]) => [`${kind}Relation`, strict(properties, ['kind', 'type'])]),
  ),
};
