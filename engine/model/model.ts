/** The frozen graph of record types: every default is filled in, and every name is replaced by its object. */
import type { GroupKind } from '../descriptor/conditions.ts';
import type {
  CountMode,
  Nested,
  OnDelete,
  Operation,
  Preconditions,
  RelationKind,
  TypeTitle,
} from '../descriptor/descriptor.ts';
import type { FieldType, Generated, OperatorName, Shape } from '../field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';

export interface Field extends Shape {
  readonly name: string;
  readonly title: string;
  readonly type: FieldType;
  readonly description: string;
  /** undefined if new records without the field get null or are refused. */
  readonly default: JsonValue | undefined;
  /** The default is the time of the request, and `default` undefined. */
  readonly isNowByDefault: boolean;
  /** The service fills it in, whatever bodies say. */
  readonly generated: Generated | undefined;
  readonly required: boolean;
  readonly nullable: boolean;
  readonly readOnly: boolean;
  /** Its values must not appear in messages and logs. */
  readonly sensitive: boolean;
  readonly unique: boolean;
  readonly index: boolean;
  /** Filters and orders compare folded texts. */
  readonly caseless: boolean;
  readonly multiline: boolean;
  /** Titles of the values of `enum`, by the text of the value. */
  readonly valueTitles: ReadonlyMap<string, string>;
  /** The column of folded texts. Unique indexes and other instances may need it though `caseless` is false. */
  readonly folded: string | undefined;
  readonly renamedFrom: string | undefined;
  readonly column: string;
}

interface Identifier {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Whether records show the identifier, and bodies may contain it. */
  readonly inRecord: boolean;
  readonly column: string;
}

/** A foreign key. */
export interface Reference {
  readonly column: string;
  /** Its name in exports: databases keep the first name of a column. */
  readonly exportName: string;
  readonly target: RecordType;
  readonly onDelete: OnDelete;
  readonly required: boolean;
  readonly unique: boolean;
  /** No record can be above itself. */
  readonly acyclic: boolean;
  /** The belongsTo; undefined if only the other side declares the relation. */
  readonly relation: Relation | undefined;
}

/** The table of a manyToMany. */
export interface JoinTable {
  readonly name: string;
  readonly exportName: string;
  /** The side whose column is the first of the table. */
  readonly first: 'left' | 'right';
  readonly left: { readonly column: string; readonly type: RecordType };
  readonly right: { readonly column: string; readonly type: RecordType };
}

/** Stored in the source's row, the target's row or a join table. */
export type Link =
  | { readonly at: 'source'; readonly reference: Reference }
  | { readonly at: 'target'; readonly reference: Reference }
  | { readonly at: 'join'; readonly table: JoinTable; readonly sourceColumn: string; readonly targetColumn: string };

export interface Relation {
  readonly name: string;
  readonly title: string;
  readonly kind: RelationKind;
  readonly description: string;
  readonly renamedFrom: string | undefined;
  readonly source: RecordType;
  readonly target: RecordType;
  readonly inverse: Relation | undefined;
  readonly toMany: boolean;
  readonly required: boolean;
  /** The related records are deleted with their parent. */
  readonly owned: boolean;
  readonly nested: Nested;
  /** The target's fields that are shown and accepted here, besides the identifier. */
  readonly fields: readonly Field[];
  readonly shown: boolean;
  readonly link: Link;
}

export interface OrderTerm {
  /** undefined for the identifier. */
  readonly field: Field | undefined;
  readonly descending: boolean;
}

export interface Index {
  readonly name: string;
  readonly unique: boolean;
  readonly members: readonly (Field | Relation)[];
}

export type UniqueMembers = Pick<Index, 'name' | 'members'>;

export interface CheckComparison {
  readonly field: Field;
  readonly operator: OperatorName;
  /** Null if `other` is compared with. */
  readonly operand: JsonValue;
  readonly other: Field | undefined;
}

interface CheckGroup {
  readonly group: GroupKind;
  readonly items: readonly (readonly CheckCondition[])[];
}

export type CheckCondition = CheckComparison | CheckGroup;

export interface Check {
  /** Records that meet all conditions of `when` must meet all of these. */
  readonly must: readonly CheckCondition[];
  readonly when: readonly CheckCondition[];
  readonly message: string;
  /** The field that faults of this check point to. */
  readonly at: Field;
  readonly fields: readonly Field[];
}

export interface Variant {
  readonly name: string;
  /** The fields that the variant shows, accepts and filters by. */
  readonly fields: readonly Field[];
}

export interface RecordType {
  readonly name: string;
  readonly title: TypeTitle;
  /** Identifies compiled statements: copies of the type with other columns have another key. */
  readonly statementKey: string;
  readonly renamedFrom: string | undefined;
  readonly description: string;
  readonly path: string;
  readonly table: string;
  readonly operations: ReadonlySet<Operation>;
  readonly identifier: Identifier;
  readonly label: Field | undefined;
  readonly fields: ReadonlyMap<string, Field>;
  /** Generated fields of other instances' descriptors: the service fills them in, and no request sees them. */
  readonly hidden: readonly Field[];
  readonly relations: ReadonlyMap<string, Relation>;
  /** The foreign keys of this type's table, hidden ones included. */
  readonly references: readonly Reference[];
  /** The foreign keys of any table that point here. */
  readonly referrers: readonly { readonly type: RecordType; readonly reference: Reference }[];
  readonly order: readonly OrderTerm[];
  readonly indexes: readonly Index[];
  readonly checks: readonly Check[];
  readonly maxLimit: number;
  readonly count: CountMode;
  readonly open: boolean;
  /** A type without variants has one, named ''. */
  readonly variants: ReadonlyMap<string, Variant>;
  readonly defaultVariant: Variant;
  readonly preconditions: Preconditions;
  readonly seed: readonly JsonObject[];
}

/** The field that names a record: the descriptor's, else the first unique text, else the first text. */
export function labelAmong({ label }: RecordType, shown: readonly Field[]): Field | undefined {
  if (label && shown.includes(label)) return label;
  const texts = shown.filter(isLabel);
  return texts.find(({ unique }) => unique) ?? texts[0];
}

const isLabel = ({ type, sensitive, generated, multiline }: Field): boolean =>
  type.isText === true && !sensitive && generated === undefined && !multiline;

/** The unique values of a type. A hasOne makes its owner unique among the children. */
export function uniqueIndexes(type: RecordType): readonly UniqueMembers[] {
  const hasOnes = type.references.flatMap(({ unique, relation }) =>
    unique && relation ? [{ name: relation.name, members: [relation] }] : [],
  );
  return [...type.indexes.filter(({ unique }) => unique), ...hasOnes];
}

export interface Model {
  readonly types: ReadonlyMap<string, RecordType>;
  readonly joinTables: readonly JoinTable[];
}

/** The column with the unknown keys of an open type, as a JSON object. */
export const OPEN_COLUMN = '_open';
/** Prefix of the engine's tables. */
export const ENGINE_PREFIX = '_records_';
/** Maximum rows of first-level sets, and approximate bytes of relations, for each record of a response. */
export const MAX_SHOWN_ROWS = 10_000;
export const MAX_SHOWN_BYTES = 16 * 1024 * 1024;
/** Maximum records beyond the first level of relations in one response. */
export const MAX_DEEP_RECORDS = 10_000;
/** Maximum levels of relations in `include`. */
export const MAX_INCLUDE_DEPTH = 4;

/** A record that a request writes: the body, or an item of an array in it. */
export interface BodyRecord {
  readonly body: JsonObject;
  /** undefined for a new record. */
  readonly identifier: number | undefined;
  /** JSON Pointer. */
  readonly pointer: string;
}

export const wholeBody = (body: JsonObject, identifier?: number): BodyRecord => ({ body, identifier, pointer: '' });

export const newItems = (bodies: readonly JsonObject[]): readonly BodyRecord[] =>
  bodies.map((body, index) => ({ body, identifier: undefined, pointer: `/${index}` }));

/** The relations that a body names, in its order. */
export const relationsIn = ({ relations }: RecordType, body: JsonObject): readonly string[] =>
  relations.size === 0 ? [] : Object.keys(body).filter((key) => relations.has(key));

/** The body that holds the records: one record, or the array of them. */
export function documentOf(records: readonly BodyRecord[]): JsonValue {
  const [first] = records;
  return first?.pointer === '' ? first.body : records.map(({ body }) => body);
}

/** The key of an item for the entity tag of its record. */
export const ITEM_TAG = '@etag';

/** Null counts as absent. */
export function identifierIn(body: JsonObject, { identifier }: RecordType): number | undefined {
  const value = identifier.inRecord ? body[identifier.name] : undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/** Types come after those that they refer to, except in cycles. */
export function referredFirst(types: Iterable<RecordType>): readonly RecordType[] {
  const ordered = new Set<RecordType>();
  const visiting = new Set<RecordType>();
  const visit = (type: RecordType): void => {
    if (visiting.has(type)) return;
    visiting.add(type);
    for (const { target } of type.references) visit(target);
    ordered.add(type);
  };
  for (const type of types) visit(type);
  return [...ordered];
}

// The same types, fields and relations before and after a change of descriptors.

export interface Renamed {
  readonly name: string;
  readonly renamedFrom: string | undefined;
}

interface Matched<W> {
  /** With the names that they had before. */
  readonly kept: readonly { readonly wanted: W; readonly former: string }[];
  readonly added: readonly W[];
  readonly dropped: readonly string[];
}

/** A former name counts only while the new name is unknown, so `renamedFrom` can stay after it was applied. */
export function match<W extends Renamed>(wanted: Iterable<W>, known: Iterable<string>): Matched<W> {
  const all = [...wanted];
  const left = new Set(known);
  const former = new Map<W, string>();
  const claim = (one: W, name: string | undefined): void => {
    if (name !== undefined && !former.has(one) && left.delete(name)) former.set(one, name);
  };
  for (const one of all) claim(one, one.name);
  for (const one of all) claim(one, one.renamedFrom);
  return {
    kept: all.flatMap((one) => {
      const name = former.get(one);
      return name === undefined ? [] : [{ wanted: one, former: name }];
    }),
    added: all.filter((one) => !former.has(one)),
    dropped: [...left],
  };
}
