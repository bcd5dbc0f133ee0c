/** The frozen graph of record types, with all defaults, and with objects instead of names. */
import type { GroupKind } from '../descriptor/conditions.ts';
import type {
  CountMode,
  Nested,
  OnDelete,
  Operation,
  Preconditions,
  RelationKind,
  Shows,
  TypeTitle,
} from '../descriptor/descriptor.ts';
import type { Generated, ItemShape, OperatorName } from '../field-types/field-type.ts';
import { escapeStep, isObject, type JsonObject, type JsonValue, unescapedSteps } from '../json/json.ts';
import { memoized } from '../memo.ts';
import { generatedName } from '../names.ts';
import { type Identifier, type IdentifierField, identifierOf } from './identifier.ts';

export interface Field extends ItemShape {
  readonly name: string;
  readonly title: string;
  /** undefined without a default, or for `default: now`. */
  readonly default: JsonValue | undefined;
  /** `default: now`, the time of the request. */
  readonly isNowByDefault: boolean;
  /** The service fills it in, not the body. */
  readonly generated: Generated | undefined;
  readonly required: boolean;
  readonly readOnly: boolean;
  /** Messages and logs must not contain its values. */
  readonly sensitive: boolean;
  readonly unique: boolean;
  readonly index: boolean;
  /** Filters and orders ignore case. */
  readonly caseless: boolean;
  readonly multiline: boolean;
  readonly shows: Shows | undefined;
  /** Titles of `enum` values, by the value as text. */
  readonly valueTitles: ReadonlyMap<string, string>;
  /** Column of case-folded strings; other instances or unique indexes may need it even if not `caseless`. */
  readonly folded: string | undefined;
  readonly renamedFrom: string | undefined;
  readonly column: string;
}

/** A foreign key. */
export interface Reference {
  readonly column: string;
  /** For roles, the column without links to hidden records; joins need none, as they find no hidden record. */
  readonly shown?: string;
  /** Column by the descriptor; the database may keep an earlier name. */
  readonly exportName: string;
  /** Whether the descriptor has "column". */
  readonly isChosen: boolean;
  readonly target: RecordType;
  readonly onDelete: OnDelete;
  readonly required: boolean;
  readonly unique: boolean;
  /** No record is its own ancestor. */
  readonly acyclic: boolean;
  /** The belongsTo; undefined if only the other side declares the relation. */
  readonly relation: Relation | undefined;
}

export interface JoinTable {
  readonly name: string;
  readonly exportName: string;
  /** Whether a descriptor has "through". */
  readonly isChosen: boolean;
  /** The side whose column is the first of the table. */
  readonly first: 'left' | 'right';
  readonly left: { readonly column: string; readonly type: RecordType };
  readonly right: { readonly column: string; readonly type: RecordType };
}

export const referenceIndexName = (table: string, { column, unique }: Reference): string =>
  generatedName(table, column, unique ? 'unique' : 'index');

export const joinIndexName = ({ name, first, left, right }: JoinTable): string =>
  generatedName(name, (first === 'left' ? right : left).column, 'index');

/** The storage of a relation: source row, target row or join table. */
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
  /** Whether the client may never change it. */
  readonly readOnly?: true;
  /** The service deletes related records without a parent. */
  readonly owned: boolean;
  readonly nested: Nested;
  /** Target fields that the relation shows and accepts, besides the identifier. */
  readonly fields: readonly Field[];
  readonly shown: boolean;
  /** For roles, the name of the owned records of visible owners, which need no condition of their own. */
  readonly parts?: string;
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
  /** Null if `other` is the operand. */
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
  /** The shared type, of one as some client sees it. */
  readonly whole?: RecordType;
  /** Cache key of statements: copies of the type with other columns have another key. */
  readonly statementKey: string;
  readonly renamedFrom: string | undefined;
  readonly description: string;
  readonly path: string;
  readonly table: string;
  readonly choosesTable: boolean;
  readonly operations: ReadonlySet<Operation>;
  readonly identifier: IdentifierField;
  readonly label: Field | undefined;
  readonly presents: Presents;
  readonly fields: ReadonlyMap<string, Field>;
  /** For a role, what bodies may have and records do not show. */
  readonly writeOnly?: { readonly fields: readonly Field[]; readonly relations: readonly Relation[] };
  /** Generated fields known only to other instances: the service fills them in, requests cannot see them. */
  readonly hidden: readonly Field[];
  readonly relations: ReadonlyMap<string, Relation>;
  /** In dialects, the relations whose identifiers records show, by the names of these. */
  readonly links?: ReadonlyMap<string, Relation>;
  /** Foreign keys of this type's table, including undeclared ones. */
  readonly references: readonly Reference[];
  /** Foreign keys of any table to this table. */
  readonly referrers: readonly { readonly type: RecordType; readonly reference: Reference }[];
  readonly order: readonly OrderTerm[];
  readonly indexes: readonly Index[];
  readonly checks: readonly Check[];
  readonly maxLimit: number;
  readonly count: CountMode;
  readonly open: boolean;
  /** Whether the log keeps its changes: the descriptor says so, or that of a type which owns it. */
  readonly history: boolean;
  /** A type without variants has one, named ''. */
  readonly variants: ReadonlyMap<string, Variant>;
  readonly defaultVariant: Variant;
  readonly preconditions: Preconditions;
  readonly seed: readonly JsonObject[];
}

/** Whether records show a field, a relation or the identifier by this name. */
export const hasMember = ({ fields, relations, identifier }: RecordType, name: string): boolean =>
  fields.has(name) || relations.has(name) || (identifier.inRecord && identifier.name === name);

export const wholeOf = (type: RecordType): RecordType => type.whole ?? type;

/** All that a search finds: what it starts from, and what comes next from each thing that it has found. */
export function reached<T>(starts: Iterable<T>, next: (found: T) => Iterable<T>): ReadonlySet<T> {
  const all = new Set(starts);
  for (const one of all) for (const other of next(one)) all.add(other);
  return all;
}

/** The type, and those of records that bodies of it may hold, however deep. */
export const withRelated = memoized((type: RecordType) =>
  reached([type], ({ relations }) => [...relations.values()].map(({ target }) => target)),
);

/** The types whose records the type owns. */
export const ownedBy = ({ relations }: Pick<RecordType, 'relations'>): readonly RecordType[] =>
  [...relations.values()].flatMap(({ owned, target }) => (owned ? target : []));

/** The types whose records live and die with an owner. */
export const ownedTypes = ({ types }: Model): ReadonlySet<RecordType> => new Set([...types.values()].flatMap(ownedBy));

/** The hasOne or hasMany at the other end of a foreign key. */
export const otherSide = (reference: Reference): Relation | undefined =>
  [...reference.target.relations.values()].find(({ link }) => link.at === 'target' && link.reference === reference);

/** The manyToMany whose own identifiers are in this column. */
export const relationAt = (table: JoinTable, column: string): Relation | undefined =>
  [table.left.type, table.right.type]
    .flatMap((type) => [...type.relations.values()])
    .find(({ link }) => link.at === 'join' && link.table === table && link.sourceColumn === column);

/** The foreign keys to the records that own a type's records. */
export const owningReferences = memoized(({ references }: RecordType): readonly Reference[] =>
  references.filter((reference) => otherSide(reference)?.owned),
);

/** Links records of a type to the records that own them. */
export interface OwnerLink {
  /** From the part to its owner, whether or not the part declares it. */
  readonly relation: Relation;
  /** From the owner to its parts. */
  readonly parts: Relation;
  readonly column: string;
  readonly isRequired: boolean;
}

export const ownersOf = memoized((part: RecordType): readonly OwnerLink[] =>
  owningReferences(part).flatMap((reference) => {
    const parts = otherSide(reference);
    if (!parts) return [];
    const { column, required: isRequired } = reference;
    const undeclared = { name: `$${column}`, source: part, target: reference.target, toMany: false } as const;
    const relation = reference.relation ?? { ...parts, ...undeclared, link: { at: 'source', reference } };
    return [{ relation, parts, column, isRequired }];
  }),
);

/** How people see the type first; requests do not. */
interface Presents {
  /** With several fields: `{last_name}, {first_name}`. */
  readonly label: string | undefined;
  readonly section: string | undefined;
  readonly columns: readonly string[] | undefined;
  readonly order: readonly string[] | undefined;
}

/** The field that names a record: the descriptor's label, else a string, preferably one that is required, then unique. */
export function labelAmong({ label }: RecordType, shown: readonly Field[]): Field | undefined {
  if (label && shown.includes(label)) return label;
  const texts = shown.filter(isLabel);
  const always = texts.filter(({ required }) => required);
  const preferred = always.length > 0 ? always : texts;
  return preferred.find(({ unique }) => unique) ?? preferred[0];
}

const isLabel = ({ type, sensitive, generated, multiline, constraints }: Field): boolean =>
  type.isText === true && !sensitive && generated === undefined && !multiline && !constraints['enum'];

/** Unique indexes, and the belongsTo of each hasOne: its values are unique too. */
export function uniqueIndexes(type: RecordType): readonly UniqueMembers[] {
  const hasOnes = [...type.relations.values()].flatMap((relation) =>
    relation.link.at === 'source' && relation.link.reference.unique ? { name: relation.name, members: [relation] } : [],
  );
  return [...type.indexes.filter(({ unique }) => unique), ...hasOnes];
}

export interface Model {
  readonly types: ReadonlyMap<string, RecordType>;
  readonly joinTables: readonly JoinTable[];
}

/** The column with the unknown keys of an open type, as a JSON object. */
export const OPEN_COLUMN = '_open';
export const ENGINE_PREFIX = '_records_';
/** Per record of a response: maximum rows in first-level sets, approximate bytes of all relations. */
export const MAX_SHOWN_ROWS = 10_000;
export const MAX_SHOWN_BYTES = 16 * 1024 * 1024;
/** Maximum records beyond the first level of relations in one response. */
export const MAX_DEEP_RECORDS = 10_000;
export const MAX_INCLUDE_DEPTH = 4;

/** A record that a request writes: the body, or an item of an array in it. */
export interface BodyRecord {
  readonly body: JsonObject;
  /** undefined for a new record. */
  readonly identifier: Identifier | undefined;
  /** JSON Pointer. */
  readonly pointer: string;
  /** The name of the record in messages, if the body is a file: `line 3`. */
  readonly place?: string | undefined;
  /** The pointers that the client sent, by those to which a dialect has translated them. */
  readonly sent?: ReadonlyMap<string, string> | undefined;
  /** Names that a dialect takes beside those of the type. */
  readonly names?: readonly string[] | undefined;
}

/** The place in words: the line of its record, or the pointer. */
export const placeIn = (records: readonly BodyRecord[], pointer: string): string =>
  records[Number(unescapedSteps(pointer)[0])]?.place ?? `"${pointer}"`;

export const newItems = (bodies: readonly JsonObject[]): readonly BodyRecord[] =>
  bodies.map((body, index) => ({ body, identifier: undefined, pointer: `/${index}` }));

/** The relations in a body, in its order. */
export const relationsIn = ({ relations }: RecordType, body: JsonObject): readonly Relation[] =>
  relations.size === 0 ? [] : Object.keys(body).flatMap((key) => relations.get(key) ?? []);

interface NestedRecord extends BodyRecord {
  /** It leads to the record. */
  readonly relation: Relation;
}

/** The records within a body, however deep: to link or to change them, or new ones. */
export const recordsWithin = (type: RecordType, body: JsonObject, pointer = ''): readonly NestedRecord[] =>
  relationsIn(type, body).flatMap((relation) => {
    const { name, target } = relation;
    const value = body[name] ?? null;
    return [value].flat().flatMap((item: JsonValue, index): readonly NestedRecord[] => {
      if (!isObject(item)) return [];
      const at = `${pointer}/${escapeStep(name)}${Array.isArray(value) ? `/${index}` : ''}`;
      const record = { relation, body: item, identifier: identifierIn(item, target), pointer: at };
      return [record, ...recordsWithin(target, item, at)];
    });
  });

/** Fields and links whose values, all of them, name the record of a relation that only links. */
export const linkKeys = memoized(({ target, fields, nested }: Relation): readonly UniqueMembers[] =>
  nested === 'link'
    ? uniqueIndexes(target).filter(({ members }) => members.every((one) => 'link' in one || fields.includes(one)))
    : [],
);

/** The unique values that name the record of a link without an identifier. */
export const linkKeyIn = (relation: Relation, link: JsonObject): UniqueMembers | undefined =>
  (link[relation.target.identifier.name] ?? null) === null
    ? linkKeys(relation).find(({ members }) => members.every(({ name }) => (link[name] ?? null) !== null))
    : undefined;

/** Whether a body names a record by unique values. */
export const namesByValues = (type: RecordType, body: JsonObject): boolean =>
  recordsWithin(type, body).some((record) => linkKeyIn(record.relation, record.body) !== undefined);

/** The request body: one record, or the array of records. */
export function documentOf(records: readonly BodyRecord[]): JsonValue {
  const [first] = records;
  return first?.pointer === '' ? first.body : records.map(({ body }) => body);
}

/** Key in batch items: the ETag of the record. */
export const ITEM_TAG = '@etag';

/** Null counts as absent. */
export const identifierIn = (body: JsonObject, { identifier }: RecordType): Identifier | undefined =>
  identifier.inRecord ? identifierOf(identifier, body[identifier.name]) : undefined;

/**
 * Walks a graph depth first, without recursion, as long chains would overflow the stack. Returns the links that close a
 * cycle: they lead back to a node on the way to theirs. `linksOf`: a generator may add what follows the last link.
 */
export function closingLinks<N, L extends { readonly to: N }>(starts: Iterable<N>, linksOf: (node: N) => Iterable<L>) {
  const closing: L[] = [];
  const isDone = new Map<N, boolean>();
  const way: (readonly [N, Iterator<L>])[] = [];
  const begin = (node: N): void => {
    if (isDone.has(node)) return;
    isDone.set(node, false);
    way.push([node, linksOf(node)[Symbol.iterator]()]);
  };
  for (const start of starts) {
    begin(start);
    for (let last = way.at(-1); last; last = way.at(-1)) {
      const [node, links] = last;
      const { value: link, done } = links.next();
      if (done) {
        way.pop();
        isDone.set(node, true);
      } else if (isDone.get(link.to) === false) closing.push(link);
      else begin(link.to);
    }
  }
  return closing;
}

/** Sorts types after the types they refer to, except in cycles. */
export function referredFirst(types: Iterable<RecordType>): readonly RecordType[] {
  const ordered: RecordType[] = [];
  closingLinks(types, function* (type) {
    for (const { target } of type.references) yield { to: target };
    ordered.push(type);
  });
  return ordered;
}

// Matches types and their parts before and after a change of descriptors.

export interface Matched<A, B> {
  readonly kept: readonly { readonly after: A; readonly before: B }[];
  readonly added: readonly A[];
  readonly dropped: readonly B[];
}

/** Matches by the first of the keys, then what is left by the next. */
export function match<A, B>(
  wanted: Iterable<A>,
  known: Iterable<B>,
  keyBefore: (one: B) => string,
  ...keysOf: readonly ((one: A) => string | undefined)[]
): Matched<A, B> {
  const all = [...wanted];
  const left = new Map<string | undefined, B>([...known].map((one) => [keyBefore(one), one]));
  const found = new Map<A, B>();
  for (const keyOf of keysOf)
    for (const after of all) {
      const before = found.has(after) ? undefined : left.get(keyOf(after));
      if (before !== undefined && left.delete(keyOf(after))) found.set(after, before);
    }
  const kept = all.flatMap((after) => {
    const before = found.get(after);
    return before === undefined ? [] : [{ after, before }];
  });
  return { kept, added: all.filter((one) => !found.has(one)), dropped: [...left.values()] };
}

/** `renamedFrom` counts only while the new name is unknown, so it can stay after the rename. */
export const matchRenamed = <A extends Pick<Field, 'name' | 'renamedFrom'>, B extends { readonly name: string }>(
  wanted: Iterable<A>,
  known: Iterable<B>,
): Matched<A, B> =>
  match(
    wanted,
    known,
    ({ name }) => name,
    ({ name }) => name,
    ({ renamedFrom }) => renamedFrom,
  );
