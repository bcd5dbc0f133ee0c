/** Statements over one table, compiled when they are first wanted and kept. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { memoized } from '../../memo.ts';
import { type Field, type Index, type JoinTable, type Model, OPEN_COLUMN, type RecordType } from '../../model/model.ts';
import { type Column, columnsOf, columnType, type NeededColumn, neededOf, readSql, writtenSql } from '../columns.ts';
import { columnSql, indexed } from '../tables.ts';
import type { Dialect } from '../dialect.ts';
import type { Statement, Values } from '../driver.ts';
import { type FilledFields, filledFields } from './stamps.ts';

/** Knex compiles statements and never runs them. */
const compiled = (query: { toSQL(): { toNative(): { readonly sql: string } } }): Statement => ({
  sql: query.toSQL().toNative().sql,
});

/** The most records that a conflict names. */
export const NAMED = 10;

/**
 * How a row is locked: against deletion, or against every change and new rows that refer to it. Not `for share`: an update of
 * a row that others keep sharing would wait for ever.
 */
export type Strength = 'key share' | 'update';

/** Whether the database makes the identifier of a new row, or the client gave it. */
type Identified = 'made' | 'given';

/** A statement, and the columns in the order in which their values are bound. */
interface InsertRows {
  readonly statement: Statement;
  readonly columns: readonly string[];
}

export interface Insert extends InsertRows {
  /** Many rows: bound as `rowsJson`, answers the identifiers that the database made, which rise. Missing if it is not faster. */
  readonly many: InsertRows | undefined;
}

export interface WriteTable {
  readonly type: RecordType;
  /** Without the identifier. */
  readonly columns: readonly Column[];
  readonly needed: readonly NeededColumn[];
  /** By column. */
  readonly defaults: ReadonlyMap<string, SqlValue>;
  /** By the column of a text, the column of its folded text; and the reverse. */
  readonly folded: ReadonlyMap<string, string>;
  readonly texts: ReadonlyMap<string, string>;
  /** The index of each column in `load`'s rows. */
  readonly position: ReadonlyMap<string, number>;
  /** All columns, in order. Bound: identifier. */
  readonly load: Statement;
  /** The same for many, locked until the write ends. Bound: JSON array of identifiers. */
  lock(strength: Strength): Statement;
  /** Bytes that `lock` loads, not counting short values; missing if no value can be long. */
  readonly weigh: Statement | undefined;
  /** The same as `lock`, but only the identifiers. */
  hold(strength: Strength): Statement;
  readonly insert: Readonly<Record<Identified, Insert>>;
  /** The greatest identifier ever used. */
  readonly lastIdentifier: Statement;
  /** Move the sequence behind an identifier. Bound, in each: the identifier. */
  readonly moveSequence: readonly Statement[];
  /** Bound: identifier. */
  readonly remove: Statement;
  /** Bound: the columns as asked for, identifier. */
  update(columns: readonly string[]): Statement;
  /** The fields that the service fills in. */
  readonly filled: FilledFields;
  /** Bound: JSON array of identifiers. */
  readonly removeMany: Statement;
  /** Bound: the values of the stamps, JSON array of identifiers. */
  unlinkMany(column: string): Statement;
  /** Some rows, each with what it refers to by the column, locked. Bound: JSON array of identifiers. */
  linked(column: string): Statement;
  /** Without stamps. Bound: what the column is to hold, JSON array of identifiers. */
  link(column: string): Statement;
  /** Identifiers of the rows that refer to a record by this column, locked. Bound: its identifier, how many at most. */
  children(column: string): Statement;
  /** The same for many records. Bound: JSON array of identifiers, how many at most. */
  someChildren(column: string): Statement;
  /** Some records, each with the identifiers of the rows that refer to it. Bound: JSON array of identifiers, how many at most. */
  referring(column: string): Statement;
  /** Records and all above them by the column, each with what it refers to. Bound: JSON array of identifiers, how many at most. */
  above(column: string): Statement;
  /** One row: for each of HELD_TOGETHER records, the identifier of the row with its values in an index, or null. Bound: all values. */
  holders(index: Pick<Index, 'name' | 'members'>): Statement;
  /** The identifier of another row with these values in an index. Bound: the values, the identifier of the row itself. */
  holder(index: Pick<Index, 'name' | 'members'>): Statement;
}

interface JoinRows {
  /** Bound: left, right. */
  readonly insert: Statement;
  /** Removes links of one record. Bound: its identifier, JSON array of the others'. */
  removeMany(column: string): Statement;
  /** The identifiers that a record is linked with. Bound: its identifier, how many at most. */
  others(column: string): Statement;
  /** Left and right of the links of some records. Bound: JSON array of identifiers, how many at most. */
  pairs(column: string): Statement;
}

export interface Tables {
  /** Whether rows have to be locked before they are compared. */
  readonly locks: boolean;
  /** Makes the writes that change which record owns which, or is above which, wait for each other. Undefined where all writes do. */
  readonly lockOwnership: Statement | undefined;
  of(type: RecordType): WriteTable;
  rows(table: JoinTable): JoinRows;
  /** The join tables that have rows of the type's records, each with their column. */
  joinsOf(type: RecordType): readonly (readonly [table: JoinTable, column: string])[];
}

/**
 * `served`: the model that fits the tables now. It has join tables, and columns of folded texts, that the types of a request
 * may not know, if it began before the tables changed.
 */
export function createTables(dialect: Dialect, served: () => Model): Tables {
  const tablesOf = memoized((model: Model) => {
    const foldedIn = foldedColumns(model);
    return memoized((type: RecordType) => createTable(type, dialect, foldedIn.get(type.table)));
  });
  const joinsIn = memoized((joins: readonly JoinTable[]) =>
    perKey((table: string): ReturnType<Tables['joinsOf']> =>
      joins.flatMap((join) =>
        [join.left, join.right].flatMap((side) => (side.type.table === table ? [[join, side.column] as const] : [])),
      ),
    ),
  );
  return {
    joinsOf: ({ table }) => joinsIn(served().joinTables)(table),
    locks: dialect.locks,
    lockOwnership: dialect.lockOwnership === undefined ? undefined : { sql: dialect.lockOwnership },
    of: (type) => tablesOf(served())(type),
    rows: memoized((table: JoinTable) => createJoinRows(table, dialect)),
  };
}

type FoldedColumns = ReadonlyMap<string, string | undefined>;

/** By table, then by the column of the text. */
const foldedColumns = ({ types }: Model): ReadonlyMap<string, FoldedColumns> =>
  new Map(
    [...types.values()].map(({ table, fields, hidden }) => [
      table,
      new Map([...fields.values(), ...hidden].map(({ column, folded }) => [column, folded])),
    ]),
  );

/** Records whose unique values one statement looks for. */
export const HELD_TOGETHER = 64;

/** Bytes of a value that does not count. */
const SHORT = 1024;

const isLong = (field: Field): boolean => field.type.longest(field) > SHORT;

function createTable(type: RecordType, dialect: Dialect, now: FoldedColumns | undefined): WriteTable {
  const { knex, quote, oneOf } = dialect;
  const identifier = type.identifier.column;
  const some = (condition: string): string =>
    `select ${quote(identifier)} from ${quote(type.table)} where ${condition}`;
  const foldedOf = ({ column, folded }: Field): string | undefined => (now?.has(column) ? now.get(column) : folded);
  const columns = columnsOf(type, dialect.name, foldedOf);
  const texts = columns.flatMap(({ name, folds }) => (folds ? [[name, folds.column] as const] : []));
  const names = columns.map(({ name }) => name);
  const table = (): ReturnType<typeof knex.queryBuilder> => knex.queryBuilder().from(type.table);
  const loaded = (): ReturnType<typeof knex.queryBuilder> =>
    table().select([
      identifier,
      ...columns.map((column) => knex.raw(readSql(column, dialect.name, quote).replaceAll('?', '\\?'))),
    ]);
  const locked = (query: ReturnType<typeof knex.queryBuilder>, strength: Strength): Statement => {
    const { sql } = compiled(query.whereRaw(oneOf(quote(identifier)), ['[]']).orderBy(identifier));
    return { sql: dialect.locks ? `${sql} for ${strength}` : sql };
  };
  const fieldOf = new Map(columns.map(({ name, field }) => [name, field]));
  /** A value that is bound, or SQL around it. */
  const written = (name: string, value: number, old?: string): ReturnType<typeof knex.raw> | number => {
    const sql = writtenSql(fieldOf.get(name), '?', dialect.name, old);
    return sql === '?' ? value : knex.raw(sql, [value]);
  };
  const oldOf = (name: string): string => `${quote(type.table)}.${quote(name)}`;
  const insert = (into: readonly string[]): Insert => {
    const query = table().insert(Object.fromEntries(into.map((name, index) => [name, written(name, index)])));
    const { sql, bindings } = (dialect.returning ? query.returning(identifier) : query).toSQL().toNative();
    const ordered = bindings.flatMap((index) => into[Number(index)] ?? []);
    return { statement: { sql }, columns: ordered, many: insertMany(type, columns, into, dialect) };
  };
  const holding = ({ members }: Pick<Index, 'members'>): ReturnType<typeof table> => {
    const query = table().select(identifier);
    for (const member of members) query.whereRaw(`${indexed(member, dialect)} = ?`, [0]);
    return query;
  };
  const forUpdate = dialect.locks ? ' for update' : '';
  // Locks are taken in one order.
  const inOrder = dialect.locks ? ` order by ${quote(identifier)}` : '';
  const long = columns.filter(({ name, field, folds = field }) => name === OPEN_COLUMN || (folds && isLong(folds)));
  const weighed = long
    .map((column) => `coalesce(${dialect.bytes(quote(column.name), columnSql(column, dialect))}, 0)`)
    .join(' + ');
  const identified = insert([identifier, ...names]);
  const given = <I extends InsertRows>(one: I): I => ({
    ...one,
    statement: { sql: dialect.insertGiven(one.statement.sql, type.table, identifier) },
  });
  const filled = filledFields(columns);
  const stamped = filled.stamped
    .map((name) => `, ${quote(name)} = ${writtenSql(fieldOf.get(name), '?', dialect.name, oldOf(name))}`)
    .join('');
  return {
    type,
    columns,
    needed: neededOf(columns),
    defaults: new Map(columns.map((column) => [column.name, column.default])),
    folded: new Map(texts.map(([name, text]) => [text, name])),
    texts: new Map(texts),
    position: new Map([identifier, ...names].map((name, index) => [name, index])),
    load: compiled(loaded().where(identifier, 0)),
    lock: perKey((strength: Strength) => locked(loaded(), strength)),
    weigh:
      long.length === 0
        ? undefined
        : { sql: `select coalesce(sum(${weighed}), 0) from ${quote(type.table)} where ${oneOf(quote(identifier))}` },
    hold: perKey((strength: Strength) => locked(table().select(identifier), strength)),
    insert: {
      made: insert(names),
      given: { ...given(identified), many: identified.many && given(identified.many) },
    },
    lastIdentifier: { sql: dialect.sequence.read(type.table, identifier) },
    moveSequence: dialect.sequence.move(type.table, identifier).map((sql) => ({ sql })),
    remove: compiled(table().where(identifier, 0).delete()),
    update: perKey(
      (changed: readonly string[]) =>
        compiled(
          table()
            .where(identifier, 0)
            .update(Object.fromEntries(changed.map((name) => [name, written(name, 0, oldOf(name))]))),
        ),
      (changed) => changed.join(','),
    ),
    removeMany: { sql: `delete from ${quote(type.table)} where ${oneOf(quote(identifier))}` },
    filled,
    unlinkMany: perKey((column: string) => ({
      sql: `update ${quote(type.table)} set ${quote(column)} = null${stamped} where ${oneOf(quote(identifier))}`,
    })),
    linked: perKey((column: string) => ({
      sql: `select ${quote(identifier)}, ${quote(column)} from ${quote(type.table)} where ${oneOf(quote(identifier))}${forUpdate}`,
    })),
    link: perKey((column: string) => ({
      sql: `update ${quote(type.table)} set ${quote(column)} = ? where ${oneOf(quote(identifier))}`,
    })),
    children: perKey((column: string) => ({
      sql: `${some(`${quote(column)} = ?`)} order by ${quote(identifier)} limit ? + 0${forUpdate}`,
    })),
    someChildren: perKey((column: string) => ({
      sql: `${some(oneOf(quote(column)))}${inOrder} limit ? + 0${forUpdate}`,
    })),
    referring: perKey((column: string) => ({
      sql: `select ${quote(column)}, ${quote(identifier)} from ${quote(type.table)} where ${oneOf(quote(column))} order by 1, 2 limit ? + 0`,
    })),
    above: perKey((column: string) => ({
      sql: aboveStatement(type, column, dialect),
    })),
    holders: perKey(
      (index: Pick<Index, 'name' | 'members'>) =>
        compiled(
          knex.select(Array.from({ length: HELD_TOGETHER }, (_, place) => holding(index).as(`holder${place}$`))),
        ),
      ({ name }) => name,
    ),
    holder: perKey(
      (index: Pick<Index, 'name' | 'members'>) => compiled(holding(index).whereNot(identifier, 0)),
      ({ name }) => name,
    ),
  };
}

/** Each row once, so that it ends where the way up leads in a circle. */
function aboveStatement({ table, identifier }: RecordType, name: string, { quote, oneOf }: Dialect): string {
  const [id, column] = [quote(identifier.column), quote(name)];
  const row = `select one$.${id}, one$.${column} from ${quote(table)} as one$`;
  return (
    `with recursive above$ (id$, parent$) as (${row} where ${oneOf(`one$.${id}`)} ` +
    `union ${row} join above$ on one$.${id} = above$.parent$) select id$, parent$ from above$ limit ? + 0`
  );
}

function insertMany(
  { table, identifier }: RecordType,
  columns: readonly Column[],
  into: readonly string[],
  dialect: Dialect,
): InsertRows | undefined {
  const { quote } = dialect;
  const known = new Map(columns.map((column) => [column.name, column]));
  const bulk = into.map((name) => {
    const column = known.get(name);
    const value = (text: string): string => writtenSql(column?.field, text, dialect.name);
    return { name, type: column ? columnSql(column, dialect) : dialect.integer, written: value };
  });
  const rows = dialect.rowsOfJson?.(bulk);
  if (rows === undefined || into.length === 0) return undefined;
  const sql = `insert into ${quote(table)} (${into.map(quote).join(', ')}) ${rows} returning ${quote(identifier.column)}`;
  return { statement: { sql }, columns: into };
}

/** Rows as the JSON array that `rowsOfJson` reads. */
export const rowsJson = (rows: readonly Values[]): string =>
  JSON.stringify(rows.map((values) => Object.fromEntries(values.map((value, index) => [`c${index}`, value]))));

function createJoinRows({ name, left, right }: JoinTable, { quote, oneOf }: Dialect): JoinRows {
  const otherThan = (column: string): string => quote(column === left.column ? right.column : left.column);
  return {
    // Another write may have made the same pair in the meantime.
    insert: {
      sql: `insert into ${quote(name)} (${quote(left.column)}, ${quote(right.column)}) values (?, ?) on conflict do nothing`,
    },
    removeMany: perKey((column: string) => ({
      sql: `delete from ${quote(name)} where ${quote(column)} = ? and ${oneOf(otherThan(column))}`,
    })),
    others: perKey((column: string) => ({
      sql: `select ${otherThan(column)} from ${quote(name)} where ${quote(column)} = ? order by ${otherThan(column)} limit ? + 0`,
    })),
    pairs: perKey((column: string) => ({
      sql: `select ${quote(left.column)}, ${quote(right.column)} from ${quote(name)} where ${oneOf(quote(column))} limit ? + 0`,
    })),
  };
}

/** Makes a value once for each name of its key. */
function perKey<K, V>(make: (key: K) => V, name: (key: K) => unknown = (key) => key): (key: K) => V {
  const known = new Map<unknown, V>();
  return (key) => {
    const found = known.get(name(key));
    if (found !== undefined) return found;
    const fresh = make(key);
    known.set(name(key), fresh);
    return fresh;
  };
}

// Parts of statements that number their values themselves.

export const bound = (column: Column, place: number, dialect: Dialect, old?: string): string =>
  column.field?.generated !== undefined && columnType(column.field, dialect.name).clock
    ? writtenSql(column.field, `$${place}::text`, dialect.name, old)
    : `($${place}::${columnSql(column, dialect)})`;

/** Whether the tables are as they were when this value was read. */
export const isCurrent = ({ revision }: Dialect, place: number): string => `(${revision.sql}) = $${place}::text`;
