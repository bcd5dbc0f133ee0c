/** What a driver is given to change tables with. */
import type { TableDefinition } from './applied-model.ts';
import type { Awaitable, Reader, Writer } from './driver.ts';

export interface Migration {
  /** Of each step, in order. */
  readonly statements: readonly (readonly string[])[];
  /** Whether a copy of the database is made first, where the database is a file. */
  readonly backup: boolean;
  /** In the transaction, before anything is changed. What it throws ends it. */
  readonly before: (reader: Reader) => Awaitable<void>;
  /** In the transaction, after a step. */
  readonly made: (index: number) => Awaitable<void>;
  /** In the transaction, after all of them. */
  readonly after: (writer: Writer) => Awaitable<void>;
}

/** How a driver changes tables. */
export interface Migrating {
  /**
   * Runs it in one transaction, or not at all. Foreign keys are looked at when all is done: where one would lead
   * nowhere, nothing is changed. Answers the name of the copy.
   */
  migrate(migration: Migration): Promise<string | undefined>;
  /** How tables differ from what they should be, by table. */
  drift(tables: Readonly<Record<string, TableDefinition>>): Awaitable<readonly Drift[]>;
}

export interface Drift {
  readonly table: string;
  /** In words. */
  readonly differences: readonly string[];
}
