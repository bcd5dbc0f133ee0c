/** Relations: their targets, inverses, cycles and deletions. */
import { didYouMean } from '../../names.ts';
import { deletionOf, type RelationKind, sideName } from '../descriptor.ts';
import { anyOf, type Finding, finding, quoted } from '../report.ts';
import type { RelationEnd, Schema, TypeDraft } from '../draft.ts';
import { relationKey, type SchemaCheck, type TypeCheck, type TypeFinding, unknownField } from './check.ts';

export const checkRelations: TypeCheck = (type, schema) =>
  schema
    .sidesOf(type)
    .flatMap((side) => [
      ...checkTarget(side, schema),
      ...checkShown(side),
      ...checkInverse(side, schema),
      ...checkPairing(side, schema),
      ...checkOwnColumn(side, schema),
      ...checkTree(side),
      ...(side.relation.kind === 'belongsTo' ? [...checkOnDelete(side, schema), ...checkBlocked(side, schema)] : []),
    ]);

function checkTarget({ name, relation, target }: RelationEnd, { byName, allNamed }: Schema): readonly Finding[] {
  const path = ['relations', name, 'type'];
  if (relation.type === undefined) return [];
  if (!target) {
    const message = `no file describes the type ${quoted(relation.type)}${didYouMean(relation.type, byName.keys())}`;
    return allNamed ? [finding('unknown-type', path, message)] : [];
  }
  if (target.draft.identifier?.inRecord !== false) return [];
  const message = `records of ${target.name} do not show their identifier (inRecord: false), so nothing can link to them`;
  return [finding('hidden-identifier', path, message)];
}

function checkShown({ name, relation, target }: RelationEnd): readonly Finding[] {
  if (!target) return [];
  const known = [...target.fields.keys(), target.identifier];
  return (relation.fields ?? []).flatMap((field, index) =>
    unknownField(target, field, known, ['relations', name, 'fields', index]),
  );
}

// Whether two sides of a relation agree with each other.

const pairs: Readonly<Record<RelationKind, readonly RelationKind[]>> = {
  belongsTo: ['hasOne', 'hasMany'],
  hasOne: ['belongsTo'],
  hasMany: ['belongsTo'],
  manyToMany: ['manyToMany'],
};

function checkInverse(side: RelationEnd, schema: Schema): readonly Finding[] {
  const { type, name, relation, target } = side;
  if (relation.inverse === undefined || !target || type.name === '') return [];
  const path = ['relations', name, 'inverse'];
  const other = schema.named(side);
  if (!other) return target.complete ? [finding('unknown-inverse', path, unknownInverse(side, schema))] : [];
  const wrong = mismatch(side, other, schema);
  if (wrong) return [finding('inverse-mismatch', ['relations', name, wrong[0]], wrong[1])];
  const [first = side] = schema.claimants(other);
  if (first === side || other.relation.inverse !== undefined) return [];
  const message = `${sideName(other)} is already the inverse of ${sideName(first)}, and cannot be the inverse of ${sideName(side)} too`;
  return [finding('duplicate-inverse', path, message)];
}

function unknownInverse({ type, target, relation }: RelationEnd, schema: Schema): string {
  const { type: there = '', inverse = '' } = relation;
  const back = target ? schema.sidesOf(target).filter((one) => one.relation.type === type.name) : [];
  const names = back.map(({ name }) => name);
  const candidates =
    names.length > 0
      ? `relations from there to ${type.name}: ${anyOf(names)}`
      : `no relation leads from there to ${type.name}`;
  return `${there} has no relation ${quoted(inverse)}${didYouMean(inverse, names) || `; ${candidates}`}`;
}

/** Why the other relation is not the other side of this one. A fault of both sides is reported on one of them. */
function mismatch(
  side: RelationEnd,
  other: RelationEnd,
  schema: Schema,
): readonly [key: string, why: string] | undefined {
  const { type, name } = side;
  const { type: target, inverse, kind: back, through: there } = other.relation;
  // If the other side leads nowhere, or names nothing, that is reported there.
  if (!other.target || (inverse !== undefined && !schema.named(other))) return undefined;
  if (other === side) return ['inverse', `${sideName(side)} cannot be its own inverse`];
  if (target !== type.name) return ['inverse', `${sideName(other)} leads to ${target ?? ''}, not to ${type.name}`];
  if (inverse !== undefined && inverse !== name)
    return ['inverse', `${sideName(other)} names ${quoted(inverse)} as its inverse, not ${quoted(name)}`];
  if (inverse === name && sideName(other) < sideName(side)) return undefined;
  const { kind, through: here } = side.relation;
  if (kind && back && !pairs[kind].includes(back))
    return ['inverse', `${sideName(other)} is a ${back}; the inverse of a ${kind} is a ${pairs[kind].join(' or ')}`];
  if (here === undefined || there === undefined || here === there) return undefined;
  return ['through', `${sideName(other)} goes through ${quoted(there)}, and this relation through ${quoted(here)}`];
}

/** Two relations that look like two sides of one, though neither names the other. */
function checkPairing(side: RelationEnd, schema: Schema): readonly Finding[] {
  const { type, name, relation, target } = side;
  const isChildless = relation.kind !== 'hasOne' && relation.kind !== 'hasMany';
  if (isChildless || !target?.complete || !type.complete || !isAlone(side, schema)) return [];
  const alone = (from: TypeDraft, to: TypeDraft) =>
    schema.sidesOf(from).filter((one) => one.target === to && isAlone(one, schema));
  const rivals = alone(type, target).filter((one) => one.relation.kind !== 'belongsTo');
  const [back, ...more] = alone(target, type).filter((one) => one.relation.kind === 'belongsTo');
  if (!back || more.length > 0 || rivals.length > 1) return [];
  const message = `if ${sideName(side)} and ${sideName(back)} are two sides of one relation, declare it ("inverse: ${back.name}" here); otherwise each has its own column`;
  return [finding('unpaired-relations', ['relations', name], message, 'key')];
}

const isAlone = (side: RelationEnd, schema: Schema): boolean =>
  side.relation.inverse === undefined && !schema.inverse(side);

/** `column` belongs to the side whose table has it. */
function checkOwnColumn(side: RelationEnd, schema: Schema): readonly Finding[] {
  const { name, relation } = side;
  const other = schema.inverse(side);
  if (relation.column === undefined || other?.relation.kind !== 'belongsTo' || relation.kind === 'belongsTo') return [];
  const message = `this relation uses the column of ${sideName(other)}; set "column" there`;
  return [finding('misplaced-column', ['relations', name, 'column'], message, 'key')];
}

// Cycles of required relations: the first record could never be created.

export const checkRequiredCycles: SchemaCheck = (schema) => {
  const known = new Set<TypeDraft>();
  return schema.types.flatMap((type): readonly TypeFinding[] => {
    const cycle = known.has(type) ? [] : shortestCycle(type, schema);
    for (const side of cycle) known.add(side.type);
    const [first] = cycle;
    const way = [...cycle.map(sideName), first?.type.name].join(' -> ');
    const message = `required relations form a cycle, so the first record can never be created: ${way}`;
    return first ? [[first.type, finding('required-cycle', ['relations', first.name, 'required'], message)]] : [];
  });
};

const required = (type: TypeDraft, schema: Schema): readonly RelationEnd[] =>
  schema.sidesOf(type).filter(({ relation }) => relation.kind === 'belongsTo' && relation.required === true);

/** The shortest way from a type back to itself, breadth first; empty if there is none. */
function shortestCycle(start: TypeDraft, schema: Schema): readonly RelationEnd[] {
  const seen = new Set<TypeDraft>();
  const ways: (readonly RelationEnd[])[] = required(start, schema).map((side) => [side]);
  for (const way of ways) {
    const target = way.at(-1)?.target;
    if (target === start) return way;
    if (!target || seen.has(target)) continue;
    seen.add(target);
    for (const side of required(target, schema)) ways.push([...way, side]);
  }
  return [];
}

function checkTree({ type, name, relation, target }: RelationEnd): readonly Finding[] {
  if (relation.acyclic !== true || !target || target === type) return [];
  const message = `${quoted(name)} leads to ${target.name}, so no record of ${type.name} can be above itself; remove "acyclic"`;
  return [finding('needless-acyclic', ['relations', name, 'acyclic'], message)];
}

// Deletion: whether both sides agree, and whether records can be deleted at all.

function checkOnDelete(side: RelationEnd, schema: Schema): readonly Finding[] {
  const { name, relation } = side;
  const other = schema.inverse(side);
  const path = ['relations', name, 'onDelete'];
  if (other?.relation.owned && (relation.onDelete === 'restrict' || relation.onDelete === 'setNull')) {
    const message = `${other.type.name}.${other.name} owns these records, so they are deleted with their parent; ${quoted(relation.onDelete)} contradicts that`;
    return [finding('contradictory-deletion', path, message)];
  }
  if (relation.onDelete !== 'setNull' || !relation.required) return [];
  const message = `${quoted(name)} is required and cannot become null; use restrict or cascade`;
  return [finding('set-null-required', path, message)];
}

function checkBlocked(side: RelationEnd, schema: Schema): readonly Finding[] {
  const { type, relation, target } = side;
  const blocks = type.operations?.size === 0 && deletionOf(relation, schema.inverse(side)?.relation) === 'restrict';
  if (!blocks || !target?.complete || !target.operations?.has('delete')) return [];
  const { path, at } = relationKey(side, 'onDelete');
  const message = `records of ${type.name}, which has no operations, would block the deletion of records of ${target.name}; set "owned" there, or "onDelete: cascade" or "setNull" here`;
  return [finding('blocked-deletion', path, message, at)];
}

// Types that no request can reach.

export const checkReachability: SchemaCheck = ({ types, sides, allNamed }) => {
  // A relation with an unknown target might lead to any type.
  if (!allNamed || types.some(({ complete }) => !complete) || sides.some(({ target }) => !target)) return [];
  const reached = new Set(sides.filter(({ type, target }) => type !== target).map(({ target }) => target));
  return types
    .filter((type) => type.operations?.size === 0 && !reached.has(type))
    .map((type) => {
      const message = `${type.name} has no operations, and no other type has a relation to it, so no request can reach it`;
      return [type, finding('unreachable-type', ['type'], message)];
    });
};
