/** What a migration leaves in the database while it runs: how far it has come, and what it has prepared. */
import { ENGINE_PREFIX } from '../../model/model.ts';
import type { Reader, Writer } from '../driver.ts';
import { MIGRATION_TABLE } from '../tables.ts';
import type { Task } from '../migrate/tasks.ts';

/** The row of a migration that was begun. */
interface MigrationProgress {
  readonly key: string;
  /** How many tasks are done that prepare it. */
  readonly done: number;
  /** The identifier up to which the task after them is done. */
  readonly position: number;
  /** Once the tables are changed: what is still to be done. */
  readonly rest: readonly Rest[] | undefined;
}

type Rest = Pick<Task, 'kind' | 'sql' | 'table'>;

const EXISTS = { sql: `select to_regclass('${MIGRATION_TABLE}') is not null` };
const READ = { sql: `select key, done, position, rest from ${MIGRATION_TABLE}` };
const BEGIN = { sql: `insert into ${MIGRATION_TABLE} (key, done, position) values (?, 0, 0)` };
const DONE = { sql: `update ${MIGRATION_TABLE} set done = ?, position = 0` };
const FILLED = { sql: `update ${MIGRATION_TABLE} set position = ?` };
const SWITCHED = { sql: `update ${MIGRATION_TABLE} set rest = ?` };
const END = { sql: `delete from ${MIGRATION_TABLE}` };

export async function readProgress(reader: Reader): Promise<MigrationProgress | undefined> {
  if ((await reader.value(EXISTS, [])) !== 't') return undefined;
  const [key, done, position, rest] = (await reader.get(READ, [])) ?? [];
  if (key === undefined) return undefined;
  const left = rest === null || rest === undefined ? undefined : (JSON.parse(String(rest)) as readonly Rest[]);
  return { key: String(key), done: Number(done), position: Number(position), rest: left };
}

/** Each in the transaction of what it records. */
export const record = {
  begin: (writer: Writer, key: string) => writer.run(BEGIN, [key]),
  done: (writer: Writer, tasks: number) => writer.run(DONE, [tasks]),
  filled: (writer: Writer, position: number) => writer.run(FILLED, [position]),
  switched: (writer: Writer, rest: readonly Task[]) =>
    writer.run(SWITCHED, [JSON.stringify(rest.map(({ kind, sql, table }) => ({ kind, sql, table })))]),
  end: (writer: Writer) => writer.run(END, []),
} as const;

// What is prepared has names of the engine's own, so that it is found wherever a migration was cut off.

const OWN = (name: string): string => `starts_with(${name}, '${ENGINE_PREFIX}')`;
const TABLES = `pg_class t where t.relnamespace = quote_ident(current_schema())::regnamespace and t.relkind = 'r' and not ${OWN('t.relname')}`;

/** The table, and what takes away what was prepared on it: columns last, since their constraints go with them. */
export const PREPARED = {
  sql: `select "table", sql from (${[
    `select 1 as step, t.relname::text as "table", format('drop trigger %I on %s', tgname, t.oid::regclass) as sql from pg_trigger, ${TABLES} and tgrelid = t.oid and ${OWN('tgname')}`,
    `select 2, t.relname::text, format('alter table %s drop constraint %I', t.oid::regclass, conname) from pg_constraint, ${TABLES} and conrelid = t.oid and ${OWN('conname')}`,
    `select 3, t.relname::text, format('alter table %s drop column %I', t.oid::regclass, attname) from pg_attribute, ${TABLES} and attrelid = t.oid and not attisdropped and ${OWN('attname')}`,
  ].join(' union all ')}) as found order by step`,
};
export const PREPARED_FUNCTIONS = {
  sql: `select format('drop function %s', oid::regprocedure) from pg_proc where pronamespace = quote_ident(current_schema())::regnamespace and ${OWN('proname')}`,
};
export const PREPARED_INDEXES = {
  sql: `select format('drop index concurrently %s', indexrelid::regclass) from pg_index join pg_class i on i.oid = indexrelid, ${TABLES} and indrelid = t.oid and ${OWN('i.relname')}`,
};
