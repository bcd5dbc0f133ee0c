/** A PostgreSQL server of a test's own, which may be stopped and started again. */
import { execFile, type ExecFileException } from 'node:child_process';
import { mkdtempSync, rmSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Cluster {
  readonly url: string;
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  again(): Promise<void>;
  /** Starts PgBouncer before it, or starts that again, and answers its URL. */
  pool(): Promise<string>;
  /** Ends PgBouncer in the middle of whatever it does. */
  unpool(): Promise<void>;
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
  const url = await control('start', directory);
  return {
    url,
    stop: async (mode) => void (await control('stop', directory, mode)),
    again: async () => void (await control('again', directory)),
    pool: () => control('pool', directory),
    unpool: async () => void (await control('unpool', directory)),
    remove: async () => {
      await control('unpool', directory).catch(() => '');
      await control('stop', directory, 'immediate').catch(() => '');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
