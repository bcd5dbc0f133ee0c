/** What a driver is given to change tables with. */
import { isDeepStrictEqual } from 'node:util';
import type { TableDefinition } from './applied.ts';
import type { Awaitable, Reader, Writer } from '../driver.ts';

export interface Migration {
  /** In order. */
  readonly statements: Iterable<string>;
  /** Tables that nobody else reads or writes from before `before` until the end. */
  readonly locked: readonly string[];
  /** Whether a copy of the database is made first, where the database is a file. */
  readonly backup: boolean;
  /** In the transaction, before anything is changed. What it throws ends it. */
  readonly before: (reader: Reader) => Awaitable<void>;
  /** In the transaction, after all statements. */
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

// What belongs to a table against what should: the differences, in words.

/** Columns, keys, indexes and whatever else, by what people call them. */
export type Objects = ReadonlyMap<string, unknown>;

export function compareObjects(expected: Objects, found: Objects): readonly string[] {
  if (found.size === 0) return ['it is missing'];
  const names = new Set([...expected.keys(), ...found.keys()]);
  return [...names].flatMap((name) => {
    if (!found.has(name)) return `${name} is missing`;
    if (!expected.has(name)) return `${name} is there besides`;
    return isDeepStrictEqual(expected.get(name), found.get(name)) ? [] : `${name} is another one`;
  });
}
