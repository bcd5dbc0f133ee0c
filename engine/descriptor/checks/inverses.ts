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

interface Mismatch {
  readonly key: 'inverse' | 'through';
  readonly message: string;
}

/** Why the other relation is not the other side of this one. */
function mismatch(side: Side, other: Side, schema: Schema): Mismatch | undefined {
  // That the other one leads nowhere, or names nothing, is said there.
  if (!other.target || (other.relation.inverse !== undefined && !schema.named(other))) return undefined;
  const wrong = otherEnd(side, other) ?? kinds(side, other);
  return wrong === undefined ? throughs(side, other) : { key: 'inverse', message: wrong };
}

function otherEnd(side: Side, other: Side): string | undefined {
  const { type, name } = side;
  const { type: target, inverse = name } = other.relation;
  if (other === side) return `${label(side)} cannot be its own inverse`;
  if (target !== type.name) return `${label(other)} leads to ${target ?? ''}, not to ${type.name}`;
  return inverse === name ? undefined : `${label(other)} names ${quoted(inverse)} as its inverse, not ${quoted(name)}`;
}

/** What concerns both alike is said at one of two sides that name each other. */
const saidThere = (side: Side, other: Side): boolean =>
  other.relation.inverse === side.name && label(other) < label(side);

function kinds(side: Side, other: Side): string | undefined {
  const [kind, back] = [side.relation.kind, other.relation.kind];
  if (!kind || !back || pairs[kind].includes(back) || saidThere(side, other)) return undefined;
  return `${label(other)} is a ${back}; the inverse of a ${kind} is a ${pairs[kind].join(' or ')}`;
}

function throughs(side: Side, other: Side): Mismatch | undefined {
  const [here, there] = [side.relation.through, other.relation.through];
  if (here === undefined || there === undefined || here === there || saidThere(side, other)) return undefined;
  return {
    key: 'through',
    message: `${label(other)} goes through ${quoted(there)}, and this relation through ${quoted(here)}`,
  };
}

/** A pair that looks like two sides of one, though neither names the other. */
function checkPairing(side: Side, schema: Schema): readonly Finding[] {
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
