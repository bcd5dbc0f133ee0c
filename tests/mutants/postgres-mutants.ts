/** Faults to plant in what only PostgreSQL runs. */
import { inTest, type Mutant, mutant, type MutantOfTest } from './mutant.ts';

const inSchema = (schema: string, ...faults: readonly Mutant[]): readonly Mutant[] =>
  faults.map((fault) => ({ ...fault, schema }));

export const postgresMutants: readonly Mutant[] = [
  ...inSchema(
    'on-delete',
    mutant('a pattern whose case counts', "short: 'ilike'", "short: 'like'"),
    mutant('a long pattern whose case counts', 'lower(${column} collate "C")', '(${column} collate "C")'),
    mutant('a long pattern that begins anywhere', '`substring(x from 1 for ${first}) = p[1]`,', ''),
    mutant(
      'a long pattern that ends anywhere',
      '`substring(x from octet_length(x) - ${last} + 1) = p[${segments}]`,',
      '',
    ),
    mutant('a beginning and an end that overlap', '`octet_length(x) >= ${first} + ${last}`,', ''),
    mutant(
      'a middle that reaches into the beginning',
      'substring(x from ${first} + 1 for octet_length(x) - ${first} - ${last})',
      'substring(x from 1 for octet_length(x) - ${last})',
    ),
    mutant(
      'a middle that reaches into the end',
      'substring(x from ${first} + 1 for octet_length(x) - ${first} - ${last})',
      'substring(x from ${first} + 1)',
    ),
    mutant('segments that overlap', 'in x), 0) + octet_length(${part}))', 'in x), 0))'),
    mutant(
      'segments in any order',
      'nullif(position(${part} in x), 0) + octet_length(${part})',
      'case when position(${part} in x) > 0 then 1 end',
    ),
    mutant('the first segment in the middle again', '`p[${index + 2}]`', '`p[${index + 1}]`'),
  ),
  ...inSchema(
    'checks',
    mutant('sets in any order', "string_agg(${json}, ',' order by ${order})", "string_agg(${json}, ',')"),
    mutant('nulls where PostgreSQL puts them', "(descending ? 'nulls last' : 'nulls first')", "''", 'postgresDialect'),
    mutant(
      'nulls last',
      "(descending ? 'nulls last' : 'nulls first')",
      "(descending ? 'nulls first' : 'nulls last')",
      'postgresDialect',
    ),
  ),
  ...inSchema(
    'has-one',
    mutant(
      'records that are answered in another order',
      'item.value::bigint as value, item.key from',
      'item.value::bigint as value, -item.key as key from',
    ),
    mutant(
      'a column in the place of the next one',
      '`c${index}::${type}`',
      '`c${(index + 1) % columns.length}::text::${type}`',
    ),
  ),
  ...inSchema(
    'stamps',
    mutant(
      'a change of nothing that is stamped',
      '`and (${before}) is distinct from (${after}) returning',
      '`returning',
    ),
    mutant(
      'a change without its stamps',
      'const written = [...columns, ...stamps];\n  const all',
      'const written = [...columns];\n  const all',
    ),
  ),
  ...inSchema('open-types', mutant('open keys as PostgreSQL orders them', "openKeys: 'json',", "openKeys: 'jsonb',")),
  ...inSchema(
    'caseless',
    mutant(
      'the least of texts without its spelling',
      "substr(${both}, strpos(${both}, '!') + 1)",
      "substr(${both}, strpos(${both}, '!'))",
    ),
    mutant(
      'the least of texts by their case in order',
      "substr(${both}, 1, strpos(${both}, '!'))",
      "substr(${both}, strpos(${both}, '!'))",
    ),
    mutant(
      'the least of texts as people sort them',
      "(encode(convert_to(${inCase}, 'UTF8'), 'hex') || '!' || ${text}) collate \"C\"",
      '(${inCase} || \'!\' || ${text}) collate "C"',
    ),
    mutant(
      'a folded text that one statement leaves as it was',
      'const written = withFolded(table, given);',
      'const written = given;',
    ),
  ),
  ...inSchema(
    'every-field-type',
    mutant('If-Match that the flat writes forget', 'precondition(text);\n    return text.length', 'return text.length'),
    mutant('documents as PostgreSQL writes them', "sqlType: 'json',", "sqlType: 'jsonb',", 'document'),
    mutant('decimals with the digits of the column', "sqlType: 'numeric',", "sqlType: 'numeric(30, 10)',"),
    mutant(
      'decimals in half precision',
      "encode: String,\n      decode: (value) => value,\n      json: (column) => `'\"' || ${column}::text || '\"'`",
      "encode: (value) => String(Number(value)),\n      decode: (value) => value,\n      json: (column) => `'\"' || ${column}::text || '\"'`",
    ),
    mutant(
      'decimals as numbers',
      "json: (column) => `'\"' || ${column}::text || '\"'`",
      'json: (column) => `${column}::text`',
    ),
    mutant('a least decimal as it is written', 'round(min(${column}), max(scale(${column})))', 'min(${column})'),
    mutant('a greatest decimal as it is written', 'round(max(${column}), max(scale(${column})))', 'max(${column})'),
    mutant(
      'the shortest spelling of equal decimals',
      'max(${column}::text collate "C")',
      'min(${column}::text collate "C")',
    ),
    mutant('numbers of four bytes', "sqlType: 'double precision'", "sqlType: 'real'"),
    mutant(
      'true for false in filters',
      "operand: (value) => (value === true ? 't' : 'f')",
      "operand: (value) => (value === true ? 'f' : 't')",
    ),
    mutant('texts as people sort them', 'sqlType: \'text collate "C"\'', "sqlType: 'text'"),
    mutant(
      'texts with the escapes of PostgreSQL',
      'json: (column) => `to_json(${column})::text`',
      "json: (column) => `'\"' || ${column} || '\"'`",
    ),
    mutant(
      'offsets in the other direction',
      "when left(${zone}, 1) = '-' then -${minutes} else ${minutes} end",
      "when left(${zone}, 1) = '-' then ${minutes} else -${minutes} end",
    ),
    mutant(
      'points in time in whole seconds',
      "substring(${column} from '^.{17}([0-9.]+)')",
      "substring(${column} from '^.{17}([0-9]+)')",
    ),
    mutant(
      'the year 0 as PostgreSQL knows it',
      'make_date(${whole(1, 4)} + 400, ${whole(6, 2)}, ${whole(9, 2)}) - make_date(2370, 1, 1)',
      'make_date(${whole(1, 4)}, ${whole(6, 2)}, ${whole(9, 2)}) - make_date(1970, 1, 1)',
    ),
    mutant(
      'days that are rounded',
      '(make_date(2370, 1, 1) + floor(${epoch(column)} / 86400)::int)',
      '(make_date(2370, 1, 1) + (${epoch(column)} / 86400)::int)',
    ),
    mutant('months with their day', '`left(${postgresDay(column)}, -3)`', 'postgresDay(column)'),
  ),
];

/** What is found by a test: suites send one request after the other, and look at no plans. */
export const postgresMutantsOfTests: readonly MutantOfTest[] = [
  ...inTest(
    'storage/trees',
    mutant('trees that do not wait for each other', 'if (tables.lockOwnership) await', 'if (false) await'),
  ),
  ...inTest(
    'postgres/plans',
    mutant(
      'locked rows that are looked for in the whole table',
      '= any (array(select value::bigint from json_array_elements_text(?)))`',
      'in (select value::bigint from json_array_elements_text(?))`',
    ),
    mutant('a page whose skipped records are put together', 'skipsUnbuilt: false,', 'skipsUnbuilt: true,'),
    mutant(
      'a long page that is put together to its end',
      'page window sofar as (rows unbounded preceding)',
      'page window sofar as (rows between unbounded preceding and unbounded following)',
    ),
  ),
  ...inTest(
    'postgres/shares',
    mutant(
      'long pages that are all put together at once',
      'isLong ? await longPages.take(caller) : undefined',
      'undefined',
    ),
    mutant('two long pages that are put together at once', 'const LONG_PAGES = 1;', 'const LONG_PAGES = 2;'),
  ),
  ...inTest(
    'postgres/round-trips',
    mutant(
      'a long page that is measured each time',
      'expected === undefined ? undefined : await readLong(request, expected, caller)',
      'undefined',
    ),
    mutant(
      'a long page whose length nobody remembers',
      'if (bytes !== undefined) onLong(bytes);',
      'if (bytes !== undefined) onLong(Infinity);',
    ),
  ),
  ...inTest(
    'storage/page-bytes',
    mutant(
      'a long page in one turn',
      'yield await pace.begin(() => records.slice(begin, end));',
      'yield records.slice(begin, end);',
    ),
    mutant(
      'a long page for an agent in one turn',
      'yield await pace.begin(() => JSON.stringify(piece).slice(1, -1));',
      'yield JSON.stringify(piece).slice(1, -1);',
    ),
  ),
  ...inTest(
    'postgres/sequences',
    mutant(
      'an identifier of the client that is made again',
      "select id, ${moveBehind(sequence, 'id')} from (",
      'select id from (',
    ),
    mutant('identifiers of four bytes', "integer: 'bigint',", "integer: 'integer',"),
  ),
  ...inTest(
    'postgres/round-trips',
    mutant(
      'a dry run that makes records one by one',
      'await insertTogether(session, one, nodes)',
      'await insertEach(session, nodes)',
    ),
    mutant('a dry run that gives a taken identifier', 'brought?.has(value) !== true', 'value > 0'),
  ),
];
