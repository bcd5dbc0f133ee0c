/** The part of the grammar that describes one relation: for each kind its own words, and no others. */
import type { JsonObject } from '../json.ts';
import type { RelationKind } from './descriptor.ts';
import { chosenBy, owners, strict } from './grammar-parts.ts';

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

const common: JsonObject = {
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

const words = Object.fromEntries(
  Object.entries(own).map(([kind, extra]): [string, JsonObject] => [kind, { ...common, ...extra }]),
);

/** Which kinds of relation have a word: for those that stand with a kind that does not. */
export const relationWords = owners(words);

/** While the kind is missing or misspelt, every word that some kind has is known. */
const ofNoKind: JsonObject = Object.assign({}, ...Object.values(words));

const definitionNames = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, `${kind}Relation`]));

export const relationDefinitions: JsonObject = {
  relation: chosenBy('kind', definitionNames, 'relationOfNoKind', 'A relation of the record: its name in JSON.'),
  relationOfNoKind: strict(ofNoKind, ['kind', 'type']),
  ...Object.fromEntries(
    Object.entries(words).map(([kind, properties]) => [`${kind}Relation`, strict(properties, ['kind', 'type'])]),
  ),
};
