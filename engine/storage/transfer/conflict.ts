/** Which line came before the one that the database refused. */
import type { DialectName } from '../../field-types/field-type.ts';
import { escapeStep } from '../../json.ts';
import type { Field, Relation } from '../../model/model.ts';
import type { Fault } from '../../problem.ts';
import { columnType } from '../columns.ts';
import type { Reader, Values } from '../driver.ts';
import { uniqueIndexes } from '../write/conflicts.ts';
import type { Table } from '../write/tables.ts';

/** `values`: the identifier, then those of the table's columns. */
export async function conflictOf(table: Table, values: Values, dialect: DialectName, reader: Reader): Promise<Fault> {
  const { type } = table;
  const [identifier = 0] = values;
  if ((await reader.get(table.load, [identifier])) !== undefined)
    return { pointer: '/identifier', code: 'taken', message: `${type.name} ${identifier} is in the file twice` };
  const operand = (member: Field | Relation) => {
    const isField = !('link' in member);
    const column = isField ? member.column : member.link.at === 'source' ? member.link.reference.column : '';
    const value = values[table.position.get(column) ?? -1] ?? null;
    if (!isField || value === null) return value;
    const kept = columnType(member, dialect);
    return kept.operand(kept.decode(value));
  };
  for (const index of uniqueIndexes(type)) {
    const operands = index.members.map(operand);
    if (operands.includes(null)) continue;
    const holder = await reader.value(table.holder(index), [...operands, identifier]);
    if (holder === undefined) continue;
    const names = index.members.map(({ name }) => `"${name}"`).join(' and ');
    const message = `${type.name} ${String(holder)} has this value of ${names} already`;
    return { pointer: placeOf(index.members[0]), code: 'unique', message };
  }
  return { pointer: '', code: 'unique', message: `Another ${type.name} has a value already that must be unique` };
}

function placeOf(member: Field | Relation | undefined): string {
  if (member === undefined) return '';
  if (!('link' in member)) return `/fields/${escapeStep(member.name)}`;
  return member.link.at === 'source' ? `/references/${escapeStep(member.link.reference.column)}` : '';
}
