/**
 * How an instance serves tables that newer descriptors may have changed: by its own fields, names and rules. It touches
 * nothing that it does not know. Where the tables are narrower than its rules, it reads, and refuses to write.
 */
import { widens } from '../../field-types/field-type.ts';
import { fieldsOf } from '../../model/checks.ts';
import type { Field, Model, RecordType, Reference } from '../../model/model.ts';
import { revised } from '../../model/resolve.ts';
import { sidesOf } from '../tables.ts';
import { type AppliedModel, type AppliedReference, identifierNameOf } from './applied.ts';
import { columnsBefore, compare, memberAt, type NamedField, type TypePair } from './compare.ts';
import { isNeeded, unnamedField } from './keep.ts';

/** A table that the instance cannot use, or cannot write to. */
interface Misfit {
  readonly table: string;
  readonly says: string;
  readonly isReadable: boolean;
}

interface Served {
  /** The same object if the tables ask for nothing else. */
  readonly model: Model;
  readonly misfits: readonly Misfit[];
}

interface Serving {
  readonly model: Model;
  readonly found: AppliedModel;
  readonly misfit: (table: string, says: string) => void;
  readonly narrower: (table: string, says: string) => void;
  readonly revise: (part: object, revision: object) => void;
}

/** `model`: with the names of its tables and columns. */
export function servedModel(model: Model, found: AppliedModel): Served {
  const misfits: Misfit[] = [];
  const revisions = new Map<object, object>();
  const serving: Serving = {
    model,
    found,
    misfit: (table, says) => void misfits.push({ table, says, isReadable: false }),
    narrower: (table, says) => void misfits.push({ table, says, isReadable: true }),
    revise: (part, revision) => void revisions.set(part, { ...revisions.get(part), ...revision }),
  };
  const { types, added, joins } = compare(found, model);
  for (const { table } of added) serving.misfit(table, 'there is no such table');
  for (const pair of types) serveType(serving, pair);
  const tableOf = (type: string): string | undefined => found.types[type]?.table;
  for (const { after, before } of joins.kept)
    if (
      sidesOf(after).some(({ column, type }, at) => {
        const side = [before.left, before.right][at];
        return side?.column !== column || tableOf(side.type) !== type.table;
      })
    )
      serving.misfit(after.name, 'it connects other tables');
  for (const { name } of joins.added) serving.misfit(name, 'there is no such table');
  return { model: revisions.size > 0 ? revised(model, revisions) : model, misfits };
}

function serveType(serving: Serving, pair: TypePair): void {
  const { type, before: now } = pair;
  const { table, identifier } = type;
  if (now.identifier !== identifier.column) serving.misfit(table, `it has no column "${identifier.column}"`);
  if (type.open && !now.open) serving.misfit(table, 'it is closed to unknown keys');
  if (type.open)
    for (const [own, other] of renamedIn(pair))
      serving.misfit(table, `"${own}" is called "${other}" now, and it is open to keys of either name`);
  serveFields(serving, pair);
  serveReferences(serving, pair);
  serveIndexes(serving, pair);
  // A check that names a field which the instance does not know is left to the others.
  const isKnown = (name: string): boolean => memberAt(type, columnsBefore(now, [name])[0] ?? '') !== undefined;
  if (pair.checks.dropped.some((rule) => [...fieldsOf(rule)].every(isKnown)))
    serving.narrower(table, 'it has a check that these descriptors do not name');
}

/** Members that have another name in the tables: by it, the other version's clients could send an open key. */
function renamedIn({ type, before, fields, references }: TypePair) {
  return [
    [type.identifier.name, identifierNameOf(before)] as const,
    ...fields.kept.map((pair) => [pair.after.name, pair.before.name] as const),
    ...references.kept.map((pair) => [pair.after.relation?.name, pair.before.belongsTo] as const),
  ].filter(([own, other]) => own !== undefined && other !== null && own !== other);
}

const needed = (name: string): string =>
  `every new record needs a value of "${name}", which these descriptors do not name`;

function serveFields(serving: Serving, { type, fields: { kept, added, dropped } }: TypePair): void {
  const { table } = type;
  for (const { column } of added) serving.misfit(table, `it has no column "${column}"`);
  for (const { after: field, before: now } of kept)
    if (now.type !== field.type.name) serving.misfit(table, `"${field.name}" is of type ${now.type} now`);
    else if (field.caseless && now.folded === undefined) serving.misfit(table, `case counts in "${field.name}" now`);
    else serveField(serving, table, field, now);
  if (type.open) return adopt(serving, type, dropped);
  for (const field of dropped) if (isNeeded(field)) serving.narrower(table, needed(field.name));
  // Generated fields are filled in even if the descriptors of this instance do not name them.
  const filled = dropped.filter(({ generated, isNowByDefault }) => generated !== undefined || isNowByDefault);
  if (filled.length > 0) serving.revise(type, { hidden: filled.map(unnamedField) });
}

/** Stamps, folded texts and null follow the tables. */
function serveField({ revise, narrower }: Serving, table: string, field: Field, now: NamedField): void {
  const { generated, folded } = now;
  const nullable = field.nullable || now.nullable;
  if (generated !== field.generated || folded !== field.folded || nullable !== field.nullable)
    revise(field, { generated, folded, nullable });
  const accepts = { constraints: now.constraints, examples: [] };
  if (!widens(field.type, field, accepts) || (field.nullable && !now.nullable))
    narrower(table, `"${field.name}" accepts less now`);
}

/** A key of an open type may be a field of newer descriptors: both versions use its column. */
function adopt({ model, revise }: Serving, type: RecordType, all: readonly NamedField[]): void {
  const added = all.filter(({ name }) => !type.fields.has(name) && !type.relations.has(name));
  if (added.length === 0) return;
  const fields = added.map(unnamedField);
  revise(type, { fields: new Map([...type.fields, ...fields.map((field) => [field.name, field] as const)]) });
  for (const variant of type.variants.values()) revise(variant, { fields: [...variant.fields, ...fields] });
  for (const { relations } of model.types.values())
    for (const relation of relations.values())
      if (relation.target === type && relation.fields.length === type.fields.size)
        revise(relation, { fields: [...relation.fields, ...fields] });
}

function serveReferences(serving: Serving, { type, references: { kept, added, dropped } }: TypePair): void {
  const elsewhere = kept.filter(
    ({ after, before }) => serving.found.types[before.target]?.table !== after.target.table,
  );
  for (const { column, target } of [...added, ...elsewhere.map(({ after }) => after)])
    serving.misfit(type.table, `its column "${column}" does not refer to ${target.table}`);
  for (const { after, before } of kept) serveReference(serving, type, after, before);
  for (const { column, required } of dropped) if (required) serving.narrower(type.table, needed(column));
}

function serveReference(
  { misfit, narrower, revise }: Serving,
  { table }: RecordType,
  reference: Reference,
  { required, unique, onDelete, acyclic = false }: AppliedReference,
): void {
  const { column, target, relation } = reference;
  if (reference.unique && !unique) misfit(table, `several rows can share "${column}" now`);
  if (reference.required && !required) for (const part of [reference, relation]) if (part) revise(part, { required });
  if ((required && !reference.required) || (unique && !reference.unique) || (acyclic && !reference.acyclic))
    narrower(table, `"${column}" accepts less now`);
  if (onDelete !== reference.onDelete)
    for (const one of new Set([table, target.table]))
      narrower(one, `rows of ${table} go with their "${column}" by another rule now`);
}

/** Only what the tables hold to be unique is. A row without a value of an unknown member collides with none. */
function serveIndexes({ narrower, revise }: Serving, { type, before: now, indexes }: TypePair): void {
  const { kept, added, dropped } = indexes;
  if (added.length > 0) revise(type, { indexes: kept.map(({ after }) => after) });
  for (const { unique, members } of dropped) {
    const columns = columnsBefore(now, members);
    const isMet = members.some(
      (name, at) => !memberAt(type, columns[at] ?? '') && (now.fields[name]?.default ?? null) === null,
    );
    const names = columns.flatMap((column) => memberAt(type, column)?.name ?? []);
    if (unique && !isMet) narrower(type.table, `${names.map((name) => `"${name}"`).join(', ')} must be unique now`);
  }
}
