/**
 * Strong locks that nobody notices: every request that comes after one that waits for such a lock waits as well, so it is
 * given up after a tenth of a second, and asked for again later.
 */
import { CallerGone, pauseFor } from '../../edge/caller.ts';
import { StartError } from '../../problem.ts';
import type { Reader, Writer } from '../driver.ts';
import type { Follower, Lock } from '../migrate/driver.ts';
import type { Connections } from './pool.ts';
import { alone } from './transaction.ts';

/** Milliseconds: at first, and once it did not get the lock so. */
const LOCK_TIMEOUT = 100;
const LONGER_TIMEOUT = 150;
const LONGER_AFTER = 5;
const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 3000;
const PATIENCE = 600_000;
/** An autovacuum gives way after a second. This lock stands in nobody else's way. */
const VACUUM_TIMEOUT = 5000;

/** For a lock that others may have for long, and that holds up nobody: on tables that no request has used yet. */
export const BEGIN_PATIENTLY = `begin; set local lock_timeout = '10s'`;
/** For what a start can do without. */
export const BEGIN_BRIEFLY = `begin; set local lock_timeout = '1s'`;
export const BEGIN = `begin isolation level read committed; set local lock_timeout = ${LOCK_TIMEOUT}`;

const modes = { all: 'access exclusive', writes: 'share row exclusive' } as const satisfies Partial<
  Record<Lock, string>
>;

/** All of them, in a tenth of a second altogether. */
export async function lockAll(
  writer: Writer,
  tables: readonly string[],
  lock: keyof typeof modes,
  tries: number,
): Promise<void> {
  const timeout = tries < LONGER_AFTER ? LOCK_TIMEOUT : LONGER_TIMEOUT;
  if (tables.length === 0) return;
  const run = (sql: string): unknown => writer.run({ sql }, []);
  const all = tables.map((table) => `"${table.replaceAll('"', '""')}"`).join(', ');
  await run(`set local lock_timeout = ${VACUUM_TIMEOUT}`);
  await run(`lock table ${all} in share update exclusive mode`);
  await run(`set local lock_timeout = ${timeout}`);
  await run(`set local statement_timeout = ${timeout}`);
  await run(`lock table ${all} in ${modes[lock]} mode`);
  await run('set local statement_timeout = 0');
}

/** Runs the attempt until it gets its locks. */
export async function insist<T>(
  connections: Connections,
  { caller, report }: Follower,
  tables: readonly string[],
  attempt: (tries: number) => Promise<T>,
  onFailure: () => void = () => undefined,
): Promise<T> {
  const began = performance.now();
  for (let tries = 0, pause = FIRST_PAUSE; ; tries += 1, pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      return await attempt(tries);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
    onFailure();
    const holders = await holdersOf(alone(connections), tables);
    const table = tables.join(', ');
    if (performance.now() - began > PATIENCE) throw stillLocked(table, holders);
    if (pause === LONGEST_PAUSE) report({ kind: 'waiting', table, holders });
    await pauseFor(pause, caller);
    if (caller.isGone) throw new CallerGone();
  }
}

const CODES = new Set(['55P03', '57014']);

function isLockTimeout(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const code: unknown = Reflect.get(error, 'code');
  return (typeof code === 'string' && CODES.has(code)) || isLockTimeout(Reflect.get(error, 'cause'));
}

const HOLDERS = {
  sql: `select distinct format('process %s (%s) since %s', a.pid, coalesce(nullif(a.application_name, ''), a.usename), date_trunc('second', a.xact_start))
    from pg_locks l join pg_stat_activity a using (pid)
    where l.relation in (select to_regclass(format('%I', name)) from json_array_elements_text(?) as name) and l.granted`,
};

const holdersOf = async (reader: Reader, tables: readonly string[]): Promise<readonly string[]> =>
  (await reader.column(HOLDERS, [JSON.stringify(tables)])).map(String);

const stillLocked = (table: string, holders: readonly string[]): StartError =>
  new StartError(
    [
      `Table ${table} has been in use for ${PATIENCE / 60_000} minutes without a pause, so it could not be changed.`,
      ...(holders.length === 0 ? [] : [`It is held by ${holders.join(', ')}.`]),
      'What was prepared is kept, and clients see none of it: run the same command again to go on.',
    ].join(' '),
  );
