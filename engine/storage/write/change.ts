/**
 * The plan of a write, as a value: all changes of the tables, in the order in which `apply` makes them. A record that the
 * plan makes has no identifier yet; a `NewRow` stands for it, in the changes that refer to it, and in the result. Rows that
 * were not read, such as those of a cascade, share one change. Effects, previews, limits and the write itself read the plan.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JoinTable, RecordType } from '../../model/model.ts';
import type { Row } from '../driver.ts';

/** A record that the plan makes: the number of its insert. */
export interface NewRow {
  readonly created: number;
}

export type RowId = number | NewRow;
export type Changes = ReadonlyMap<string, SqlValue | NewRow>;

export interface RowChange {
  readonly kind: 'insert' | 'update' | 'delete';
  readonly type: RecordType;
  readonly rows: readonly RowId[];
  /** Of a new record, if the body gives it. */
  readonly identifier: number | undefined;
  /** The stored row, where it was read. */
  readonly before: Row | undefined;
  /** All columns of a new record. */
  readonly set: Changes;
  /** The place in the body that asks for the change. */
  readonly at: string;
  readonly isHidden: boolean;
}

/** A row of a join table. `lost`: its foreign key removes it with a record. */
export interface PairChange {
  readonly kind: 'add' | 'remove' | 'lost';
  readonly table: JoinTable;
  readonly left: RowId;
  readonly right: RowId;
  readonly at: string;
  readonly isHidden: boolean;
}

export interface WritePlan {
  /** Pairs are removed before the rows change, and added after. */
  readonly pairs: readonly PairChange[];
  /** Each row follows those that it refers to, or takes unique values from. */
  readonly rows: readonly RowChange[];
  /** The records that the request names, in its order. */
  readonly roots: readonly RowId[];
}

export const isNew = (value: SqlValue | NewRow): value is NewRow => typeof value === 'object' && value !== null;

export const numberOf = (row: RowId, identifiers: readonly number[]): number =>
  typeof row === 'number' ? row : (identifiers[row.created] ?? 0);

export const boundTo = (value: SqlValue | NewRow, identifiers: readonly number[]): SqlValue =>
  isNew(value) ? numberOf(value, identifiers) : value;
