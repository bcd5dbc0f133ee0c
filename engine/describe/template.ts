/** The descriptor of a new type: a field to begin with, and every other word as a comment that only has to be uncommented. */
import { defaultPath, defaultTable } from '../names.ts';

interface Template {
  readonly type: string;
  /** Where the grammar is, from the descriptor's folder. */
  readonly grammar: string;
  /** A type that relations may lead to. */
  readonly other: string;
}

export const template = ({ type, grammar, other }: Template): string => `# yaml-language-server: $schema=${grammar}
type: ${type}
description: What a record of this type is, in a sentence.
# path: ${defaultPath(type)}
# table: ${defaultTable(type)}
# operations: [list, get, create, update, delete]
# order: [name]

fields:
  name:
    type: string
    maxLength: 255
    required: true
    description: What people call it
  # Other types of fields: integer, number, boolean, date, timestamp, array, any.
  # price: { type: decimal, precision: 10, scale: 2, default: '0', description: What it costs }
  # code: { type: string, maxLength: 20, unique: true }
  # state: { type: string, enum: [draft, published], default: draft }

# Other kinds of relations: hasOne, hasMany, manyToMany.
# relations:
#   parent: { kind: belongsTo, type: ${other}, onDelete: setNull, description: What it belongs to }

# Records that every database starts with, inserted once.
# seed:
#   - { id: 1, name: First }
`;
