/** Statements over one table, compiled when they are first wanted and kept. */
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
  /** Where a column stands in `load`'s rows. */
  readonly position: ReadonlyMap<string, number>;
  /** All columns, in order. Bound: identifier. */
  readonly load: Statement;
  readonly insert: Insert;
  /** The same with an identifier of the client's choice. */
  readonly insertGiven: Insert;
  /** Bound: identifier. */
  readonly remove: Statement;
  /** Bound: the columns as asked for, identifier. */
  update(columns: readonly string[]): Statement;
  /** Identifiers of the rows whose column refers to the record that is bound. */
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
  of(type: RecordType): Table;
  rows(table: JoinTable): JoinRows;
}

export function createTables(dialect: Dialect): Tables {
  return {
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
  const insert = (into: readonly string[]): Insert => {
    const { sql, bindings } = table()
      .insert(Object.fromEntries(into.map((name, index) => [name, index])))
      .toSQL()
      .toNative();
    return { statement: { sql }, columns: bindings.flatMap((index) => into[Number(index)] ?? []) };
  };
  return {
    type,
    columns,
    position: new Map([identifier, ...names].map((name, index) => [name, index])),
    load: compiled(
      table()
        .select([identifier, ...names])
        .where(identifier, 0),
    ),
    insert: insert(names),
    insertGiven: insert([identifier, ...names]),
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
    children: memoized((column: string) => compiled(table().select(identifier).where(column, 0).orderBy(identifier))),
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
    insert: { sql: `insert into ${quote(name)} (${quote(left.column)}, ${quote(right.column)}) values (?, ?)` },
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
