/** Relations: their targets, inverses, cycles and deletions. */
import { didYouMean } from '../../names.ts';
import { deletionOf } from '../defaults.ts';
import { anyOf, type Finding, finding, quoted } from '../report.ts';
import type { RelationEnd, Schema, TypeDraft } from '../draft.ts';
import { label, relationKey, type SchemaCheck, type TypeCheck, type TypeFinding, unknownField } from './check.ts';
import type { RelationKind } from '../descriptor.ts';

export const checkTargets: TypeCheck = (type, schema) =>
  schema.sidesOf(type).flatMap((side) => [...checkTarget(side, schema), ...checkShown(side)]);

function checkTarget({ name, relation, target }: RelationEnd, { byName, allNamed }: Schema): readonly Finding[] {
  const path = ['relations', name, 'type'];
  if (relation.type === undefined) return [];
  if (!target) {
    const message = `no file describes the type ${quoted(relation.type)}${didYouMean(relation.type, byName.keys())}`;
    return allNamed ? [finding('unknown-type', path, 'value', message)] : [];
  }
  if (target.draft.identifier?.inRecord !== false) return [];
  return [
    finding(
      'hidden-identifier',
      path,
      'value',
      `records of ${target.name} do not show their identifier (inRecord: false), so nothing can link to them`,
    ),
  ];
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

export const checkInverses: TypeCheck = (type, schema) =>
  schema
    .sidesOf(type)
    .flatMap((side) => [...checkInverse(side, schema), ...checkPairing(side, schema), ...checkOwnColumn(side, schema)]);

function checkInverse(side: RelationEnd, schema: Schema): readonly Finding[] {
  const { type, name, relation, target } = side;
  if (relation.inverse === undefined || !target || type.name === '') return [];
  const path = ['relations', name, 'inverse'];
  const other = schema.named(side);
  if (!other) return target.complete ? [finding('unknown-inverse', path, 'value', unknownInverse(side, schema))] : [];
  const wrong = mismatch(side, other, schema);
  if (wrong) return [finding('inverse-mismatch', ['relations', name, wrong.key], 'value', wrong.message)];
  const [first = side] = schema.claimants(other);
  if (first === side || other.relation.inverse !== undefined) return [];
  return [
    finding(
      'duplicate-inverse',
      path,
      'value',
      `${label(other)} is already the inverse of ${label(first)}, and cannot be the inverse of ${type.name}.${name} too`,
    ),
  ];
}

function unknownInverse({ type, target, relation }: RelationEnd, schema: Schema): string {
  const back = target ? schema.sidesOf(target).filter((one) => one.relation.type === type.name) : [];
  const names = back.map(({ name }) => name);
  const inverse = relation.inverse ?? '';
  const candidates =
    names.length > 0
      ? `; relations from there to ${type.name}: ${anyOf(names)}`
      : `; no relation leads from there to ${type.name}`;
  return `${relation.type ?? ''} has no relation ${quoted(inverse)}${didYouMean(inverse, names) || candidates}`;
}

interface Mismatch {
  readonly key: 'inverse' | 'through';
  readonly message: string;
}

/** Why the other relation is not the other side of this one. */
function mismatch(side: RelationEnd, other: RelationEnd, schema: Schema): Mismatch | undefined {
  // If the other side leads nowhere, or names nothing, that is reported there.
  if (!other.target || (other.relation.inverse !== undefined && !schema.named(other))) return undefined;
  const wrong = otherEnd(side, other) ?? kinds(side, other);
  return wrong === undefined ? throughs(side, other) : { key: 'inverse', message: wrong };
}

function otherEnd(side: RelationEnd, other: RelationEnd): string | undefined {
  const { type, name } = side;
  const { type: target, inverse = name } = other.relation;
  if (other === side) return `${label(side)} cannot be its own inverse`;
  if (target !== type.name) return `${label(other)} leads to ${target ?? ''}, not to ${type.name}`;
  return inverse === name ? undefined : `${label(other)} names ${quoted(inverse)} as its inverse, not ${quoted(name)}`;
}

/** A fault of both sides is reported on one of them, if each names the other. */
const saidThere = (side: RelationEnd, other: RelationEnd): boolean =>
  other.relation.inverse === side.name && label(other) < label(side);

function kinds(side: RelationEnd, other: RelationEnd): string | undefined {
  const [kind, back] = [side.relation.kind, other.relation.kind];
  if (!kind || !back || pairs[kind].includes(back) || saidThere(side, other)) return undefined;
  return `${label(other)} is a ${back}; the inverse of a ${kind} is a ${pairs[kind].join(' or ')}`;
}

function throughs(side: RelationEnd, other: RelationEnd): Mismatch | undefined {
  const [here, there] = [side.relation.through, other.relation.through];
  if (here === undefined || there === undefined || here === there || saidThere(side, other)) return undefined;
  return {
    key: 'through',
    message: `${label(other)} goes through ${quoted(there)}, and this relation through ${quoted(here)}`,
  };
}

/** Two relations that look like two sides of one, though neither names the other. */
function checkPairing(side: RelationEnd, schema: Schema): readonly Finding[] {
  const { type, name, relation, target } = side;
  if (
    !target?.complete ||
    !type.complete ||
    !isAlone(side, schema) ||
    (relation.kind !== 'hasOne' && relation.kind !== 'hasMany')
  )
    return [];
  const rivals = schema
    .sidesOf(type)
    .filter((one) => one.target === target && one.relation.kind !== 'belongsTo' && isAlone(one, schema));
  const [back, ...more] = schema
    .sidesOf(target)
    .filter((one) => one.target === type && one.relation.kind === 'belongsTo' && isAlone(one, schema));
  if (!back || more.length > 0 || rivals.length > 1) return [];
  return [
    finding(
      'unpaired-relations',
      ['relations', name],
      'key',
      `if ${label(side)} and ${label(back)} are two sides of one relation, declare it ("inverse: ${back.name}" here); otherwise each has its own column`,
    ),
  ];
}

const isAlone = (side: RelationEnd, schema: Schema): boolean =>
  side.relation.inverse === undefined && !schema.inverse(side);

/** `column` belongs to the side whose table has it. */
function checkOwnColumn(side: RelationEnd, schema: Schema): readonly Finding[] {
  const { name, relation } = side;
  const other = schema.inverse(side);
  if (relation.column === undefined || other?.relation.kind !== 'belongsTo' || relation.kind === 'belongsTo') return [];
  return [
    finding(
      'misplaced-column',
      ['relations', name, 'column'],
      'key',
      `this relation uses the column of ${label(other)}; set "column" there`,
    ),
  ];
}

// Cycles of required relations: the first record could never be created.

export const checkRequiredCycles: SchemaCheck = (schema) => {
  const known = new Set<TypeDraft>();
  return schema.types.flatMap((type) => {
    const cycle = known.has(type) ? undefined : shortestCycle(type, schema);
    for (const side of cycle ?? []) known.add(side.type);
    return cycle ? [describe(cycle)] : [];
  });
};

const required = (type: TypeDraft, schema: Schema): readonly RelationEnd[] =>
  schema.sidesOf(type).filter(({ relation }) => relation.kind === 'belongsTo' && relation.required === true);

/** The shortest way from a type back to itself, breadth first. */
function shortestCycle(start: TypeDraft, schema: Schema): readonly RelationEnd[] | undefined {
  const seen = new Set<TypeDraft>();
  const ways: (readonly RelationEnd[])[] = required(start, schema).map((side) => [side]);
  for (const way of ways) {
    const target = way.at(-1)?.target;
    if (target === start) return way;
    if (!target || seen.has(target)) continue;
    seen.add(target);
    for (const side of required(target, schema)) ways.push([...way, side]);
  }
  return undefined;
}

function describe(cycle: readonly RelationEnd[]): TypeFinding {
  const [first] = cycle;
  if (!first) throw new RangeError('a cycle has at least one relation');
  const way = [...cycle.map(({ type, name }) => `${type.name}.${name}`), first.type.name].join(' -> ');
  return [
    first.type,
    finding(
      'required-cycle',
      ['relations', first.name, 'required'],
      'value',
      `required relations form a cycle, so the first record can never be created: ${way}`,
    ),
  ];
}

export const checkTrees: TypeCheck = (type, schema) =>
  schema.sidesOf(type).flatMap((side) => {
    const { name, relation, target } = side;
    if (relation.acyclic !== true || !target || target === type) return [];
    const message = `${quoted(name)} leads to ${target.name}, so no record of ${type.name} can be above itself; remove "acyclic"`;
    return [finding('needless-acyclic', ['relations', name, 'acyclic'], 'value', message)];
  });

// Deletion: whether both sides agree, and whether records can be deleted at all.

export const checkDeletion: TypeCheck = (type, schema) =>
  schema
    .sidesOf(type)
    .flatMap((side) =>
      side.relation.kind === 'belongsTo' ? [...checkOnDelete(side, schema), ...checkBlocked(side, schema)] : [],
    );

function checkOnDelete(side: RelationEnd, schema: Schema): readonly Finding[] {
  const { name, relation } = side;
  const other = schema.inverse(side);
  const path = ['relations', name, 'onDelete'];
  if (other?.relation.owned && (relation.onDelete === 'restrict' || relation.onDelete === 'setNull')) {
    return [
      finding(
        'contradictory-deletion',
        path,
        'value',
        `${other.type.name}.${other.name} owns these records, so they are deleted with their parent; ${quoted(relation.onDelete)} contradicts that`,
      ),
    ];
  }
  if (relation.onDelete !== 'setNull' || !relation.required) return [];
  return [
    finding(
      'set-null-required',
      path,
      'value',
      `${quoted(name)} is required and cannot become null; use restrict or cascade`,
    ),
  ];
}

function checkBlocked(side: RelationEnd, schema: Schema): readonly Finding[] {
  const { type, relation, target } = side;
  const blocks = type.operations?.size === 0 && deletionOf(relation, schema.inverse(side)?.relation) === 'restrict';
  if (!blocks || !target?.complete || !target.operations?.has('delete')) return [];
  const [path, at] = relationKey(side, 'onDelete');
  return [
    finding(
      'blocked-deletion',
      path,
      at,
      `records of ${type.name}, which has no operations, would block the deletion of records of ${target.name}; set "owned" there, or "onDelete: cascade" or "setNull" here`,
    ),
  ];
}

// Types that no request can reach.

export const checkReachability: SchemaCheck = ({ types, sides, allNamed }) => {
  // A relation with an unknown target might lead to any type.
  if (!allNamed || types.some(({ complete }) => !complete) || sides.some(({ target }) => !target)) return [];
  const reached = new Set(sides.filter(({ type, target }) => type !== target).map(({ target }) => target));
  return types
    .filter((type) => type.operations?.size === 0 && !reached.has(type))
    .map((type) => [
      type,
      finding(
        'unreachable-type',
        ['type'],
        'value',
        `${type.name} has no operations, and no other type has a relation to it, so no request can reach it`,
      ),
    ]);
};
