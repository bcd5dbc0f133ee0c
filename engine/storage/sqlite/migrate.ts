/** Migrates an SQLite file on its own connection: foreign keys are off, and checked at the end. */
import type { Migration } from '../driver.ts';
import { CallerGone } from '../../edge/caller.ts';
import { ENGINE_PREFIX } from '../../model/model.ts';
import { innermost, Problem, reasonOf, StartError } from '../../problem.ts';
import { nameKey } from '../migrate/applied.ts';
import { type Task, tooGreat } from '../migrate/task.ts';
import { backUp, timestamped } from './backup.ts';
import { connect, type SqliteConnection } from './connection.ts';
import { sqliteDialect } from './dialect.ts';
import { BUSY_TIMEOUT_MS, FILL_BATCH_ROWS } from './tuning.ts';

const MAX_SHOWN = 10;

export async function migrate(file: string, migration: Migration): Promise<string | undefined> {
  const connection = connect(file, false);
  try {
    connection.execute(
      `pragma busy_timeout = ${BUSY_TIMEOUT_MS}; pragma journal_mode = wal; pragma synchronous = full; pragma trusted_schema = off; pragma foreign_keys = off; begin immediate`,
    );
    const copy = await carryOut(connection, file, migration);
    connection.execute('commit');
    return copy;
  } catch (error) {
    // The file is busy, or the disk is full.
    throw error instanceof Problem ? new StartError(`${error.message}. Nothing was changed.`, { cause: error }) : error;
  } finally {
    connection.close();
  }
}

async function carryOut(connection: SqliteConnection, file: string, migration: Migration): Promise<string | undefined> {
  await migration.before(connection);
  // This connection holds the write lock, so the copy, made by another connection, has the old state.
  const copy = migration.backup ? timestamped(file, 'backup') : undefined;
  if (copy !== undefined) await backUp(file, copy);
  const { caller, report } = migration.watch;
  const { tasks } = migration;
  const found = schemaOf(connection);
  for (const [index, task] of tasks.entries()) {
    if (caller.signal.aborted) throw new CallerGone();
    explainErrors(task.sql, () =>
      runTask(connection, task, (position, last, rows) =>
        report({ kind: 'doing', task, number: index + 1, of: tasks.length, position, last, rows }),
      ),
    );
  }
  for (const sql of lostIn(connection, found, migration.own)) explainErrors(sql, () => connection.run({ sql }, []));
  await migration.after(connection);
  const broken = brokenKeys(connection);
  if (broken !== undefined) throw new StartError(`${broken}. Nothing was changed.`);
  return copy;
}

function runTask(
  connection: SqliteConnection,
  { kind, table = '', identifier = '', sql }: Task,
  tell: (position: number, last: number, rows: number) => void,
): void {
  if (kind !== 'fill') {
    tell(0, 0, 0);
    return connection.execute(sql);
  }
  const { quote } = sqliteDialect;
  const key = quote(identifier);
  const last = Number(connection.value({ sql: `select max(${key}) from ${quote(table)}` }, []) ?? 0);
  const next = {
    sql: `select max(${key}) from (select ${key} from ${quote(table)} where ${key} > ? order by ${key} limit ${FILL_BATCH_ROWS})`,
  };
  let rows = 0;
  // Rows of others can have a number below 1.
  for (let position = -Infinity; ;) {
    tell(Math.max(0, position), last, rows);
    const end = connection.value(next, [position]);
    if (typeof end !== 'number') return;
    if (end === position) throw tooGreat(table);
    // This connection never returns a promise.
    rows += (connection.run({ sql }, [position, end]) as { readonly changes: number }).changes;
    position = end;
  }
}

function explainErrors(sql: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof Problem) throw error;
    const reason = reasonOf(error);
    throw new StartError(`SQLite refused "${sql}": ${reason}. Nothing was changed.`, { cause: error });
  }
}

/** The check itself fails on a key that leads to columns without a unique index. */
function brokenKeys({ database }: SqliteConnection): string | undefined {
  const sql = 'select "table", rowid, parent from pragma_foreign_key_check';
  let broken: readonly (readonly (string | number | null)[])[];
  try {
    broken = database.prepare<[], (string | number | null)[]>(sql).raw().all();
  } catch (error) {
    return reasonOf(error);
  }
  if (broken.length === 0) return undefined;
  const shown = broken.slice(0, MAX_SHOWN).map(([table, row, parent]) => `row ${row} of ${table} to ${parent}`);
  return `${broken.length} foreign keys would lead nowhere: ${shown.join(', ')}`;
}

type SchemaRow = Readonly<Record<'type' | 'name' | 'table' | 'sql', string>>;

/** Sorts tables first, triggers last. */
const schemaOf = ({ database }: Pick<SqliteConnection, 'database'>): readonly SchemaRow[] =>
  database
    .prepare<[], SchemaRow>(
      `select type, name, tbl_name as "table", sql from sqlite_schema where sql is not null and name not like 'sqlite\\_%' escape '\\'
      order by case type when 'table' then 1 when 'index' then 2 when 'view' then 3 else 4 end`,
    )
    .all();

/** SQL of third-party indexes and triggers that a rebuild has lost; steps make the engine's own again. */
function lostIn(
  connection: SqliteConnection,
  before: readonly SchemaRow[],
  own: ReadonlySet<string>,
): readonly string[] {
  const after = schemaOf(connection);
  const there = new Set([...own, ...after.map(({ name }) => name)]);
  const tables = new Set(after.filter(({ type }) => type === 'table').map(({ name }) => nameKey(name)));
  return before
    .filter(
      ({ type, name, table }) => ['index', 'trigger'].includes(type) && !there.has(name) && tables.has(nameKey(table)),
    )
    .filter(({ name }) => !name.startsWith(ENGINE_PREFIX))
    .map(({ sql }) => sql);
}

/** SQLite parses all views and triggers to rename a table, and none when a table is replaced. */
const READ_ALL = [
  `create table ${ENGINE_PREFIX}one (a)`,
  `alter table ${ENGINE_PREFIX}one rename to ${ENGINE_PREFIX}other`,
  `drop table ${ENGINE_PREFIX}other`,
];

/** Runs the tasks on a copy of the file's schema, without rows. */
export function dryRun(
  file: SqliteConnection,
  { tasks, own }: Pick<Migration, 'tasks' | 'own'>,
): { readonly task: Task; readonly reason: string } | undefined {
  let [task] = tasks;
  if (!task) return undefined;
  const broken = brokenKeys(file);
  if (broken !== undefined) return { task, reason: broken };
  const scratch = connect(':memory:', false);
  try {
    scratch.execute('pragma trusted_schema = off; pragma foreign_keys = off');
    const rows = schemaOf(file);
    let isSound = true;
    for (const { sql } of [...rows, ...READ_ALL.map((read) => ({ sql: read }))])
      try {
        // Unlike `execute`, this runs only one statement: the file may come from anywhere.
        scratch.run({ sql }, []);
      } catch {
        // Third-party objects may need what the copy lacks.
        isSound = false;
      }
    for (task of tasks) runTask(scratch, task, () => undefined);
    [task] = tasks;
    for (const sql of lostIn(scratch, rows, own)) scratch.run({ sql }, []);
    if (isSound) scratch.execute(READ_ALL.join(';'));
    const mismatch = brokenKeys(scratch);
    return task && mismatch !== undefined ? { task, reason: mismatch } : undefined;
  } catch (error) {
    return task && { task, reason: reasonOf(innermost(error)) };
  } finally {
    scratch.close();
  }
}
