/**
 * The Model that an instance serves over tables that may have been made for newer descriptors: its own fields and
 * relations, by the rules of the tables. What it does not know, it does not touch.
 */
import { isDeepStrictEqual } from 'node:util';
import { widens } from '../../field-types/widens.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Field, Index, Model, RecordType, Reference, Relation } from '../../model/model.ts';
import { revised } from '../../model/resolve.ts';
import { sidesOf } from '../define.ts';
import {
  type AppliedField,
  type AppliedModel,
  type AppliedReference,
  type AppliedType,
  identifierNameOf,
} from './applied.ts';
import { servedChecks } from './checks.ts';
import { isNeeded, unnamedField } from './keep.ts';
import { matchFields, matchReferences } from './match.ts';

/** A table that the instance cannot use, or cannot add rows to. */
interface Misfit {
  readonly table: string;
  /** In words, what is not as it would have to be. */
  readonly says: string;
  readonly isReadable: boolean;
}

interface Served {
  /** The same object if the tables ask for nothing else. */
  readonly model: Model;
  readonly misfits: readonly Misfit[];
}

export function servedModel(model: Model, found: AppliedModel): Served {
  const comparison: Comparison = { model, found, misfits: [], revisions: new Map() };
  const tables = new Map(Object.values(found.types).map((type) => [type.table, type]));
  for (const type of model.types.values()) serveType(comparison, type, tables.get(type.table));
  for (const table of model.joinTables)
    if (!hasJoin(table, found)) misfit(comparison, table.name, 'there is no such table');
  const { revisions, misfits } = comparison;
  return { model: revisions.size > 0 ? revised(model, revisions) : model, misfits };
}

interface Comparison {
  readonly model: Model;
  readonly found: AppliedModel;
  readonly misfits: Misfit[];
  readonly revisions: Map<object, object>;
}

const misfit = ({ misfits }: Comparison, table: string, says: string): void =>
  void misfits.push({ table, says, isReadable: false });

const incomplete = ({ misfits }: Comparison, { table }: RecordType, name: string): void => {
  const says = `every new record needs a value of "${name}", which these descriptors do not name`;
  misfits.push({ table, says, isReadable: true });
};

function serveType(comparison: Comparison, type: RecordType, now: AppliedType | undefined): void {
  const { table, identifier } = type;
  if (!now) return misfit(comparison, table, 'there is no such table');
  if (now.identifier !== identifier.column) misfit(comparison, table, `it has no column "${identifier.column}"`);
  if (type.open && !now.open) misfit(comparison, table, 'it is closed to unknown keys');
  if (type.open) for (const [own, other] of renamedIn(type, now)) misfit(comparison, table, ambiguous(own, other));
  serveFields(comparison, type, now);
  serveReferences(comparison, type, now);
  serveIndexes(comparison, type, now);
  const added = servedChecks({ ...type, ...comparison.revisions.get(type) }, now);
  if (added.length > 0) revise(comparison, type, { checks: [...type.checks, ...added] });
}

/** Under the name that the one version does not know, the other one's clients could send an open key. */
const ambiguous = (own: string, now: string): string =>
  `"${own}" is called "${now}" now, and it is open to keys of either name`;

/** What the tables have under another name. */
function renamedIn(type: RecordType, now: AppliedType): readonly (readonly [own: string, now: string])[] {
  const links = matchReferences(type, now).kept.map(
    ({ after, before }) => [after.relation?.name, before.belongsTo] as const,
  );
  return [
    [type.identifier.name, identifierNameOf(now)] as const,
    ...matchFields(type, now).kept.map(({ after, before }) => [after.name, before.name] as const),
    ...links.flatMap(([own, other]) => (own === undefined || other === null ? [] : [[own, other] as const])),
  ].filter(([own, other]) => own !== other);
}

function serveFields(comparison: Comparison, type: RecordType, now: AppliedType): void {
  const { table } = type;
  const left = new Map(Object.entries(now.fields).map(([name, field]) => [field.column, { name, field }]));
  for (const field of type.fields.values()) {
    const found = left.get(field.column)?.field;
    left.delete(field.column);
    if (!found) misfit(comparison, table, `it has no column "${field.column}"`);
    else if (found.type !== field.type.name) misfit(comparison, table, `"${field.name}" is of type ${found.type} now`);
    else if (field.caseless && found.folded === undefined)
      misfit(comparison, table, `case counts in "${field.name}" now`);
    else revise(comparison, field, fieldRevision(field, found));
  }
  const added = [...left.values()];
  if (type.open)
    adopt(
      comparison,
      type,
      added.filter(({ name }) => !type.fields.has(name) && !type.relations.has(name)),
    );
  else {
    for (const { name, field } of added) if (isNeeded(field)) incomplete(comparison, type, name);
    hide(comparison, type, added);
  }
}

interface AddedField {
  readonly name: string;
  readonly field: AppliedField;
}

/** What the service fills in, it fills in whichever version writes. */
function hide(comparison: Comparison, type: RecordType, added: readonly AddedField[]): void {
  const filled = added.filter(({ field }) => field.generated !== undefined || field.isNowByDefault);
  if (filled.length > 0)
    revise(comparison, type, { hidden: filled.map(({ name, field }) => unnamedField(name, field)) });
}

/** What would be an open key is a field of newer descriptors: as its column, it stays one record with two versions. */
function adopt(comparison: Comparison, type: RecordType, added: readonly AddedField[]): void {
  if (added.length === 0) return;
  const fields = added.map(({ name, field }) => unnamedField(name, field));
  revise(comparison, type, {
    fields: new Map([...type.fields, ...fields.map((field) => [field.name, field] as const)]),
  });
  for (const variant of type.variants.values()) revise(comparison, variant, { fields: [...variant.fields, ...fields] });
  for (const relation of relationsTo(comparison.model, type))
    if (relation.fields.length === type.fields.size)
      revise(comparison, relation, { fields: [...relation.fields, ...fields] });
}

const relationsTo = ({ types }: Model, target: RecordType): readonly Relation[] =>
  [...types.values()].flatMap(({ relations }) => [...relations.values()].filter((one) => one.target === target));

function revise({ revisions }: Comparison, part: object, revision: object): void {
  if (Object.keys(revision).length > 0) revisions.set(part, { ...revisions.get(part), ...revision });
}

/** Whether it may be null, what it accepts at most, and what fills it in is decided by the tables' model. */
function fieldRevision(field: Field, now: AppliedField): Partial<Field> {
  const hasOwn = field.default !== undefined || field.isNowByDefault;
  const isFilled = hasOwn || now.default !== null || now.isNowByDefault === true;
  return {
    ...(field.generated === now.generated ? {} : { generated: now.generated }),
    ...(now.isNowByDefault && !now.nullable && !hasOwn ? { isNowByDefault: true } : {}),
    ...(field.folded === now.folded ? {} : { folded: now.folded }),
    ...(field.nullable === now.nullable ? {} : { nullable: now.nullable }),
    ...(now.nullable || field.nullable === now.nullable || isFilled ? {} : { required: true }),
    ...(now.nullable || hasOwn || now.default === null ? {} : { default: now.default, defaultText: now.defaultText }),
    ...(widens(field.type, field, { constraints: now.constraints, examples: [] })
      ? {}
      : { constraints: narrowed(field.constraints, now.constraints) }),
  };
}

/** Keywords of which the smaller, or the larger, value accepts less. Of others, the one of the tables counts. */
const STRICTER: Readonly<Record<string, (one: number, other: number) => number>> = {
  minLength: Math.max,
  minimum: Math.max,
  minItems: Math.max,
  maxLength: Math.min,
  maximum: Math.min,
  maxItems: Math.min,
};

function narrowed(own: JsonObject, now: JsonObject): JsonObject {
  const both = Object.keys(now).filter((keyword) => keyword in own);
  const stricter = both.map((keyword) => [keyword, stricterOf(keyword, own[keyword], now[keyword])] as const);
  return { ...own, ...now, ...Object.fromEntries(stricter) };
}

function stricterOf(keyword: string, own: JsonValue = null, now: JsonValue = null): JsonValue {
  const choose = STRICTER[keyword];
  if (choose && typeof own === 'number' && typeof now === 'number') return choose(own, now);
  if (keyword !== 'enum' || !Array.isArray(own) || !Array.isArray(now)) return now;
  const common = (own as readonly JsonValue[]).filter((one) => now.some((other) => isDeepStrictEqual(one, other)));
  return common.length > 0 ? common : now;
}

function serveReferences(comparison: Comparison, type: RecordType, now: AppliedType): void {
  const { found, model } = comparison;
  const left = new Map(now.references.map((reference) => [reference.column, reference]));
  for (const reference of type.references) {
    const other = left.get(reference.column);
    left.delete(reference.column);
    const { target } = reference;
    if (!other || found.types[other.target]?.table !== target.table)
      misfit(comparison, type.table, `its column "${reference.column}" does not refer to ${target.table}`);
    else serveReference(comparison, type, reference, other, ownerOf(model, reference));
  }
  for (const { column, required } of left.values()) if (required) incomplete(comparison, type, column);
}

/** The relation by which its target owns it. */
const ownerOf = ({ types }: Model, reference: Reference): Relation | undefined =>
  [...types.values()]
    .flatMap(({ relations }) => [...relations.values()])
    .find(({ owned, link }) => owned && link.at === 'target' && link.reference === reference);

function serveReference(
  comparison: Comparison,
  { table }: RecordType,
  reference: Reference,
  { required, unique, onDelete, acyclic = false }: AppliedReference,
  owner: Relation | undefined,
): void {
  if (reference.unique && !unique) return misfit(comparison, table, `several rows can share "${reference.column}" now`);
  if (owner && onDelete !== reference.onDelete)
    return misfit(comparison, table, `"${owner.name}" owns its rows no more`);
  if (reference.relation && required !== reference.required) revise(comparison, reference.relation, { required });
  const now = { required, unique, onDelete, acyclic };
  const rules = Object.keys(now) as readonly (keyof typeof now)[];
  if (rules.some((rule) => reference[rule] !== now[rule])) revise(comparison, reference, now);
  return undefined;
}

/** By its column: names may have another meaning now. */
function memberNamed(name: string, type: RecordType, now: AppliedType): Field | Relation | undefined {
  const field = now.fields[name];
  if (field) return [...type.fields.values()].find(({ column }) => column === field.column);
  const link = now.references.find(({ belongsTo }) => belongsTo === name);
  return type.references.find(({ column }) => column === link?.column)?.relation;
}

/** A unique index that these descriptors do not name is reported like one that they do. */
function serveIndexes(comparison: Comparison, type: RecordType, now: AppliedType): void {
  const membersOf = ({ members }: Pick<Index, 'members'>): readonly string[] => members.map(({ name }) => name);
  const found = Object.entries(now.indexes).flatMap(([name, { unique, members }]): Index[] => {
    const known = members.flatMap((member) => memberNamed(member, type, now) ?? []);
    return known.length === members.length ? [{ name, unique, members: known }] : [];
  });
  const keysOf = (indexes: readonly Index[]): readonly string[] =>
    indexes.map((index) => JSON.stringify([index.unique, ...membersOf(index)])).toSorted();
  if (!isDeepStrictEqual(keysOf(found), keysOf(type.indexes))) revise(comparison, type, { indexes: found });
}

function hasJoin(table: Model['joinTables'][number], { joins, types }: AppliedModel): boolean {
  const join = joins.find((one) => one.table === table.name);
  if (!join) return false;
  const now = [join.left, join.right].map(({ column, type }) => [column, types[type]?.table]);
  return isDeepStrictEqual(
    now,
    sidesOf(table).map(({ column, type }) => [column, type.table]),
  );
}
