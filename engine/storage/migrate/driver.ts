/** What a driver is given to change tables with. */
import { isDeepStrictEqual } from 'node:util';
import type { TableDefinition } from './applied.ts';
import type { Awaitable, Reader, Writer } from '../driver.ts';
import type { Column } from '../columns.ts';

export interface Migration {
  /** In order. */
  readonly statements: Iterable<string>;
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

// What a plan asks of a database's DDL: changes of one table, for the dialect to put into statements.

export type Edit =
  | { readonly kind: 'renameTable'; readonly from: string }
  | { readonly kind: 'renameIdentifier'; readonly from: string; readonly to: string }
  | { readonly kind: 'renameColumn'; readonly from: string; readonly to: string }
  | { readonly kind: 'addColumn'; readonly column: Column }
  /** Another type, default, foreign key, limits, or whether it may be null. `value`: SQL of the new value over the old row. */
  | {
      readonly kind: 'changeColumn';
      readonly column: Column;
      readonly value: string;
      /** Whether there are limits to it, or were. */
      readonly isLimited: boolean;
    }
  | { readonly kind: 'dropColumn'; readonly name: string; readonly isReference: boolean }
  /** New values for a column that is there, in the rows that `where` chooses. */
  | { readonly kind: 'setColumn'; readonly name: string; readonly value: string; readonly where: string }
  | { readonly kind: 'dropIndex'; readonly name: string }
  | { readonly kind: 'createIndex'; readonly name: string; readonly sql: string };

/** In the order of the edits; names in `value` and `where` are those before. */
export interface TableAlteration {
  /** The table's name afterwards. */
  readonly table: string;
  /** The identifier's column afterwards. */
  readonly identifier: string;
  readonly edits: readonly Edit[];
  /** Without the identifier. */
  readonly columnsBefore: readonly string[];
  /** All columns afterwards, each with SQL of its value over the row before. */
  readonly values: readonly { readonly column: string; readonly value: string }[];
  /** CREATE TABLE of the table afterwards, under any name. */
  readonly create: (name: string) => string;
  readonly indexes: readonly string[];
}

export interface Altered {
  /** The statements of each edit; empty where `together` does it. */
  readonly each: readonly (readonly string[])[];
  /** What only all of them together can be done with: one pass over the rows. */
  readonly together: readonly string[];
}

/** The part of a dialect that changes tables. */
export interface Alterations {
  readonly alterTable: (alteration: TableAlteration) => Altered;
  /** SQL: whether the JSON object kept in a column has the key. */
  readonly hasKey: (column: string, key: string) => string;
  /** SQL: the object without these keys. */
  readonly withoutKeys: (column: string, keys: readonly string[]) => string;
  /** SQL: the JSON text of a key that is there. */
  readonly keyJson: (column: string, key: string) => string;
  /** SQL: whether a JSON object has no key. */
  readonly isEmpty: (json: string) => string;
  /** The literal that `extracted` of a column type takes. */
  readonly keyPath: (key: string) => string;
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
