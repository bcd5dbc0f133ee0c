/** Instances of the compiled service, each a process of its own, on one database; requests go to one after the other. */
import { openBuild, urlOf } from './compiled.ts';

export interface Fleet {
  readonly urls: readonly string[];
  next(): string;
  kill(index: number): void;
  remove(): Promise<void>;
}

export async function startFleet(count: number, databaseUrl: string): Promise<Fleet> {
  const compiled = openBuild();
  const environment = { PORT: '0', DATABASE_URL: databaseUrl };
  const running = Array.from({ length: count }, () => compiled.run('server.js', [], environment));
  let turn = 0;
  try {
    const urls = await Promise.all(running.map(urlOf));
    return {
      urls,
      next: () => urls[(turn += 1) % count] ?? '',
      kill: (index) => void running[index]?.child.kill('SIGKILL'),
      remove: () => compiled.stop(),
    };
  } catch (error) {
    await compiled.stop();
    throw error;
  }
}
