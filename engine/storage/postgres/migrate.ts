/** Changes of tables in PostgreSQL, all in one transaction; and how tables differ from what they should be. */
import { ENGINE_PREFIX } from '../../model/model.ts';
import { type LinkColumn, SEPARATOR } from '../define.ts';
import type { Writer } from '../driver.ts';
import { Problem } from '../../problem.ts';
import { StartError } from '../../start-error.ts';
import type { TableDefinition } from '../migrate/applied.ts';
import { compareObjects, type Drift, type Migration, type Objects } from '../migrate/driver.ts';
import type { Connections } from './pool.ts';
import { stateOf } from './errors.ts';
import { writeIn } from './transaction.ts';

/** A migration waits this long for a table that others use; those that come after it wait as long. */
const BEGIN = `begin; set local lock_timeout = '10s'`;
const EXISTS = { sql: 'select to_regclass(?) is not null' };

/** Makes no copy: there is no file to copy. */
export async function migrate(connections: Connections, migration: Migration): Promise<undefined> {
  await changing(connections, async (writer, note) => {
    for (const table of migration.locked)
      await writer.run({ sql: `lock table ${quoted(table)} in access exclusive mode` }, []);
    await migration.before(writer);
    await runDdl(writer, migration.statements, note);
    await migration.after(writer);
  });
}

export async function define(connections: Connections, statements: readonly string[]): Promise<void> {
  await changing(connections, (writer, note) => runDdl(writer, statements, note));
}

type NoteStatement = (sql: string) => void;

/** Throws a StartError that says which statement failed, and why. */
async function changing(
  connections: Connections,
  work: (writer: Writer, note: NoteStatement) => Promise<void>,
): Promise<void> {
  let current = 'begin';
  try {
    await writeIn(connections, BEGIN, (writer) => work(writer, (sql) => (current = sql)));
  } catch (error) {
    throw error instanceof StartError ? error : new StartError(whyNot(error, current), { cause: error });
  }
}

function whyNot(error: unknown, sql: string): string {
  if (error instanceof Problem && error.code === 'outcome-unknown')
    return 'The connection was lost before the database said whether the tables were changed. Start again: what is done is not done twice';
  return `The database did not carry out "${sql}" (${stateOf(error)}). Nothing was changed`;
}

/** Tables may lead to each other in circles: a foreign key waits until the table that it leads to is there. */
async function runDdl(writer: Writer, definitions: Iterable<string>, note: NoteStatement): Promise<void> {
  const run = async (sql: string): Promise<void> => {
    note(sql);
    await writer.run({ sql }, []);
  };
  const waiting: string[] = [];
  for (const definition of definitions)
    for (const sql of definition.split(SEPARATOR)) {
      const [, target] = /^alter table .* foreign key .* references ("(?:[^"]|"")+")/.exec(sql) ?? [];
      if (target !== undefined && (await writer.value(EXISTS, [target])) === 'f') waiting.push(sql);
      else await run(isDrop(sql) ? `${sql} cascade` : withoutName(sql));
    }
  for (const sql of waiting) await run(sql);
}

/** The name of a primary key may be taken by a table that has another name now: PostgreSQL finds one that is free. */
const withoutName = (sql: string): string => sql.replace(/, constraint "(?:[^"]|"")+" (primary key \()/, ', $1');

/** Foreign keys of other tables that lead to it are dropped too; their columns are steps of their own. */
const isDrop = (sql: string): boolean => /^drop table "(?:[^"]|"")+"$/.test(sql);

// How tables differ from what PostgreSQL makes of their DDL: under another name, in a transaction that is rolled back. The
// service may have no right to more than its own schema.

const SCRATCH = `${ENGINE_PREFIX}scratch`;
const SCHEMA = { sql: 'select current_schema()' };
const COLUMNS = {
  sql: `select attname::text, concat_ws(' ', format_type(atttypid, atttypmod), attcollation, attnotnull, attidentity,
    pg_get_expr(adbin, adrelid))
    from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attrelid = to_regclass(?) and attnum > 0 and not attisdropped`,
};
/** Without primary keys: they keep their names when the table is renamed. */
const INDEXES = {
  sql: `select relname::text, pg_get_indexdef(indexrelid) from pg_index join pg_class on pg_class.oid = indexrelid
    where indrelid = to_regclass(?) and not indisprimary`,
};

const CHECKS = {
  sql: `select pg_get_constraintdef(oid) from pg_constraint where contype = 'c' and conrelid = to_regclass(?)`,
};

/** Thrown to roll the transaction back. */
class Enough extends Error {
  readonly found: readonly Drift[];

  constructor(found: readonly Drift[]) {
    super('enough');
    this.found = found;
  }
}

export async function findDrift(
  connections: Connections,
  tables: Readonly<Record<string, TableDefinition>>,
): Promise<readonly Drift[]> {
  if (Object.keys(tables).length === 0) return [];
  try {
    return await writeIn(connections, 'begin', async (writer): Promise<never> => {
      throw new Enough(await compareAll(writer, tables));
    });
  } catch (error) {
    if (error instanceof Enough) return error.found;
    throw error;
  }
}

async function compareAll(
  writer: Writer,
  tables: Readonly<Record<string, TableDefinition>>,
): Promise<readonly Drift[]> {
  const schema = quoted(String(await writer.value(SCHEMA, [])));
  const found: Drift[] = [];
  for (const [table, definition] of Object.entries(tables)) {
    const names = await createScratch(writer, definition);
    const expected = await inspect(writer, `${schema}.${quoted(SCRATCH)}`, names);
    const differences = compareObjects(expected, await inspect(writer, `${schema}.${quoted(table)}`));
    if (differences.length > 0) found.push({ table, differences });
    await writer.run({ sql: `drop table ${quoted(SCRATCH)}` }, []);
  }
  return found;
}

/** Without foreign keys. Answers which index has which name in truth. */
async function createScratch(
  writer: Writer,
  { create, indexes }: TableDefinition,
): Promise<ReadonlyMap<string, string>> {
  const [table = ''] = create.split(SEPARATOR);
  await writer.run(
    { sql: withoutName(table.replace(/^create table "(?:[^"]|"")+"/, `create table "${SCRATCH}"`)) },
    [],
  );
  const names = Object.keys(indexes).map((name, position) => [`${SCRATCH}_${position}`, name] as const);
  for (const [scratch, name] of names) {
    const sql = indexes[name]?.replace(/ "(?:[^"]|"")+" on "(?:[^"]|"")+"/, ` "${scratch}" on "${SCRATCH}"`) ?? '';
    await writer.run({ sql }, []);
  }
  return new Map(names);
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** `names`: of indexes that have other names in truth. */
async function inspect(
  writer: Writer,
  table: string,
  names: ReadonlyMap<string, string> = new Map(),
): Promise<Objects> {
  const columns = await writer.all(COLUMNS, [table]);
  const indexes = await writer.all(INDEXES, [table]);
  const checks = await writer.column(CHECKS, [table]);
  return new Map([
    ...columns.map(([name, text]) => [`column ${name}`, String(text)] as const),
    ...checks.map((check) => [String(check), ''] as const),
    ...indexes.map(([name, sql]) => [`index ${names.get(String(name)) ?? name}`, withoutNames(String(sql))] as const),
  ]);
}

/** Of an index: whether it is unique, and what it is over. */
const withoutNames = (sql: string): string => sql.replace(/ INDEX .+? USING /, ' ');

// What PostgreSQL assumes of foreign keys: that each record is referred to by about ten rows, unless it knows of more. By
// default it assumes as many for each as there are on average. Where nearly all rows of a table belong to one record, it
// would read the whole table to count the few, or none, of any other one.

/** A start does not wait long for tables that others change. */
const BEGIN_SOON = `begin; set local lock_timeout = '1s'`;
/** Rows for each distinct value: a negative number is a share of the rows of the table. */
const SMALL_SETS = 'n_distinct = -0.1';
/** What an operator has set by hand stays. */
const UNSET = {
  sql: `select format('alter table %s alter column %I set (${SMALL_SETS})', attrelid::regclass, attname),
    format('analyze %s (%I)', attrelid::regclass, attname)
    from jsonb_to_recordset(?::jsonb) as link("table" text, "column" text)
    join pg_attribute on attrelid = to_regclass(quote_ident(link."table")) and attname = link."column"
    where coalesce(array_to_string(attoptions, ','), '') not like '%n_distinct%'`,
};

/** Without it requests may be slower, but no start should fail for it: the tables may belong to another user. */
export async function expectSmallSets(connections: Connections, links: readonly LinkColumn[]): Promise<void> {
  try {
    await writeIn(connections, BEGIN_SOON, async (writer) => {
      const missing = await writer.all(UNSET, [JSON.stringify(links)]);
      for (const [alter, analyze] of missing) {
        await writer.run({ sql: String(alter) }, []);
        await writer.run({ sql: String(analyze) }, []);
      }
    });
  } catch {
    return;
  }
}
