/** Looks into the database of a service through a connection of its own: what each table of the Model holds. */
import Database from 'better-sqlite3';
import type { Model } from '../../engine/model/model.ts';
import { connectTo, type DatabaseKind, fileOf, type TestDatabase } from './databases.ts';

/** By table, a text that differs when its rows differ. */
export type TableSnapshot = ReadonlyMap<string, string>;

export interface Observer {
  snapshot(): Promise<TableSnapshot>;
  /** Rows whose foreign key leads nowhere. */
  danglingRows(): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export const createObserver = (database: TestDatabase, model: Model): Promise<Observer> =>
  observers[database.kind](database, [
    ...[...model.types.values()].map(({ table }) => table),
    ...model.joinTables.map(({ name }) => name),
  ]);

const observers: Readonly<
  Record<DatabaseKind, (database: TestDatabase, tables: readonly string[]) => Promise<Observer>>
> = { sqlite: observeFile, postgres: observeServer };

/** Asks for the version first, so that nothing is read where nothing was written. */
function sparing(version: () => Promise<unknown>, read: () => Promise<TableSnapshot>): () => Promise<TableSnapshot> {
  let seen: unknown;
  let last: TableSnapshot = new Map();
  return async () => {
    const now = await version();
    if (now !== seen) [seen, last] = [now, await read()];
    return last;
  };
}

async function observeFile(one: TestDatabase, tables: readonly string[]): Promise<Observer> {
  const database = new Database(fileOf(one), { readonly: true });
  const statements = tables.map((table) => [table, database.prepare(`select * from ${quoted(table)}`).raw()] as const);
  const version = database.prepare('pragma data_version').pluck();
  const read = (): TableSnapshot => new Map(statements.map(([table, all]) => [table, JSON.stringify(all.all())]));
  return {
    snapshot: sparing(
      async () => version.get(),
      async () => read(),
    ),
    danglingRows: async () => database.pragma('foreign_key_check') as unknown[],
    close: async () => void database.close(),
  };
}

async function observeServer({ url }: TestDatabase, tables: readonly string[]): Promise<Observer> {
  const client = await connectTo(url);
  const column = async (sql: string): Promise<readonly string[]> =>
    (await client.query<string[]>({ text: sql, rowMode: 'array' })).rows.map(([text = '']) => text);
  const text = (table: string): string =>
    `select coalesce(string_agg(t::text, ',' order by t::text), '') from ${quoted(table)} as t`;
  const all = tables.map((table) => `select '${table}', (${text(table)})`).join(' union all ');
  // Under a name it is planned once: that takes longer than the reading, where there are hundreds of tables.
  const read = async (): Promise<TableSnapshot> =>
    new Map((await client.query<[string, string]>({ name: 'all', text: all, rowMode: 'array' })).rows);
  return {
    // Whatever is written stands in the write-ahead log.
    snapshot: sparing(() => column('select pg_current_wal_insert_lsn()::text').then(String), read),
    danglingRows: async () => {
      const keys = await column(FOREIGN_KEYS);
      const rows: string[] = [];
      for (const key of keys) rows.push(...(await column(key)));
      return rows;
    },
    close: () => client.end(),
  };
}

/** For each foreign key the question for rows that lead nowhere. */
const FOREIGN_KEYS = `
  select format('select child::text from %s as child left join %s as parent on child.%I = parent.%I where child.%I is not null and parent.%I is null',
    conrelid::regclass, confrelid::regclass, a.attname, b.attname, a.attname, b.attname)
  from pg_constraint
  join pg_attribute a on a.attrelid = conrelid and a.attnum = conkey[1]
  join pg_attribute b on b.attrelid = confrelid and b.attnum = confkey[1]
  where contype = 'f' and connamespace = current_schema()::regnamespace`;
