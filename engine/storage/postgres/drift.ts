/**
 * How tables differ from what PostgreSQL makes of their DDL: under another name, in a transaction that is rolled back. The
 * service may have no right to more than its own schema.
 */
import { ENGINE_PREFIX } from '../../model/model.ts';
import { SEPARATOR } from '../define.ts';
import type { Writer } from '../driver.ts';
import type { TableDefinition } from '../migrate/applied.ts';
import { compareObjects, type Drift, type Objects } from '../migrate/driver.ts';
import { PREPARED_PREFIX } from './alter.ts';
import { withoutName } from './migrate.ts';
import type { Connections } from './pool.ts';
import { writeIn } from './transaction.ts';

const SCRATCH = `${ENGINE_PREFIX}scratch`;
/** What a migration has prepared is no difference. */
const isNotPrepared = (name: string): string => `not starts_with(${name}, '${PREPARED_PREFIX}')`;

const SCHEMA = { sql: 'select current_schema()' };
const COLUMNS = {
  sql: `select attname::text, concat_ws(' ', format_type(atttypid, atttypmod), attcollation, attnotnull, attidentity,
    pg_get_expr(adbin, adrelid))
    from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attrelid = to_regclass(?) and attnum > 0 and not attisdropped and ${isNotPrepared('attname')}`,
};
/** Without primary keys: they keep their names when the table is renamed. */
const INDEXES = {
  sql: `select relname::text, pg_get_indexdef(indexrelid) from pg_index join pg_class on pg_class.oid = indexrelid
    where indrelid = to_regclass(?) and not indisprimary and ${isNotPrepared('relname')}`,
};

const CHECKS = {
  sql: `select pg_get_constraintdef(oid) from pg_constraint where contype = 'c' and conrelid = to_regclass(?) and ${isNotPrepared('conname')}`,
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
