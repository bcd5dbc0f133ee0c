/** The driver as the measuring process sees it: one process on a core of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pinned } from '../cores.ts';
import type { Job, Outcome } from './job.ts';

export interface Driver {
  run(job: Job): Promise<Outcome>;
  stop(): Promise<void>;
}

type Reply = { readonly outcome: Outcome } | { readonly error: string };

export function startDriver(core: number): Driver {
  const [command, ...args] = pinned(core, [process.execPath, join(__dirname, 'worker.js')]);
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return {
    run: async (job) => {
      child.send(job);
      const [reply] = (await once(child, 'message')) as [Reply];
      if ('error' in reply) throw new Error(`the driver failed: ${reply.error}`);
      return reply.outcome;
    },
    stop: async () => {
      child.kill();
      await once(child, 'exit');
    },
  };
}
