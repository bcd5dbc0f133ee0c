import knex from 'knex';
import { FOLDINGS, joiningRanges, MANY_COMBINING_MARKS, MAX_COMBINING_MARKS } from '../../field-types/case-folding.ts';
import { ENGINE_PREFIX, OPEN_COLUMN } from '../../model/model.ts';
import { type Dialect, literal, sqlIn } from '../dialect.ts';
import { alterTable, OWN_CHECK, quote } from './alter.ts';
import { postgresLog } from './log.ts';
import { singleWrites } from './single-writes.ts';
import { CHEAP_PLAN_COST, MAX_SEQUENCE_STEPS } from './tuning.ts';

const keyOf = (key: string): string => `${quote(OPEN_COLUMN)} -> ${literal(key)}`;

/** Replaces `?` outside quotes with `$1`, `$2`, …; SQL compiled by Knex has no `?`. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g, (piece) => (piece === '?' ? `$${(count += 1)}` : piece));
}

/** Reads a page and its total at once. */
const countedPage: NonNullable<Dialect['counted']> = (page, count, isFirstPage) => {
  const rows = '(select count(*) from page$)';
  const unless = isFirstPage ? ` where ${rows} >= ? or (${rows} = 0 and ?::bigint > 0)` : '';
  return {
    ...page,
    sets: (page.sets ?? 0) + (count.sets ?? 0),
    query:
      `with page$(text$) as materialized (${page.query}) select text$, null::bigint from page$ ` +
      `union all select null, (${count.query})${unless}`,
  };
};

const sequenceOf = (table: string, column: string): string =>
  `pg_get_serial_sequence(${literal(quote(table))}, ${literal(column)})::regclass`;

/** Moves a sequence past a number. Rereads it under a lock: another process may have moved it. */
function moveBehind(sequence: string, number: string): string {
  const last = `coalesce(pg_sequence_last_value(${sequence}), 0)`;
  const near = `select max(nextval(${sequence})) from generate_series(${last} + 1, ${number})`;
  const lock = `pg_advisory_xact_lock(hashtext('records sequence'), ${sequence}::oid::int)`;
  const far = `select case when ${last} < ${number} then setval(${sequence}, ${number}) end from ${lock}`;
  return `case when ${number} - ${last} > ${MAX_SEQUENCE_STEPS} then (${far}) else (${near}) end`;
}

/** Drops foreign keys and adds them again, to check all rows at once: checks row by row take longer than inserts. */
function dropForeignKeys(tables: readonly string[]): string {
  const named = tables.map((table) => `${literal(quote(table))}::regclass`).join(', ');
  return [
    `do $$ declare link record; again text := ''; begin for link in`,
    'select conrelid::regclass as rel, conname, pg_get_constraintdef(oid) as definition from pg_constraint',
    `where contype = 'f' and conrelid = any(array[${named}]::regclass[])`,
    `loop execute format('alter table %s drop constraint %I', link.rel, link.conname);`,
    `again := again || format('alter table %s add constraint %I %s;', link.rel, link.conname, link.definition); end loop;`,
    `perform set_config('records.foreign_keys', again, true); end $$`,
  ].join(' ');
}

const ADD_FOREIGN_KEYS = `do $$ begin if current_setting('records.foreign_keys') <> '' then execute current_setting('records.foreign_keys'); end if; end $$`;

function readPlan(json: string): ReturnType<Dialect['estimate']['read']> {
  const [{ Plan }] = JSON.parse(json) as readonly [{ readonly Plan: Readonly<Record<string, unknown>> }];
  return { rows: Math.round(Number(Plan['Plan Rows'])), isCheap: Number(Plan['Total Cost']) <= CHEAP_PLAN_COST };
}

const nulls = (descending: boolean): string => (descending ? 'nulls last' : 'nulls first');

// SQL that folds the strings of rows older than a folded column.

const isOne = ([, to]: readonly [from: string, to: string]): boolean => [...to].length === 1;
const [single, full] = [[...FOLDINGS].filter(isOne), [...FOLDINGS].filter((one) => !isOne(one))];
const joined = (texts: readonly string[]): string => literal(texts.join(''));

const mapped = (text: string): string => {
  const plain = `translate(${text}, ${joined(single.map(([from]) => from))}, ${joined(single.map(([, to]) => to))})`;
  const longer = full.reduce((sql, [from, to]) => `replace(${sql}, ${literal(from)}, ${literal(to)})`, plain);
  return `case when ${text} ~ ${joined(['[', ...full.map(([from]) => from), ']'])} then ${longer} else ${plain} end`;
};

let joining: string | undefined;
const joiningClass = (): string => {
  const escaped = (code: number): string => `\\U${code.toString(16).padStart(8, '0')}`;
  joining ??= joiningRanges()
    .map(([first, last]) => escaped(first) + (last > first ? `-${escaped(last)}` : ''))
    .join('');
  return joining;
};

const composed = (text: string): string => {
  const marks = joiningClass();
  const decomposed = `(select coalesce(string_agg(normalize(piece[1], NFD), '' order by place), '') from regexp_matches(${text}, '(.)', 'g') with ordinality as pieces(piece, place))`;
  const withoutExcess = `regexp_replace(${decomposed}, '[${marks}]{${MAX_COMBINING_MARKS},}', '', 'g')`;
  const hasManyMarks = `char_length(${text}) >= ${MANY_COMBINING_MARKS} and ${text} ~ '[${marks}]{${MANY_COMBINING_MARKS}}'`;
  return `normalize(case when ${hasManyMarks} then ${withoutExcess} else ${text} end, NFC)`;
};

/** Takes a fast path for ASCII: nearly all strings. */
const folded = (text: string): string => {
  const first = `(select ${composed('given$.v$')} as v$) as first$`;
  const second = `(select ${mapped('first$.v$')} as v$ from ${first}) as second$`;
  const other = `(select ${composed('second$.v$')} from ${second})`;
  const isAscii = 'octet_length(given$.v$) = char_length(given$.v$)';
  return `(select case when ${isAscii} then lower(given$.v$ collate "C") when given$.v$ is not null then ${other} end from (select (${text})::text as v$) as given$)`;
};

/** Limit of an index entry's values in bytes: a third of a page, less headers. */
const MAX_ENTRY_BYTES = 2680;

const dialect: Dialect = {
  name: 'postgres',
  // The revision is the transaction that wrote the row.
  revision: { sql: `select xmin::text from ${ENGINE_PREFIX}model`, inEachSnapshot: false, renew: [] },
  knex: knex({ client: 'pg' }),
  quote,
  array: (json, from, order) => `(select concat('[', string_agg(${json}, ',' order by ${order}), ']') from ${from})`,
  hasKey: (key) => `(${keyOf(key)}) is not null`,
  // json_object_agg would put spaces between the keys.
  withoutKeys: (keys) => {
    const kept = `string_agg(to_json(key)::text || ':' || value::text, ',')`;
    const others = `json_each(${quote(OPEN_COLUMN)}) where key not in (${keys.map(literal).join(', ')})`;
    return `(select concat('{', ${kept}, '}')::json from ${others})`;
  },
  keyJson: (key) => `(${keyOf(key)})::text`,
  folded,
  spelled: {
    joined: (inCase, text) => `(encode(convert_to(${inCase}, 'UTF8'), 'hex') || '!' || ${text}) collate "C"`,
    text: (both) => `substr(${both}, strpos(${both}, '!') + 1)`,
    folded: (both) => `substr(${both}, 1, strpos(${both}, '!'))`,
  },
  keyPath: literal,
  // The planner uses the current table size and the statistics of ANALYZE.
  estimate: {
    sql: ({ select }) => `explain (format json) ${select('1')}`,
    read: ([plan]) => readPlan(String(plan)),
  },
  counted: countedPage,
  limit: 'limit ? offset ?',
  readsRowsAtOnce: false,
  plansSets: true,
  hoursAgo: `to_char((now() - ?::int * interval '1 hour') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  orderBy: (expression, descending, present) => {
    const order = `${expression} ${descending ? 'desc' : 'asc'}`;
    return present ? order : `${order} ${nulls(descending)}`;
  },
  indexed: (expressions, identifier) => [
    ...expressions.map((expression) => `(${expression}) ${nulls(false)}`),
    ...(identifier === undefined ? [] : [quote(identifier)]),
  ],
  like: 'ilike',
  joined: { words: 'join', inOrder: false },
  integer: 'bigint',
  identifier: (builder, { column, kind, type }) => {
    const words = kind.isCounted ? 'bigint generated by default as identity' : type.columns.postgres.sqlType;
    builder.specificType(column, `${words} primary key`);
  },
  namesConstraints: true,
  mistyped: /^22(P02|007|008)$/,
  openKeys: 'json',
  tableOptions: () => '',
  alterTable: (alteration) => alterTable(alteration, dialect),
  // pg_column_size counts compressed bytes, as the index does.
  isLongEntry: (columns) =>
    `${columns.map((column) => `coalesce(pg_column_size(${column}), 0)`).join(' + ')} > ${MAX_ENTRY_BYTES}`,
  catalogue: sqlIn('postgres/catalogue.sql', { OWN_CHECK }),
  log: postgresLog,
  // The planner would expect a hundred rows from a subselect and scan the table; an array avoids this.
  oneOf: (column, sqlType) => `${column} = any (array(select value::${sqlType} from json_array_elements_text(?)))`,
  listed: (sqlType) =>
    `(select item$.value::${sqlType} as value, item$.key from json_array_elements_text(?) with ordinality as item$(value, key)) as listed$`,
  oneOfPairs: ([left, ofLeft], [right, ofRight]) =>
    `(${left}, ${right}) in (select (pair$ ->> 0)::${ofLeft}, (pair$ ->> 1)::${ofRight} from json_array_elements(?) as pair$)`,
  returning: true,
  constrained: `select attname from pg_constraint join pg_attribute on attrelid = conrelid and attnum = any (conkey)
    where conrelid = to_regclass(quote_ident(?)) and conname = ?`,
  checkNow: 'set constraints all immediate',
  sequence: {
    read: (table, column) => `select pg_sequence_last_value(${sequenceOf(table, column)})`,
    move: (table, column) => [
      `select ${moveBehind(sequenceOf(table, column), 'id$')} from (select ?::bigint as id$) as last$`,
    ],
  },
  rowsOfJson: (columns) => {
    const values = columns
      .map(({ type, written }, index) => `${written?.(`c${index}`) ?? `c${index}`}::${type}`)
      .join(', ');
    const texts = columns.map((_, index) => `c${index} text`).join(', ');
    return `select ${values} from json_to_recordset(?::json) as rows$(${texts})`;
  },
  deferred: (tables) => ({ begin: [dropForeignKeys(tables)], end: [ADD_FOREIGN_KEYS] }),
  locks: true,
  lockOwnership: `select pg_advisory_xact_lock(hashtext('records ownership'), hashtext(current_schema()))`,
};

export const postgresDialect: Dialect = { ...dialect, single: singleWrites(dialect) };
