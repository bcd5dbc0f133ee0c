/** A checked descriptor as its YAML file has it, before defaults are filled in. */
import type { Generated, Shape } from '../field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { fieldTypes } from '../field-types/registry.ts';
import { defaultPath, defaultTable, generatedName, snakeCase } from '../names.ts';

export const OPERATIONS = ['list', 'get', 'create', 'update', 'delete'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** How the total of a list is found out. */
export const COUNT_MODES = ['exact', 'estimated', 'none'] as const;
export type CountMode = (typeof COUNT_MODES)[number];

export type RelationKind = 'belongsTo' | 'hasOne' | 'hasMany' | 'manyToMany';
export type OnDelete = 'restrict' | 'cascade' | 'setNull';
export type Nested = 'write' | 'link';
export type Preconditions = 'off' | 'optional' | 'required';

/** The meaning of each value of `generated`, for the API documentation. */
export const generatedMeanings = {
  createdAt: 'the time when the record was created',
  updatedAt: 'the time when one of its own values last changed',
  createdBy: 'the name of the token that created the record; null if the service has no tokens',
  updatedBy: 'the name of the token that last changed one of its own values; null if the service has no tokens',
} as const satisfies Record<Generated, string>;

/** Besides these, the constraint keywords of its field type. */
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
  /** The titles by the value of `enum`, as text. */
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

/** The titles of a type for people: of one record, and of several. */
export interface TypeTitle {
  readonly one: string;
  readonly many: string;
}

/** Conditions by field: the value that it equals, or an operand by operator. */
export type ConditionsDescriptor = JsonObject;

/** A rule across the fields of a record. */
export interface CheckDescriptor {
  readonly must: ConditionsDescriptor;
  readonly when?: ConditionsDescriptor;
  readonly message?: string;
  /** The field that errors point to. */
  readonly at?: string;
}

interface IdentifierDescriptor {
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly inRecord?: boolean;
}

export interface Descriptor {
  readonly type: string;
  readonly title?: string | TypeTitle;
  readonly renamedFrom?: string;
  readonly description?: string;
  readonly path?: string;
  readonly table?: string;
  readonly operations?: readonly Operation[];
  readonly identifier?: IdentifierDescriptor;
  /** The field whose values name a record. */
  readonly label?: string;
  /** Each item a field, optionally followed by `asc` or `desc`: `position desc`. */
  readonly order?: readonly string[];
  readonly fields?: Readonly<Record<string, FieldDescriptor>>;
  readonly relations?: Readonly<Record<string, RelationDescriptor>>;
  /** Lists of names of fields and belongsTo relations. */
  readonly unique?: readonly (readonly string[])[];
  readonly indexes?: readonly (readonly string[])[];
  readonly checks?: readonly CheckDescriptor[];
  readonly list?: { readonly maxLimit?: number; readonly count?: CountMode };
  readonly open?: boolean;
  /** `default` names a key of `omit`; `omit` lists the fields that each variant leaves out. */
  readonly variants?: { readonly default: string; readonly omit: Readonly<Record<string, readonly string[]>> };
  readonly preconditions?: Preconditions;
  readonly seed?: readonly JsonObject[];
}

/** The default of a date or a timestamp that stands for the time of the request. */
export const NOW = 'now';

/** The keys of a field that are not constraints. No field type can have a keyword with one of these names. */
export const FIELD_WORDS = [
  'type',
  'title',
  'description',
  'default',
  'required',
  'nullable',
  'readOnly',
  'generated',
  'sensitive',
  'unique',
  'index',
  'caseless',
  'multiline',
  'titles',
  'renamedFrom',
  'examples',
] as const;

// Defaults, for the checks, which see faulty descriptors too, and for the Model.

/** The defaults of words that do not depend on other words. */
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

/** The foreign key action of a belongsTo when the record that it refers to is deleted; `parent` is the other side. */
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

// Which relations are the two sides of one connection. Either side may name the other as its inverse.

export interface Pairing<S> {
  /** The relation that this one names as its inverse, whatever that one says. */
  named(side: S): S | undefined;
  /** The relations that name this one as their inverse. */
  claimants(side: S): readonly S[];
  /** The other side, whichever of the two names the other. */
  inverse(side: S): S | undefined;
}

/** A relation as one type's descriptor states it. */
interface StatedRelation {
  /** The name of the type that has it. */
  readonly type: string;
  readonly name: string;
  readonly relation: Partial<RelationDescriptor>;
}

export function pairUp<S>(sides: readonly S[], statedIn: (side: S) => StatedRelation): Pairing<S> {
  const ownKey = (side: S): string => keyOf(statedIn(side));
  const inverseKey = (side: S): string | undefined => {
    const { type = '', inverse } = statedIn(side).relation;
    return inverse === undefined ? undefined : keyOf({ type, name: inverse });
  };
  const byKey = new Map(sides.map((side) => [ownKey(side), side]));
  const claims = Map.groupBy(sides, inverseKey);
  const named = (side: S): S | undefined => byKey.get(inverseKey(side) ?? '');
  const claimants = (side: S): readonly S[] =>
    (claims.get(ownKey(side)) ?? []).filter((claimant) => statedIn(claimant).type === statedIn(side).relation.type);
  return { named, claimants, inverse: (side) => named(side) ?? claimants(side)[0] };
}

const keyOf = ({ type, name }: Pick<StatedRelation, 'type' | 'name'>): string => `${type}.${name}`;
