/**
 * Changes of tables in PostgreSQL while clients use them. What is done is recorded in the transaction that does it, so
 * that a migration that was cut off goes on where it was.
 */
import { createHash } from 'node:crypto';
import { type Caller, CallerGone, pauseFor } from '../../edge/caller.ts';
import { Problem, StartError } from '../../problem.ts';
import { type LinkColumn, MIGRATION_TABLE } from '../tables.ts';
import { ENGINE_PREFIX } from '../../model/model.ts';
import type { Reader, Writer } from '../driver.ts';
import { type Doing, type Follower, type Migration, type Task, taskKinds, tasksOf } from '../migrate/driver.ts';
import { cureOf, isFinal, isRefusal, stateOf, translate } from './errors.ts';
import { BEGIN, BEGIN_BRIEFLY, BEGIN_PATIENTLY, insist, lockAll } from './locking.ts';
import type { Connections } from './pool.ts';
import { alone, taken, writeIn } from './transaction.ts';

/** Makes no copy: there is no file to copy. */
export async function migrate(connections: Connections, migration: Migration): Promise<undefined> {
  let current = 'begin';
  const report: Follower['report'] = (event) => {
    if (event.kind === 'doing') current = event.task.sql;
    migration.watch.report(event);
  };
  await telling(
    () => carryOut(connections, { ...migration, watch: { ...migration.watch, report } }),
    () => current,
  );
}

/** Throws a StartError that says which statement failed, and why. */
async function telling(work: () => Promise<void>, current: () => string): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof StartError || error instanceof CallerGone) throw error;
    throw new StartError(whyNot(error, current()), { cause: error });
  }
}

function whyNot(error: unknown, sql: string): string {
  if (error instanceof Problem && error.code === 'outcome-unknown')
    return 'The connection was lost before the database said whether the tables were changed. Start again: what is done is not done twice';
  // The server's own error is at the end of the chain.
  let cause = error;
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause;
  const cure = cureOf(cause);
  return `The database did not carry out "${sql}" (${stateOf(error)}). Nothing was changed${cure === undefined ? '' : `. What helps: ${cure}`}`;
}

async function carryOut(connections: Connections, migration: Migration): Promise<void> {
  const tasks = [...migration.tasks];
  const [prepare, last] = [tasksOf('prepare', tasks), tasksOf('finish', tasks)];
  const { watch } = migration;
  const at = (number: number): Place => ({ number, of: tasks.length });
  const isShort = prepare.length + last.length === 0;
  const key = createHash('sha256').update(migration.key).digest('hex');
  const known = await readProgress(alone(connections));
  const isSame = known?.key === key;
  if (known && !isSame) await abandonMigration(connections, watch);
  if (!isShort && !isSame) await writeIn(connections, BEGIN, (writer) => record.begin(writer, key));
  const { done, position } = known && isSame ? known : { done: 0, position: 0 };
  try {
    for (const [index, task] of prepare.entries())
      if (index >= done) await prepareOne(connections, task, at(index + 1), index === done ? position : 0, watch);
    await change(connections, migration, tasksOf('switch', tasks), at(prepare.length + 1), async (writer) => {
      if (last.length > 0) await record.switched(writer, last);
      else if (!isShort) await record.end(writer);
    });
  } catch (error) {
    // Nothing is left behind that would refuse others, or that the same migration could not go on from.
    if (isFinal(error)) await abandonMigration(connections, watch);
    throw error;
  }
  await finishMigration(connections, watch, at(tasks.length - last.length + 1));
}

export async function define(connections: Connections, statements: readonly string[]): Promise<void> {
  let current = 'begin';
  await telling(
    () =>
      writeIn(connections, BEGIN_PATIENTLY, async (writer) => {
        for (current of statements) await writer.run({ sql: current }, []);
      }),
    () => current,
  );
}

/** Of a task among all. */
type Place = Pick<Doing, 'number' | 'of'>;

async function prepareOne(
  connections: Connections,
  task: Task,
  place: Place,
  position: number,
  watch: Follower,
): Promise<void> {
  if (task.kind === 'fill') return fill(connections, task, place, position, watch);
  watch.report({ kind: 'doing', task, ...place, position: 0, last: 0, rows: 0 });
  const { lock } = taskKinds[task.kind];
  if (task.kind === 'index') await buildIndex(connections, task, watch);
  const tables = task.table === undefined ? [] : [task.table];
  await insist(connections, watch, tables, (tries) =>
    writeIn(
      connections,
      lock === 'none' ? 'begin' : BEGIN,
      async (writer) => {
        if (lock === 'all' || lock === 'writes') await lockAll(writer, tables, lock, tries);
        if (task.kind !== 'index') await writer.run(task, []);
        await record.done(writer, place.number);
      },
      watch.caller,
    ),
  );
}

// Batches.

/** Milliseconds that the rows of a batch stay locked, about. */
const BATCH_TIME = 30;
const FIRST_ROWS = 500;
const MOST_ROWS = 10_000;

async function fill(connections: Connections, task: Task, place: Place, from: number, watch: Follower): Promise<void> {
  const [table, identifier] = [quoted(task.table ?? ''), quoted(task.identifier ?? '')];
  const ends = { sql: `select max(${identifier}) from ${table}` };
  const batch = {
    sql: `select max(${identifier}) from (select ${identifier} from ${table} where ${identifier} > ? order by ${identifier} limit ?) as batch`,
  };
  const update = { sql: task.sql };
  const last = Number((await alone(connections).value(ends, [])) ?? 0);
  let rows = FIRST_ROWS;
  let filled = 0;
  for (let position = from; ;) {
    watch.report({ kind: 'doing', task, ...place, position, last, rows: filled });
    const began = performance.now();
    const { end: next, changes } = await insist(
      connections,
      watch,
      [task.table ?? ''],
      () =>
        writeIn(
          connections,
          BEGIN,
          async (writer) => {
            const end = await writer.value(batch, [position, rows]);
            if (typeof end !== 'number') {
              await record.done(writer, place.number);
              return { end, changes: 0 };
            }
            const done = await writer.run(update, [position, end]);
            await record.filled(writer, end);
            return { end, changes: done.changes };
          },
          watch.caller,
        ),
      () => (rows = Math.max(1, Math.floor(rows / 2))),
    );
    if (typeof next !== 'number') return;
    position = next;
    filled += changes;
    const elapsed = performance.now() - began;
    rows = Math.ceil(Math.min(2 * rows, MOST_ROWS, (rows * BATCH_TIME) / elapsed));
    // Requests have the server to themselves for as long again.
    await pauseFor(elapsed, watch.caller);
    if (watch.caller.isGone) throw new CallerGone();
  }
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

// Indexes.

const VALID = { sql: 'select indisvalid from pg_index where indexrelid = to_regclass(?)' };

/** One that was cut off is left behind invalid, and is built again. */
async function buildIndex(connections: Connections, { sql, builds = '' }: Task, { caller }: Follower): Promise<void> {
  const name = quoted(builds);
  const valid = await alone(connections).value(VALID, [name]);
  if (valid === 't') return;
  if (valid !== undefined) await outside(connections, `drop index concurrently if exists ${name}`, caller);
  await outside(connections, sql, caller);
}

/** Runs a statement that PostgreSQL runs in no transaction. */
async function outside(connections: Connections, sql: string, caller: Caller): Promise<void> {
  const connection = await taken(connections, caller);
  try {
    await connection.execute(sql);
  } catch (error) {
    connection.spoil();
    throw isRefusal(error) ? error : translate(error);
  } finally {
    connection.release();
  }
}

// The switch.

async function change(
  connections: Connections,
  { before, after, watch, locked }: Migration,
  tasks: readonly Task[],
  { number, of }: Place,
  recorded: (writer: Writer) => Promise<void>,
): Promise<void> {
  const strong = tasks.filter(({ kind }) => taskKinds[kind].lock === 'all');
  const tables = [...new Set([...locked, ...strong.flatMap(({ table }) => table ?? [])])].toSorted();
  await insist(connections, watch, tables, (tries) =>
    writeIn(
      connections,
      BEGIN,
      async (writer) => {
        await lockAll(writer, tables, 'all', tries);
        await before(writer);
        for (const [index, task] of tasks.entries()) {
          watch.report({ kind: 'doing', task, number: number + index, of, position: 0, last: 0, rows: 0 });
          await writer.run(task, []);
        }
        await after(writer);
        await recorded(writer);
      },
      watch.caller,
    ),
  );
}

// Afterwards.

/** `first`: the place of the first task that is left; without it, they are all that is counted. */
export async function finishMigration(connections: Connections, watch: Follower, first?: Place): Promise<void> {
  const { rest } = (await readProgress(alone(connections))) ?? {};
  if (rest === undefined) return;
  const { number, of } = first ?? { number: 1, of: rest.length };
  for (const [index, { kind, sql, table }] of rest.entries()) {
    watch.report({
      kind: 'doing',
      task: { kind, sql, table },
      number: number + index,
      of,
      position: 0,
      last: 0,
      rows: 0,
    });
    if (kind === 'dropIndex') await outside(connections, sql, watch.caller);
    else await writeIn(connections, 'begin', (writer) => writer.run({ sql }, []), watch.caller);
  }
  await writeIn(connections, 'begin', (writer) => record.end(writer));
}

export async function abandonMigration(connections: Connections, watch: Follower): Promise<boolean> {
  const reader = alone(connections);
  const known = await readProgress(reader);
  if (known === undefined) return false;
  for (const sql of await reader.column(PREPARED_INDEXES, [])) await outside(connections, String(sql), watch.caller);
  const drops = (await reader.all(PREPARED, [])).map(([table, sql]) => ({ table: String(table), sql: String(sql) }));
  for (const table of new Set(drops.map((one) => one.table)))
    await insist(connections, watch, [table], (tries) =>
      writeIn(connections, BEGIN, async (writer) => {
        await lockAll(writer, [table], 'all', tries);
        for (const { sql } of drops.filter((one) => one.table === table)) await writer.run({ sql }, []);
      }),
    );
  await writeIn(connections, 'begin', async (writer) => {
    for (const sql of await writer.column(PREPARED_FUNCTIONS, [])) await writer.run({ sql: String(sql) }, []);
    await record.end(writer);
  });
  return true;
}

// What PostgreSQL assumes of foreign keys: that each record is referred to by about ten rows, unless it knows of more. By
// default it assumes as many for each as there are on average. Where nearly all rows of a table belong to one record, it
// would read the whole table to count the few, or none, of any other one.

/** Rows for each distinct value: a negative number is a share of the rows of the table. */
const SMALL_SETS = 'n_distinct = -0.1';
/** Leaves settings that an operator has made by hand. */
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
    await writeIn(connections, BEGIN_BRIEFLY, async (writer) => {
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

// The state of a running migration in the database: its progress, and the objects that it has prepared.

/** The row of a migration that was begun. */
interface MigrationProgress {
  readonly key: string;
  /** How many tasks are done that prepare it. */
  readonly done: number;
  /** The identifier up to which the task after them is done. */
  readonly position: number;
  /** Once the tables are changed: what is still to be done. */
  readonly rest: readonly Rest[] | undefined;
}

type Rest = Pick<Task, 'kind' | 'sql' | 'table'>;

const HAS_PROGRESS = { sql: `select to_regclass('${MIGRATION_TABLE}') is not null` };
const READ_PROGRESS = { sql: `select key, done, position, rest from ${MIGRATION_TABLE}` };
const BEGIN_MIGRATION = { sql: `insert into ${MIGRATION_TABLE} (key, done, position) values (?, 0, 0)` };
const DONE = { sql: `update ${MIGRATION_TABLE} set done = ?, position = 0` };
const FILLED = { sql: `update ${MIGRATION_TABLE} set position = ?` };
const SWITCHED = { sql: `update ${MIGRATION_TABLE} set rest = ?` };
const END = { sql: `delete from ${MIGRATION_TABLE}` };

async function readProgress(reader: Reader): Promise<MigrationProgress | undefined> {
  if ((await reader.value(HAS_PROGRESS, [])) !== 't') return undefined;
  const [key, done, position, rest] = (await reader.get(READ_PROGRESS, [])) ?? [];
  if (key === undefined) return undefined;
  const left = rest === null || rest === undefined ? undefined : (JSON.parse(String(rest)) as readonly Rest[]);
  return { key: String(key), done: Number(done), position: Number(position), rest: left };
}

/** Each in the transaction of what it records. */
const record = {
  begin: (writer: Writer, key: string) => writer.run(BEGIN_MIGRATION, [key]),
  done: (writer: Writer, tasks: number) => writer.run(DONE, [tasks]),
  filled: (writer: Writer, position: number) => writer.run(FILLED, [position]),
  switched: (writer: Writer, rest: readonly Task[]) =>
    writer.run(SWITCHED, [JSON.stringify(rest.map(({ kind, sql, table }) => ({ kind, sql, table })))]),
  end: (writer: Writer) => writer.run(END, []),
} as const;

// Prepared objects have names of the engine's own, so that they are found wherever a migration was interrupted.

const OWN = (name: string): string => `starts_with(${name}, '${ENGINE_PREFIX}')`;
const TABLES = `pg_class t where t.relnamespace = quote_ident(current_schema())::regnamespace and t.relkind = 'r' and not ${OWN('t.relname')}`;

/** The table, and what takes away what was prepared on it: columns last, since their constraints go with them. */
const PREPARED = {
  sql: `select "table", sql from (${[
    `select 1 as step, t.relname::text as "table", format('drop trigger %I on %s', tgname, t.oid::regclass) as sql from pg_trigger, ${TABLES} and tgrelid = t.oid and ${OWN('tgname')}`,
    `select 2, t.relname::text, format('alter table %s drop constraint %I', t.oid::regclass, conname) from pg_constraint, ${TABLES} and conrelid = t.oid and ${OWN('conname')}`,
    `select 3, t.relname::text, format('alter table %s drop column %I', t.oid::regclass, attname) from pg_attribute, ${TABLES} and attrelid = t.oid and not attisdropped and ${OWN('attname')}`,
  ].join(' union all ')}) as found order by step`,
};
const PREPARED_FUNCTIONS = {
  sql: `select format('drop function %s', oid::regprocedure) from pg_proc where pronamespace = quote_ident(current_schema())::regnamespace and ${OWN('proname')}`,
};
const PREPARED_INDEXES = {
  sql: `select format('drop index concurrently %s', indexrelid::regclass) from pg_index join pg_class i on i.oid = indexrelid, ${TABLES} and indrelid = t.oid and ${OWN('i.relname')}`,
};
