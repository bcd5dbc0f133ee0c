/** Descriptors as YAML files have them, and their defaults. */
import type { Generated, Shape } from '../field-types/field-type.ts';
import type { Maker } from '../field-types/identifiers.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { fieldTypes } from '../field-types/registry.ts';
import { FIELD_WORDS } from './grammar.ts';
import { defaultPath, defaultTable, generatedName, snakeCase } from '../names.ts';

export const OPERATIONS = ['list', 'get', 'create', 'update', 'delete'] as const;
export type Operation = (typeof OPERATIONS)[number];

export const COUNT_MODES = ['exact', 'estimated', 'none'] as const;
export type CountMode = (typeof COUNT_MODES)[number];

export type RelationKind = 'belongsTo' | 'hasOne' | 'hasMany' | 'manyToMany';
export type OnDelete = 'restrict' | 'cascade' | 'setNull';
export type Nested = 'write' | 'link';
export type Preconditions = 'off' | 'optional' | 'required';

export const generatedMeanings = {
  createdAt: 'the time when the record was created',
  updatedAt: 'the time when one of its own values last changed',
  createdBy: 'the name of the token or identity that created the record; null for clients without one',
  updatedBy: 'the name of the token or identity that last changed one of its own values; null for clients without one',
} as const satisfies Record<Generated, string>;

/** The unit or the medium of values, by which the studio presents them. */
export type Shows = string | { readonly money: string };

export interface FieldDescriptor {
  readonly type: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: JsonValue;
  readonly required?: boolean;
  readonly nullable?: boolean;
  readonly readOnly?: boolean;
  readonly generated?: Generated;
  readonly sensitive?: boolean;
  readonly unique?: boolean;
  readonly index?: boolean;
  readonly caseless?: boolean;
  readonly multiline?: boolean;
  readonly shows?: Shows;
  /** Keys: values of `enum` as text. */
  readonly titles?: Readonly<Record<string, string>>;
  readonly renamedFrom?: string;
  readonly examples?: readonly JsonValue[];
  readonly [keyword: string]: JsonValue | undefined;
}

export interface RelationDescriptor {
  readonly kind: RelationKind;
  readonly type: string;
  readonly title?: string;
  readonly description?: string;
  readonly inverse?: string;
  readonly renamedFrom?: string;
  readonly column?: string;
  readonly through?: string;
  readonly required?: boolean;
  readonly owned?: boolean;
  readonly onDelete?: OnDelete;
  readonly acyclic?: boolean;
  readonly nested?: Nested;
  readonly fields?: readonly string[];
  readonly shown?: boolean;
}

export interface TypeTitle {
  readonly one: string;
  readonly many: string;
}

/** Conditions by field: the value that it equals, or an operand by operator. */
export type ConditionsDescriptor = JsonObject;

export interface CheckDescriptor {
  readonly must: ConditionsDescriptor;
  readonly when?: ConditionsDescriptor;
  readonly message?: string;
  readonly at?: string;
}

export interface IdentifierDescriptor {
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly inRecord?: boolean;
  readonly type?: string;
  readonly by?: Maker;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly examples?: readonly JsonValue[];
}

interface ListDescriptor {
  readonly maxLimit?: number;
  readonly count?: CountMode;
  readonly columns?: readonly string[];
  readonly order?: readonly string[];
}

/** The paths of a label with several fields; none, if it is the name of one. */
export const labelPaths = (label: string): readonly string[] =>
  [...label.matchAll(/\{([^{}]*)\}/g)].map(([, path = '']) => path);

export interface Descriptor {
  readonly type: string;
  readonly title?: string | TypeTitle;
  readonly renamedFrom?: string;
  readonly description?: string;
  readonly path?: string;
  readonly table?: string;
  readonly operations?: readonly Operation[];
  readonly identifier?: IdentifierDescriptor;
  readonly label?: string;
  /** `position desc`. */
  readonly order?: readonly string[];
  readonly fields?: Readonly<Record<string, FieldDescriptor>>;
  readonly relations?: Readonly<Record<string, RelationDescriptor>>;
  readonly unique?: readonly (readonly string[])[];
  readonly indexes?: readonly (readonly string[])[];
  readonly checks?: readonly CheckDescriptor[];
  readonly list?: ListDescriptor;
  readonly section?: string;
  readonly open?: boolean;
  readonly history?: boolean;
  /** `default` names a key of `omit`; `omit` lists the fields that each variant leaves out. */
  readonly variants?: { readonly default: string; readonly omit: Readonly<Record<string, readonly string[]>> };
  readonly preconditions?: Preconditions;
  readonly seed?: readonly JsonObject[];
}

/** The default for the time of the request. */
export const NOW = 'now';

export const DEFAULTS = {
  maxLimit: 1000,
  count: 'exact',
  open: false,
  history: false,
  preconditions: 'optional',
  onDelete: 'restrict',
  identifier: { name: 'id', type: 'integer', description: 'Unique identifier of the record', inRecord: true },
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

/** For other types, `now` is an ordinary string. */
export const isNowByDefault = ({ type = '', default: value }: Partial<FieldDescriptor>): boolean =>
  value === NOW && fieldTypes.get(type)?.now !== undefined;

/** The constraints and examples of a field: all that its type reads. */
export function shapeOf(field: Partial<FieldDescriptor>): Shape {
  const constraints = Object.entries(field).filter(
    (entry): entry is [string, JsonValue] => !FIELD_WORDS.has(entry[0]) && entry[1] !== undefined,
  );
  return { constraints: Object.fromEntries(constraints), examples: field.examples ?? [] };
}

/** The effect of deleting `parent` on the records of the belongsTo. */
export function deletionOf(
  belongsTo: Partial<RelationDescriptor> | undefined,
  parent: Partial<RelationDescriptor> | undefined,
): OnDelete {
  return parent?.owned ? 'cascade' : (belongsTo?.onDelete ?? DEFAULTS.onDelete);
}

/** Column of case-folded strings. No field or relation can have this name. */
export const foldedColumn = (field: string): string => generatedName(`${field}$folded`);

export const ownColumn = (relation: string): string => `${relation}_id`;

/** The column of a hasOne or hasMany without an inverse, in the table of its children. */
export const hiddenColumn = (parentType: string, relation: string): string =>
  generatedName(snakeCase(parentType), relation, 'id');

/** The table of a manyToMany, named after the side that comes first. */
export const joinTable = (table: string, relation: string): string => generatedName(table, relation);

// The two sides of one connection: either may name the other as its inverse.

export interface Pairing<S> {
  /** The relation that `side` names as its inverse, mutual or not. */
  named(side: S): S | undefined;
  /** The relations that name `side` as their inverse. */
  claimants(side: S): readonly S[];
  /** The other side, whichever of the two names the other. */
  inverse(side: S): S | undefined;
}

interface Side {
  readonly type: { readonly name: string };
  readonly name: string;
  readonly relation: Partial<RelationDescriptor>;
}

/** `Book.author`. */
export const sideName = ({ type, name }: Pick<Side, 'type' | 'name'>): string => `${type.name}.${name}`;

export function pairUp<S extends Side>(sides: readonly S[]): Pairing<S> {
  const inverseName = ({ relation: { type = '', inverse } }: S): string =>
    inverse === undefined ? '' : `${type}.${inverse}`;
  const byName = new Map(sides.map((side) => [sideName(side), side]));
  const claims = Map.groupBy(sides, inverseName);
  const named = (side: S): S | undefined => byName.get(inverseName(side));
  const claimants = (side: S): readonly S[] =>
    (claims.get(sideName(side)) ?? []).filter(({ type }) => type.name === side.relation.type);
  return { named, claimants, inverse: (side) => named(side) ?? claimants(side)[0] };
}
