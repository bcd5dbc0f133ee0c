/** The thread for scans as the main thread sees it: questions go in, promises come out. */
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Problem } from '../../problem.ts';
import { translate } from './errors.ts';
import type { Question, Reply } from './scan-protocol.ts';

export interface Thread {
  ask(question: Omit<Question, 'id'>): Promise<unknown>;
  stop(): Promise<void>;
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Compiled code and sources, as tests run them, start alike. */
const EXTENSION = extname(__filename);
const PROGRAM = join(__dirname, `scan-thread${EXTENSION}`);
const LOADER = EXTENSION === '.ts' ? ['--require', 'esbuild-register'] : [];

/** `onEnd` is called once it is gone, asked to or not: what it was still asked, and is asked from then on, can be tried again. */
export function startThread(file: string, onEnd: () => void): Thread {
  const worker = new Worker(PROGRAM, { workerData: file, execArgv: LOADER });
  const waiting = new Map<number, Waiting>();
  let asked = 0;
  let cause: unknown;
  let isGone = false;

  function settle(reply: Reply): void {
    const asker = waiting.get(reply.id);
    waiting.delete(reply.id);
    // A process that waits for nothing else may end.
    if (waiting.size === 0) worker.unref();
    if ('failure' in reply) asker?.reject(translate(Object.assign(new Error(reply.failure.message), reply.failure)));
    else asker?.resolve(reply.result);
  }

  const gone = (): Problem => new Problem('storage-busy', 'The scan of the records was cut off; try again', { cause });

  worker.on('message', settle);
  worker.on('error', (error) => (cause = error));
  worker.on('exit', () => {
    isGone = true;
    onEnd();
    for (const { reject } of waiting.values()) reject(gone());
    waiting.clear();
  });
  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        if (isGone) return reject(gone());
        worker.ref();
        asked += 1;
        waiting.set(asked, { resolve, reject });
        worker.postMessage({ id: asked, ...question } satisfies Question, []);
      }),
    stop: async () => void (await worker.terminate()),
  };
}
