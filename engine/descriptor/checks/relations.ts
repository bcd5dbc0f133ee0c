/** Relations: their targets, inverses, cycles and deletions. */
import { didYouMean } from '../../names.ts';
import { deletionOf, type RelationKind, sideName } from '../descriptor.ts';
import { anyOf, finding, quoted } from '../report.ts';
import type { RelationEnd, Schema, TypeDraft } from '../draft.ts';
import { type Findings, relationKey, type SchemaCheck, type TypeCheck, unknownField } from './check.ts';

export const checkRelations: TypeCheck = function* (type, schema) {
  for (const side of schema.sidesOf(type)) {
    yield* checkTarget(side, schema);
    yield* checkInverse(side, schema);
    yield* checkPairing(side, schema);
    if (side.relation.kind === 'belongsTo') yield* checkDeletion(side, schema);
  }
};

function* checkTarget(side: RelationEnd, schema: Schema): Findings {
  const { type, name, relation, target } = side;
  const path = ['relations', name];
  if (!target) {
    if (relation.type === undefined || !schema.allNamed) return;
    const known = didYouMean(relation.type, schema.byName.keys());
    yield finding('unknown-type', [...path, 'type'], `no file describes the type ${quoted(relation.type)}${known}`);
    return;
  }
  if (target.draft.identifier?.inRecord === false) {
    const message = `records of ${target.name} do not show their identifier (inRecord: false), so nothing can link to them`;
    yield finding('hidden-identifier', [...path, 'type'], message);
  }
  const known = [...target.fields.keys(), target.identifier];
  for (const [index, field] of (relation.fields ?? []).entries())
    yield* unknownField(target, field, known, [...path, 'fields', index]);
  if (relation.acyclic === true && target !== type) {
    const message = `${quoted(name)} leads to ${target.name}, so no record of ${type.name} can be above itself; remove "acyclic"`;
    yield finding('needless-acyclic', [...path, 'acyclic'], message);
  }
  const other = schema.inverse(side);
  if (relation.column !== undefined && other?.relation.kind === 'belongsTo' && relation.kind !== 'belongsTo') {
    const message = `this relation uses the column of ${sideName(other)}; set "column" there`;
    yield finding('misplaced-column', [...path, 'column'], message, 'key');
  }
}

const pairs: Readonly<Record<RelationKind, readonly RelationKind[]>> = {
  belongsTo: ['hasOne', 'hasMany'],
  hasOne: ['belongsTo'],
  hasMany: ['belongsTo'],
  manyToMany: ['manyToMany'],
};

function* checkInverse(side: RelationEnd, schema: Schema): Findings {
  const { type, name, relation, target } = side;
  if (relation.inverse === undefined || !target || type.name === '') return;
  const path = ['relations', name, 'inverse'];
  const other = schema.named(side);
  if (!other) {
    if (target.isRead && !target.hidden.has(relation.inverse))
      yield finding('unknown-inverse', path, unknownInverse(type, target, relation.inverse, schema));
    return;
  }
  const [key, why] = mismatch(side, other, schema) ?? [];
  const [first = side] = schema.claimants(other);
  if (key !== undefined && why !== undefined) yield finding('inverse-mismatch', ['relations', name, key], why);
  else if (first !== side && other.relation.inverse === undefined) {
    const message = `${sideName(other)} is already the inverse of ${sideName(first)}, and cannot be the inverse of ${sideName(side)} too`;
    yield finding('duplicate-inverse', path, message);
  }
}

function unknownInverse(type: TypeDraft, target: TypeDraft, inverse: string, schema: Schema): string {
  const back = schema.sidesOf(target).filter(({ relation }) => relation.type === type.name);
  const names = back.map(({ name }) => name);
  const candidates =
    names.length > 0
      ? `relations from there to ${type.name}: ${anyOf(names)}`
      : `no relation leads from there to ${type.name}`;
  return `${target.name} has no relation ${quoted(inverse)}${didYouMean(inverse, names) || `; ${candidates}`}`;
}

/** Why two relations are not inverses. Reports a fault of both sides on one of them. */
function mismatch(
  side: RelationEnd,
  other: RelationEnd,
  schema: Schema,
): readonly [key: string, why: string] | undefined {
  const { type, name } = side;
  const { type: target, inverse, kind: back, through: there } = other.relation;
  // The check of the other side reports its own faults.
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

/** Whether all relations of the type are known. */
const isClear = ({ isRead, hidden }: TypeDraft): boolean => isRead && hidden.size === 0;

/** Two relations that look like inverses, though neither names the other. */
function* checkPairing(side: RelationEnd, schema: Schema): Findings {
  const { type, name, relation, target } = side;
  const isAlone = (one: RelationEnd): boolean => one.relation.inverse === undefined && !schema.inverse(one);
  const isParent = relation.kind === 'hasOne' || relation.kind === 'hasMany';
  if (!isParent || !target || !isClear(target) || !isClear(type) || !isAlone(side)) return;
  const alone = (from: TypeDraft, to: TypeDraft) =>
    schema.sidesOf(from).filter((one) => one.target === to && isAlone(one));
  const rivals = alone(type, target).filter((one) => one.relation.kind !== 'belongsTo');
  const [back, ...more] = alone(target, type).filter((one) => one.relation.kind === 'belongsTo');
  if (!back || more.length > 0 || rivals.length > 1) return;
  const message = `if ${sideName(side)} and ${sideName(back)} are two sides of one relation, declare it ("inverse: ${back.name}" here); otherwise each has its own column`;
  yield finding('unpaired-relations', ['relations', name], message, 'key');
}

/** Whether both sides agree on deletion, and whether records can be deleted at all. */
function* checkDeletion(side: RelationEnd, schema: Schema): Findings {
  const { type, name, relation, target } = side;
  const { onDelete, required: isRequired } = relation;
  const other = schema.inverse(side);
  const rulePath = ['relations', name, 'onDelete'];
  if (other?.relation.owned && (onDelete === 'restrict' || onDelete === 'setNull')) {
    const message = `${sideName(other)} owns these records, so they are deleted with their parent; ${quoted(onDelete)} contradicts that`;
    yield finding('contradictory-deletion', rulePath, message);
  } else if (onDelete === 'setNull' && isRequired)
    yield finding(
      'set-null-required',
      rulePath,
      `${quoted(name)} is required and cannot become null; use restrict or cascade`,
    );
  // Records that another type owns are removed through their owner.
  const isPart = schema.sides.some((one) => one.target === type && one.relation.owned === true);
  const blocks = type.operations?.size === 0 && !isPart && deletionOf(relation, other?.relation) === 'restrict';
  if (!blocks || !target || !isClear(target) || !target.operations?.has('delete')) return;
  const { path, at } = relationKey(side, 'onDelete');
  const message = `records of ${type.name}, which has no operations, would block the deletion of records of ${target.name}; set "owned" there, or "onDelete: cascade" or "setNull" here`;
  yield finding('blocked-deletion', path, message, at);
}

/** Cycles of required relations: the first record could never be created. */
export const checkRequiredCycles: SchemaCheck = function* (schema) {
  const known = new Set<TypeDraft>();
  for (const type of schema.types) {
    const cycle = known.has(type) ? [] : shortestCycle(type, schema);
    for (const side of cycle) known.add(side.type);
    const [first] = cycle;
    if (!first) continue;
    const way = [...cycle.map(sideName), first.type.name].join(' -> ');
    const message = `required relations form a cycle, so the first record can never be created: ${way}`;
    yield [first.type, finding('required-cycle', ['relations', first.name, 'required'], message)];
  }
};

const required = (type: TypeDraft, schema: Schema): readonly RelationEnd[] =>
  schema.sidesOf(type).filter(({ relation }) => relation.kind === 'belongsTo' && relation.required === true);

/** The shortest path from a type to itself; empty if there is none. */
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

/** Reports types that no request can reach. */
export const checkReachability: SchemaCheck = function* ({ types, sides, allNamed }) {
  // A relation with an unknown target could refer to any type.
  if (!allNamed || !types.every(isClear) || sides.some(({ target }) => !target)) return;
  const reached = new Set(sides.filter(({ type, target }) => type !== target).map(({ target }) => target));
  for (const type of types) {
    if (type.operations?.size !== 0 || reached.has(type)) continue;
    const message = `${type.name} has no operations, and no other type has a relation to it, so no request can reach it`;
    yield [type, finding('unreachable-type', ['type'], message)];
  }
};
