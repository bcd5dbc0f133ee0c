/** The service as a process of its own with a small heap, on a core of its own: how much memory it takes, and how long another client waits. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { type Compiled, openBuild, type Environment, urlOf } from '../support/compiled.ts';
import {
  connectTo,
  createDatabase,
  databaseKind,
  type DatabaseKind,
  fileOf,
  onDisk,
  type TestDatabase,
} from '../support/databases.ts';

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

/** `cores`: where there are two, the service has one for itself. */
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
  const stage: Stage = {
    program: compiled.directory,
    environment,
    database,
    start: () => start(compiled, environment),
    remove: async () => {
      await database.remove();
      rmSync(directory, { recursive: true });
    },
  };
  const first = await stage.start();
  await first.stop();
  await filling[database.kind](database, rows);
  return stage;
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
  const command = [...pinned(0), process.execPath, HEAP, join(compiled.directory, 'server.js')];
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

/** Bytes that the kernel says. */
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

/** Attackers share the other core with the client that measures, which goes before them. */
export function attack(victim: Victim, name: string, scale: number): Promise<string> {
  const program = join('tests', 'attack', 'attackers.ts');
  const [first = '', ...words] = [
    ...pinned(1),
    'nice',
    '-n',
    '10',
    process.execPath,
    '--require',
    'esbuild-register',
    program,
    name,
    victim.url,
    String(scale),
  ];
  const child = spawn(first, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (piece: Buffer) => (said += String(piece)));
  return once(child, 'close').then(() => said.trim());
}

export interface Waits {
  readonly served: number;
  readonly refused: number;
  /** Milliseconds. */
  readonly p99: number;
  readonly longest: number;
}

/** Another client, on a connection that it keeps, asks for one record again and again until the work is done. */
export async function waitsDuring(victim: Victim, work: Promise<unknown>): Promise<Waits> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const state = { over: false };
  void work.finally(() => (state.over = true));
  const waits: number[] = [];
  let refused = 0;
  while (!state.over && victim.isAlive()) {
    const began = performance.now();
    const status = await get(victim.url, agent);
    waits.push(performance.now() - began);
    if (status !== 200) refused += 1;
    await sleep(5);
  }
  agent.destroy();
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { served: waits.length - refused, refused, p99: at(0.99), longest: at(1) };
}

function get(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(`${url}/api/notes/1?fields=title`, { agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
      response.on('error', () => resolve(0));
    });
    sent.setTimeout(60_000, () => sent.destroy());
    sent.on('error', () => resolve(0)).end();
  });
}
