/** Cursor -> the condition that a record stands after it (or before it) in an order with nulls and directions. */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { PathSql } from './paths.ts';

export interface Key {
  readonly path: PathSql;
  /** In the direction of reading: turned round for `before`. */
  readonly descending: boolean;
  /** The cursor's value as it is bound; null where the record had none. */
  readonly operand: SqlValue;
}

export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Beyond in the first key, or equal there and beyond in the second, and so on; `inclusive`: or equal in all of them. */
export function beyond(keys: readonly Key[], inclusive = false): Condition {
  const alternatives = keys.flatMap((key, index) => {
    const step = strictlyBeyond(key);
    return step ? [all([...keys.slice(0, index).map(equal), step])] : [];
  });
  if (inclusive) alternatives.push(all(keys.map(equal)));
  const [first] = keys;
  // The chain of ORs alone would scan; the bound of the first key lets its index start at the right place.
  const bound = first && keys.length > 1 ? notBefore(first) : undefined;
  const chain = any(alternatives);
  return bound ? all([bound, chain]) : chain;
}

const all = (conditions: readonly Condition[]): Condition => joined(conditions, ' and ');
const any = (conditions: readonly Condition[]): Condition =>
  conditions.length === 0 ? { sql: '1 = 0', values: [] } : joined(conditions, ' or ');

const joined = (conditions: readonly Condition[], word: string): Condition => ({
  sql: conditions.length === 1 ? (conditions[0]?.sql ?? '') : `(${conditions.map(({ sql }) => sql).join(word)})`,
  values: conditions.flatMap(({ values }) => values),
});

function equal({ path, operand }: Key): Condition {
  return operand === null
    ? { sql: `${path.comparable} is null`, values: [] }
    : { sql: `${path.comparable} = ?`, values: [operand] };
}

/** Null stands before every value ascending, after it descending; undefined where nothing stands beyond. */
function strictlyBeyond({ path, descending, operand }: Key): Condition | undefined {
  const { comparable, nullable } = path;
  if (operand === null) return descending ? undefined : { sql: `${comparable} is not null`, values: [] };
  if (!descending) return { sql: `${comparable} > ?`, values: [operand] };
  return { sql: nullable ? `(${comparable} < ? or ${comparable} is null)` : `${comparable} < ?`, values: [operand] };
}

function notBefore({ path, descending, operand }: Key): Condition | undefined {
  if (operand === null || (descending && path.nullable)) return undefined;
  return { sql: `${path.comparable} ${descending ? '<=' : '>='} ?`, values: [operand] };
}
