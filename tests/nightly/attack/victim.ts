/** The service as `npm start` runs it, but with a small heap, on a core of its own: how much memory it takes, and how long another client waits. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { Waits } from './other-client.ts';
import { NODE_OPTIONS } from '../../../bench/node-options.ts';
import { type Compiled, openBuild, type Environment, urlOf } from '../../support/compiled.ts';
import {
  connectTo,
  createDatabase,
  databaseKind,
  type DatabaseKind,
  fileOf,
  onDisk,
  type TestDatabase,
} from '../../support/databases.ts';

const HEAP = '--max-old-space-size=512';
const SCHEMA = 'tests/fixtures/attack';
const MIB = 1024 ** 2;

export interface Victim {
  readonly url: string;
  /** The most that it has had in memory so far, in MiB, processes that it has started included. */
  peak(): number;
  isAlive(): boolean;
  /** Seconds of a processor that it has used, processes that it has started and that are there included. */
  used(): number;
  stop(): Promise<void>;
}

/** Where there are two cores, the service has one for itself. */
const SERVICE = 0;
const OTHERS = 1;

const pinned = (core: number): readonly string[] =>
  spawnSync('taskset', ['-c', String(core), 'true']).status === 0 ? ['taskset', '-c', String(core)] : [];

export interface Stage {
  /** The folder of the compiled program, and what it reads there. */
  readonly program: string;
  readonly environment: Environment;
  readonly database: TestDatabase;
  start(): Promise<Victim>;
  remove(): Promise<void>;
}

/** `rows`: SQL that fills the database before the attack. It runs on both databases, which both know `repeat` and `md5`. */
export async function setStage(rows: readonly string[]): Promise<Stage> {
  const directory = mkdtempSync(join(tmpdir(), 'attack-'));
  const database = databaseKind === 'sqlite' ? onDisk({ directory }) : await createDatabase();
  const compiled = openBuild();
  const environment = { PORT: '0', SCHEMA_DIR: SCHEMA, DATABASE_URL: asDeployed(database.url), LOG_LEVEL: 'error' };
  const takeBack = database.kind === 'postgres' ? await moveServer(database.url) : () => undefined;
  const stage: Stage = {
    program: compiled.directory,
    environment,
    database,
    start: () => start(compiled, environment),
    remove: async () => {
      takeBack();
      await database.remove();
      rmSync(directory, { recursive: true });
    },
  };
  const first = await stage.start();
  await first.stop();
  await filling[database.kind](database, rows);
  return stage;
}

/**
 * A database server on this machine leaves the service its core and shares the other one with the clients, as one on a
 * machine of its own would not take the service's time either. Resolves with what takes it back.
 */
async function moveServer(url: string): Promise<() => void> {
  const client = await connectTo(url);
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const server = Number(statusOf(rows[0]?.pid ?? 0, 'PPid'));
  await client.end();
  const cores = statusOf(server, 'Cpus_allowed_list');
  // Elsewhere, or in a container, its processes have other numbers.
  if (statusOf(server, 'Name') !== 'postgres' || pinned(OTHERS).length === 0) return () => undefined;
  const move = (where: string): void => {
    for (const pid of [server, ...childrenOf(server)]) spawnSync('taskset', ['-c', '-p', where, String(pid)]);
  };
  move(String(OTHERS));
  return () => move(cores);
}

/** What the kernel says of a process; nothing if there is none. */
function statusOf(pid: number, name: string): string {
  try {
    return new RegExp(`^${name}:\\s+(.+)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}

/** The tests' databases allow a small pool; a deployment has the default one. */
function asDeployed(url: string): string {
  if (databaseKind === 'sqlite') return url;
  const deployed = new URL(url);
  deployed.searchParams.delete('pool');
  return deployed.href;
}

const filling: Readonly<Record<DatabaseKind, (database: TestDatabase, rows: readonly string[]) => Promise<void>>> = {
  sqlite: async (place, rows) => {
    const database = new Database(fileOf(place));
    database.function('repeat', (text: string, count: number) => text.repeat(count));
    database.function('md5', (text: string) => createHash('md5').update(text).digest('hex'));
    for (const sql of rows) database.exec(sql);
    database.close();
  },
  postgres: async ({ url }, rows) => {
    const client = await connectTo(url);
    for (const sql of rows) await client.query(sql);
    await client.query('analyze');
    await client.end();
  },
};

async function start(compiled: Compiled, environment: Environment): Promise<Victim> {
  const command = [...pinned(SERVICE), process.execPath, ...NODE_OPTIONS, HEAP, join(compiled.directory, 'server.js')];
  const [program = '', ...words] = command;
  const child = spawn(program, words, { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (piece: Buffer) => (texts.out += String(piece)));
  child.stderr.on('data', (piece: Buffer) => (texts.err += String(piece)));
  const ended = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
  const url = await urlOf({ child, out: () => texts.out, err: () => texts.err, ended });
  const pid = child.pid ?? 0;
  let most = 0;
  let helpers = 0;
  // Processes that it starts may come and go, and it may end itself.
  const look = (): void => {
    most = Math.max(most, figure(pid, 'VmHWM'));
    helpers = Math.max(helpers, memoryOfChildren(pid));
  };
  const watch = setInterval(look, 100);
  return {
    url,
    peak: () => {
      look();
      return Math.round((most + helpers) / MIB);
    },
    used: () => [pid, ...childrenOf(pid)].reduce((sum, one) => sum + usedBy(one), 0),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    stop: async () => {
      clearInterval(watch);
      child.kill('SIGKILL');
      await ended;
      if (texts.err !== '') console.info(texts.err.slice(-2000));
    },
  };
}

function figure(pid: number, name: string, file = 'status'): number {
  try {
    const status = readFileSync(`/proc/${pid}/${file}`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

const memoryOfChildren = (pid: number): number =>
  childrenOf(pid).reduce((sum, child) => sum + figure(child, 'Pss', 'smaps_rollup'), 0);

function childrenOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' '))
      .filter((child) => child !== '')
      .map(Number);
  } catch {
    return [];
  }
}

/** Hundredths are what Linux counts in. */
function usedBy(pid: number): number {
  try {
    const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return (Number(user) + Number(system)) / 100;
  } catch {
    return 0;
  }
}

/** Seconds of a processor in one second: what an idle service still does. */
const IDLE = 0.2;

export async function secondsUntilIdle(victim: Victim): Promise<number> {
  for (let seconds = 0; ; seconds += 1) {
    const before = victim.used();
    await sleep(1000);
    if (victim.used() - before < IDLE) return seconds;
  }
}

const PROGRAM = ['--require', 'esbuild-register'];
const FOLDER = join('tests', 'nightly', 'attack');

/** Attackers share the other core with the measuring client and the database server, at a lower priority. */
export async function attack(victim: Victim, name: string, scale: number): Promise<string> {
  const words = [...PROGRAM, join(FOLDER, 'attackers.ts'), name, victim.url, String(scale)];
  const [first = '', ...rest] = [...pinned(OTHERS), 'nice', '-n', '10', process.execPath, ...words];
  const child = spawn(first, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (piece: Buffer) => (said += String(piece)));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`The attack "${name}" ended with ${code}`);
  return said.trim();
}

export const answersIn = (said: string): Readonly<Record<string, number>> => JSON.parse(said || '{}');

/** All of 5xx but 503 that says when to try again. */
export const isFault = (status: string): boolean => status.startsWith('5') && status !== '503';

/** How long another client waits while the work is done, and what that results in. */
export async function waitsDuring<T>(victim: Victim, work: () => Promise<T>): Promise<Waits & { readonly result: T }> {
  const words = [...PROGRAM, join(FOLDER, 'other-client.ts'), victim.url];
  // On a machine of its own, it would not wait for those that it shares a core with. nice goes on if it may not.
  const [first = '', ...rest] = [...pinned(OTHERS), 'nice', '-n', '-15', process.execPath, ...words];
  const child = spawn(first, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (piece: Buffer) => (said += String(piece)));
  const closed = once(child, 'close');
  // The service may not even answer the first time.
  await Promise.race([once(child.stdout, 'data'), closed]);
  const result = await work().finally(() => child.stdin.end());
  await closed;
  return { ...(JSON.parse(said.slice(said.indexOf('{'))) as Waits), result };
}
