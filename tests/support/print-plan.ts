/** Prints the plan of a write, a line for each change. */
import type { SqlValue } from '../../engine/field-types/field-type.ts';
import { type Changes, isNew, type NewRow, type RowId, type WritePlan } from '../../engine/storage/write/plan.ts';

const textOf = (value: SqlValue | NewRow): string => (isNew(value) ? `#${value.created + 1}` : JSON.stringify(value));

const setBy = (set: Changes, isInsert: boolean): string =>
  [...set].flatMap(([column, value]) => (isInsert && value === null ? [] : ` ${column}=${textOf(value)}`)).join('');

const rowsIn = (rows: readonly RowId[]): string => rows.map(textOf).join(',');

const PAIRS = { remove: 'unpair', lost: 'lose pair', add: 'pair' } as const;

export function printPlan({ rows, pairs }: WritePlan): string {
  const pairLines = (isAdded: boolean): readonly string[] =>
    pairs
      .filter(({ kind }) => (kind === 'add') === isAdded)
      .map(({ kind, table, left, right }) => `${PAIRS[kind]} ${table.name} ${textOf(left)} ${textOf(right)}`);
  const rowLines = rows.map(({ kind, type, rows: changed, identifier, set, before, at }) => {
    const known = kind === 'insert' && identifier !== undefined ? ` (${identifier})` : '';
    const place = kind === 'insert' || before ? ` at ${at}` : '';
    return `${kind} ${kind === 'insert' ? `${rowsIn(changed)} ${type.name}` : `${type.name} ${rowsIn(changed)}`}${known}${setBy(set, kind === 'insert')}${place}`;
  });
  return [...pairLines(false), ...rowLines, ...pairLines(true)].join('\n');
}
