/** Migrates PostgreSQL tables while clients use them. Stores progress so that the next run continues. */
import type { Identifier } from '../../model/identifier.ts';
import { createHash } from 'node:crypto';
import { CallerGone, pauseFor } from '../../edge/caller.ts';
import { ENGINE_PREFIX } from '../../model/model.ts';
import { innermost, Problem, StartError } from '../../problem.ts';
import {
  type Reader,
  type Values,
  type Writer,
  type Doing,
  type Follower,
  type Migration,
  SeedRefused,
} from '../driver.ts';
import { type Task, taskKinds, tooGreat } from '../migrate/task.ts';
import { LOG_TABLE } from '../log/recording.ts';
import { METADATA } from '../tables.ts';
import { postgresDialect } from './dialect.ts';
import { hintOf, isFinal, isLockTimeout, stateOf } from './errors.ts';
import type { Connections } from './pool.ts';
import { autocommit, writeIn } from './transaction.ts';
import {
  DDL_DEADLINE_MS,
  DDL_LOCK_TIMEOUT_MS,
  FILL_BATCH_MS,
  FIRST_FILL_ROWS,
  LOCK_TIMEOUT_MS,
  MAX_DDL_BACKOFF_MS,
} from './tuning.ts';

const { quote } = postgresDialect;

interface Run {
  readonly connections: Connections;
  readonly watch: Follower;
}

export async function migrate(connections: Connections, migration: Migration): Promise<undefined> {
  await explainErrors(async (running) => {
    const report: Follower['report'] = (event) => {
      if (event.kind === 'doing') running(event.task.sql);
      migration.watch.report(event);
    };
    await carryOut(connections, { ...migration, watch: { ...migration.watch, report } });
  });
}

export const define = (connections: Connections, statements: readonly string[]): Promise<void> =>
  explainErrors((running) =>
    // Waiting for the lock delays no request: none uses these tables yet.
    writeIn(connections, `begin; set local lock_timeout = ${LOCK_TIMEOUT_MS}`, async (writer) => {
      for (const sql of statements) {
        running(sql);
        await send(writer, sql);
      }
    }),
  );

const tasksOf = (stage: 'prepare' | 'switch' | 'finish', tasks: readonly Task[]): readonly Task[] =>
  Object.entries(taskKinds).flatMap(([kind, one]) =>
    one.stage === stage ? tasks.filter((task) => task.kind === kind) : [],
  );

const send = (writer: Writer, sql: string, values: Values = []) => writer.run({ sql }, values);

async function explainErrors(work: (running: (sql: string) => void) => Promise<void>): Promise<void> {
  let sql = 'begin';
  try {
    await work((one) => (sql = one));
  } catch (error) {
    if (error instanceof StartError || error instanceof CallerGone) throw error;
    const cause = innermost(error);
    const hint = hintOf(cause);
    const message =
      error instanceof Problem && error.code === 'outcome-unknown'
        ? 'The connection was lost before the database said whether the tables were changed. Start again: what is done is not done twice'
        : `The database did not carry out "${sql}" (${stateOf(error)})${refusalOf(error, cause)}. Nothing was changed${hint === undefined ? '' : `. What helps: ${hint}`}`;
    throw new StartError(message, { cause: error });
  }
}

/** What a trigger of others said, and its function. */
function refusalOf(error: unknown, cause: unknown): string {
  if (!(error instanceof Problem) || error.code !== 'refused-by-database') return '';
  const [place = ''] = String(Reflect.get(Object(cause), 'where') ?? '').split('\n');
  return `: ${[error.message, place].filter((text) => text !== '').join(', in ')}`;
}

type TaskNumber = Pick<Doing, 'number' | 'of'>;

const NOT_A_FILL = { kind: 'doing', position: 0, last: 0, rows: 0 } as const;

async function carryOut(connections: Connections, migration: Migration): Promise<void> {
  const { tasks, watch, locked } = migration;
  const run = { connections, watch };
  const [prepare, change, last] = [tasksOf('prepare', tasks), tasksOf('switch', tasks), tasksOf('finish', tasks)];
  const at = (index: number): TaskNumber => ({ number: index + 1, of: prepare.length + change.length });
  const key = createHash('sha256').update(migration.key).digest('hex');
  const known = await readProgress(autocommit(connections));
  const isSame = known?.key === key;
  if (known && !isSame) await abandonMigration(run);
  if (!isSame) await writeIn(connections, BEGIN, (writer) => writer.run(METADATA.beginProgress, [0, key, 0]));
  const { done, position } = isSame ? known : { done: 0, position: 0 };
  const changed = change.flatMap(({ kind, table }) => (taskKinds[kind].lock === 'all' ? (table ?? []) : []));
  const tables = new Set([...locked, ...changed]);
  try {
    for (const [index, task] of prepare.entries())
      if (index >= done) await prepareOne(run, task, at(index), index === done ? position : 0);
    await withLocks(run, [...tables].toSorted(), 'all', async (writer) => {
      await migration.before(writer);
      for (const [index, task] of change.entries()) {
        watch.report({ ...NOT_A_FILL, task, ...at(prepare.length + index) });
        await send(writer, task.sql);
      }
      await migration.after(writer);
      const rest = JSON.stringify(last.map(({ kind, sql, table }) => ({ kind, sql, table })));
      if (last.length > 0) await writer.run(METADATA.setRest, [rest]);
      else await writer.run(METADATA.endProgress, []);
    });
  } catch (error) {
    // Clean up after a migration that cannot succeed.
    if (isFinal(error) || error instanceof SeedRefused) await abandonMigration(run);
    throw error;
  }
  await finishMigration(run);
}

async function prepareOne(run: Run, task: Task, at: TaskNumber, position: number): Promise<void> {
  const { kind, table, sql } = task;
  if (kind === 'fill') return fill(run, task, at, position);
  run.watch.report({ ...NOT_A_FILL, task, ...at });
  if (kind === 'index') await buildIndex(run, task);
  const { lock } = taskKinds[kind];
  await withLocks(run, table === undefined ? [] : [table], lock, async (writer) => {
    if (kind !== 'index') await send(writer, sql);
    await writer.run(METADATA.setProgress, [at.number, 0]);
  });
}

async function fill(run: Run, task: Task, at: TaskNumber, from: number): Promise<void> {
  const { connections, watch } = run;
  const [table, identifier] = [quote(task.table ?? ''), quote(task.identifier ?? '')];
  const { keyType } = task;
  const greatest = { sql: `select ${keyType ? 'count(*)' : `max(${identifier})`} from ${table}` };
  // Texts have no number before all others, and uuids no max().
  const ends = `(array_agg(${identifier} order by ${identifier} desc))[1], (array_agg(${identifier} order by ${identifier}))[1]`;
  const batchOf = (where: string) => ({
    sql: `select ${keyType ? ends : `max(${identifier})`} from (select ${identifier} from ${table}${where} order by ${identifier} limit ?) as batch`,
  });
  const [begin, batch] = [batchOf(''), batchOf(` where ${identifier} > ?`)];
  const last = Number((await autocommit(connections).value(greatest, [])) ?? 0);
  let size = FIRST_FILL_ROWS;
  let rows = 0;
  // Rows of others can have a number below 1.
  for (let position: Identifier | undefined = keyType ? undefined : from || Number.MIN_SAFE_INTEGER; ;) {
    const done = typeof position === 'number' ? Math.max(0, position) : rows;
    watch.report({ kind: 'doing', task, ...at, position: done, last, rows });
    const began = performance.now();
    const work = async (writer: Writer): Promise<{ readonly end?: Identifier; readonly changes: number }> => {
      const found = position === undefined ? writer.get(begin, [size]) : writer.get(batch, [position, size]);
      const [end = null, first = position ?? 0] = (await found) ?? [];
      if (end === null) {
        await writer.run(METADATA.setProgress, [at.number, 0]);
        return { changes: 0 };
      }
      // An interrupted fill of texts begins again.
      await writer.run(METADATA.setProgress, [at.number - 1, typeof end === 'number' ? end : 0]);
      return { end, changes: (await send(writer, task.sql, [first, end])).changes };
    };
    const { end, changes } = await withLocks(run, [task.table ?? ''], 'rows', work);
    if (end === undefined) return;
    if (end === position) throw tooGreat(task.table ?? '');
    position = end;
    rows += changes;
    const elapsed = performance.now() - began;
    size = Math.ceil(Math.min(2 * size, (size * FILL_BATCH_MS) / elapsed));
    // Leave half of the time to client requests.
    await pauseFor(elapsed, watch.caller);
  }
}

/** An interrupted build leaves an invalid index. */
async function buildIndex(run: Run, { sql, builds = '' }: Task): Promise<void> {
  const name = quote(builds);
  const state = { sql: 'select indisvalid from pg_index where indexrelid = to_regclass(?)' };
  const valid = await autocommit(run.connections).value(state, [name]);
  if (valid === 't') return;
  if (valid !== undefined) await outside(run, `drop index concurrently if exists ${name}`);
  await outside(run, sql);
}

/** Runs a statement outside a transaction, as CREATE INDEX CONCURRENTLY requires. */
async function outside({ connections, watch }: Run, sql: string): Promise<void> {
  const connection = await connections.take(watch.caller);
  try {
    await connection.execute(sql);
  } catch (error) {
    connection.discard();
    throw error;
  } finally {
    connection.release();
  }
}

export async function finishMigration(run: Run): Promise<void> {
  const { connections, watch } = run;
  const { rest } = (await readProgress(autocommit(connections))) ?? {};
  if (rest === undefined) return;
  for (const [index, task] of rest.entries()) {
    watch.report({ ...NOT_A_FILL, task, number: index + 1, of: rest.length });
    await outside(run, task.sql);
  }
  await writeIn(connections, 'begin', (writer) => writer.run(METADATA.endProgress, []));
}

export async function abandonMigration(run: Run): Promise<boolean> {
  const { connections } = run;
  const reader = autocommit(connections);
  if ((await readProgress(reader)) === undefined) return false;
  const drops = Map.groupBy(await reader.all(PREPARED, []), ([table]) => String(table));
  for (const [table, statements] of drops)
    await withLocks(run, table === '' ? [] : [table], 'all', async (writer) => {
      for (const [, sql] of statements) await send(writer, String(sql));
    });
  await writeIn(connections, 'begin', (writer) => writer.run(METADATA.endProgress, []));
  return true;
}

/** `done`: count of tasks. `position`: identifier reached by the next task. `rest`: tasks left after the switch. */
async function readProgress(reader: Reader) {
  const row = await reader.get(METADATA.progress, []);
  if (row === undefined) return undefined;
  const [key, done, position, rest = null] = row;
  const left = rest === null ? undefined : (JSON.parse(String(rest)) as readonly Task[]);
  return { key: String(key), done: Number(done), position: Number(position), rest: left };
}

/** Not the triggers of the log, which stay. */
const OWN = (name: string): string =>
  `(starts_with(${name}, '${ENGINE_PREFIX}') and not starts_with(${name}, '${LOG_TABLE}'))`;
const TABLES = `pg_class t where t.relnamespace = quote_ident(current_schema())::regnamespace and t.relkind = 'r' and not ${OWN('t.relname')}`;

/** Drops functions last, since triggers use them. */
const PREPARED = {
  sql: `select "table", sql from (${[
    `select 1 as step, t.relname::text as "table", format('drop index %s', indexrelid::regclass) as sql from pg_index join pg_class i on i.oid = indexrelid, ${TABLES} and indrelid = t.oid and ${OWN('i.relname')}`,
    `select 2, t.relname::text, format('drop trigger %I on %s', tgname, t.oid::regclass) from pg_trigger, ${TABLES} and tgrelid = t.oid and ${OWN('tgname')}`,
    `select 3, t.relname::text, format('alter table %s drop constraint %I', t.oid::regclass, conname) from pg_constraint, ${TABLES} and conrelid = t.oid and ${OWN('conname')}`,
    `select 4, t.relname::text, format('alter table %s drop column %I', t.oid::regclass, attname) from pg_attribute, ${TABLES} and attrelid = t.oid and not attisdropped and ${OWN('attname')}`,
    `select 5, '', format('drop function %s', oid::regprocedure) from pg_proc where pronamespace = quote_ident(current_schema())::regnamespace and ${OWN('proname')}`,
  ].join(' union all ')}) as found order by step`,
};

const BEGIN = `begin isolation level read committed; set local lock_timeout = ${DDL_LOCK_TIMEOUT_MS}`;

type Lock = (typeof taskKinds)[Task['kind']]['lock'];

function lockingSql(tables: readonly string[], lock: Lock): readonly string[] {
  const mode = lock === 'all' ? 'access exclusive' : lock === 'writes' ? 'share row exclusive' : undefined;
  if (tables.length === 0 || mode === undefined) return [];
  const all = tables.map(quote).join(', ');
  return [
    // Autovacuum yields to this weak lock after a second.
    `set local lock_timeout = ${LOCK_TIMEOUT_MS}`,
    `lock table ${all} in share update exclusive mode`,
    `set local lock_timeout = ${DDL_LOCK_TIMEOUT_MS}`,
    `set local statement_timeout = ${DDL_LOCK_TIMEOUT_MS}`,
    `lock table ${all} in ${mode} mode`,
    'set local statement_timeout = 0',
  ];
}

async function withLocks<T>(
  { connections, watch: { caller, report } }: Run,
  tables: readonly string[],
  lock: Lock,
  work: (writer: Writer) => Promise<T>,
): Promise<T> {
  const began = performance.now();
  for (let pause = DDL_LOCK_TIMEOUT_MS; ; pause = Math.min(2 * pause, MAX_DDL_BACKOFF_MS)) {
    const attempt = async (writer: Writer): Promise<T> => {
      for (const sql of lockingSql(tables, lock)) await send(writer, sql);
      return work(writer);
    };
    try {
      return await writeIn(connections, lock === 'none' ? 'begin' : BEGIN, attempt, caller);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
    const holders = (await autocommit(connections).column(HOLDERS, [JSON.stringify(tables)])).map(String);
    const table = tables.join(', ');
    if (performance.now() - began > DDL_DEADLINE_MS)
      throw new StartError(
        `Table ${table} has been in use for ${DDL_DEADLINE_MS / 60_000} minutes without a pause, so it could not be changed.${holders.length === 0 ? '' : ` It is held by ${holders.join(', ')}.`} What was prepared is kept, and clients see none of it: run the same command again to go on.`,
      );
    if (pause === MAX_DDL_BACKOFF_MS) report({ kind: 'waiting', table, holders });
    await pauseFor(pause, caller);
  }
}

const HOLDERS = {
  sql: `select distinct format('process %s (%s) since %s', a.pid, coalesce(nullif(a.application_name, ''), a.usename), date_trunc('second', a.xact_start))
    from pg_locks l join pg_stat_activity a using (pid)
    where l.relation in (select to_regclass(format('%I', name)) from json_array_elements_text(?) as name) and l.granted`,
};
