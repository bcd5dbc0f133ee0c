/** The benchmarks as `npm run bench` compiles them, in a folder of their own. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

export interface Bench {
  readonly directory: string;
  /** What it prints on standard output. */
  run(args: readonly string[]): Promise<string>;
  remove(): Promise<void>;
}

const TSC = 'node_modules/typescript/bin/tsc';
const execute = promisify(execFile);

export async function compileBench(): Promise<Bench> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-test-'));
  for (const name of ['node_modules', 'package.json']) await symlink(resolve(name), join(directory, name));
  await execute(process.execPath, [TSC, '-p', 'bench', '--outDir', join(directory, 'dist')]);
  return {
    directory,
    run: async (args) => {
      const program = join(directory, 'dist', 'bench', 'bench.js');
      const env = { ...process.env, NODE_PATH: resolve('bench/node_modules') };
      const { stdout } = await execute(process.execPath, [program, ...args], { env, maxBuffer: 10_000_000 });
      return stdout;
    },
    remove: () => rm(directory, { recursive: true }),
  };
}
