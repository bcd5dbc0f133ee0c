/** SQL that Knex builds: it is compiled once, and never run by Knex. */
import type { Knex } from 'knex';
import type { Dialect } from './dialect.ts';
import type { Statement } from './driver.ts';

interface Compilable {
  toSQL(): { toNative(): { readonly sql: string } };
}

export const compiled = (query: Compilable): Statement => ({ sql: query.toSQL().toNative().sql });

/** SQL that is complete, for Knex: its question marks are text, not placeholders. */
export const escaped = (sql: string): string => sql.replaceAll('?', '\\?');

export const raw = (sql: string, { knex }: Dialect): Knex.Raw => knex.raw(escaped(sql));
