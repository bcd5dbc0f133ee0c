import knex from 'knex';
import { validJson } from '../../field-types/columns.ts';
import { ENGINE_PREFIX, OPEN_COLUMN } from '../../model/model.ts';
import { generatedName } from '../../names.ts';
import { type Dialect, literal, sqlIn } from '../dialect.ts';
import { CONTEXT_TABLE, LOG_TABLE } from '../log/recording.ts';
import { alterTable } from './alter.ts';
import { CHECK_WORDS, CHECKS, FOLDED, SETS } from './connection.ts';
import { BULK_CACHE_KIB, SAMPLE_RANGES, SAMPLE_RANGE_IDS } from './tuning.ts';

const REVISION_TABLE = `${ENGINE_PREFIX}revision`;

const quote = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

const keyPath = (key: string): string => literal(`$.${JSON.stringify(key)}`);

const PIECES = `json_each('${JSON.stringify(Array.from({ length: SAMPLE_RANGES }, (_, index) => index))}') as part$`;

const LOG_EVENTS = ['insert', 'update', 'delete'] as const;
const triggerOf = (name: string, event: string): string => quote(generatedName(name, event));

/** The same for all rows that a statement changes. */
const NOW_MS = `cast((julianday('now') - 2440587.5) * 86400000 as integer)`;

/** SQLite writes it when a statement ends: within one, it stays the same. */
const LAST_POSITION = `coalesce((select seq from sqlite_sequence where name = '${LOG_TABLE}'), 0)`;

/** Comes first in indexes of the log: SQLite writes whole pages, and entries of the same time share those of a range. */
const RANGE = 'position / 1024';
const RANGES = `(with recursive ranges$(range$) as (select max(position) / 1024 from ${LOG_TABLE} union all select range$ - 1 from ranges$ where range$ > (select min(position) / 1024 from ${LOG_TABLE})) select range$ from ranges$)`;
/** To search each range for more places costs more than to read all of an index. */
const MAX_SOUGHT = 25;

function entriesOf(columns: string, values: string): string {
  const same = columns.replaceAll(/\w+/g, '$&$$');
  const from = 'select position from (select count(*) as count$ from place$) cross join';
  const sought = `${from} place$ cross join ${RANGES} cross join ${LOG_TABLE} where count$ <= ${MAX_SOUGHT} and ${RANGE} = range$ and (${columns}) = (${same})`;
  const read = `${from} ${LOG_TABLE} where count$ > ${MAX_SOUGHT} and (${columns}) in place$`;
  return `position in (with place$(${same}) as materialized (select distinct ${values} from json_each(?)) ${sought} union all ${read})`;
}

/** Triggers use functions of older versions only, as other programs may bring another SQLite. */
const log: Dialect['log'] = {
  position: 'integer primary key autoincrement',
  last: LAST_POSITION,
  held: 'null',
  differ: (one, other) => `${one} is not ${other}`,
  valid: validJson,
  number: 'abs(random() % 2147483648)',
  indexes: [
    `drop index if exists ${LOG_TABLE}_record`,
    `drop index if exists ${LOG_TABLE}_owner`,
    `create index if not exists ${LOG_TABLE}_records on ${LOG_TABLE} (${RANGE}, source, record)`,
    `create index if not exists ${LOG_TABLE}_owners on ${LOG_TABLE} (${RANGE}, owner) where owner is not null`,
    `create index if not exists ${LOG_TABLE}_deletions on ${LOG_TABLE} (source, record) where operation = 'delete'`,
  ],
  own: entriesOf('source, record', 'value ->> 0, value ->> 1'),
  owned: entriesOf('owner', 'value'),
  attribute: { sql: `update ${CONTEXT_TABLE} set tx = 1 + ${LAST_POSITION}, at = ${NOW_MS}, actor = ?, request = ?` },
  unattribute: { sql: `update ${CONTEXT_TABLE} set tx = null, at = null, actor = null, request = null` },
  // Other programs do not number their writes. A trigger that read the table it fills would need a temporary one.
  writer: {
    columns: `coalesce(at, ${NOW_MS}), coalesce(tx, -1 - ${LAST_POSITION}), actor, request`,
    from: ` from ${CONTEXT_TABLE} where 1 = 1`,
  },
  create: (name, table, trigger) =>
    LOG_EVENTS.map((event) => {
      const statements = trigger[event].map(({ when, sql }) =>
        when === undefined ? `${sql};` : `${sql} and (${when});`,
      );
      return `create trigger ${triggerOf(name, event)} after ${event} on ${quote(table)} begin ${statements.join(' ')} end`;
    }),
  drop: (name) => LOG_EVENTS.map((event) => `drop trigger if exists ${triggerOf(name, event)}`),
};

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  // SQLite counts schema changes, so creating and dropping a table raises the count.
  revision: {
    sql: 'pragma schema_version',
    inEachSnapshot: true,
    renew: [`create table ${REVISION_TABLE} (id integer) strict`, `drop table ${REVISION_TABLE}`],
  },
  knex: knex({ client: 'better-sqlite3', useNullAsDefault: true }),
  quote,
  array: (json, from, order) => `(select concat('[', group_concat(${json}, ',' order by ${order}), ']') from ${from})`,
  hasKey: (key) => `json_type(${quote(OPEN_COLUMN)}, ${keyPath(key)}) is not null`,
  withoutKeys: (keys) => `json_remove(${[quote(OPEN_COLUMN), ...keys.map(keyPath)].join(', ')})`,
  keyJson: (key) => `${quote(OPEN_COLUMN)} -> ${keyPath(key)}`,
  folded: (text) => `${FOLDED}(${text})`,
  spelled: {
    joined: (folded, text) => `hex(${folded}) || '!' || ${text}`,
    text: (joined) => `substr(${joined}, instr(${joined}, '!') + 1)`,
    folded: (joined) => `substr(${joined}, 1, instr(${joined}, '!'))`,
  },
  keyPath,
  // The estimate is the share of matching rows in evenly spaced ranges of the table, unless most ranges are empty.
  estimate: {
    sql: ({ table, identifier, rowIdentifier, isCounted, select }) => {
      // Without numbers, it is exact.
      if (!isCounted) return select('0', '', '1 = 0');
      // SQLite finds both ends at once only if each is a separate SELECT.
      const end = (which: string): string => `(select ${which}(${identifier}) from ${table})`;
      const ids = `(${end('max')} - ${end('min')} + 1)`;
      const start = `${end('min')} + ${ids} * part$.value / ${SAMPLE_RANGES}`;
      const range = `between ${start} and ${start} + ${SAMPLE_RANGE_IDS - 1}`;
      const isUsed = `exists (select 1 from ${table} where ${identifier} ${range})`;
      const used = `(select count(*) from ${PIECES} where ${isUsed})`;
      const rows = `count(*) * 1.0 / ${SAMPLE_RANGES * SAMPLE_RANGE_IDS} * ${ids}`;
      return select(`${rows}, ${ids}, ${used}`, `${PIECES} cross join `, `${rowIdentifier} ${range}`);
    },
    read: ([rows, ids = 0, used]) => ({
      rows: Math.round(Number(rows)),
      isCheap: Number(ids) <= SAMPLE_RANGES * SAMPLE_RANGE_IDS || Number(used) < SAMPLE_RANGES / 2,
    }),
  },
  // If a limit or pattern is a bare parameter, SQLite parses and plans the statement again for each value.
  limit: 'limit ? + 0 offset ? + 0',
  readsRowsAtOnce: true,
  plansSets: false,
  hoursAgo: `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || ? || ' hours')`,
  // SQLite indexes always end in the identifier and put null first.
  indexed: (expressions) => expressions,
  like: `like '' ||`,
  joined: { words: 'cross join', inOrder: true },
  integer: 'integer',
  identifier: (builder, { column, kind, type }) =>
    void (kind.isCounted
      ? builder.increments(column)
      : builder.specificType(column, `${type.columns.sqlite.sqlType} not null primary key`)),
  namesConstraints: false,
  mistyped: undefined,
  orderBy: (expression, descending) => `${expression} ${descending ? 'desc' : 'asc'}`,
  openKeys: 'text',
  tableOptions: (keyed) => (keyed ? 'strict' : 'strict, without rowid'),
  alterTable: (alteration) => alterTable(alteration, sqliteDialect),
  isLongEntry: undefined,
  catalogue: sqlIn('sqlite/catalogue.sql', { CHECKS, SETS }),
  log,
  oneOf: (column) => `${column} in (select value from json_each(?))`,
  listed: () => 'json_each(?) as listed$',
  oneOfPairs: ([left], [right]) => `(${left}, ${right}) in (select value ->> 0, value ->> 1 from json_each(?))`,
  returning: false,
  constrained: `select c.name from sqlite_schema as own, pragma_table_info(own.name) as c
    where own.name = ? and c.name collate nocase in (select value from json_each(${CHECK_WORDS}(own.sql, ?)))`,
  checkNow: undefined,
  sequence: {
    read: (table) => `select seq from sqlite_sequence where name = ${literal(table)}`,
    move: (table) => [
      `update sqlite_sequence set seq = max(seq, ?) where name = ${literal(table)}`,
      `insert into sqlite_sequence (name, seq) select ${literal(table)}, ? where not exists (select 1 from sqlite_sequence where name = ${literal(table)})`,
    ],
  },
  // Defers foreign keys until the transaction ends; with a larger cache, fewer pages are written twice.
  deferred: () => ({ begin: ['pragma defer_foreign_keys = on', `pragma cache_size = -${BULK_CACHE_KIB}`], end: [] }),
  locks: false,
  lockOwnership: undefined,
};
