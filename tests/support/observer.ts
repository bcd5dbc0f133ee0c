/** Looks into the database file of a service through a connection of its own: what each table of the Model holds. */
import Database from 'better-sqlite3';
import type { Model } from '../../engine/model/model.ts';
import type { Snapshot } from '../../engine/suite/replay.ts';

export interface Observer {
  snapshot(): Snapshot;
  /** Rows whose foreign key leads nowhere. */
  danglingRows(): readonly unknown[];
  close(): void;
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export function createObserver(file: string, model: Model): Observer {
  const database = new Database(file, { readonly: true });
  const tables = [...[...model.types.values()].map(({ table }) => table), ...model.joinTables.map(({ name }) => name)];
  const statements = tables.map((table) => [table, database.prepare(`select * from ${quoted(table)}`).raw()] as const);
  const version = database.prepare('pragma data_version').pluck();
  let seen: unknown;
  let last: Snapshot = new Map();
  const read = (): Snapshot => new Map(statements.map(([table, all]) => [table, JSON.stringify(all.all())]));
  return {
    // The version changes with every commit of another connection, so that nothing is read where nothing was written.
    snapshot: () => {
      const now = version.get();
      if (now !== seen) [seen, last] = [now, read()];
      return last;
    },
    danglingRows: () => database.pragma('foreign_key_check') as unknown[],
    close: () => database.close(),
  };
}
