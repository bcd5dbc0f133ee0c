/** Changes of tables in PostgreSQL, all in one transaction; and how tables differ from what they should be. */
import { SEPARATOR } from '../define.ts';
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
  await changing(connections, async (writer, onStatement) => {
    await migration.before(writer);
    await runDdl(writer, migration.statements, onStatement);
    await migration.after(writer);
  });
}

export async function define(connections: Connections, statements: readonly string[]): Promise<void> {
  await changing(connections, (writer, onStatement) => runDdl(writer, statements, onStatement));
}

type OnStatement = (sql: string) => void;

/** Throws a StartError that says which statement failed, and why. */
async function changing(
  connections: Connections,
  work: (writer: Writer, onStatement: OnStatement) => Promise<void>,
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
async function runDdl(writer: Writer, definitions: Iterable<string>, onStatement: OnStatement): Promise<void> {
  const run = async (sql: string): Promise<void> => {
    onStatement(sql);
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

// How tables differ from what PostgreSQL makes of their DDL, in a schema that lives for a moment.

const SCRATCH = '_records_scratch';
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

/** Thrown to roll the scratch schema back. */
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
      const schema = String(await writer.value(SCHEMA, []));
      await writer.run({ sql: `create schema ${SCRATCH}` }, []);
      await writer.run({ sql: `set local search_path to ${SCRATCH}` }, []);
      for (const definition of Object.values(tables)) await create(writer, definition);
      throw new Enough(await compareAll(writer, schema, Object.keys(tables)));
    });
  } catch (error) {
    if (error instanceof Enough) return error.found;
    throw error;
  }
}

/** Without foreign keys: they lead to tables that are not in the scratch schema. */
async function create(writer: Writer, definition: TableDefinition): Promise<void> {
  const [table = ''] = definition.create.split(SEPARATOR);
  for (const sql of [table, ...Object.values(definition.indexes)]) await writer.run({ sql }, []);
}

async function compareAll(writer: Writer, schema: string, tables: readonly string[]): Promise<readonly Drift[]> {
  const found: Drift[] = [];
  for (const table of tables) {
    const differences = compareObjects(await inspect(writer, SCRATCH, table), await inspect(writer, schema, table));
    if (differences.length > 0) found.push({ table, differences });
  }
  return found;
}

async function inspect(writer: Writer, schema: string, table: string): Promise<Objects> {
  const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
  const columns = await writer.all(COLUMNS, [`${quoted(schema)}.${quoted(table)}`]);
  const indexes = await writer.all(INDEXES, [`${quoted(schema)}.${quoted(table)}`]);
  const checks = await writer.column(CHECKS, [`${quoted(schema)}.${quoted(table)}`]);
  const plain = (sql: unknown): string => String(sql).replaceAll('"', '').replace(` ON ${schema}.`, ' ON ');
  return new Map([
    ...columns.map(([name, text]) => [`column ${name}`, String(text)] as const),
    ...checks.map((check) => [String(check), ''] as const),
    ...indexes.map(([name, sql]) => [`index ${name}`, plain(sql)] as const),
  ]);
}
