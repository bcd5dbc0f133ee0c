/** The model that an instance serves over tables of newer descriptors, without writes where these accept less. */
import { isDeepStrictEqual } from 'node:util';
import { widens } from '../../field-types/field-type.ts';
import { fieldsOf } from '../../model/checks.ts';
import type { Field, Model, RecordType, Reference } from '../../model/model.ts';
import { revised } from '../../model/resolve.ts';
import { sidesOf } from '../tables.ts';
import { type AppliedModel, type AppliedReference, identifierNameOf } from './applied.ts';
import {
  columnsBefore,
  compare,
  isLimiting,
  isNeeded,
  memberAt,
  type NamedField,
  type TypePair,
  unnamedField,
} from './diff.ts';

export function servedModel(model: Model, found: AppliedModel) {
  const incompatible: { readonly table: string; readonly reason: string; readonly isReadable: boolean }[] = [];
  const revisions = new Map<object, object>();
  const unusable = (table: string, reason: string): void =>
    void incompatible.push({ table, reason, isReadable: false });
  const narrower = (table: string, reason: string): void => void incompatible.push({ table, reason, isReadable: true });
  const revise = (part: object, revision: object): void =>
    void revisions.set(part, { ...revisions.get(part), ...revision });
  const tableOf = (type: string): string | undefined => found.types[type]?.table;

  function serveType(pair: TypePair): void {
    const { type, before: now, checks } = pair;
    const { table, identifier } = type;
    const { type: keyType = identifier.type.name, constraints = {} } = now.key ?? { type: 'integer' };
    if (now.identifier !== identifier.column) unusable(table, `it has no column "${identifier.column}"`);
    else if (keyType !== identifier.type.name) unusable(table, `its identifier is of type ${keyType} now`);
    else if (!widens(identifier.type, identifier, { constraints, examples: [] }))
      narrower(table, 'its identifier accepts less now');
    if (type.open && !now.open) unusable(table, 'it is closed to unknown keys');
    const names = [
      [type.identifier.name, identifierNameOf(now)] as const,
      ...pair.fields.kept.map(({ after, before }) => [after.name, before.name] as const),
      ...pair.references.kept.map(({ after, before }) => [after.relation?.name, before.belongsTo] as const),
    ];
    // An open type would store the other version's name as an open key.
    for (const [own, other] of type.open ? names : [])
      if (own !== undefined && other !== null && own !== other)
        unusable(table, `"${own}" is called "${other}" now, and it is open to keys of either name`);
    if (type.history && now.history === undefined) revise(type, { history: false });
    serveFields(pair);
    serveReferences(pair);
    serveIndexes(pair);
    // Newer instances enforce checks of fields that this instance does not know.
    const isKnown = (name: string): boolean => memberAt(type, columnsBefore(now, [name])[0] ?? '') !== undefined;
    if (checks.dropped.some((rule) => [...fieldsOf(rule)].every(isKnown)))
      narrower(table, 'it has a check that these descriptors do not name');
  }

  function serveFields({ type, fields: { kept, added, dropped } }: TypePair): void {
    const { table } = type;
    for (const { column } of added) unusable(table, `it has no column "${column}"`);
    for (const { after: field, before: now } of kept)
      if (now.type !== field.type.name) unusable(table, `"${field.name}" is of type ${now.type} now`);
      else if (field.caseless && now.folded === undefined) unusable(table, `case counts in "${field.name}" now`);
      else serveField(table, field, now);
    if (type.open) return adopt(type, dropped, model, revise);
    for (const field of dropped) if (isNeeded(field)) narrower(table, needed(field.name));
    // Fill in generated fields, though these descriptors do not name them.
    const filled = dropped.filter(({ generated, isNowByDefault }) => generated !== undefined || isNowByDefault);
    if (filled.length > 0) revise(type, { hidden: filled.map(unnamedField) });
  }

  function serveField(table: string, field: Field, { generated, folded, constraints, ...now }: NamedField): void {
    const nullable = field.nullable || now.nullable;
    if (generated !== field.generated || folded !== field.folded || nullable !== field.nullable)
      revise(field, { generated, folded, nullable });
    if (!widens(field.type, field, { constraints, examples: [] }) || (field.nullable && !now.nullable))
      narrower(table, `"${field.name}" accepts less now`);
  }

  function serveReferences({ type: { table }, references: { kept, added, dropped } }: TypePair): void {
    const elsewhere = kept.filter(({ after, before }) => tableOf(before.target) !== after.target.table);
    for (const { column, target } of [...added, ...elsewhere.map(({ after }) => after)])
      unusable(table, `its column "${column}" does not refer to ${target.table}`);
    for (const { after, before } of kept) serveReference(table, after, before);
    for (const { column, required } of dropped) if (required) narrower(table, needed(column));
  }

  function serveReference(table: string, reference: Reference, now: AppliedReference): void {
    const { column, target, relation } = reference;
    const { required, unique, onDelete, acyclic = false } = now;
    if (reference.unique && !unique) unusable(table, `several rows can share "${column}" now`);
    if (reference.required && !required) for (const part of [reference, relation]) if (part) revise(part, { required });
    if ((required && !reference.required) || (unique && !reference.unique) || (acyclic && !reference.acyclic))
      narrower(table, `"${column}" accepts less now`);
    if (onDelete !== reference.onDelete)
      for (const one of new Set([table, target.table]))
        narrower(one, `rows of ${table} go with their "${column}" by another rule now`);
  }

  function serveIndexes({ type, before: now, indexes: { kept, added, dropped } }: TypePair): void {
    if (added.length > 0) revise(type, { indexes: kept.map(({ after }) => after) });
    for (const index of dropped.filter((one) => isLimiting(type, now, one))) {
      const names = columnsBefore(now, index.members).flatMap((column) => memberAt(type, column)?.name ?? []);
      narrower(type.table, `${names.map((name) => `"${name}"`).join(', ')} must be unique now`);
    }
  }

  const { types, added, joins } = compare(found, model);
  for (const { table } of added) unusable(table, 'there is no such table');
  for (const pair of types) serveType(pair);
  for (const { after, before } of joins.kept) {
    const sides = [before.left, before.right].map(({ column, type }) => [column, tableOf(type)]);
    const own = sidesOf(after).map(({ column, type }) => [column, type.table]);
    if (!isDeepStrictEqual(sides, own)) unusable(after.name, 'it connects other tables');
  }
  for (const { name } of joins.added) unusable(name, 'there is no such table');
  return { model: revisions.size > 0 ? revised(model, revisions) : model, incompatible };
}

/** Adds newer fields to an open type, whose clients know them as open keys. */
function adopt(
  type: RecordType,
  all: readonly NamedField[],
  model: Model,
  revise: (part: object, revision: object) => void,
): void {
  const fields = all.filter(({ name }) => !type.fields.has(name) && !type.relations.has(name)).map(unnamedField);
  if (fields.length === 0) return;
  revise(type, { fields: new Map([...type.fields, ...fields.map((field) => [field.name, field] as const)]) });
  for (const variant of type.variants.values()) revise(variant, { fields: [...variant.fields, ...fields] });
  for (const { relations } of model.types.values())
    for (const relation of relations.values())
      if (relation.target === type && relation.fields.length === type.fields.size)
        revise(relation, { fields: [...relation.fields, ...fields] });
}

const needed = (name: string): string =>
  `every new record needs a value of "${name}", which these descriptors do not name`;
