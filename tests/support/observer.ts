/** What a database holds, read through a connection of the test's own. */
import Database from 'better-sqlite3';
import type { Model } from '../../engine/model/model.ts';
import { connectTo, type DatabaseKind, fileOf, type TestDatabase } from './databases.ts';

interface Reader {
  rows(sql: string): Promise<readonly (readonly unknown[])[]>;
  close(): Promise<void>;
}

const readers: Readonly<Record<DatabaseKind, (database: TestDatabase) => Promise<Reader>>> = {
  sqlite: async (one) => {
    const database = new Database(fileOf(one), { readonly: true });
    const rows: Reader['rows'] = async (sql) => database.prepare<[], unknown[]>(sql).raw().all();
    return { rows, close: async () => void database.close() };
  },
  postgres: async ({ url }) => {
    const client = await connectTo(url);
    const rows: Reader['rows'] = async (sql) => (await client.query<unknown[]>({ text: sql, rowMode: 'array' })).rows;
    return { rows, close: () => client.end() };
  },
};

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const SQL = {
  sqlite: {
    tables: `select name from sqlite_schema where type = 'table' and name <> 'sqlite_sequence' order by name`,
    columns: `select t.name, c.name from sqlite_schema as t, pragma_table_info(t.name) as c where t.type = 'table' order by 1, 2`,
    rows: (table: string) => `select * from ${quoted(table)}`,
    // Changes with each commit of another connection.
    written: 'pragma data_version',
  },
  postgres: {
    tables: 'select tablename from pg_tables where schemaname = current_schema() order by 1',
    columns: `select relname, attname from pg_class join pg_attribute on attrelid = pg_class.oid where relkind = 'r'
      and relnamespace = current_schema()::regnamespace and attnum > 0 and not attisdropped order by 1, 2`,
    rows: (table: string) => `select t::text from ${quoted(table)} as t order by 1`,
    written: 'select pg_current_wal_insert_lsn()::text',
  },
} as const;

/** For each foreign key of PostgreSQL the question for rows that lead nowhere. */
const FOREIGN_KEYS = `
  select format('select child::text from %s as child left join %s as parent on child.%I = parent.%I where child.%I is not null and parent.%I is null',
    conrelid::regclass, confrelid::regclass, a.attname, b.attname, a.attname, b.attname)
  from pg_constraint
  join pg_attribute a on a.attrelid = conrelid and a.attnum = conkey[1]
  join pg_attribute b on b.attrelid = confrelid and b.attnum = confkey[1]
  where contype = 'f' and connamespace = current_schema()::regnamespace`;

export interface Watch {
  /** Every row of every table, as text, except what only says where sequences stand. */
  contents(): Promise<string>;
  columns(): Promise<string>;
  version(): Promise<string>;
  close(): Promise<void>;
}

export async function watchDatabase(database: TestDatabase): Promise<Watch> {
  const { rows, close } = await readers[database.kind](database);
  const sql = SQL[database.kind];
  const each = async (rowsOf: (table: string) => string): Promise<string> => {
    const texts: string[] = [];
    for (const [table] of await rows(sql.tables)) {
      const found = await rows(rowsOf(String(table)));
      texts.push(String(table), ...found.map((row) => JSON.stringify(row)));
    }
    return texts.join('\n');
  };
  // A row that is only locked keeps its xmin.
  const versions = (table: string): string => `select t.xmin::text, t.ctid::text from ${quoted(table)} as t order by 2`;
  return {
    contents: () => each(sql.rows),
    columns: async () => {
      const own = (await rows(sql.columns)).filter(([table]) => !/^(_records_|sqlite_)/.test(String(table)));
      const tables = Map.groupBy(own, ([table]) => String(table));
      return [...tables].map(([table, all]) => `${table}: ${all.map(([, name]) => name).join(' ')}`).join('\n');
    },
    version: async () => (database.kind === 'sqlite' ? String(await rows(sql.written)) : each(versions)),
    close,
  };
}

/** By table, a text that differs when its rows differ. */
export type TableSnapshot = ReadonlyMap<string, string>;

export interface Observer {
  snapshot(): Promise<TableSnapshot>;
  danglingRows(): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

/** Looks at the tables of the Model. */
export async function createObserver(database: TestDatabase, model: Model): Promise<Observer> {
  const { rows, close } = await readers[database.kind](database);
  const sql = SQL[database.kind];
  const tables = [...[...model.types.values()].map(({ table }) => table), ...model.joinTables.map(({ name }) => name)];
  let seen = '';
  let last = new Map<string, string>();
  return {
    // Asks first whether something was written.
    snapshot: async () => {
      const now = String(await rows(sql.written));
      if (now === seen) return last;
      [seen, last] = [now, new Map()];
      for (const table of tables) last.set(table, JSON.stringify(await rows(sql.rows(table))));
      return last;
    },
    danglingRows: async () => {
      if (database.kind === 'sqlite') return rows('pragma foreign_key_check');
      const found: unknown[] = [];
      for (const [question] of await rows(FOREIGN_KEYS)) found.push(...(await rows(String(question))));
      return found;
    },
    close,
  };
}
