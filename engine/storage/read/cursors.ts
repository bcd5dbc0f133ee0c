/** A cursor is a condition: the record comes after (or before) it in an order with nulls and directions. */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { ListQuery } from '../../query/list-query.ts';
import { all, any, type PathSql, type SqlCondition } from './conditions.ts';

interface Key {
  readonly path: PathSql;
  /** The direction of reading: reversed for `before`. */
  readonly descending: boolean;
  /** The bound value of the cursor; null if the record had none. */
  readonly operand: SqlValue;
}

/** Beyond in the first key, or equal and beyond in the second, etc. `behind`: the cursor's record and its other side. A cursor with few values includes what has these. */
export function cursorCondition({ order, cursor }: ListQuery, paths: readonly PathSql[], behind = false): SqlCondition {
  if (!cursor) return { sql: '', values: [] };
  const backwards = (cursor.direction === 'before') !== behind;
  const keys = paths.slice(0, cursor.values.length).map((path, index): Key => {
    const value = cursor.values[index] ?? null;
    const descending = (order[index]?.descending ?? false) !== backwards;
    return { path, descending, operand: value === null ? null : path.operand(value) };
  });
  const alternatives = keys.flatMap((key, index) => {
    const step = strictlyBeyond(key);
    return step ? [all([...keys.slice(0, index).map(equal), step])] : [];
  });
  if (behind || cursor.record) alternatives.push(all(keys.map(equal)));
  const [first] = keys;
  // The ORs would cause a scan; this bound lets an index of the first key start at the cursor.
  const bound = first && keys.length > 1 ? notBefore(first) : undefined;
  return bound ? all([bound, any(alternatives)]) : any(alternatives);
}

const equal = ({ path: { comparable }, operand }: Key): SqlCondition =>
  operand === null ? { sql: `${comparable} is null`, values: [] } : { sql: `${comparable} = ?`, values: [operand] };

/** Nulls come first in ascending order, last in descending order; undefined if no value can lie beyond. */
function strictlyBeyond({ path: { comparable, nullable }, descending, operand }: Key): SqlCondition | undefined {
  if (operand === null) return descending ? undefined : { sql: `${comparable} is not null`, values: [] };
  if (!descending) return { sql: `${comparable} > ?`, values: [operand] };
  return { sql: nullable ? `(${comparable} < ? or ${comparable} is null)` : `${comparable} < ?`, values: [operand] };
}

function notBefore({ path: { comparable, nullable }, descending, operand }: Key): SqlCondition | undefined {
  if (operand === null || (descending && nullable)) return undefined;
  return { sql: `${comparable} ${descending ? '<=' : '>='} ?`, values: [operand] };
}
