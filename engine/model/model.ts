/** The resolved, frozen graph of record types: every default filled in, every reference an object. */
import type { Nested, OnDelete, Operation, Preconditions, RelationKind } from '../descriptor/descriptor.ts';
import type { FieldType, Shape } from '../field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { RawValues } from '../raw-json.ts';

export interface Field extends Shape {
  readonly name: string;
  readonly type: FieldType;
  readonly description: string;
  /** undefined where a field that is left out on create becomes null, or must be given. */
  readonly default: JsonValue | undefined;
  /** The default as the descriptor writes it, where JSON.stringify would write another text. */
  readonly defaultText: string | undefined;
  readonly required: boolean;
  readonly nullable: boolean;
  readonly readOnly: boolean;
  /** Its values stand in records, and nowhere else. */
  readonly sensitive: boolean;
  readonly unique: boolean;
  readonly index: boolean;
  readonly renamedFrom: string | undefined;
  readonly column: string;
}

interface Identifier {
  readonly name: string;
  readonly description: string;
  /** Whether records show it. Where they do not, bodies may not hold it either. */
  readonly inRecord: boolean;
  readonly column: string;
}

/** A foreign key column of a type's table. `relation` is undefined where only the other side has a name for it. */
export interface Reference {
  readonly column: string;
  readonly target: RecordType;
  readonly onDelete: OnDelete;
  readonly required: boolean;
  /** At most one record per target: the other side is a hasOne. */
  readonly unique: boolean;
  /** The belongsTo relation that shows this column, if any. */
  readonly relation: Relation | undefined;
}

/** The rows that connect the two sides of a manyToMany. */
export interface JoinTable {
  readonly name: string;
  readonly left: { readonly column: string; readonly type: RecordType };
  readonly right: { readonly column: string; readonly type: RecordType };
}

/** Where the connection is kept: in the source's row, in the target's, or in rows of its own. */
export type Link =
  | { readonly at: 'source'; readonly reference: Reference }
  | { readonly at: 'target'; readonly reference: Reference }
  | { readonly at: 'join'; readonly table: JoinTable; readonly sourceColumn: string; readonly targetColumn: string };

export interface Relation {
  readonly name: string;
  readonly kind: RelationKind;
  readonly description: string;
  readonly renamedFrom: string | undefined;
  readonly source: RecordType;
  readonly target: RecordType;
  /** The same connection as the target sees it, where the target has a name for it. */
  readonly inverse: Relation | undefined;
  readonly toMany: boolean;
  readonly required: boolean;
  /** Children that live and die with their parent. */
  readonly owned: boolean;
  readonly nested: Nested;
  /** The target's fields that are shown and accepted here; the identifier always is. */
  readonly fields: readonly Field[];
  /** Whether it is in the default view of its source. */
  readonly shown: boolean;
  readonly link: Link;
}

export interface OrderTerm {
  /** A field, or undefined for the identifier. */
  readonly field: Field | undefined;
  readonly descending: boolean;
}

/** Fields and belongsTo relations that are unique, or indexed, together. */
export interface Index {
  readonly name: string;
  readonly unique: boolean;
  readonly members: readonly (Field | Relation)[];
}

export interface Variant {
  readonly name: string;
  /** The fields that this variant shows, accepts and filters by, in the order of the descriptor. */
  readonly fields: readonly Field[];
}

export interface RecordType {
  readonly name: string;
  readonly renamedFrom: string | undefined;
  readonly description: string;
  readonly path: string;
  readonly table: string;
  readonly operations: ReadonlySet<Operation>;
  readonly identifier: Identifier;
  readonly fields: ReadonlyMap<string, Field>;
  readonly relations: ReadonlyMap<string, Relation>;
  /** The foreign keys of this type's table, hidden ones included. */
  readonly references: readonly Reference[];
  /** The foreign keys of any table that point here. */
  readonly referrers: readonly { readonly type: RecordType; readonly reference: Reference }[];
  /** Default order of lists and sets. The identifier breaks ties. */
  readonly order: readonly OrderTerm[];
  readonly indexes: readonly Index[];
  readonly maxLimit: number;
  /** Keys that no field names are kept. */
  readonly open: boolean;
  /** Always has at least the default one; a type without variants has one, named ''. */
  readonly variants: ReadonlyMap<string, Variant>;
  readonly defaultVariant: Variant;
  readonly preconditions: Preconditions;
  readonly seed: readonly JsonObject[];
  /** What of the seeds is kept as the descriptor writes it. */
  readonly seedRaw: RawValues;
}

export interface Model {
  readonly types: ReadonlyMap<string, RecordType>;
  readonly joinTables: readonly JoinTable[];
}

/** Where the open keys of an open type are kept: a JSON object as text. */
export const OPEN_COLUMN = '_open';
/** Every table of the engine's own starts like this. */
export const ENGINE_PREFIX = '_records_';
/** The greatest identifier a client may choose; the sequence goes on after it. */
export const MAX_GIVEN_IDENTIFIER = 2 ** 52;
/** The greatest limit of a list where the descriptor does not say. */
export const DEFAULT_MAX_LIMIT = 1000;
/** Rows of sets on the first level that an answer shows for each record, and about as many bytes of its relations. */
export const MAX_SHOWN_ROWS = 10_000;
export const MAX_SHOWN_BYTES = 16 * 1024 * 1024;
/** Records that are reached beyond the first level of relations, in one answer. */
export const MAX_DEEP_RECORDS = 10_000;
/** Levels of relations that `include` may name. */
export const MAX_INCLUDE_DEPTH = 4;

/** The one child that a record has in an owned relation, as it is stored; null where there is none, undefined where nobody has asked. */
export type OwnChildOf = (relation: Relation, owner: number) => number | null | undefined;

/** The identifier that a body names its record by; null counts as absent. */
export function identifierIn(body: JsonObject, { identifier }: RecordType): number | undefined {
  const value = identifier.inRecord ? body[identifier.name] : undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
