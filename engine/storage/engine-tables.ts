/** The engine's own tables and indexes, created where they are missing. */
import { ENGINE_PREFIX } from '../model/model.ts';
import { MODEL_TABLE } from './migrate/applied.ts';
import { HISTORY_TABLE } from './migrate/history.ts';
import type { Dialect } from './dialect.ts';

export const SEED_TABLE = `${ENGINE_PREFIX}seeds`;
export const IDEMPOTENCY_TABLE = `${ENGINE_PREFIX}keys`;
/** Finds the keys that are to be deleted without reading the others. */
const IDEMPOTENCY_INDEX = `${ENGINE_PREFIX}keys_created`;

/** How far a migration has come that does not run in one transaction. */
export const MIGRATION_TABLE = `${ENGINE_PREFIX}migration`;

/** By name, each with its DDL; indexes after their tables. */
export function engineTables({ quote, tableOptions, integer, locks }: Dialect): ReadonlyMap<string, string> {
  const columns: Readonly<Record<string, readonly [columns: string, keyed: boolean]>> = {
    [MODEL_TABLE]: ['id integer not null primary key, applied text not null', true],
    [HISTORY_TABLE]: [
      'number integer not null primary key, digest text not null, applied text not null, at text not null',
      true,
    ],
    [SEED_TABLE]: [`type text not null, identifier ${integer} not null, primary key (type, identifier)`, false],
    [IDEMPOTENCY_TABLE]: [
      'identity text not null, key text not null, hash text not null, created text not null, status integer, location text, identifiers text, primary key (identity, key)',
      false,
    ],
    ...(locks
      ? {
          [MIGRATION_TABLE]: [
            `key text not null, done integer not null, position ${integer} not null, rest text`,
            false,
          ],
        }
      : {}),
  };
  const ddl = Object.entries(columns).map(([name, [parts, keyed]]): [string, string] => [
    name,
    `create table if not exists ${quote(name)} (${parts}) ${tableOptions(keyed)}`,
  ]);
  const index = `create index if not exists ${quote(IDEMPOTENCY_INDEX)} on ${quote(IDEMPOTENCY_TABLE)} (created)`;
  return new Map([...ddl, [IDEMPOTENCY_INDEX, index]]);
}
