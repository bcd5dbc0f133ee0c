/** Instances of the compiled service, each a process of its own, on one database; requests go to one after the other. */
import { compile, type Running } from './compiled.ts';
import { pause } from './postgres.ts';

export interface Fleet {
  readonly urls: readonly string[];
  /** Of the next instance. */
  next(): string;
  /** Ends an instance in the middle of whatever it does. */
  kill(index: number): void;
  remove(): Promise<void>;
}

export async function startFleet(count: number, databaseUrl: string): Promise<Fleet> {
  const compiled = await compile();
  const environment = { PORT: '0', DATABASE_URL: databaseUrl };
  const running = Array.from({ length: count }, () => compiled.run('server.js', [], environment));
  const remove = async (): Promise<void> => {
    for (const { child } of running) child.kill('SIGKILL');
    await Promise.all(running.map(({ ended }) => ended));
    await compiled.remove();
  };
  let turn = 0;
  try {
    const urls = await Promise.all(running.map(listening));
    return {
      urls,
      next: () => urls[(turn += 1) % count] ?? '',
      kill: (index) => void running[index]?.child.kill('SIGKILL'),
      remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function listening({ out, err }: Running): Promise<string> {
  for (let wait = 0; wait < 600; wait += 1) {
    const [, url] = /(http:\/\/\S+?)\/api\//.exec(out()) ?? [];
    if (url !== undefined) return url;
    await pause(50);
  }
  throw new Error(`did not start: ${out()} ${err()}`);
}
