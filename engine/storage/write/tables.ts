/** Statements over one table, compiled and cached at their first use. */
import { createShapeCache, memoized } from '../../memo.ts';
import { type Index, type JoinTable, type Model, type RecordType } from '../../model/model.ts';
import type { View } from '../../query/list-query.ts';
import { type Column, columnsOf, columnType, neededOf, readSql, writtenSql } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Statement, Values } from '../driver.ts';
import { UNCHARGED_CHARS } from '../read/reads.ts';
import { recordJson, ROOT_ALIAS } from '../read/views.ts';
import { columnSql, indexed } from '../tables.ts';
import { filledColumns } from './values.ts';

export const MOST_LISTED = 10;

export const rowOf = ({ table }: RecordType, identifier: number): string => `${table} ${identifier}`;

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
  const { knex, quote, oneOf, locks } = dialect;
  const identifier = type.identifier.column;
  const [id, table] = [quote(identifier), quote(type.table)];
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
    const { sql } = compiled(query.whereRaw(oneOf(id), ['[]']).orderBy(identifier));
    return { sql: locks ? `${sql} for ${strength}` : sql };
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
    return { statement: { sql }, columns: order, many: many && { sql: many } };
  };
  /** Bound: the given columns, identifier. */
  const update = createShapeCache((given: readonly string[]): Statement => {
    const changes = given.map((name) => [name, knex.raw(changed(name), [0])]);
    return compiled(rows().where(identifier, 0).update(Object.fromEntries(changes)));
  });
  /** The identifier of another row with these index values. Bound: the values, the identifier of the row itself. */
  const holder = createShapeCache((members: Index['members']): Statement => {
    const query = rows().select(identifier);
    for (const member of members) query.whereRaw(`${indexed(member, dialect)} = ?`, [0]);
    return compiled(query.whereNot(identifier, 0));
  });
  const [inOrder, forUpdate] = locks ? [` order by ${id}`, ' for update'] : ['', ''];
  const stamped = filled.stamped.map(({ name }) => `, ${quote(name)} = ${changed(name)}`).join('');
  return {
    type,
    columns,
    columnOf,
    names,
    needed: neededOf(columns),
    filled,
    defaults: new Map(columns.map((column) => [column.name, column.default])),
    /** Maps text columns to case-folded columns; `texts` is the reverse. */
    folded: new Map(texts.map(([name, text]) => [text, name])),
    texts: new Map(texts),
    position: new Map([identifier, ...names].map((name, index) => [name, index])),

    load: compiled(loaded().where(identifier, 0)),
    /** Loads and locks many rows until the write ends. Bound: JSON array of identifiers. */
    lock: perKey((strength: Strength) => locked(loaded(), strength)),
    /** Locks rows, but loads only identifiers. Bound: as `lock`. */
    hold: perKey((strength: Strength) => locked(rows().select(identifier), strength)),
    /** Bound: `columns`. */
    insert: {
      made: insert(names),
      given: insert([identifier, ...names]),
    },
    lastIdentifier: { sql: dialect.sequence.read(type.table, identifier) },
    /** Move the sequence past an identifier. Bound, in each: the identifier. */
    moveSequence: dialect.sequence.move(type.table, identifier).map((sql) => ({ sql })),
    update,
    /** Bound: JSON array of identifiers. */
    remove: { sql: `delete from ${table} where ${oneOf(id)}` },
    linksIn: perKey((column: string) => {
      const [link, ofSome] = [quote(column), oneOf(quote(column))];
      const row = `select one$.${id}, one$.${link} from ${table} as one$`;
      const further = `${row} join above$ on one$.${id} = above$.parent$`;
      const above = `with recursive above$ (id$, parent$) as (${row} where ${oneOf(`one$.${id}`)} union ${further})`;
      return {
        /** Bound: the values of the stamps, JSON array of identifiers. */
        cut: { sql: `update ${table} set ${link} = null${stamped} where ${oneOf(id)}` },
        /** Writes no stamps. Bound: the new link, JSON array of identifiers. */
        set: { sql: `update ${table} set ${link} = ? where ${oneOf(id)}` },
        /** Locks rows, and reads their links. Bound: JSON array of identifiers. */
        rows: { sql: `select ${id}, ${link} from ${table} where ${oneOf(id)}${forUpdate}` },
        /** Locks rows that refer to records, in order. Bound: JSON array of identifiers, limit. */
        children: { sql: `select ${id} from ${table} where ${ofSome}${inOrder} limit ? + 0${forUpdate}` },
        /** Pairs of a record and a row that refers to it. Bound: as `children`. */
        referring: { sql: `select ${link}, ${id} from ${table} where ${ofSome} order by 1, 2 limit ? + 0` },
        /** Records and all above them, each once and with its link. Bound: as `children`. */
        above: { sql: `${above} select id$, parent$ from above$ limit ? + 0` },
      };
    }),
    /** Also returns the identifier. Bound: as `insertNew`. */
    createAlone: createShapeCache((view: View) => insertAlone(view, columns, dialect)),
    /** Bound: number of the new record, values of all columns. */
    insertNew: { sql: insertNew(type, columns, dialect) },
    /**
     * Returns identifier and JSON of a new record. Divides by zero if the JSON is too long to be free, or if a new record
     * got the identifier of a linked one. Bound: its number, JSON array of pairs of such a number and identifier.
     */
    answerNew: createShapeCache((view: View) => answerNew(view, dialect)),
    /** Bound: identifier, values of these columns, stamps. */
    updateAlone: createShapeCache(([view, given]: readonly [View, readonly string[]]) =>
      updateAlone(view, given, columns, dialect),
    ),
    removeAlone: createShapeCache((view: View) => deleteAlone(view, dialect)),
    holder,
  };
}

const compiled = (query: { toSQL(): { toNative(): { readonly sql: string } } }): Statement => ({
  sql: query.toSQL().toNative().sql,
});

/** Bound: `rowsJson`. Returns new identifiers, which ascend. undefined if it is not faster. */
function insertMany(type: RecordType, columns: readonly Column[], into: readonly string[], dialect: Dialect) {
  const { quote } = dialect;
  const bulk = into.map((name) => {
    const column = columns.find((one) => one.name === name);
    const written = (text: string): string => writtenSql(column?.field, text, dialect.name);
    return { name, type: column ? columnSql(column, dialect) : dialect.integer, written };
  });
  const rows = into.length === 0 ? undefined : dialect.rowsOfJson?.(bulk);
  const [table, identifier] = [quote(type.table), quote(type.identifier.column)];
  return rows && `insert into ${table} (${into.map(quote).join(', ')}) ${rows} returning ${identifier}`;
}

export const rowsJson = (rows: readonly Values[]): string =>
  JSON.stringify(rows.map((values) => Object.fromEntries(values.map((value, index) => [`c${index}`, value]))));

function createJoinRows({ name, left, right }: JoinTable, { quote, oneOf, oneOfPairs }: Dialect) {
  const [table, both] = [quote(name), `${quote(left.column)}, ${quote(right.column)}`];
  return {
    /** Ignores a pair that another write has added. Bound: left, right. */
    insert: { sql: `insert into ${table} (${both}) values (?, ?) on conflict do nothing` },
    /** `insert` for new records. Bound: left, right, each an identifier or the number of a new record. */
    insertNew: { sql: `insert into ${table} (${both}) values (${linkSql(1)}, ${linkSql(2)})` },
    /** Bound: JSON array of pairs of left and right. */
    remove: { sql: `delete from ${table} where ${oneOfPairs(quote(left.column), quote(right.column))}` },
    pairs: perKey((column: string): Statement => ({
      sql: `select ${both} from ${table} where ${oneOf(quote(column))} limit ? + 0`,
    })),
  };
}

function perKey<K, V>(make: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    const made = known.get(key) ?? make(key);
    known.set(key, made);
    return made;
  };
}

// Writes without BEGIN on PostgreSQL. The last parameter is the revision of the tables: if they have changed, the statement
// does nothing. New records have negative numbers; settings of the transaction map these to identifiers.

const settingOf = (index: number): string => `'records.n' || -$${index}::bigint`;

const linkSql = (index: number): string =>
  `case when $${index}::bigint < 0 then current_setting(${settingOf(index)})::bigint else $${index}::bigint end`;

function insertNew(type: RecordType, columns: readonly Column[], dialect: Dialect): string {
  const { quote, literal } = dialect;
  const { column } = type.identifier;
  const sequence = `pg_get_serial_sequence(${literal(quote(type.table))}, ${literal(column)})::regclass`;
  const identifier = `set_config(${settingOf(1)}, nextval(${sequence})::text, true)::bigint`;
  const values = columns.map((one, index) => (one.reference ? linkSql(index + 2) : bound(one, index + 2, dialect)));
  const names = [column, ...columns.map(({ name }) => name)].map(quote);
  return `insert into ${tableOf(type, dialect)} (${names.join(', ')}) select ${[identifier, ...values].join(', ')}`;
}

function insertAlone(view: View, columns: readonly Column[], dialect: Dialect): Statement {
  const { type } = view;
  const json = recordJson(view, ROOT_ALIAS, dialect);
  const current = isCurrent(dialect, columns.length + 2);
  // A unique conflict must not undo other writes of the transaction.
  const sql = `${insertNew(type, columns, dialect)} where ${current} on conflict do nothing returning ${identifierOf(type, dialect)}, ${json}`;
  return { sql, together: { sql } };
}

function answerNew(view: View, dialect: Dialect): Statement {
  const identifier = identifierOf(view.type, dialect);
  // OFFSET keeps the server from building the JSON twice.
  const record = `select ${identifier} as id$, ${recordJson(view, ROOT_ALIAS, dialect)} as text$ from ${tableOf(view.type, dialect)} where ${identifier} = ${linkSql(1)} offset 0`;
  const isTaken = `exists (select from json_array_elements($2::json) where current_setting('records.n' || (value ->> 0)) = value ->> 1)`;
  const isFine = `${isCurrent(dialect, 3)} and length(text$) <= ${UNCHARGED_CHARS} and not ${isTaken}`;
  return {
    sql: `select id$, text$, 1 / coalesce((${isFine})::int, 0) from (select) as one$ left join (${record}) as new$ on true`,
  };
}

const bound = (column: Column, index: number, dialect: Dialect, old?: string): string =>
  column.field?.generated !== undefined && columnType(column.field, dialect.name).clock
    ? writtenSql(column.field, `$${index}::text`, dialect.name, old)
    : `($${index}::${columnSql(column, dialect)})`;

const isCurrent = ({ revision }: Dialect, index: number): string => `(${revision.sql}) = $${index}::text`;

const UNLOCKED = 'for update skip locked';

/** Writes only if a value differs. */
function updateAlone(view: View, changed: readonly string[], columns: readonly Column[], dialect: Dialect): Statement {
  const { type } = view;
  const stamped = filledColumns(columns).stamped.map(({ name }) => name);
  const written = [...changed, ...stamped].map((name, index) => {
    const column = columns.find((one) => one.name === name);
    const before = `${ROOT_ALIAS}.${dialect.quote(name)}`;
    return { name, before, after: column ? bound(column, index + 2, dialect, before) : '' };
  });
  const compared = written.slice(0, changed.length);
  const [before, after] = [compared.map((one) => `${one.before}::text`), compared.map((one) => `${one.after}::text`)];
  const set = written.map((one) => `${dialect.quote(one.name)} = ${one.after}`).join(', ');
  const [rows, json] = [tableOf(type, dialect), recordJson(view, ROOT_ALIAS, dialect)];
  const found = isFound(type, written.length + 2, dialect);
  const identifier = dialect.quote(type.identifier.column);
  const sql = (locked: string): string =>
    [
      `with old$ as materialized (select ${ROOT_ALIAS}.* from ${rows} where ${found} ${locked}),`,
      `new$ as (update ${rows} set ${set} from old$ where ${ROOT_ALIAS}.${identifier} = old$.${identifier}`,
      `and (${before.join(', ')}) is distinct from (${after.join(', ')}) returning ${json} as json$)`,
      `select json$ from new$ union all select ${json} from old$ as ${ROOT_ALIAS} where not exists (select from new$)`,
    ].join(' ');
  const isUnique = type.indexes.some(
    ({ unique, members }) => unique && members.some((member) => 'column' in member && changed.includes(member.column)),
  );
  return { sql: sql('for update'), together: isUnique ? undefined : { sql: sql(UNLOCKED) } };
}

function deleteAlone(view: View, dialect: Dialect): Statement {
  const { type } = view;
  const [rows, identifier, found] = [tableOf(type, dialect), identifierOf(type, dialect), isFound(type, 2, dialect)];
  const sql = (condition: string): string =>
    `delete from ${rows} where ${condition} returning ${recordJson(view, ROOT_ALIAS, dialect)}`;
  // The DELETE would wait for locked rows that refer to it.
  const isReferred = type.referrers.length > 0;
  const unlocked = `${identifier} = (select ${identifier} from ${rows} where ${found} ${UNLOCKED})`;
  return { sql: sql(found), together: isReferred ? undefined : { sql: sql(unlocked) } };
}

const tableOf = ({ table }: RecordType, { quote }: Dialect): string => `${quote(table)} as ${ROOT_ALIAS}`;
const identifierOf = ({ identifier }: RecordType, { quote }: Dialect): string =>
  `${ROOT_ALIAS}.${quote(identifier.column)}`;

/** `index`: of the parameter with the revision. */
const isFound = (type: RecordType, index: number, dialect: Dialect): string =>
  `${identifierOf(type, dialect)} = $1::bigint and ${isCurrent(dialect, index)}`;
