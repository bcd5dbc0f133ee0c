/** The part of the Model that a token may use. */
import { append } from '../append.ts';
import type { Operation } from '../descriptor/descriptor.ts';
import { type Draft, freezeGraph } from '../model/resolve.ts';
import {
  identifierIn,
  type JoinTable,
  type Link,
  type Model,
  type RecordType,
  type Reference,
  type Relation,
} from '../model/model.ts';
import type { Rights, TypeNames } from './tokens.ts';
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../json.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import type { TypeValidators, Validator } from '../validation/compile.ts';

export interface Restricted {
  readonly model: Model;
  /** Operations that the type has but the token may not use. */
  readonly withheld: ReadonlyMap<RecordType, ReadonlySet<Operation>>;
  /** Relations that are shown but cannot be written, because their column is in records that the token may only read. */
  readonly readOnly: ReadonlySet<Relation>;
  /** Types whose records the token cannot create, because they require a related record that it may not read. */
  readonly barred: ReadonlySet<RecordType>;
}

const READS: ReadonlySet<Operation> = new Set(['list', 'get']);
/** The names of a type that the token may not read; no other type can have the first. */
const HIDDEN = { name: 'hidden record', recordName: 'A record that this token may not read, number' } as const;

interface Copying extends Covered {
  readonly types: Map<RecordType, Draft<RecordType>>;
  readonly relations: Map<Relation, Draft<Relation>>;
  readonly references: Map<Reference, Draft<Reference>>;
  readonly joins: Map<JoinTable, Draft<JoinTable>>;
}

export function restrict(model: Model, rights: Rights): Restricted {
  const copying: Copying = {
    ...covered(model, rights),
    types: new Map(),
    relations: new Map(),
    references: new Map(),
    joins: new Map(),
  };
  const readable = [...model.types.values()].filter((type) => copying.readable.has(type));
  const types = new Map<string, RecordType>(readable.map((type) => [type.name, copyType(type, copying)]));
  const withheld = new Map(readable.map((type) => [copyType(type, copying) as RecordType, withheldOf(type, copying)]));
  const readOnly = new Set(
    [...copying.relations].filter(([one]) => !mayLink(one, copying)).map(([, copy]): Relation => copy),
  );
  const joinTables = model.joinTables
    .filter(({ left, right }) => copying.readable.has(left.type) && copying.readable.has(right.type))
    .map((table) => copyJoin(table, copying));
  const barred = new Set<RecordType>(
    readable.filter((type) => isBarred(type, copying.readable)).map((type) => copyType(type, copying)),
  );
  return { model: freezeGraph<Model>({ types, joinTables }), withheld, readOnly, barred };
}

/** Whether a body may set the relation: a column in the related record is a write to that record. */
const mayLink = ({ owned, link, target }: Relation, { writable }: Copying): boolean =>
  owned || link.at !== 'target' || writable.has(target);

function withheldOf(type: RecordType, { readable, writable }: Copying): ReadonlySet<Operation> {
  const barred = isBarred(type, readable);
  return new Set(
    [...type.operations].filter((name) => !READS.has(name) && (!writable.has(type) || (barred && name === 'create'))),
  );
}

const isBarred = ({ relations }: RecordType, readable: ReadonlySet<RecordType>): boolean =>
  [...relations.values()].some(({ required, target }) => required && !readable.has(target));

/** Also copies types that may not be read, without their name, since rows refer to them. */
function copyType(type: RecordType, copying: Copying): Draft<RecordType> {
  const known = copying.types.get(type);
  if (known) return known;
  const readable = copying.readable.has(type);
  const held = withheldOf(type, copying);
  const copy: Draft<RecordType> = {
    ...type,
    ...(readable ? {} : HIDDEN),
    operations: new Set([...type.operations].filter((name) => readable && !held.has(name))),
    fields: new Map(type.fields),
    variants: new Map(type.variants),
    hidden: [...type.hidden],
    relations: new Map(),
    references: [],
    referrers: [],
    order: [...type.order],
    indexes: [],
    checks: [...type.checks],
    seed: [],
    seedRaw: new Map(),
  };
  copying.types.set(type, copy);
  connect(type, copy, copying);
  return copy;
}

function connect(type: RecordType, copy: Draft<RecordType>, copying: Copying): void {
  for (const [name, relation] of type.relations) {
    const visible = copying.readable.has(type) && copying.readable.has(relation.target);
    if (visible) copy.relations.set(name, copyRelation(relation, copying));
  }
  append(
    copy.references,
    type.references.map((reference) => copyReference(reference, copying)),
  );
  copy.referrers.push(
    ...type.referrers.map((referrer) => ({
      type: copyType(referrer.type, copying),
      reference: copyReference(referrer.reference, copying),
    })),
  );
  copy.indexes.push(
    ...type.indexes.map((index) => ({
      ...index,
      members: index.members.map((member) => ('link' in member ? copyRelation(member, copying) : member)),
    })),
  );
}

function copyRelation(relation: Relation, copying: Copying): Draft<Relation> {
  const known = copying.relations.get(relation);
  if (known) return known;
  const { owned, nested, target, source } = relation;
  const copy: Draft<Relation> = {
    ...relation,
    nested: owned || copying.writable.has(target) ? nested : 'link',
    fields: [...relation.fields],
  };
  copying.relations.set(relation, copy);
  copy.source = copyType(source, copying);
  copy.target = copyType(target, copying);
  copy.inverse = relation.inverse && copyRelation(relation.inverse, copying);
  copy.link = copyLink(relation.link, copying);
  return copy;
}

function copyLink(link: Link, copying: Copying): Link {
  if (link.at === 'join') return { ...link, table: copyJoin(link.table, copying) };
  return { ...link, reference: copyReference(link.reference, copying) };
}

function copyReference(reference: Reference, copying: Copying): Draft<Reference> {
  const known = copying.references.get(reference);
  if (known) return known;
  const copy: Draft<Reference> = { ...reference };
  copying.references.set(reference, copy);
  copy.target = copyType(reference.target, copying);
  copy.relation = reference.relation && copyRelation(reference.relation, copying);
  return copy;
}

function copyJoin(table: JoinTable, copying: Copying): JoinTable {
  const known = copying.joins.get(table);
  if (known) return known;
  const { left, right } = table;
  const copy: Draft<JoinTable> = { ...table };
  copying.joins.set(table, copy);
  copy.left = { ...left, type: copyType(left.type, copying) };
  copy.right = { ...right, type: copyType(right.type, copying) };
  return copy;
}

// The types that a token's rights cover: the named types and those that they own.

interface Covered {
  readonly readable: ReadonlySet<RecordType>;
  readonly writable: ReadonlySet<RecordType>;
}

function covered(model: Model, { read, write }: Rights): Covered {
  const writable = withOwned(named(model, write));
  return { writable, readable: new Set([...withOwned(named(model, read)), ...writable]) };
}

const named = ({ types }: Model, wanted: TypeNames): readonly RecordType[] =>
  [...types.values()].filter(({ name }) => wanted === 'all' || wanted.has(name));

function withOwned(types: readonly RecordType[]): ReadonlySet<RecordType> {
  const all = new Set(types);
  for (const type of all) for (const { owned, target } of type.relations.values()) if (owned) all.add(target);
  return all;
}

/** Names in the rights that are not types. */
export function unknownTypes({ types }: Model, rights: Rights): readonly string[] {
  const all = [rights.read, rights.write].flatMap((some) => (some === 'all' ? [] : [...some]));
  return all.filter((name) => !types.has(name));
}

// Rejects bodies that write links in read-only records, or create records that the token cannot create.

type LinkLimits = Pick<Restricted, 'readOnly' | 'barred'>;

export function refusingLinks(validators: TypeValidators, type: RecordType, limits: LinkLimits): TypeValidators {
  if (limits.readOnly.size === 0 && limits.barred.size === 0) return validators;
  const refusing =
    (validate: Validator): Validator =>
    (records, raw, known) => {
      const faults: Fault[] = [];
      for (const { body, pointer } of records) {
        append(faults, refusedIn(type, body, pointer, limits));
      }
      if (faults.length > 0) throw faultyRequest('forbidden', faults);
      return validate(records, raw, known);
    };
  return {
    create: (variant) => refusing(validators.create(variant)),
    update: (variant) => refusing(validators.update(variant)),
    upsert: (variant) => refusing(validators.upsert(variant)),
  };
}

function refusedIn(type: RecordType, body: JsonObject, pointer: string, limits: LinkLimits): readonly Fault[] {
  return Object.keys(body).flatMap((key) => {
    const relation = type.relations.get(key);
    if (!relation) return [];
    const at = `${pointer}/${escapeStep(key)}`;
    const value = body[key] ?? null;
    if (limits.readOnly.has(relation)) return [readOnlyLink(relation, at)];
    const items = Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
    return items.flatMap((item, index) =>
      isObject(item) ? refusedRecord(relation, item, Array.isArray(value) ? `${at}/${index}` : at, limits) : [],
    );
  });
}

function refusedRecord(relation: Relation, body: JsonObject, pointer: string, limits: LinkLimits): readonly Fault[] {
  const { target, owned, toMany } = relation;
  // Whether an owned to-one child already exists, only the database knows.
  const isNew = identifierIn(body, target) === undefined && (toMany || !owned) && relation.nested === 'write';
  if (!isNew || !limits.barred.has(target)) return refusedIn(target, body, pointer, limits);
  const message = `This token may not create a ${target.name}; link an existing one by its "${target.identifier.name}"`;
  return [{ pointer, code: 'forbidden', message }];
}

function readOnlyLink({ name, target }: Relation, pointer: string): Fault {
  const message = `"${name}" is stored in records of ${target.name}, which this token may only read; leave it out`;
  return { pointer, code: 'forbidden', message };
}
