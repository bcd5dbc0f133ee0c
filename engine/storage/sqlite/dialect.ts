/** SQLite's words. JSON is put together as text: no parsing between the levels, and no limit on arguments that matters. */
import knex from 'knex';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Dialect } from '../driver.ts';
import { sqliteAlterations } from './alter.ts';

/** SQLite takes 1000 arguments of one function in this build, 127 in others. */
const MAX_ARGUMENTS = 100;

const quote = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

const literal = (value: SqlValue): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);

function concat(parts: readonly string[]): string {
  if (parts.length <= MAX_ARGUMENTS) return `concat(${parts.join(', ')})`;
  const groups = Array.from({ length: Math.ceil(parts.length / MAX_ARGUMENTS) }, (_, index) =>
    concat(parts.slice(index * MAX_ARGUMENTS, (index + 1) * MAX_ARGUMENTS)),
  );
  return concat(groups);
}

function object(entries: readonly (readonly [key: string, json: string])[], openKeys: string | undefined): string {
  if (entries.length === 0) return openKeys ?? `'{}'`;
  const parts = entries.flatMap(([key, json], index) => [
    literal(`${index === 0 ? '{' : ','}${JSON.stringify(key)}:`),
    json,
  ]);
  const end = openKeys === undefined ? `'}'` : `iif(${openKeys} = '{}', '}', ',' || substr(${openKeys}, 2))`;
  return concat([...parts, end]);
}

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  knex: knex({ client: 'better-sqlite3', useNullAsDefault: true }),
  quote,
  literal,
  object,
  array: (json, from, order) => `(select concat('[', group_concat(${json}, ',' order by ${order}), ']') from ${from})`,
  optional: (json, from) => `coalesce((select ${json} from ${from}), 'null')`,
  nullable: (json) => `coalesce(${json}, 'null')`,
  ...sqliteAlterations({ quote, literal }),
  // Where a limit or a pattern is nothing but a parameter, SQLite plans, and parses, the statement anew for each value.
  limit: 'limit ? + 0 offset ? + 0',
  unlimited: -1,
  // The identifier ends every index of its own accord, and null comes first in it.
  indexed: (expressions) => expressions,
  like: `like '' ||`,
  joined: { words: 'cross join', inOrder: true },
  integer: 'integer',
  identifier: (builder, column) => void builder.increments(column),
  namesConstraints: false,
  orderBy: (expression, descending) => `${expression} ${descending ? 'desc' : 'asc'}`,
  openKeys: 'text',
  tableOptions: (keyed) => (keyed ? 'strict' : 'strict, without rowid'),
  oneOf: (column) => `${column} in (select value from json_each(?))`,
  returning: false,
  insertGiven: (sql) => sql,
  sequence: {
    read: (table) => `select seq from sqlite_sequence where name = ${literal(table)}`,
    move: (table, _column, last) => [
      `update sqlite_sequence set seq = max(seq, ${last}) where name = ${literal(table)}`,
      `insert into sqlite_sequence (name, seq) select ${literal(table)}, ${last} where not exists (select 1 from sqlite_sequence where name = ${literal(table)})`,
    ],
  },
  locks: false,
};
