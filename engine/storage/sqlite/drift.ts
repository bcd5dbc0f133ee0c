/** The tables of a file against their DDL: what SQLite itself makes of it, in a database that lives for a moment. */
import Database from 'better-sqlite3';
import { StartError } from '../../start-error.ts';
import type { TableDefinition } from '../applied-model.ts';
import { compareObjects, type Objects } from '../compare-objects.ts';
import type { Drift } from '../migration.ts';

export function findDrift(
  file: Database.Database,
  tables: Readonly<Record<string, TableDefinition>>,
): readonly Drift[] {
  const scratch = new Database(':memory:');
  try {
    scratch.pragma('foreign_keys = off');
    return Object.entries(tables).flatMap(([table, { create, indexes }]) => {
      for (const sql of [create, ...Object.values(indexes)]) define(scratch, sql);
      const differences = compareObjects(inspect(scratch, table), inspect(file, table));
      return differences.length === 0 ? [] : [{ table, differences }];
    });
  } finally {
    scratch.close();
  }
}

/** The definitions come from the file, which may come from anybody: nothing but one statement that creates is run. */
function define(scratch: Database.Database, sql: string): void {
  if (!/^create (unique index|index|table) /i.test(sql)) throw unknownDefinition();
  try {
    scratch.prepare(sql).run();
  } catch (error) {
    throw unknownDefinition(error);
  }
}

const unknownDefinition = (cause?: unknown): StartError =>
  new StartError('The database remembers a definition of a table that this engine has not made. Nothing was changed.', {
    cause,
  });

/** Everything that belongs to a table, by what people call it. */
function inspect(database: Database.Database, table: string): Objects {
  const rows = (sql: string): readonly Record<string, unknown>[] =>
    database.prepare<[string], Record<string, unknown>>(sql).all(table);
  const columns = rows('select name, lower(type) as type, "notnull", dflt_value, pk from pragma_table_xinfo(?)');
  const keys = rows(
    'select "from", lower("table") as "table", lower("to") as "to", on_delete from pragma_foreign_key_list(?)',
  );
  const others = rows(
    `select type, name, sql from sqlite_schema where tbl_name = ? collate nocase and type <> 'table' and sql is not null`,
  );
  const named = (kind: unknown, name: unknown): string => `${String(kind)} ${String(name)}`;
  return new Map<string, unknown>([
    ...columns.map(({ name, ...column }) => [named('column', name), column] as const),
    ...keys.map(({ from, ...key }) => [named('foreign key', from), key] as const),
    ...others.map(({ type, name, sql }) => [named(type, name), plain(String(sql))] as const),
  ]);
}

/** SQL without what renames rewrite: quotes, case, space. */
const plain = (sql: string): string => sql.replaceAll(/[`"\s]/g, '').toLowerCase();
