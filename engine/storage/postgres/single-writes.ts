/**
 * Writes that need no reads first, each sent as one transaction without BEGIN. The last parameter is the revision of the
 * tables: if they have changed, the statement does nothing. New records have negative numbers; settings of the transaction
 * map these to identifiers.
 */
import { createShapeCache } from '../../memo.ts';
import { identifierSql } from '../../model/identifier.ts';
import type { RecordType } from '../../model/model.ts';
import type { View } from '../../query/list-query.ts';
import { type Column, columnType, writtenSql } from '../columns.ts';
import { type Dialect, literal, type SingleWrites } from '../dialect.ts';
import type { Statement } from '../driver.ts';
import { UNCHARGED_CHARS } from '../read/reads.ts';
import { recordJson, ROOT_ALIAS, tablesOfView } from '../read/views.ts';
import { columnSql } from '../tables.ts';

export const singleWrites = (dialect: Dialect): SingleWrites => ({
  of: (type, columns, stamped) => ({
    create: createShapeCache((view: View) => create(view, columns, dialect)),
    insertNew: { sql: required(insertNew(type, columns, dialect)), writes: [type.table] },
    answerNew: createShapeCache((view: View) => answerNew(view, dialect)),
    update: createShapeCache((change: readonly [View, readonly string[]]) =>
      update(change, [columns, stamped], dialect),
    ),
    remove: createShapeCache((view: View) => remove(view, dialect)),
  }),
  insertPair: ({ name, left, right }) => {
    const columns = [left.column, right.column].map(dialect.quote);
    const values = [left, right].map(({ type }, index) => linkSql(type, index + 1));
    const sql = `insert into ${dialect.quote(name)} (${columns.join(', ')}) values (${values.join(', ')})`;
    return { sql: required(sql), writes: [name] };
  },
});

/** Divides by zero if a trigger of others leaves the row out. */
const required = (insert: string): string => `with new$ as (${insert} returning true) select 1 / count(*) from new$`;

/** Writes the record, and reads its view. */
const touchedBy = (view: View) => ({ reads: tablesOfView(view), writes: [view.type.table] });

const settingOf = (index: number): string => `'records.n' || -$${index}::bigint`;

/** Only what the database counts has no identifier yet. */
function linkSql({ identifier }: RecordType, index: number): string {
  const given = `$${index}::${identifierSql(identifier, 'postgres')}`;
  return identifier.kind.isCounted
    ? `case when ${given} < 0 then current_setting(${settingOf(index)})::bigint else ${given} end`
    : given;
}

function insertNew(type: RecordType, columns: readonly Column[], dialect: Dialect): string {
  const { quote } = dialect;
  const { column, kind } = type.identifier;
  const sequence = `pg_get_serial_sequence(${literal(quote(type.table))}, ${literal(column)})::regclass`;
  const identifier = kind.isCounted
    ? `set_config(${settingOf(1)}, nextval(${sequence})::text, true)::bigint`
    : linkSql(type, 1);
  const values = columns.map((one, index) =>
    one.reference ? linkSql(one.reference.target, index + 2) : bound(one, index + 2, dialect),
  );
  const names = [column, ...columns.map(({ name }) => name)].map(quote);
  return `insert into ${tableOf(type, dialect)} (${names.join(', ')}) select ${[identifier, ...values].join(', ')}`;
}

function create(view: View, columns: readonly Column[], dialect: Dialect): Statement {
  const { type } = view;
  const json = recordJson(view, ROOT_ALIAS, dialect);
  const current = isCurrent(dialect, columns.length + 2);
  // A unique conflict must not undo other writes of the transaction.
  const sql = `${insertNew(type, columns, dialect)} where ${current} on conflict do nothing returning ${identifierOf(type, dialect)}, ${json}`;
  return { sql, batched: { sql }, ...touchedBy(view) };
}

function answerNew(view: View, dialect: Dialect): Statement {
  const identifier = identifierOf(view.type, dialect);
  // OFFSET keeps the server from building the JSON twice.
  const record = `select ${identifier} as id$, ${recordJson(view, ROOT_ALIAS, dialect)} as text$ from ${tableOf(view.type, dialect)} where ${identifier} = ${linkSql(view.type, 1)} offset 0`;
  const isTaken = `exists (select from json_array_elements($2::json) where current_setting('records.n' || (value ->> 0)) = value ->> 1)`;
  const isFine = `${isCurrent(dialect, 3)} and length(text$) <= ${UNCHARGED_CHARS} and not ${isTaken}`;
  const sql = `select id$, text$, 1 / coalesce((${isFine})::int, 0) from (select) as one$ left join (${record}) as new$ on true`;
  return { sql, reads: tablesOfView(view) };
}

const bound = (column: Column, index: number, dialect: Dialect, old?: string): string =>
  column.field?.generated !== undefined && columnType(column.field, dialect.name).clock
    ? writtenSql(column.field, `$${index}::text`, dialect.name, old)
    : `($${index}::${columnSql(column, dialect)})`;

const isCurrent = ({ revision }: Dialect, index: number): string => `(${revision.sql}) = $${index}::text`;

const UNLOCKED = 'for update skip locked';

/** Writes only if a value differs. */
function update(
  [view, changed]: readonly [View, readonly string[]],
  [columns, stamped]: readonly [readonly Column[], readonly string[]],
  dialect: Dialect,
): Statement {
  const { type } = view;
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
      `select json$ from new$ union all select ${json} from old$ as ${ROOT_ALIAS} where (${before.join(', ')}) is not distinct from (${after.join(', ')})`,
    ].join(' ');
  const isUnique = type.indexes.some(
    ({ unique, members }) => unique && members.some((member) => 'column' in member && changed.includes(member.column)),
  );
  const batched = isUnique ? undefined : { sql: sql(UNLOCKED) };
  return { sql: sql('for update'), batched, ...touchedBy(view) };
}

function remove(view: View, dialect: Dialect): Statement {
  const { type } = view;
  const [rows, identifier, found] = [tableOf(type, dialect), identifierOf(type, dialect), isFound(type, 2, dialect)];
  const sql = (condition: string): string =>
    `delete from ${rows} where ${condition} returning ${recordJson(view, ROOT_ALIAS, dialect)}`;
  // The DELETE would wait for locked rows that refer to it.
  const isReferred = type.referrers.length > 0;
  const unlocked = `${identifier} = (select ${identifier} from ${rows} where ${found} ${UNLOCKED})`;
  return { sql: sql(found), batched: isReferred ? undefined : { sql: sql(unlocked) }, ...touchedBy(view) };
}

const tableOf = ({ table }: RecordType, { quote }: Dialect): string => `${quote(table)} as ${ROOT_ALIAS}`;
const identifierOf = ({ identifier }: RecordType, { quote }: Dialect): string =>
  `${ROOT_ALIAS}.${quote(identifier.column)}`;

/** `index`: of the parameter with the revision. */
const isFound = (type: RecordType, index: number, dialect: Dialect): string =>
  `${identifierOf(type, dialect)} = $1::${identifierSql(type.identifier, 'postgres')} and ${isCurrent(dialect, index)}`;
