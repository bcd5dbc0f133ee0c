/** What a database holds, read through a connection of the test's own. */
import Database from 'better-sqlite3';
import { connectTo, type DatabaseKind, fileOf, type TestDatabase } from './databases.ts';

export interface Watch {
  /** Every row of every table, as text, except what only says where sequences stand. */
  contents(): Promise<string>;
  /** Names of the columns of each table, in order, a line for each, except those of the engine's own tables. */
  columns(): Promise<string>;
  /** Changes with each commit that wrote a row. */
  version(): Promise<string>;
  /** Foreign keys that are not looked at at once. */
  deferredKeys(): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

export const watchDatabase = (database: TestDatabase): Promise<Watch> => watchers[database.kind](database);

function listed(columns: readonly { readonly table: string; readonly name: string }[]): string {
  const own = columns.filter(({ table }) => !/^(_records_|sqlite_)/.test(table));
  const tables = [...new Set(own.map(({ table }) => table))].toSorted();
  const namesIn = (table: string): readonly string[] =>
    own.filter((one) => one.table === table).map(({ name }) => name);
  return tables.map((table) => `${table}: ${namesIn(table).toSorted().join(' ')}`).join('\n');
}

const watchers: Readonly<Record<DatabaseKind, (database: TestDatabase) => Promise<Watch>>> = {
  sqlite: async (one) => {
    const database = new Database(fileOf(one), { readonly: true });
    const tables = database
      .prepare(`select name from sqlite_schema where type = 'table' and name <> 'sqlite_sequence' order by name`)
      .pluck();
    const rows = (table: string): string =>
      database
        .prepare(`select * from "${table}"`)
        .raw()
        .all()
        .map((row) => JSON.stringify(row))
        .join('\n');
    return {
      contents: async () => (tables.all() as string[]).map((table) => `${table}\n${rows(table)}`).join('\n'),
      columns: async () =>
        listed(
          database
            .prepare<[], { table: string; name: string }>(
              `select t.name as "table", c.name from sqlite_schema as t, pragma_table_info(t.name) as c where t.type = 'table'`,
            )
            .all(),
        ),
      version: async () => String(database.pragma('data_version', { simple: true })),
      // In SQLite that is a state of a transaction, and ends with it.
      deferredKeys: async () => [],
      close: async () => void database.close(),
    };
  },
  postgres: async ({ url }) => {
    const client = await connectTo(url);
    const tables = async (): Promise<readonly string[]> =>
      (
        await client.query<{ name: string }>(
          'select tablename as name from pg_tables where schemaname = current_schema() order by 1',
        )
      ).rows.map(({ name }) => name);
    const each = async (expression: string): Promise<string> => {
      const parts = (await tables()).map((name) => {
        const quoted = `"${name.replaceAll('"', '""')}"`;
        return `select '${name}' as name, (select string_agg(${expression}, E'\\n' order by ${expression}) from ${quoted} as t) as rows`;
      });
      if (parts.length === 0) return '';
      const { rows } = await client.query<{ name: string; rows: string | null }>(
        `${parts.join(' union all ')} order by 1`,
      );
      return rows.map(({ name, rows: text }) => `${name}\n${text ?? ''}`).join('\n');
    };
    return {
      contents: () => each('t::text'),
      columns: async () =>
        listed(
          (
            await client.query<{ table: string; name: string }>(
              `select relname as "table", attname as name from pg_class join pg_attribute on attrelid = pg_class.oid
              where relkind = 'r' and relnamespace = current_schema()::regnamespace and attnum > 0 and not attisdropped`,
            )
          ).rows,
        ),
      // A row that is only locked keeps its xmin.
      version: () => each(`t.xmin::text || ' ' || t.ctid::text`),
      deferredKeys: async () =>
        (
          await client.query(
            `select conname from pg_constraint where connamespace = current_schema()::regnamespace and condeferrable`,
          )
        ).rows,
      close: () => client.end(),
    };
  },
};
