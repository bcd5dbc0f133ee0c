/** Relations that are two sides of one connection: whether both agree that they are. */
import { didYouMean } from '../../names.ts';
import type { RelationKind } from '../descriptor.ts';
import { anyOf, type Finding, finding, quoted } from '../finding.ts';
import type { Schema, Side } from '../schema.ts';
import type { Check } from './check.ts';

const pairs: Readonly<Record<RelationKind, readonly RelationKind[]>> = {
  belongsTo: ['hasOne', 'hasMany'],
  hasOne: ['belongsTo'],
  hasMany: ['belongsTo'],
  manyToMany: ['manyToMany'],
};

export const checkInverses: Check = (type, schema) =>
  schema
    .sidesOf(type)
    .flatMap((side) => [...checkInverse(side, schema), ...checkPairing(side, schema), ...checkOwnColumn(side, schema)]);

const label = ({ type, name }: Side): string => `${type.name}.${name}`;

function checkInverse(side: Side, schema: Schema): readonly Finding[] {
  const { type, name, relation, target } = side;
  if (relation.inverse === undefined || !target) return [];
  const path = ['relations', name, 'inverse'];
  const other = schema.named(side);
  if (!other) return target.complete ? [finding('unknown-inverse', path, 'value', unknownInverse(side, schema))] : [];
  const wrong = mismatch(side, other, schema);
  if (wrong) return [finding('inverse-mismatch', path, 'value', wrong)];
  const [first = side] = schema.claimants(other);
  if (first === side || other.relation.inverse !== undefined) return [];
  return [
    finding(
      'doubled-inverse',
      path,
      'value',
      `${label(other)} is the inverse of ${label(first)} already, and cannot be that of ${type.name}.${name} too`,
    ),
  ];
}

function unknownInverse({ type, target, relation }: Side, schema: Schema): string {
  const back = target ? schema.sidesOf(target).filter((one) => one.relation.type === type.name) : [];
  const names = back.map(({ name }) => name);
  const inverse = relation.inverse ?? '';
  const candidates =
    names.length > 0
      ? `; relations from there to ${type.name}: ${anyOf(names)}`
      : `; no relation leads from there to ${type.name}`;
  return `${relation.type ?? ''} has no relation ${quoted(inverse)}${didYouMean(inverse, names) || candidates}`;
}

/** Why the other relation is not the other side of this one; said at one of the two only. */
function mismatch(side: Side, other: Side, schema: Schema): string | undefined {
  const { type, name, relation } = side;
  const { relation: back } = other;
  const namesNothing = back.inverse !== undefined && other.target !== undefined && !schema.named(other);
  if (namesNothing || back.type === undefined) return undefined;
  if (other === side) return `${label(side)} cannot be its own inverse`;
  if (back.type !== type.name) return `${label(other)} leads to ${back.type}, not to ${type.name}`;
  if (back.inverse !== undefined && back.inverse !== name)
    return `${label(other)} names ${quoted(back.inverse)} as its inverse, not ${quoted(name)}`;
  const saidThere = back.inverse === name && label(other) < label(side);
  if (saidThere || !relation.kind || !back.kind) return undefined;
  if (!pairs[relation.kind].includes(back.kind))
    return `${label(other)} is a ${back.kind}; the inverse of a ${relation.kind} is a ${pairs[relation.kind].join(' or ')}`;
  const differ = relation.through !== undefined && back.through !== undefined && relation.through !== back.through;
  return differ
    ? `${label(other)} goes through ${quoted(back.through)}, and this relation through ${quoted(relation.through)}`
    : undefined;
}

/** A pair that looks like two sides of one, though neither names the other. */
function checkPairing(side: Side, schema: Schema): readonly Finding[] {
  const { type, name, relation, target } = side;
  if (!target || !isAlone(side, schema) || (relation.kind !== 'hasOne' && relation.kind !== 'hasMany')) return [];
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
      `if ${label(side)} and ${label(back)} are two sides of one relation, one must say so ("inverse: ${back.name}" here); now each has a column of its own`,
    ),
  ];
}

const isAlone = (side: Side, schema: Schema): boolean => side.relation.inverse === undefined && !schema.inverse(side);

/** `column` belongs to the side that has one. */
function checkOwnColumn(side: Side, schema: Schema): readonly Finding[] {
  const { name, relation } = side;
  const other = schema.inverse(side);
  if (relation.column === undefined || other?.relation.kind !== 'belongsTo' || relation.kind === 'belongsTo') return [];
  return [
    finding(
      'misplaced-column',
      ['relations', name, 'column'],
      'key',
      `the column of this relation is that of ${label(other)}: name it there`,
    ),
  ];
}
