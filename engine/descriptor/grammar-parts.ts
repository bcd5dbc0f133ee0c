/** The parts of the grammar: fields, relations, and the JSON Schema shapes that they consist of. */
import type { JsonObject } from '../json.ts';
import type { Generated } from '../field-types/field-type.ts';
import { fieldTypes } from '../field-types/registry.ts';
import type { RelationKind } from './descriptor.ts';

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

const wordsOfFieldType: Readonly<Record<string, JsonObject>> = Object.fromEntries(
  types.map((type) => [
    type.name,
    {
      ...commonFieldWords,
      ...(type.operators.length > 0 ? comparable : {}),
      ...(type.generates ? generated(type.generates) : {}),
      ...(type.isText ? foldable : {}),
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
  ...foldable,
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

export const itemDefinitions: JsonObject = {
  item: chosenBy(
    'type',
    Object.fromEntries(types.map(({ name }) => [name, `${name}Item`])),
    'untypedItem',
    'What each item of an array must be.',
  ),
  untypedItem: strict(
    { ...Object.fromEntries([...owners(wordsOfItems).keys()].map((word) => [word, true])), ...commonItemWords },
    ['type'],
  ),
  ...Object.fromEntries(
    types.map(({ name, description }) => [
      `${name}Item`,
      { ...strict(wordsOfItems[name] ?? {}, ['type']), description },
    ]),
  ),
};

// Relations: each kind has its own keys and no others.

const text = (description: string): JsonObject => ({ type: 'string', description });
const column = (description: string): JsonObject => ({ $ref: '#/definitions/name', description });

const kinds = {
  belongsTo: 'this record refers to one other record; the column is in its own table',
  hasOne: 'at most one other record refers to this one',
  hasMany: 'any number of other records refer to this one',
  manyToMany: 'any number on both sides, kept in a table of its own',
} as const satisfies Record<RelationKind, string>;

const kindWord: JsonObject = {
  enum: Object.keys(kinds),
  description: [
    'How many records there can be on each side.',
    ...Object.entries(kinds).map(([kind, meaning]) => `${kind}: ${meaning}.`),
  ].join('\n\n'),
};

const commonRelationWords: JsonObject = {
  kind: kindWord,
  type: text('The name of the related type.'),
  description: text('What the relation means. Shown in the API documentation.'),
  inverse: text(
    'The relation on the other type that is the other side of this one. Either side can declare it, or both.',
  ),
  renamedFrom: text('The former name of the relation. Databases that have it under that name keep its links.'),
  nested: {
    enum: ['write', 'link'],
    description:
      'What a body may do with related records. write: create, change and link them. link: only link them. Default: write if owned, otherwise link.',
  },
  fields: {
    type: 'array',
    items: { type: 'string' },
    uniqueItems: true,
    description:
      'The fields of the related record that are shown here, besides its identifier. Default: all of its own fields.',
  },
  shown: {
    type: 'boolean',
    default: true,
    description:
      'Whether responses show the relation by default. false: only if include or fields names it, which suits large sets. Bodies can contain it either way.',
  },
};

const owned: JsonObject = {
  type: 'boolean',
  default: false,
  description:
    'Whether this record owns the related ones: they are deleted when a body leaves them out of the set, and when this record is deleted.',
};

const childColumn = column(
  'The column in the table of the related type. Only for a relation without an inverse; otherwise the belongsTo there names it.',
);

const acyclic: JsonObject = {
  type: 'boolean',
  default: false,
  description:
    'For a relation to the own type: whether no record can be above itself, however far. Writes that would make a cycle are refused. Either side can say it.',
};

const own = {
  belongsTo: {
    acyclic,
    column: column(
      'The column that holds the identifier of the related record. Default: the name of the relation followed by "_id".',
    ),
    required: { type: 'boolean', default: false, description: 'Whether every record must have a related one.' },
    onDelete: {
      enum: ['restrict', 'cascade', 'setNull'],
      default: 'restrict',
      description:
        'What happens when the related record is deleted. restrict: the deletion is refused while this record refers to it. cascade: this record is deleted too. setNull: this record stays, without it.',
    },
  },
  hasOne: { column: childColumn, owned, acyclic },
  hasMany: { column: childColumn, owned, acyclic },
  manyToMany: {
    through: {
      $ref: '#/definitions/table',
      description: 'The table that connects both sides. Default: made from the names of the type and the relation.',
    },
  },
} as const satisfies Record<RelationKind, JsonObject>;

const wordsOfKind = Object.fromEntries(
  Object.entries(own).map(([kind, extra]): [string, JsonObject] => [kind, { ...commonRelationWords, ...extra }]),
);

/** The kinds that take each key, for messages about a key with the wrong kind. */
export const relationWords = owners(wordsOfKind);

/** If the kind is missing or misspelt, every key of any kind is accepted. */
const ofNoKind: JsonObject = Object.assign({}, ...Object.values(wordsOfKind));

const relationDefinitionNames = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, `${kind}Relation`]));

export const relationDefinitions: JsonObject = {
  relation: chosenBy(
    'kind',
    relationDefinitionNames,
    'relationOfNoKind',
    'A relation of the record. Its name is the key in JSON.',
  ),
  relationOfNoKind: strict(ofNoKind, ['kind', 'type']),
  ...Object.fromEntries(
    Object.entries(wordsOfKind).map(([kind, properties]) => [`${kind}Relation`, strict(properties, ['kind', 'type'])]),
  ),
};
