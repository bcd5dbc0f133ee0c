/** A PostgreSQL server of a test's own, which may be stopped and started again. */
import { execFile, type ExecFileException } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectTo } from './databases.ts';

export interface Cluster {
  readonly url: string;
  /** `smart` waits until all connections are closed. */
  stop(mode: 'smart' | 'fast' | 'immediate'): Promise<void>;
  again(): Promise<void>;
  /** Starts PgBouncer before it, or starts that again, and answers its URL. */
  pool(): Promise<string>;
  /** Ends PgBouncer in the middle of whatever it does. */
  unpool(): Promise<void>;
  /** How many seconds PgBouncer lets a statement wait for a connection of the server. */
  patience(seconds: number): Promise<void>;
  standby(): Promise<Cluster>;
  promote(): Promise<void>;
  freeze(): void;
  thaw(): void;
  remove(): Promise<void>;
}

const control = (...words: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    // The server that it leaves behind keeps its pipes open: what counts is the end of the command.
    const child = execFile('.ci/postgres', words, (error: ExecFileException | null, out) =>
      error ? reject(error) : resolve(out.trim()),
    );
    child.stdin?.end();
  });

/** `within`: the folder that its own is made in. */
export async function startCluster(within = tmpdir()): Promise<Cluster> {
  const directory = mkdtempSync(join(within, 'cluster-'));
  chmodSync(directory, 0o755);
  return clusterIn(directory, await control('start', directory));
}

function clusterIn(directory: string, url: string): Cluster {
  let frozen: readonly number[] = [];
  let pooled = '';
  return {
    url,
    standby: async () => {
      const own = mkdtempSync(join(tmpdir(), 'standby-'));
      chmodSync(own, 0o755);
      return clusterIn(own, await control('standby', own, directory));
    },
    promote: async () => void (await control('promote', directory)),
    freeze: () => {
      frozen = processesOf(directory);
      for (const pid of frozen) signal(pid, 'SIGSTOP');
    },
    thaw: () => {
      for (const pid of frozen) signal(pid, 'SIGCONT');
      frozen = [];
    },
    stop: async (mode) => void (await control('stop', directory, mode)),
    again: async () => void (await control('again', directory)),
    pool: async () => (pooled = await control('pool', directory)),
    patience: async (seconds) => {
      const console = new URL(pooled);
      console.pathname = '/pgbouncer';
      const client = await connectTo(console.href);
      await client.query(`set query_wait_timeout = ${seconds}`);
      await client.end();
    },
    unpool: async () => void (await control('unpool', directory)),
    remove: async () => {
      for (const pid of frozen) signal(pid, 'SIGCONT');
      await control('unpool', directory).catch(() => '');
      await control('stop', directory, 'immediate').catch(() => '');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function processesOf(directory: string): readonly number[] {
  const [first = ''] = readFileSync(join(directory, 'data', 'postmaster.pid'), 'utf8').split('\n');
  const children = readdirSync(`/proc/${first}/task`).flatMap((task) =>
    readFileSync(`/proc/${first}/task/${task}/children`, 'utf8').trim().split(' '),
  );
  return [first, ...children].filter((pid) => pid !== '').map(Number);
}

/** A backend may have ended since it was found. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
