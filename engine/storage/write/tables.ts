/** Statements over one table, compiled when they are first wanted and kept. */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Index, JoinTable, RecordType } from '../../model/model.ts';
import { type Column, columnsOf } from '../columns.ts';
import { indexed } from '../define.ts';
import type { Dialect, Statement } from '../driver.ts';

/** Records named in an answer that says who stands in the way, at most. */
export const NAMED = 10;

export interface Insert {
  readonly statement: Statement;
  /** The columns in the order in which their values are bound: Knex has an order of its own. */
  readonly columns: readonly string[];
}

export interface Table {
  readonly type: RecordType;
  /** Without the identifier. */
  readonly columns: readonly Column[];
  /** By column. */
  readonly defaults: ReadonlyMap<string, SqlValue>;
  /** Where a column stands in `load`'s rows. */
  readonly position: ReadonlyMap<string, number>;
  /** All columns, in order. Bound: identifier. */
  readonly load: Statement;
  /** The same of many, which nobody else can change, or only delete, until the write ends. Bound: JSON array of identifiers. */
  readonly lock: Statement;
  readonly keep: Statement;
  readonly insert: Insert;
  /** The same with an identifier of the client's choice. */
  readonly insertGiven: Insert;
  /** Bound: identifier. */
  readonly remove: Statement;
  /** Bound: the columns as asked for, identifier. */
  update(columns: readonly string[]): Statement;
  /** Identifiers of the rows whose column refers to the record that is bound; they stay as they are. */
  children(column: string): Statement;
  /** The identifier of a row other than the last one bound that has the same values in an index. */
  holder(index: Pick<Index, 'name' | 'members'>): Statement;
}

export interface JoinRows {
  /** Bound: left, right. */
  readonly insert: Statement;
  readonly remove: Statement;
  /** The other side's identifiers. Bound: this side's. */
  others(column: string): Statement;
}

export interface Tables {
  /** Whether rows have to be locked before they are compared. */
  readonly locks: boolean;
  of(type: RecordType): Table;
  rows(table: JoinTable): JoinRows;
}

export function createTables(dialect: Dialect): Tables {
  return {
    locks: dialect.locks,
    of: memoized((type: RecordType) => createTable(type, dialect)),
    rows: memoized((table: JoinTable) => createJoinRows(table, dialect)),
  };
}

function createTable(type: RecordType, dialect: Dialect): Table {
  const { knex } = dialect;
  const identifier = type.identifier.column;
  const columns = columnsOf(type, dialect.name);
  const names = columns.map(({ name }) => name);
  const table = (): ReturnType<typeof knex.queryBuilder> => knex.queryBuilder().from(type.table);
  const loaded = (): ReturnType<typeof knex.queryBuilder> => table().select([identifier, ...names]);
  const named = (): ReturnType<typeof knex.queryBuilder> =>
    loaded()
      .whereRaw(dialect.oneOf(dialect.quote(identifier)), ['[]'])
      .orderBy(identifier);
  const insert = (into: readonly string[]): Insert => {
    const query = table().insert(Object.fromEntries(into.map((name, index) => [name, index])));
    const { sql, bindings } = (dialect.returning ? query.returning(identifier) : query).toSQL().toNative();
    return { statement: { sql }, columns: bindings.flatMap((index) => into[Number(index)] ?? []) };
  };
  const given = ({ statement: { sql }, ...rest }: Insert): Insert => ({
    ...rest,
    statement: { sql: dialect.insertGiven(sql, type.table, identifier) },
  });
  return {
    type,
    columns,
    defaults: new Map(columns.map((column) => [column.name, column.default])),
    position: new Map([identifier, ...names].map((name, index) => [name, index])),
    load: compiled(loaded().where(identifier, 0)),
    lock: compiled(named().forUpdate()),
    keep: compiled(named().forKeyShare()),
    insert: insert(names),
    insertGiven: given(insert([identifier, ...names])),
    remove: compiled(table().where(identifier, 0).delete()),
    update: memoized(
      (changed: readonly string[]) =>
        compiled(
          table()
            .where(identifier, 0)
            .update(Object.fromEntries(changed.map((name) => [name, 0]))),
        ),
      (changed) => changed.join(','),
    ),
    children: memoized((column: string) =>
      compiled(table().select(identifier).where(column, 0).orderBy(identifier).forUpdate()),
    ),
    holder: memoized(
      ({ members }: Pick<Index, 'name' | 'members'>) => {
        const query = table().select(identifier);
        for (const member of members) query.whereRaw(`${indexed(member, dialect)} = ?`, [0]);
        return compiled(query.whereNot(identifier, 0));
      },
      ({ name }) => name,
    ),
  };
}

function createJoinRows({ name, left, right }: JoinTable, { knex, quote }: Dialect): JoinRows {
  const table = (): ReturnType<typeof knex.queryBuilder> => knex.queryBuilder().from(name);
  return {
    // Another write may have made the same pair in the meantime.
    insert: {
      sql: `insert into ${quote(name)} (${quote(left.column)}, ${quote(right.column)}) values (?, ?) on conflict do nothing`,
    },
    remove: compiled(table().where(left.column, 0).where(right.column, 0).delete()),
    others: memoized((column: string) => {
      const other = column === left.column ? right.column : left.column;
      return compiled(table().select(other).where(column, 0).orderBy(other));
    }),
  };
}

interface Compilable {
  toSQL(): { toNative(): { readonly sql: string } };
}

const compiled = (query: Compilable): Statement => ({ sql: query.toSQL().toNative().sql });

function memoized<K, V>(make: (key: K) => V, name: (key: K) => unknown = (key) => key): (key: K) => V {
  const known = new Map<unknown, V>();
  return (key) => {
    const found = known.get(name(key));
    if (found !== undefined) return found;
    const fresh = make(key);
    known.set(name(key), fresh);
    return fresh;
  };
}
