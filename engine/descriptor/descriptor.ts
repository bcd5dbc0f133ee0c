/** A checked descriptor as its YAML file has it, before defaults are filled in. */
import type { Generated } from '../field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';

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
  /** By the value of `enum`, as text. */
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

/** What people call one record of a type, and several of them. */
export interface TypeTitle {
  readonly one: string;
  readonly many: string;
}

/** By field: the value that it equals, or by operator what it is compared with. */
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
