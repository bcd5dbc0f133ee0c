/** What happens to related records when one is deleted: whether both sides say the same, and nobody is stuck. */
import { finding, type Finding, quoted } from '../finding.ts';
import type { Schema, Side } from '../schema.ts';
import type { Check } from './check.ts';

export const checkDeletion: Check = (type, schema) =>
  schema
    .sidesOf(type)
    .flatMap((side) =>
      side.relation.kind === 'belongsTo' ? [...checkOnDelete(side, schema), ...checkBlocked(side, schema)] : [],
    );

function checkOnDelete(side: Side, schema: Schema): readonly Finding[] {
  const { name, relation } = side;
  const other = schema.inverse(side);
  const path = ['relations', name, 'onDelete'];
  if (other?.relation.owned && (relation.onDelete === 'restrict' || relation.onDelete === 'setNull')) {
    return [
      finding(
        'contradictory-deletion',
        path,
        'value',
        `${other.type.name}.${other.name} owns these records, so that they are deleted with their parent; ${quoted(relation.onDelete)} says otherwise`,
      ),
    ];
  }
  if (relation.onDelete !== 'setNull' || !relation.required) return [];
  return [
    finding(
      'set-null-required',
      path,
      'value',
      `${quoted(name)} is required, and cannot be set to null; take restrict or cascade`,
    ),
  ];
}

function checkBlocked(side: Side, schema: Schema): readonly Finding[] {
  const { type, name, relation, target } = side;
  const stays = type.operations?.size === 0 && (relation.onDelete ?? 'restrict') === 'restrict';
  if (!stays || !target?.complete || !target.operations?.has('delete') || schema.inverse(side)?.relation.owned)
    return [];
  const [path, at] =
    relation.onDelete === undefined
      ? [['relations', name], 'key' as const]
      : [['relations', name, 'onDelete'], 'value' as const];
  return [
    finding(
      'blocked-deletion',
      path,
      at,
      `records of ${type.name}, which has no operations, would block the deletion of records of ${target.name}; "owned" there, or "onDelete: cascade" or "setNull" here, avoids it`,
    ),
  ];
}
