/** Rights of a client, checked on the shared Model. */
import { createHash } from 'node:crypto';
import type { Operation } from '../descriptor/descriptor.ts';
import { type Model, type RecordType, type Relation, uniqueIndexes, type UniqueMembers } from './model.ts';
import { revised } from './resolve.ts';

/** Names of types; `all` includes types that are added later. */
export type TypeNames = 'all' | ReadonlySet<string>;

/** The right to write includes the right to read. */
export interface Granted {
  readonly read: TypeNames;
  readonly write: TypeNames;
}

export interface Rights {
  /** Identifies these rights in caches; empty if the client can do everything. */
  readonly key: string;
  /** Names of types, including owned types. */
  readonly readable: ReadonlySet<string>;
  readonly writable: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();
export const ALL_RIGHTS: Rights = Object.freeze({ key: '', readable: NONE, writable: NONE });

export const canRead = ({ key, readable }: Rights, typeName: string): boolean => key === '' || readable.has(typeName);

/** Whether the client can do this; types that it cannot read do not exist for it. */
export function can(rights: Rights, type: RecordType, action: Operation): boolean {
  const { key, readable, writable } = rights;
  if (key === '') return true;
  if (action === 'list' || action === 'get') return readable.has(type.name);
  return writable.has(type.name) && (action !== 'create' || !requiresHidden(rights, type));
}

/** Whether the type requires a relation that the client cannot see, so that it cannot create records. */
export const requiresHidden = (rights: Rights, { relations }: RecordType): boolean =>
  [...relations.values()].some(({ required, target }) => required && !canRead(rights, target.name));

/** Ends the message that refuses an operation, where the cause is not the right to write the type. */
export const hiddenRequirement = (rights: Rights, type: RecordType): string =>
  can(rights, type, 'update') && requiresHidden(rights, type)
    ? ', since a new record must link one of a type that may not be read'
    : '';

export const canFollow = (rights: Rights, { target }: Relation): boolean => can(rights, target, 'get');

/** The relations of a type that the client sees. */
export function relationsFor(rights: Rights, { relations }: RecordType): ReadonlyMap<string, Relation> {
  if (rights.key === '') return relations;
  return new Map([...relations].filter(([, relation]) => canFollow(rights, relation)));
}

/** Unique indexes that the client sees. */
export const namedUniques = (type: RecordType, rights = ALL_RIGHTS): readonly UniqueMembers[] =>
  uniqueIndexes(type).filter(({ members }) =>
    members.every((one) => !('link' in one) || (type.relations.has(one.name) && canFollow(rights, one))),
  );

/** Whether bodies can create and change the related record, besides linking it. */
export const canWriteThrough = (rights: Rights, { nested, owned, target }: Relation): boolean =>
  nested === 'write' && (owned || can(rights, target, 'update'));

/** Whether bodies can set the link: if stored in the related record, that is a write to it. */
export const canSet = (rights: Rights, { owned, link, target }: Relation): boolean =>
  owned || link.at !== 'target' || can(rights, target, 'update');

export function rightsOf(model: Model, { read, write }: Granted): Rights {
  const writable = withOwned(model, write);
  const readable = new Set([...withOwned(model, read), ...writable]);
  if (writable.size === model.types.size) return ALL_RIGHTS;
  const text = JSON.stringify([readable, writable].map((names) => [...names].toSorted()));
  return { key: `${createHash('sha256').update(text).digest('base64url')} `, readable, writable };
}

/** A renamed type keeps the rights of its former name. */
const namesOf = ({ types }: Model, { name, renamedFrom: former }: RecordType): readonly string[] =>
  former === undefined || types.has(former) ? [name] : [name, former];

function withOwned(model: Model, names: TypeNames): ReadonlySet<string> {
  const all = [...model.types.values()];
  const named = all.filter((type) => names === 'all' || namesOf(model, type).some((name) => names.has(name)));
  for (const type of named)
    for (const { owned, target } of type.relations.values()) if (owned && !named.includes(target)) named.push(target);
  return new Set(named.map(({ name }) => name));
}

export function unknownTypes(model: Model, { read, write }: Granted): readonly string[] {
  const known = new Set([...model.types.values()].flatMap((type) => namesOf(model, type)));
  return [read, write].flatMap((names) => (names === 'all' ? [] : [...names])).filter((name) => !known.has(name));
}

/** The Model as a client sees it, for documents. Requests use the shared Model and check rights. */
export function seenModel(model: Model, rights: Rights): Model {
  if (rights.key === '') return model;
  const types = new Map([...model.types].filter(([, type]) => can(rights, type, 'get')));
  const isSeen = ({ name }: RecordType): boolean => types.has(name);
  const joinTables = model.joinTables.filter(({ left, right }) => isSeen(left.type) && isSeen(right.type));
  const revisions = new Map<object, object>([[model, { types, joinTables }]]);
  for (const type of types.values()) {
    revisions.set(type, {
      operations: new Set([...type.operations].filter((operation) => can(rights, type, operation))),
      relations: relationsFor(rights, type),
      references: type.references.filter(({ target }) => isSeen(target)),
      referrers: type.referrers.filter((referrer) => isSeen(referrer.type)),
      seed: [],
    });
    for (const relation of type.relations.values())
      revisions.set(relation, { nested: canWriteThrough(rights, relation) ? 'write' : 'link' });
  }
  return revised(model, revisions);
}
