/** Statements over one table, compiled and cached at their first use. */
import { createShapeCache, memoized, perKey } from '../../memo.ts';
import { type Identifier, identifierSql } from '../../model/identifier.ts';
import { type Index, type JoinTable, type Model, type RecordType } from '../../model/model.ts';
import { type Column, columnsOf, neededOf, readSql, writtenSql, filledColumns } from '../columns.ts';
import type { Dialect, TypedColumn } from '../dialect.ts';
import type { Statement, Values } from '../driver.ts';
import { columnSql, columnTypeOf, indexed } from '../tables.ts';

export const MAX_LISTED = 10;

export const rowOf = ({ table }: RecordType, identifier: Identifier): string => `${table} ${identifier}`;

/** `key share` blocks deletion, `update` all changes and new links. With `for share`, updates might wait forever. */
export type Strength = 'key share' | 'update';

export type Tables = ReturnType<typeof createTables>;
export type WriteTable = ReturnType<typeof createTable>;

/** `served`: the model of the current tables. Requests that began before a migration have an older model. */
export function createTables(dialect: Dialect, served: () => Model) {
  const tablesOf = memoized((model: Model) =>
    memoized((type: RecordType) => {
      const now = [...model.types.values()].find(({ table }) => table === type.table);
      const fields = new Map([...(now?.fields.values() ?? []), ...(now?.hidden ?? [])].map((one) => [one.column, one]));
      return createTable(
        type,
        dialect,
        columnsOf(type, dialect.name, (field) => (fields.get(field.column) ?? field).folded),
      );
    }),
  );
  return {
    /** Whether writes must lock rows before they compare them. */
    locks: dialect.locks,
    /** Serializes writes that change ownership or acyclic links. */
    lockOwnership: dialect.lockOwnership === undefined ? undefined : { sql: dialect.lockOwnership },
    attribution: { set: dialect.log.attribute, clear: dialect.log.unattribute },
    constrained: { sql: dialect.constrained },
    checkNow: dialect.checkNow === undefined ? undefined : { sql: dialect.checkNow },
    of: (type: RecordType): WriteTable => tablesOf(served())(type),
    rows: memoized((table: JoinTable) => createJoinRows(table, dialect)),
    /** The join tables of the type, each with its column. */
    joinsOf: ({ table }: RecordType): readonly (readonly [table: JoinTable, column: string])[] =>
      served().joinTables.flatMap((join) =>
        [join.left, join.right].flatMap((side) => (side.type.table === table ? [[join, side.column] as const] : [])),
      ),
  };
}

function createTable(type: RecordType, dialect: Dialect, columns: readonly Column[]) {
  const { knex, quote, locks } = dialect;
  const { kind, column: identifier } = type.identifier;
  const sqlType = identifierSql(type.identifier, dialect.name);
  const oneOf = (column: string): string => dialect.oneOf(column, sqlType);
  const [id, table] = [quote(identifier), quote(type.table)];
  const own = [type.table];
  const reading = (sql: string): Statement => ({ sql, reads: own });
  const writing = (sql: string): Statement => ({ sql, writes: own });
  const names = columns.map(({ name }) => name);
  const texts = columns.flatMap(({ name, folds }) => (folds ? [[name, folds.column] as const] : []));
  const filled = filledColumns(columns);
  const columnOf = new Map(columns.map((column) => [column.name, column]));
  const rows = () => knex.queryBuilder().from(type.table);
  const loaded = () => {
    const read = columns.map((column) => knex.raw(readSql(column, dialect.name, quote).replaceAll('?', '\\?')));
    return rows().select([identifier, ...read]);
  };
  const locked = (query: ReturnType<typeof rows>, strength: Strength): Statement => {
    const sql = compiled(query.whereRaw(oneOf(id), ['[]']).orderBy(identifier));
    return reading(locks ? `${sql} for ${strength}` : sql);
  };
  const changed = (name: string): string =>
    writtenSql(columnOf.get(name)?.field, '?', dialect.name, `${table}.${quote(name)}`);
  const insert = (into: readonly string[]) => {
    const written = (name: string, index: number) =>
      knex.raw(writtenSql(columnOf.get(name)?.field, '?', dialect.name), [index]);
    const query = rows().insert(Object.fromEntries(into.map((name, index) => [name, written(name, index)])));
    const { sql, bindings } = (dialect.returning ? query.returning(identifier) : query).toSQL().toNative();
    const order = bindings.flatMap((index) => into[Number(index)] ?? []);
    const many = insertMany(type, columns, order, dialect);
    return { statement: writing(sql), columns: order, many: many && writing(many) };
  };
  /** Bound: the columns, identifier. */
  const update = createShapeCache((into: readonly string[]): Statement => {
    const changes = into.map((name) => [name, knex.raw(changed(name), [0])]);
    return writing(compiled(rows().where(identifier, 0).update(Object.fromEntries(changes))));
  });
  /** The identifier of a row with these index values. Bound: the values. */
  const holder = createShapeCache((members: Index['members']): Statement => {
    const query = rows().select(identifier);
    for (const member of members) query.whereRaw(`${indexed(member, dialect)} = ?`, [0]);
    return reading(compiled(query));
  });
  const stamped = filled.stamped.map(({ name }) => `, ${quote(name)} = ${changed(name)}`).join('');
  return {
    type,
    columns,
    columnOf,
    names,
    needed: neededOf(columns),
    filled,
    /** Maps text columns to case-folded columns; `texts` is the reverse. */
    folded: new Map(texts.map(([name, text]) => [text, name])),
    texts: new Map(texts),
    position: new Map([identifier, ...names].map((name, index) => [name, index])),

    load: reading(compiled(loaded().where(identifier, 0))),
    /** Locks rows until the write ends, and loads them or only identifiers. Bound: JSON array of identifiers. */
    locking: perKey((strength: Strength) => ({
      load: locked(loaded(), strength),
      lock: locked(rows().select(identifier), strength),
    })),
    /** Bound: `columns`. */
    insert: {
      generated: insert(names),
      explicit: insert([identifier, ...names]),
    },
    lastIdentifier: kind.isCounted && reading(dialect.sequence.read(type.table, identifier)),
    /** Move the sequence, if there is one, past an identifier. Bound, in each: the identifier. */
    moveSequence: kind.isCounted ? dialect.sequence.move(type.table, identifier).map(writing) : [],
    update,
    /** Bound: JSON array of identifiers. */
    remove: writing(`delete from ${table} where ${oneOf(id)}`),
    linksIn: perKey((column: string) =>
      linksIn(type, columnOf.get(column)?.reference?.target ?? type, column, stamped, dialect),
    ),
    holder,
    single: dialect.single?.of(
      type,
      columns,
      filled.stamped.map(({ name }) => name),
    ),
  };
}

/** Statements on the links in a column. `stamped`: what a change of a row sets besides. */
function linksIn(type: RecordType, target: RecordType, column: string, stamped: string, dialect: Dialect) {
  const { quote, locks, name } = dialect;
  const [id, table, link] = [quote(type.identifier.column), quote(type.table), quote(column)];
  const reading = (sql: string): Statement => ({ sql, reads: [type.table] });
  const writing = (sql: string): Statement => ({ sql, writes: [type.table] });
  const oneOf = (listed: string): string => dialect.oneOf(listed, identifierSql(type.identifier, name));
  const [inOrder, forUpdate] = locks ? [` order by ${id}`, ' for update'] : ['', ''];
  const ofSome = dialect.oneOf(link, identifierSql(target.identifier, name));
  const row = `select one$.${id}, one$.${link} from ${table} as one$`;
  const further = `${row} join above$ on one$.${id} = above$.parent$`;
  const above = `with recursive above$ (id$, parent$) as (${row} where ${oneOf(`one$.${id}`)} union ${further})`;
  return {
    /** Bound: the values of the stamps, JSON array of identifiers. */
    cut: writing(`update ${table} set ${link} = null${stamped} where ${oneOf(id)}`),
    /** Writes no stamps. Bound: the new link, JSON array of identifiers. */
    set: writing(`update ${table} set ${link} = ? where ${oneOf(id)}`),
    /** Locks rows, and reads their links. Bound: JSON array of identifiers. */
    rows: reading(`select ${id}, ${link} from ${table} where ${oneOf(id)}${forUpdate}`),
    /** Locks rows that refer to records, in order. Bound: JSON array of identifiers, limit. */
    children: reading(`select ${id} from ${table} where ${ofSome}${inOrder} limit ? + 0${forUpdate}`),
    /** Pairs of a record and a row that refers to it. Bound: as `children`. */
    referring: reading(`select ${link}, ${id} from ${table} where ${ofSome} order by 1, 2 limit ? + 0`),
    /** Records and all above them, each once and with its link. Bound: as `children`. */
    above: reading(`${above} select id$, parent$ from above$ limit ? + 0`),
  };
}

const compiled = (query: { toSQL(): { toNative(): { readonly sql: string } } }): string => query.toSQL().toNative().sql;

/** Bound: `rowsJson`. Returns new identifiers, which ascend. undefined if it is not faster. */
function insertMany(type: RecordType, columns: readonly Column[], into: readonly string[], dialect: Dialect) {
  const { quote } = dialect;
  const bulk = into.map((name) => {
    const column = columns.find((one) => one.name === name);
    const written = (text: string): string => writtenSql(column?.field, text, dialect.name);
    return { name, type: column ? columnSql(column, dialect) : columnTypeOf(type, dialect), written };
  });
  const rows = into.length === 0 ? undefined : dialect.rowsOfJson?.(bulk);
  const [table, identifier] = [quote(type.table), quote(type.identifier.column)];
  return rows && `insert into ${table} (${into.map(quote).join(', ')}) ${rows} returning ${identifier}`;
}

export const rowsJson = (rows: readonly Values[]): string =>
  JSON.stringify(rows.map((values) => Object.fromEntries(values.map((value, index) => [`c${index}`, value]))));

/** A column of identifiers, such as the side of a join table. */
export const typed = ({ column, type }: JoinTable['left'], { name, quote }: Dialect): TypedColumn => [
  quote(column),
  identifierSql(type.identifier, name),
];

function createJoinRows(join: JoinTable, dialect: Dialect) {
  const { quote, oneOf, oneOfPairs, single } = dialect;
  const { name, left, right } = join;
  const [table, both] = [quote(name), `${quote(left.column)}, ${quote(right.column)}`];
  const own = [name];
  return {
    /** Ignores a pair that another write has added. Bound: left, right. */
    insert: { sql: `insert into ${table} (${both}) values (?, ?) on conflict do nothing`, writes: own },
    /** `insert` for new records. Bound: left, right, each an identifier or the number of a new record. */
    insertNew: single?.insertPair(join),
    /** Bound: JSON array of pairs of left and right. */
    remove: {
      sql: `delete from ${table} where ${oneOfPairs(typed(left, dialect), typed(right, dialect))}`,
      writes: own,
    },
    pairs: perKey((column: string): Statement => ({
      sql: `select ${both} from ${table} where ${oneOf(...typed(column === left.column ? left : right, dialect))} limit ? + 0`,
      reads: own,
    })),
  };
}
