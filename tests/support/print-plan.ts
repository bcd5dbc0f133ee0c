/** Prints the plan of a write, a line for each change. */
import type { WritePlan } from '../../engine/storage/write/plan.ts';
import { type Node, isNode } from '../../engine/storage/write/session.ts';
import type { SqlValue } from '../../engine/field-types/field-type.ts';
import { newValues } from '../../engine/storage/write/plan.ts';

export function printPlan(plan: WritePlan): string {
  const made: Node[] = plan.steps.flatMap(({ node }) => (node.stored ? [] : node));
  const idOf = (value: SqlValue | Node): string =>
    isNode(value) ? (value.stored ? String(value.identifier) : `#${made.indexOf(value) + 1}`) : String(value);
  const shown = (value: SqlValue | Node): string =>
    isNode(value) || typeof value !== 'string' ? idOf(value) : JSON.stringify(value);
  const set = (values: readonly (readonly [string, SqlValue | Node])[]): string =>
    values.map(([column, value]) => ` ${column}=${shown(value)}`).join('');
  const lines: string[] = [];
  for (const { table, left, right } of plan.unpairs) lines.push(`unpair ${table.name} ${idOf(left)} ${idOf(right)}`);
  for (const { type, reference, identifiers } of plan.unlinks)
    lines.push(`update ${type.name} ${identifiers.join(',')} ${reference.column}=null`);
  for (const { node, changes } of plan.cuts)
    lines.push(`update ${node.type.name} ${node.identifier}${set(changes)} at ${node.pointer}`);
  for (const { levels } of plan.cascade?.trees ?? [])
    for (const { type, identifiers } of levels.toReversed()) lines.push(`delete ${type.name} ${identifiers.join(',')}`);
  for (const { node, changes } of plan.steps)
    if (node.stored) lines.push(`update ${node.type.name} ${node.identifier}${set(changes)} at ${node.pointer}`);
    else {
      const values = node.table.names.flatMap((name) => {
        const given = node.assigned.get(name)?.value ?? newValues(node, [name])[0] ?? null;
        return given === null ? [] : [[name, given] as const];
      });
      const known = node.identifier === undefined ? '' : ` (${node.identifier})`;
      lines.push(`insert #${made.indexOf(node) + 1} ${node.type.name}${known}${set(values)} at ${node.pointer}`);
    }
  for (const { table, left, right } of plan.pairs) lines.push(`pair ${table.name} ${idOf(left)} ${idOf(right)}`);
  return lines.join('\n');
}
