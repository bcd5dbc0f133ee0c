/** The rights of a token or a role, and the Model as a client with these rights sees it. */
import { createHash } from 'node:crypto';
import { labelPaths, type Operation } from '../descriptor/descriptor.ts';
import type { JsonObject } from '../json/json.ts';
import type { Filter } from './filters.ts';
import {
  type Field,
  type Model,
  otherSide,
  ownedBy,
  type OwnerLink,
  owningReferences,
  reached,
  type RecordType,
  type Reference,
  type Relation,
  uniqueIndexes,
  type UniqueMembers,
  wholeOf,
} from './model.ts';
import { revised } from './resolve.ts';

/** Names of types; `all` includes types that are added later. */
export type TypeNames = 'all' | ReadonlySet<string>;

/** The right to write includes the right to read; neither includes the history. */
export interface Granted {
  readonly read: TypeNames;
  readonly write: TypeNames;
  readonly history?: TypeNames | undefined;
}

export const ACTIONS = ['read', 'create', 'update', 'delete'] as const;
export type Action = (typeof ACTIONS)[number];

/** An entry of a role, its conditions bound to the claims of one identity. */
export interface Entry {
  /** Records must meet all of these. undefined: a claim is missing, so that the entry allows nothing. */
  readonly where: readonly Filter[] | undefined;
  /** For updates, what the record must be like afterwards, if not `where`. */
  readonly to: readonly Filter[] | undefined;
  /** Names of the fields and relations; undefined for all. */
  readonly members: ReadonlySet<string> | undefined;
  readonly openKeys: boolean;
  /** Whether records are visible exactly if their only owner is. */
  readonly isPart?: boolean;
  /** Values that the client does not choose, as in bodies. */
  readonly set: JsonObject;
  /** The owners of a part that the role does not name: clients write it where they may update its owner, or create it. */
  readonly owners?: readonly OwnerLink[] | undefined;
  /** File and line of the rule, for the log. */
  readonly at: string;
}

export const WHOLE: Entry = Object.freeze({
  where: [],
  to: undefined,
  members: undefined,
  openKeys: true,
  set: {},
  at: '',
});

export type TypeRights = Readonly<Partial<Record<Action, Entry | undefined>>>;

export interface VisibleTable {
  readonly type: RecordType;
  readonly data: RecordType;
}

export interface Rights {
  /** Identifies these rights in caches of what depends on the identity; empty if the client can do everything. */
  readonly key: string;
  /** Equal if the same names are visible. */
  readonly names: string;
  /** The tables of a role, by name: `data` is the type in conditions, which see all data. undefined for tokens. */
  readonly tables: ReadonlyMap<string, VisibleTable> | undefined;
  /** The tables of a role whose writes must be checked record by record. */
  readonly checked: ReadonlyMap<string, VisibleTable> | undefined;
  /** The types of which the client knows, by name. */
  readonly types: ReadonlyMap<string, TypeRights>;
  /** The types whose history the client may read, as far as it may read their records. */
  readonly history: TypeNames;
}

export const ALL_RIGHTS: Rights = Object.freeze({
  key: '',
  names: '',
  tables: undefined,
  checked: undefined,
  types: new Map(),
  history: 'all',
});

export const entryOf = ({ key, types }: Rights, typeName: string, action: Action): Entry | undefined =>
  key === '' ? WHOLE : types.get(typeName)?.[action];

export const knows = ({ key, types }: Rights, typeName: string): boolean => key === '' || types.has(typeName);

const canRead = (rights: Rights, typeName: string): boolean => entryOf(rights, typeName, 'read') !== undefined;

/** Whether the client can do this to some records; types that it does not know do not exist for it. */
export const can = (rights: Rights, type: RecordType, operation: Operation): boolean =>
  entryOf(rights, type.name, operation === 'list' || operation === 'get' ? 'read' : operation) !== undefined &&
  (operation !== 'create' || !requiresHidden(rights, type));

/** Whether an entry has a field or relation, or an open key. */
export function has(entry: Entry | undefined, type: RecordType, name: string): boolean {
  const { fields, relations } = wholeOf(type);
  const isMember = fields.has(name) || relations.has(name);
  return entry !== undefined && (isMember ? (entry.members?.has(name) ?? true) : entry.openKeys);
}

/** Whether the client reads every record of the type, so that answers may name records that it did not ask for. */
export const namesRecords = (rights: Rights, { name }: RecordType): boolean =>
  entryOf(rights, name, 'read')?.where?.length === 0;

/** Whether the client may read the log of the type's records: of those that it may read. */
export const hasHistory = (rights: Rights, { name, history }: RecordType): boolean =>
  history && canRead(rights, name) && (rights.history === 'all' || rights.history.has(name));

/** Whether the client may read the log of all of the type's records, those that are not there any more included. */
export const hasWholeHistory = (rights: Rights, type: RecordType): boolean =>
  hasHistory(rights, type) && readsWhole(rights, type);

/** Parts are visible with their owners. */
const readsWhole = (rights: Rights, type: RecordType): boolean =>
  namesRecords(rights, type) ||
  (entryOf(rights, type.name, 'read')?.isPart === true &&
    owningReferences(type).every(({ target }) => readsWhole(rights, target)));

/** Whether the entry allows every value of every record. */
export const isWhole = (entry: Entry | undefined): boolean =>
  entry?.where?.length === 0 &&
  entry.to === undefined &&
  entry.members === undefined &&
  entry.openKeys &&
  entry.owners === undefined &&
  Object.keys(entry.set).length === 0;

/** Whether the client sees this field, relation or open key of the type. */
export const shows = (rights: Rights, type: RecordType, name: string): boolean =>
  has(entryOf(rights, type.name, 'read'), type, name);

/** Whether the client sees the link, which belongs to the relation of this type, else to that of the other. */
export function showsLink(rights: Rights, type: RecordType, reference: Reference): boolean {
  const { relation, target } = reference;
  if (relation) return shows(rights, type, relation.name);
  const other = otherSide(reference);
  return other !== undefined && shows(rights, target, other.name);
}

export const takes = (rights: Rights, type: RecordType, action: 'create' | 'update', name: string): boolean =>
  has(entryOf(rights, type.name, action), type, name);

const takesSome = (rights: Rights, type: RecordType, name: string): boolean =>
  takes(rights, type, 'create', name) || takes(rights, type, 'update', name);

/** Whether the type requires a relation that the client cannot see, so that it cannot create records. `given`: the one that a parent gives. */
export const requiresHidden = (rights: Rights, { name: type, relations }: RecordType, given?: Relation): boolean =>
  rights.key !== '' &&
  [...relations.values()].some(
    ({ name, required, target }) =>
      required &&
      name !== given?.name &&
      !canRead(rights, target.name) &&
      !Object.hasOwn(entryOf(rights, type, 'create')?.set ?? {}, name),
  );

/** Ends the message that refuses an operation, where the cause is not the right to write the type. */
export const hiddenRequirement = (rights: Rights, type: RecordType, operation: Operation = 'create'): string =>
  operation === 'create' && can(rights, type, 'update') && requiresHidden(rights, type)
    ? ', since a new record must link one of a type that may not be read'
    : '';

export const canFollow = (rights: Rights, { source, target, name }: Relation): boolean =>
  canRead(rights, target.name) && shows(rights, source, name);

/** Whether the client reads every record of every type. */
export const readsAll = (rights: Rights, { types }: Model): boolean =>
  [...types.values()].every((type) => namesRecords(rights, type));

/** Names in the statements of roles, which no column or table can have. */
export const maskedColumn = ({ column }: Pick<Reference, 'column'>): string => `${column}$`;
export const partsOf = (table: string): string => `${table}$p`;
/** The whole table. */
export const dataOf = (table: string): string => `${table}$`;

/** The relations of a type that the client sees. */
export function relationsFor(rights: Rights, { relations }: RecordType): ReadonlyMap<string, Relation> {
  if (rights.key === '') return relations;
  return new Map([...relations].filter(([, relation]) => canFollow(rights, relation)));
}

export const seesMember = (rights: Rights, type: RecordType, member: Field | Relation): boolean =>
  'link' in member ? canFollow(rights, member) : shows(rights, type, member.name);

/** Whether bodies of the client may have the field, relation or open key. */
export const isKnown = (rights: Rights, type: RecordType, name: string): boolean => {
  const { readOnly = false, generated } = type.fields.get(name) ?? {};
  return shows(rights, type, name) || (!readOnly && generated === undefined && takesSome(rights, type, name));
};

/** The fields and relations that bodies of the client may have; others are unknown to it. */
export function knownMembers(rights: Rights, type: RecordType): Pick<RecordType, 'fields' | 'relations'> {
  if (rights.key === '') return type;
  const fields = [...type.fields].filter(([name]) => isKnown(rights, type, name));
  const relations = [...type.relations].filter(([, relation]) => isInBodies(rights, relation));
  return { fields: new Map(fields), relations: new Map(relations) };
}

const isInBodies = (rights: Rights, { source, target, name }: Relation): boolean =>
  knows(rights, target.name) && isKnown(rights, source, name);

/** Unique indexes whose values the client sees, or its role sets. */
export function namedUniques(type: RecordType, rights = ALL_RIGHTS): readonly UniqueMembers[] {
  const { set = {} } = entryOf(rights, type.name, 'create') ?? {};
  return uniqueIndexes(type).filter(({ members }) =>
    members.every((one) => seesMember(rights, type, one) || Object.hasOwn(set, one.name)),
  );
}

/** Whether bodies can create and change the related record, besides linking it. */
export const canWriteThrough = (rights: Rights, { nested, owned, target }: Relation): boolean =>
  nested === 'write' && (owned || can(rights, target, 'update'));

/** Whether bodies can create the related record. */
export const canCreateThrough = (rights: Rights, { nested, owned, target }: Relation): boolean =>
  nested === 'write' && (owned || can(rights, target, 'create') || can(rights, target, 'update'));

/** Whether bodies can set the link: if stored in the related record, that is a write to it. */
export const canSet = (rights: Rights, { owned, link, target }: Relation): boolean =>
  owned || link.at !== 'target' || can(rights, target, 'update');

export function rightsOf(model: Model, { read, write, history = NO_TYPES }: Granted): Rights {
  const writable = withOwned(model, write);
  const readable = new Set([...withOwned(model, read), ...writable]);
  const recorded = withOwned(model, history);
  const isAllRecorded = [...model.types.values()].every((type) => !type.history || recorded.has(type.name));
  if (writable.size === model.types.size && isAllRecorded) return ALL_RIGHTS;
  const text = JSON.stringify([readable, writable, recorded].map((names) => [...names].toSorted()));
  const key = `${createHash('sha256').update(text).digest('base64url')} `;
  const rightsTo = (name: string): TypeRights => {
    const changes = writable.has(name) ? { create: WHOLE, update: WHOLE, delete: WHOLE } : {};
    return { read: WHOLE, ...changes };
  };
  const types = new Map([...readable].map((name) => [name, rightsTo(name)]));
  return { key, names: key, tables: undefined, checked: undefined, types, history: recorded };
}

const NO_TYPES: TypeNames = new Set();

/** A renamed type keeps the rights of its former name. */
const namesOf = ({ types }: Model, { name, renamedFrom: former }: RecordType): readonly string[] =>
  former === undefined || types.has(former) ? [name] : [name, former];

export function withOwned(model: Model, names: TypeNames): ReadonlySet<string> {
  const all = [...model.types.values()];
  const named = all.filter((type) => names === 'all' || namesOf(model, type).some((name) => names.has(name)));
  return new Set([...reached(named, ownedBy)].map(({ name }) => name));
}

export function unknownTypes(model: Model, { read, write, history = NO_TYPES }: Granted): readonly string[] {
  const known = new Set([...model.types.values()].flatMap((type) => namesOf(model, type)));
  return [read, write, history]
    .flatMap((names) => (names === 'all' ? [] : [...names]))
    .filter((name) => !known.has(name));
}

/** The Model as a client sees it: for queries, views and documents. What is written is checked against `wholeOf` its types. */
export function seenModel(model: Model, rights: Rights): Model {
  if (rights.key === '') return model;
  const types = new Map([...model.types].filter(([name]) => knows(rights, name)));
  const isSeen = ({ name }: RecordType): boolean => types.has(name);
  const revisions = new Map<object, object>([[model, { types, joinTables: [] }]]);
  for (const type of types.values()) seeType(type, rights, isSeen, revisions);
  return revised(model, revisions);
}

function seeType(
  type: RecordType,
  rights: Rights,
  isSeen: (type: RecordType) => boolean,
  revisions: Map<object, object>,
): void {
  const relations = relationsFor(rights, type);
  const isShown = (member: Field | Relation): boolean => seesMember(rights, type, member);
  const known = knownMembers(rights, type);
  const writeOnly = {
    fields: [...known.fields.values()].filter((field) => !isShown(field)),
    relations: [...known.relations.values()].filter((relation) => !isShown(relation)),
  };
  const { label, presents } = type;
  const isSeenName = (name: string): boolean => {
    const member = type.fields.get(name) ?? type.relations.get(name);
    return member === undefined || isShown(member);
  };
  const isSeenPath = (path: string): boolean => {
    const [name = '', field = ''] = path.split('.');
    const target = type.relations.get(name)?.target;
    return isSeenName(name) && (target === undefined || shows(rights, target, field));
  };
  revisions.set(type, {
    whole: type,
    statementKey: `${type.statementKey} ${rights.names}`,
    operations: new Set([...type.operations].filter((operation) => can(rights, type, operation))),
    history: hasHistory(rights, type),
    label: label && isShown(label) ? label : undefined,
    presents: {
      ...presents,
      label: presents.label !== undefined && labelPaths(presents.label).every(isSeenPath) ? presents.label : undefined,
      columns: presents.columns?.filter(isSeenName),
      order: presents.order?.filter((term) => isSeenName(term.split(' ', 1).join())),
    },
    fields: new Map([...type.fields].filter(([, field]) => isShown(field))),
    writeOnly,
    relations,
    open: type.open && entryOf(rights, type.name, 'read')?.openKeys === true,
    order: type.order.filter(({ field }) => field === undefined || isShown(field)),
    indexes: type.indexes.filter(({ members }) => members.every(isShown)),
    checks: type.checks.filter(({ fields }) => fields.every(isShown)),
    references: type.references.filter(({ target }) => isSeen(target)),
    referrers: type.referrers.filter((referrer) => isSeen(referrer.type)),
    seed: [],
  });
  const isWritten = can(rights, type, 'create') || can(rights, type, 'update');
  for (const field of type.fields.values()) {
    const isFixed = isWritten && !takesSome(rights, type, field.name) && field.generated === undefined;
    const { shows: shown } = field;
    const isNamed = typeof shown !== 'object' || isSeenName(shown.money);
    if (isFixed || !isNamed)
      revisions.set(field, {
        ...(isFixed ? { readOnly: true, required: false } : {}),
        ...(isNamed ? {} : { shows: undefined }),
      });
  }
  for (const variant of type.variants.values()) revisions.set(variant, { fields: variant.fields.filter(isShown) });
  if (rights.tables)
    for (const reference of type.references) revisions.set(reference, { shown: maskedColumn(reference) });
  for (const relation of [...relations.values(), ...writeOnly.relations]) {
    const { target, inverse, fields, owned } = relation;
    const isPart = owned && rights.tables !== undefined && entryOf(rights, target.name, 'read')?.isPart === true;
    const isFixed = isWritten && !(takesSome(rights, type, relation.name) && canSet(rights, relation));
    revisions.set(relation, {
      ...(isPart ? { parts: partsOf(target.table) } : {}),
      ...(isFixed ? { readOnly: true, required: false } : {}),
      nested: canWriteThrough(rights, relation) ? 'write' : 'link',
      inverse: inverse && isInBodies(rights, inverse) ? inverse : undefined,
      fields: fields.filter(({ name }) => shows(rights, target, name)),
    });
  }
}
