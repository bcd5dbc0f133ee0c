/**
 * How an instance serves tables that newer descriptors may have changed: by its own fields, names and rules. It touches
 * nothing that it does not know. Where the tables are narrower than its rules, it reads, and refuses to write.
 */
import { isDeepStrictEqual } from 'node:util';
import { widens } from '../../field-types/widens.ts';
import { type CheckRule, fieldsOf, ruleKey, ruleOf } from '../../model/checks.ts';
import type { Field, Index, Model, RecordType, Reference, Relation } from '../../model/model.ts';
import { revised } from '../../model/resolve.ts';
import { sidesOf } from '../tables.ts';
import {
  type AppliedField,
  type AppliedIndex,
  type AppliedModel,
  type AppliedReference,
  type AppliedType,
  identifierNameOf,
} from './applied.ts';
import { isNeeded, unnamedField } from './keep.ts';
import { matchFields, matchReferences } from './match.ts';

/** A table that the instance cannot use, or cannot write to. */
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

const narrower = ({ misfits }: Comparison, table: string, says: string): void =>
  void misfits.push({ table, says, isReadable: true });

const revise = ({ revisions }: Comparison, part: object, revision: object): void =>
  void revisions.set(part, { ...revisions.get(part), ...revision });

function serveType(comparison: Comparison, type: RecordType, now: AppliedType | undefined): void {
  const { table, identifier } = type;
  if (!now) return misfit(comparison, table, 'there is no such table');
  if (now.identifier !== identifier.column) misfit(comparison, table, `it has no column "${identifier.column}"`);
  if (type.open && !now.open) misfit(comparison, table, 'it is closed to unknown keys');
  if (type.open) for (const [own, other] of renamedIn(type, now)) misfit(comparison, table, ambiguous(own, other));
  serveFields(comparison, type, now);
  serveReferences(comparison, type, now);
  serveIndexes(comparison, type, now);
  serveChecks(comparison, type, now);
}

/** Under the name that the one version does not know, the other one's clients could send an open key. */
const ambiguous = (own: string, now: string): string =>
  `"${own}" is called "${now}" now, and it is open to keys of either name`;

/** Members that have another name in the tables. */
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
  const { kept, added, dropped } = matchFields(type, now);
  for (const { column } of added) misfit(comparison, table, `it has no column "${column}"`);
  for (const { after: field, before } of kept) {
    const found = before.field;
    if (found.type !== field.type.name) misfit(comparison, table, `"${field.name}" is of type ${found.type} now`);
    else if (field.caseless && found.folded === undefined)
      misfit(comparison, table, `case counts in "${field.name}" now`);
    else serveField(comparison, table, field, found);
  }
  if (type.open) return adopt(comparison, type, dropped);
  for (const { name, field } of dropped) if (isNeeded(field)) narrower(comparison, table, needed(name));
  hide(comparison, type, dropped);
}

const needed = (name: string): string =>
  `every new record needs a value of "${name}", which these descriptors do not name`;

/** Stamps, folded texts and null follow the tables. */
function serveField(comparison: Comparison, table: string, field: Field, now: AppliedField): void {
  const { generated, folded } = now;
  const nullable = field.nullable || now.nullable;
  if (generated !== field.generated || folded !== field.folded || nullable !== field.nullable)
    revise(comparison, field, { generated, folded, nullable });
  const accepts = { constraints: now.constraints, examples: [] };
  if (!widens(field.type, field, accepts) || (field.nullable && !now.nullable))
    narrower(comparison, table, `"${field.name}" accepts less now`);
}

interface AddedField {
  readonly name: string;
  readonly field: AppliedField;
}

/** Generated fields are filled in even if the descriptors of this instance do not name them. */
function hide(comparison: Comparison, type: RecordType, added: readonly AddedField[]): void {
  const filled = added.filter(({ field }) => field.generated !== undefined || field.isNowByDefault);
  if (filled.length > 0)
    revise(comparison, type, { hidden: filled.map(({ name, field }) => unnamedField(name, field)) });
}

/** A key of an open type may be a field of newer descriptors: both versions use its column. */
function adopt(comparison: Comparison, type: RecordType, all: readonly AddedField[]): void {
  const added = all.filter(({ name }) => !type.fields.has(name) && !type.relations.has(name));
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

function serveReferences(comparison: Comparison, type: RecordType, now: AppliedType): void {
  const { found } = comparison;
  const { kept, added, dropped } = matchReferences(type, now);
  const elsewhere = kept.filter(({ after, before }) => found.types[before.target]?.table !== after.target.table);
  for (const { column, target } of [...added, ...elsewhere.map(({ after }) => after)])
    misfit(comparison, type.table, `its column "${column}" does not refer to ${target.table}`);
  for (const { after, before } of kept) serveReference(comparison, type, after, before);
  for (const { column, required } of dropped) if (required) narrower(comparison, type.table, needed(column));
}

function serveReference(
  comparison: Comparison,
  { table }: RecordType,
  reference: Reference,
  { required, unique, onDelete, acyclic = false }: AppliedReference,
): void {
  const { column, target, relation } = reference;
  if (reference.unique && !unique) misfit(comparison, table, `several rows can share "${column}" now`);
  if (reference.required && !required) {
    revise(comparison, reference, { required });
    if (relation) revise(comparison, relation, { required });
  }
  if ((required && !reference.required) || (unique && !reference.unique) || (acyclic && !reference.acyclic))
    narrower(comparison, table, `"${column}" accepts less now`);
  if (onDelete !== reference.onDelete)
    for (const one of new Set([table, target.table]))
      narrower(comparison, one, `rows of ${table} go with their "${column}" by another rule now`);
}

/** By its column: names may have another meaning now. */
function memberNamed(name: string, type: RecordType, now: AppliedType): Field | Relation | undefined {
  const field = now.fields[name];
  if (field) return [...type.fields.values()].find(({ column }) => column === field.column);
  const link = now.references.find(({ belongsTo }) => belongsTo === name);
  return type.references.find(({ column }) => column === link?.column)?.relation;
}

/** Only what the tables hold to be unique is. A row without a value of an unknown member collides with none. */
function serveIndexes(comparison: Comparison, type: RecordType, now: AppliedType): void {
  const keyOf = (unique: boolean, members: Index['members']): string =>
    JSON.stringify([unique, ...members.map(({ name }) => name)]);
  const isNull = (name: string): boolean => (now.fields[name]?.default ?? null) === null;
  const found = Object.values(now.indexes).map(({ unique, members }: AppliedIndex) => ({
    unique,
    members: members.flatMap((member) => memberNamed(member, type, now) ?? []),
    isMet: members.some((member) => !memberNamed(member, type, now) && isNull(member)),
  }));
  const keys = new Set(found.map(({ unique, members }) => keyOf(unique, members)));
  const own = new Set(type.indexes.map(({ unique, members }) => keyOf(unique, members)));
  const indexes = type.indexes.filter(({ unique, members }) => keys.has(keyOf(unique, members)));
  if (indexes.length < type.indexes.length) revise(comparison, type, { indexes });
  for (const { unique, members, isMet } of found)
    if (unique && !isMet && !own.has(keyOf(unique, members)))
      narrower(comparison, type.table, `${members.map(({ name }) => `"${name}"`).join(', ')} must be unique now`);
}

/** A check that names a field which the instance does not know is left to the others. */
function serveChecks(comparison: Comparison, { table, fields, checks }: RecordType, now: AppliedType): void {
  const names = new Map(Object.entries(now.fields).map(([name, { column }]) => [column, name]));
  const known = new Set(checks.map((check) => ruleKey(ruleOf(check, ({ column }) => names.get(column) ?? column))));
  const columns = new Set([...fields.values()].map(({ column }) => column));
  const isNew = (rule: CheckRule): boolean =>
    !known.has(ruleKey(rule)) && [...fieldsOf(rule)].every((name) => columns.has(now.fields[name]?.column ?? ''));
  if (now.checks?.some(isNew)) narrower(comparison, table, 'it has a check that these descriptors do not name');
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
