/** Which cells of a list can be edited in place. */
import { can, isChosen, type TypeInfo } from '../data/model.ts';
import type { Member } from '../fields/member-value.tsx';
import { isWide } from '../presentations/choose.ts';
import { isWritable } from '../presentations/field-draft.ts';
import type { ColumnInfo } from './columns.ts';

/** Undefined: it cannot be edited in a cell. */
export function targetOf(type: TypeInfo, column: ColumnInfo): Member | undefined {
  const { name, title } = column;
  if (!can(type, 'update') || !can(type, 'get') || !type.identifier.inRecord) return undefined;
  if (column.kind === 'field') {
    const { field } = column;
    return isWritable(field) && isChosen(field, 'update') && !isWide(field) ? { name, title, field } : undefined;
  }
  if (column.kind === 'identifier') return undefined;
  const { relation } = column;
  return isChosen(relation, 'update') && relation.kind === 'belongsTo' ? { name, title, relation } : undefined;
}

/** Where the next cell is, in rows and columns. */
export type Step = readonly [rows: -1 | 0 | 1, columns: -1 | 0 | 1];
