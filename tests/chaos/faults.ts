/** What is done to the service while clients use it, one thing after another, drawn from a seed. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Compiled } from '../support/compiled.ts';
import type { Cluster } from '../support/cluster.ts';
import { connectTo } from '../support/databases.ts';
import type { Draw } from '../oracle/random-operations.ts';
import type { History } from './history.ts';
import { type Instance, kill, schemaOf, type Version } from './instances.ts';

export interface Place {
  readonly compiled: Compiled;
  readonly databaseUrl: string;
  readonly instances: readonly Instance[];
  /** undefined on SQLite. */
  readonly cluster: Cluster | undefined;
  /** Of each instance. */
  readonly workers: number;
}

interface Run extends Place {
  readonly draw: Draw;
  readonly history: History;
}

type Deed = (run: Run) => Promise<void>;

const LONGEST_PAUSE_MS = 900;
const LONGEST_FREEZE_MS = 2500;

const other = (version: Version): Version => (version === 'first' ? 'second' : 'first');

/** The work on one of the instances, told by its name. */
const onInstance =
  (what: string, work: (instance: Instance, run: Run) => Promise<void>): Deed =>
  async (run) => {
    const instance = run.instances[run.draw(run.instances.length)];
    if (!instance?.isUp) return;
    run.history.note(`${what}: ${instance.target.name}`);
    await work(instance, run);
    run.history.note(`done: ${what}: ${instance.target.name}`);
  };

/** Of either database. */
export const deeds = {
  kill: onInstance('kill -9', (instance) => instance.renew('SIGKILL')),
  freeze: onInstance('SIGSTOP', async (instance, { draw }) => {
    instance.signalAll('SIGSTOP');
    await pause(draw(LONGEST_FREEZE_MS));
    instance.signalAll('SIGCONT');
  }),
  restart: onInstance('restart', (instance) => instance.renew('SIGTERM')),
  roll: onInstance('other descriptors', (instance) => instance.renew('SIGTERM', other(instance.version))),
  apply: async ({ compiled, databaseUrl, draw, history }: Run) => {
    const version: Version = draw(2) === 0 ? 'first' : 'second';
    const running = compiled.run('engine/cli.js', ['apply'], {
      DATABASE_URL: databaseUrl,
      SCHEMA_DIR: schemaOf(version),
    });
    const code = await running.ended;
    history.note(`apply of ${version}: ${code} ${running.out()}${running.err()}`);
  },
} satisfies Record<string, Deed>;

/** One of the workers of an instance, by its process id. */
const onWorker = (what: string, work: (pid: number, run: Run) => Promise<void>): Deed =>
  onInstance(what, async ({ workers }, run) => {
    const worker = workers[run.draw(workers.length)];
    if (worker !== undefined) await work(worker, run);
  });

/** Of instances with several workers. */
export const workerDeeds = {
  killWorker: onWorker('kill -9 of a worker', async (worker) => kill(worker, 'SIGKILL')),
  endWorker: onWorker('SIGTERM of a worker', async (worker) => kill(worker, 'SIGTERM')),
  freezeWorker: onWorker('SIGSTOP of a worker', async (worker, { draw }) => {
    kill(worker, 'SIGSTOP');
    await pause(draw(LONGEST_FREEZE_MS));
    kill(worker, 'SIGCONT');
  }),
} satisfies Record<string, Deed>;

/** Runs SQL as an operator would; a server that is gone is no fault of the service. */
async function administer(run: Run, what: string, work: (url: string) => Promise<void>): Promise<void> {
  run.history.note(what);
  await work(run.databaseUrl).catch(() => undefined);
  run.history.note(`done: ${what}`);
}

async function query(url: string, sql: string, milliseconds = 0): Promise<readonly { readonly pid: number }[]> {
  const client = await connectTo(url);
  try {
    const { rows } = await client.query<{ pid: number }>(sql);
    await pause(milliseconds);
    return rows;
  } finally {
    await client.end();
  }
}

const OURS = `from pg_stat_activity where application_name = 'records' and datname = current_database()`;

/** Servers that are stopped at the moment: another deed at the same time leaves them alone. */
const restarting = new Set<unknown>();

export const postgresDeeds = {
  terminate: (run: Run) =>
    administer(run, 'pg_terminate_backend of about half of them', async (url) => {
      await query(url, `select pg_terminate_backend(pid) ${OURS} and random() < 0.5`);
    }),
  freezeBackends: (run: Run) =>
    administer(run, 'SIGSTOP of the backends', async (url) => {
      const pids = (await query(url, `select pid ${OURS}`)).map(({ pid }) => pid);
      signalAll(pids, 'SIGSTOP');
      await pause(run.draw(LONGEST_FREEZE_MS));
      signalAll(pids, 'SIGCONT');
    }),
  locks: (run: Run) =>
    administer(run, 'rows locked by somebody else', async (url) => {
      await query(
        url,
        'begin; select 1 as pid from registers for update; select 1 as pid from ledgers for update',
        700,
      );
    }),
  restartServer: async (run: Run) => {
    if (restarting.has(run.cluster)) return;
    restarting.add(run.cluster);
    const mode = run.draw(2) === 0 ? 'fast' : 'immediate';
    run.history.note(`PostgreSQL stops (${mode})`);
    await run.cluster?.stop(mode);
    await pause(run.draw(500));
    await run.cluster?.again();
    restarting.delete(run.cluster);
    run.history.note('PostgreSQL is back');
  },
} satisfies Record<string, Deed>;

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) kill(pid, signal);
}

export type DeedName = keyof typeof deeds | keyof typeof postgresDeeds | keyof typeof workerDeeds;
export const DEEDS: readonly DeedName[] = [deeds, postgresDeeds, workerDeeds].flatMap(Object.keys) as DeedName[];

/** Deeds one after the other, and now and then two at a time, until the time is over; then everything runs again. */
export async function wreak(run: Run, names: readonly DeedName[], isOver: () => boolean): Promise<void> {
  const all: Readonly<Partial<Record<string, Deed>>> = {
    ...deeds,
    ...(run.cluster && postgresDeeds),
    ...(run.workers > 1 && workerDeeds),
  };
  const possible = names.flatMap((name) => all[name] ?? []);
  const once = async (): Promise<void> => {
    await pause(run.draw(LONGEST_PAUSE_MS));
    if (!isOver()) await possible[run.draw(possible.length)]?.(run);
  };
  while (!isOver() && possible.length > 0) await Promise.all(run.draw(3) === 0 ? [once(), once()] : [once()]);
  await Promise.all(run.instances.map((instance) => instance.start()));
}
