/** The project as `npm run build` compiles it, in a folder of its own: what users run, run by tests. */
import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

export type Environment = Readonly<Record<string, string>>;

export interface Running {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** All that it has printed so far. */
  readonly out: () => string;
  readonly err: () => string;
  /** The exit code. */
  readonly ended: Promise<number | null>;
}

export interface Compiled {
  readonly directory: string;
  /** `run('server.js', [], { PORT: '0' })`, in the working directory of the tests. */
  run(file: string, options: readonly string[], environment: Environment): Running;
  remove(): Promise<void>;
}

const TSC = 'node_modules/typescript/bin/tsc';

export async function compile(): Promise<Compiled> {
  const directory = await mkdtemp(join(tmpdir(), 'records-'));
  for (const name of ['node_modules', 'package.json']) await symlink(resolve(name), join(directory, name));
  await promisify(execFile)(process.execPath, [TSC, '-p', 'tsconfig.build.json', '--outDir', directory]);
  const all: Running[] = [];
  return {
    directory,
    run: (file, options, environment) => {
      const running = run([join(directory, file), ...options], environment);
      all.push(running);
      return running;
    },
    remove: async () => {
      // Where a test failed, what it started would keep the others from ending.
      for (const { child } of all) child.kill('SIGKILL');
      await Promise.all(all.map(({ ended }) => ended));
      await rm(directory, { recursive: true });
    },
  };
}

/** Where a service says that it listens, once it does. */
export async function urlOf({ child, out, err }: Running): Promise<string> {
  await Promise.race([once(child.stdout, 'data'), once(child, 'close')]);
  const url = /http:\/\/[\d.]+:\d+/.exec(out())?.[0];
  if (url === undefined) throw new Error(`the service did not start: ${out()}${err()}`);
  return url;
}

function run(words: readonly string[], environment: Environment): Running {
  const env = { ...process.env, ...environment };
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (piece: Buffer) => (texts.out += String(piece)));
  child.stderr.on('data', (piece: Buffer) => (texts.err += String(piece)));
  const ended = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
  return { child, out: () => texts.out, err: () => texts.err, ended };
}
