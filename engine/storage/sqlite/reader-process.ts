/** A reader process as the service sees it: questions go in, promises come out, and it can be killed. */
import { type ChildProcess, fork } from 'node:child_process';
import { extname, join } from 'node:path';
import { Problem, tooSlow } from '../../problem.ts';
import { translate } from './errors.ts';
import { type Question, type ReaderOptions, READY, type Reply } from './scan-protocol.ts';

export interface ReaderProcess {
  /** Kills the process if there is no answer in time. */
  ask(question: Omit<Question, 'id'>): Promise<unknown>;
  /** Ends the process at once; questions without an answer fail with the reason. */
  kill(reason?: Error): void;
  readonly isGone: boolean;
  /** Whether a question has no answer yet. */
  readonly isBusy: boolean;
}

interface Asked {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  timer?: NodeJS.Timeout;
}

/** Compiled code and sources, as tests run them, start alike. */
const EXTENSION = extname(__filename);
const PROGRAM = join(__dirname, `reader-program${EXTENSION}`);
const LOADER = EXTENSION === '.ts' ? ['--require', 'esbuild-register'] : [];
/** What it holds are the pieces that it sends. */
const HEAP = ['--max-old-space-size=96', '--max-semi-space-size=2'];

/** `patience`: milliseconds that a question may take; Infinity for commands. `onEnd` is called once, when it is gone. */
export function startReader(options: ReaderOptions, patience: number, onEnd: () => void): ReaderProcess {
  const child = fork(PROGRAM, [JSON.stringify(options)], {
    execArgv: [...HEAP, ...LOADER],
    serialization: 'advanced',
    // The last one closes when this process ends, however it ends.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe'],
  });
  const waiting = new Map<number, Asked>();
  let asked = 0;
  let ready = false;
  let gone: Error | undefined;

  /** What it takes to start is not for the statement to answer for. */
  function limit(one: Asked): void {
    if (ready && patience !== Infinity) one.timer = setTimeout(() => end(tooSlow(patience)), patience);
  }

  function settle(reply: Reply): void {
    if (reply === READY) {
      ready = true;
      for (const one of waiting.values()) limit(one);
      return;
    }
    const asker = waiting.get(reply.id);
    clearTimeout(asker?.timer);
    waiting.delete(reply.id);
    if (waiting.size === 0) hold(child, false);
    if ('failure' in reply) asker?.reject(translate(Object.assign(new Error(reply.failure.message), reply.failure)));
    else asker?.resolve(reply.result);
  }

  function end(reason: Error): void {
    if (gone) return;
    gone = reason;
    child.kill('SIGKILL');
    hold(child, false);
    onEnd();
    for (const { reject, timer } of waiting.values()) {
      clearTimeout(timer);
      reject(reason);
    }
    waiting.clear();
  }

  child.on('message', (reply) => settle(reply as Reply));
  child.on('error', (error) => end(cutOff(error)));
  child.on('exit', (code, signal) => end(cutOff(new Error(`a reader process ended: ${signal ?? code}`))));
  hold(child, false);
  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        if (gone) return reject(gone);
        hold(child, true);
        asked += 1;
        const one: Asked = { resolve, reject };
        waiting.set(asked, one);
        limit(one);
        child.send({ id: asked, ...question } satisfies Question, (error) => error && end(cutOff(error)));
      }),
    kill: (reason = cutOff(undefined)) => end(reason),
    get isGone() {
      return gone !== undefined;
    },
    get isBusy() {
      return waiting.size > 0;
    },
  };
}

/** A process that waits for nothing else may end. */
function hold(child: ChildProcess, isBusy: boolean): void {
  child[isBusy ? 'ref' : 'unref']();
  child.channel?.[isBusy ? 'ref' : 'unref']();
  const [, , , , lifeline] = child.stdio;
  // A socket, though its type does not say so.
  if (!isBusy && lifeline && 'unref' in lifeline && typeof lifeline.unref === 'function') lifeline.unref();
}

const cutOff = (cause: unknown): Problem =>
  new Problem('storage-busy', 'The search of the records was cut off; try again', { cause });
