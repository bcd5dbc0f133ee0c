/** What a database holds, read through a connection of the test's own. */
import Database from 'better-sqlite3';

export interface Watch {
  /** Every row of every table, as text. */
  contents(): string;
  /** Changes with each commit that wrote a page. */
  version(): number;
  close(): void;
}

export function watchDatabase(file: string): Watch {
  const database = new Database(file, { readonly: true });
  const tables = database.prepare(`select name from sqlite_schema where type = 'table' order by name`).pluck();
  return {
    contents: () =>
      (tables.all() as string[])
        .map(
          (table) =>
            `${table}\n${database
              .prepare(`select * from "${table}"`)
              .raw()
              .all()
              .map((row) => JSON.stringify(row))
              .join('\n')}`,
        )
        .join('\n'),
    version: () => Number(database.pragma('data_version', { simple: true })),
    close: () => void database.close(),
  };
}
