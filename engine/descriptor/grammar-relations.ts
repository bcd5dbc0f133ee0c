/** The relations of the grammar. */
import { DEFAULTS } from './defaults.ts';
import type { JsonObject } from '../json.ts';
import type { RelationKind } from './descriptor.ts';
import { chosenBy, owners, strict, titleWord } from './grammar-parts.ts';

// Each kind has its own keys and no others.

const text = (description: string): JsonObject => ({ type: 'string', description });
const column = (description: string): JsonObject => ({ $ref: '#/definitions/name', description });

const kinds = {
  belongsTo: 'this record refers to one other record; the column is in its own table',
  hasOne: 'at most one other record refers to this one',
  hasMany: 'any number of other records refer to this one',
  manyToMany: 'any number on both sides, kept in a table of its own',
} as const satisfies Record<RelationKind, string>;

export const relationKinds: readonly string[] = Object.keys(kinds);

const kindWord: JsonObject = {
  enum: relationKinds,
  description: [
    'How many records there can be on each side.',
    ...Object.entries(kinds).map(([kind, meaning]) => `${kind}: ${meaning}.`),
  ].join('\n\n'),
};

const commonRelationWords: JsonObject = {
  kind: kindWord,
  type: text('The name of the related type.'),
  title: titleWord('What people call the relation. Default: made from its name: tax_class becomes "Tax class".'),
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
      default: DEFAULTS.onDelete,
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
