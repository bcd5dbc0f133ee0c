/** The defaults of a descriptor, for the checks, which see faulty descriptors too, and for the Model. */
import type { Shape } from '../field-types/field-type.ts';
import { fieldTypes } from '../field-types/registry.ts';
import type { JsonValue } from '../json/json.ts';
import { defaultPath, defaultTable, generatedName, snakeCase } from '../names.ts';
import {
  type Descriptor,
  FIELD_WORDS,
  NOW,
  type FieldDescriptor,
  type OnDelete,
  type Operation,
  OPERATIONS,
  type RelationDescriptor,
} from './descriptor.ts';

/** Of words whose default does not depend on others. */
export const DEFAULTS = {
  maxLimit: 1000,
  count: 'exact',
  open: false,
  preconditions: 'optional',
  onDelete: 'restrict',
  identifier: { name: 'id', description: 'Unique identifier of the record', inRecord: true },
} as const;

type Named = Partial<Pick<Descriptor, 'type' | 'path' | 'table'>>;

export const pathOf = ({ type = '', path }: Named): string => path ?? defaultPath(type);
export const tableOf = ({ type = '', table }: Named): string => table ?? defaultTable(type);

export const identifierName = ({ identifier }: Pick<Descriptor, 'identifier'>): string =>
  identifier?.name ?? DEFAULTS.identifier.name;

export const operationsOf = ({ operations }: Pick<Descriptor, 'operations'>): ReadonlySet<Operation> =>
  new Set(operations ?? OPERATIONS);

export const isNullable = ({ nullable, required = false, default: value }: Partial<FieldDescriptor>): boolean =>
  nullable ?? (!required && value === undefined);

/** Whether the default is the time of the request. For other types, it is a text like any other. */
export const isNowByDefault = ({ type = '', default: value }: Partial<FieldDescriptor>): boolean =>
  value === NOW && fieldTypes.get(type)?.now !== undefined;

const words: ReadonlySet<string> = new Set(FIELD_WORDS);

/** The words of a field that belong to its type. */
export function shapeOf(field: Partial<FieldDescriptor>): Shape {
  const constraints = Object.entries(field).filter(
    (entry): entry is [string, JsonValue] => !words.has(entry[0]) && entry[1] !== undefined,
  );
  return { constraints: Object.fromEntries(constraints), examples: field.examples ?? [] };
}

/** What becomes of the records of a belongsTo when the one they refer to is deleted; `parent` is the other side. */
export function deletionOf(
  belongsTo: Partial<RelationDescriptor> | undefined,
  parent: Partial<RelationDescriptor> | undefined,
): OnDelete {
  return parent?.owned ? 'cascade' : (belongsTo?.onDelete ?? DEFAULTS.onDelete);
}

/** The column beside a field that ignores case. No field or relation can have such a name. */
export const foldedColumn = (field: string): string => generatedName(`${field}$folded`);

/** The column of a belongsTo. */
export const ownColumn = (relation: string): string => `${relation}_id`;

/** The column that a hasOne or hasMany without an inverse keeps in the table of its children. */
export const hiddenColumn = (parentType: string, relation: string): string =>
  generatedName(snakeCase(parentType), relation, 'id');

/** The table of a manyToMany, named after the side that comes first. */
export const joinTable = (table: string, relation: string): string => generatedName(table, relation);
