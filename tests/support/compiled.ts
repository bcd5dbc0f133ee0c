/** The project as `npm run build` compiles it: what users run, run by tests. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';

export type Environment = Readonly<Record<string, string>>;

export interface Running {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly out: () => string;
  readonly err: () => string;
  readonly ended: Promise<number | null>;
}

export interface Compiled {
  readonly directory: string;
  /** `run('server.js', [], { PORT: '0' })`, in the working directory of the tests. The file may lie elsewhere. */
  run(file: string, options: readonly string[], environment: Environment): Running;
  /** Ends what still runs: where a test failed, it would keep the others from ending. */
  stop(): Promise<void>;
}

/** What tests/support/build.setup.ts has built. */
export function openBuild(): Compiled {
  const { TEST_BUILD: built, TEST_BUILD_FAULT: fault } = process.env;
  if (built === undefined) throw new Error(fault ?? 'nothing is built: this test runs without `globalSetup`');
  const directory = resolve(built);
  const all: Running[] = [];
  return {
    directory,
    run: (file, options, environment) => {
      const running = run([resolve(directory, file), ...options], environment);
      all.push(running);
      return running;
    },
    stop: async () => {
      for (const { child } of all) child.kill('SIGKILL');
      await Promise.all(all.map(({ ended }) => ended));
    },
  };
}

export function useCompiled(): Pick<Compiled, 'directory' | 'run'> {
  const opened: Compiled[] = [];
  const ready = (): Compiled => {
    const compiled = opened[0] ?? openBuild();
    opened[0] = compiled;
    return compiled;
  };
  afterAll(() => Promise.all(opened.map((compiled) => compiled.stop())));
  return {
    get directory() {
      return ready().directory;
    },
    run: (...words) => ready().run(...words),
  };
}

export function moduleOf(name: string, { directory }: Pick<Compiled, 'directory'>): string {
  const files = readdirSync(join(directory, 'engine'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => join(directory, 'engine', file))
    .filter((file) => new RegExp(`^exports\\.${name} = (?!void 0)`, 'm').test(readFileSync(file, 'utf8')));
  if (files[0] === undefined || files.length > 1) throw new Error(`${files.length} modules export ${name}`);
  return files[0];
}

export async function urlOf({ child, out, err, ended }: Running): Promise<string> {
  const closed = ended.then(() => 'closed');
  for (let last: unknown; last !== 'closed'; last = await Promise.race([once(child.stdout, 'data'), closed])) {
    const url = /http:\/\/[\d.]+:\d+(?=\D)/.exec(out())?.[0];
    if (url !== undefined) return url;
  }
  throw new Error(`the service did not start: ${out()}${err()}`);
}

function run(words: readonly string[], environment: Environment): Running {
  const env = { SCHEMA_DIR: 'tests/fixtures/store', ...process.env, ...environment };
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (piece: Buffer) => (texts.out += String(piece)));
  child.stderr.on('data', (piece: Buffer) => (texts.err += String(piece)));
  const ended = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
  return { child, out: () => texts.out, err: () => texts.err, ended };
}
