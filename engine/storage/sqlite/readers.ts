/** Reader processes. Each serves one search at a time, so that a search can be ended by killing its process. */
import { availableParallelism } from 'node:os';
import { type ChildProcess, fork } from 'node:child_process';
import { extname, join } from 'node:path';
import type { Caller } from '../../caller.ts';
import { createPlaces } from '../places.ts';
import { type Question, type ReaderOptions, READY, type Reply } from './reader-protocol.ts';
import { tooSlow } from '../../problem.ts';
import { unavailable } from '../unavailable.ts';
import { translate } from './connection.ts';

interface Lent {
  readonly reader: ReaderProcess;
  giveBack(): void;
}

interface ReaderPool {
  /** `slow`: for a list that its client may read slowly. */
  take(caller: Caller, slow: boolean): Promise<Lent>;
  close(): void;
}

export interface PoolOptions extends ReaderOptions {
  /** Milliseconds that a search may wait for a process, and that each of its statements may take. */
  readonly patience: number;
}

/** At least two, so that one search does not stop all others; more would only take memory. */
const MAX_READERS = Math.min(4, Math.max(2, availableParallelism()));
/** Milliseconds that a process is kept for the next search; the last one stays. */
const IDLE = 30_000;

export function createReaderPool({ patience, ...options }: PoolOptions): ReaderPool {
  const places = createPlaces({ places: MAX_READERS, patience });
  const idle = new Map<ReaderProcess, NodeJS.Timeout>();
  const all = new Set<ReaderProcess>();

  function start(): ReaderProcess {
    const reader: ReaderProcess = startReader(options, patience, () => {
      all.delete(reader);
      wake(reader);
    });
    all.add(reader);
    return reader;
  }

  function wake(reader: ReaderProcess): ReaderProcess {
    clearTimeout(idle.get(reader));
    idle.delete(reader);
    return reader;
  }

  function rest(reader: ReaderProcess): void {
    const end = (): void => {
      if (idle.size > 1) reader.kill();
    };
    if (!reader.isGone) idle.set(reader, setTimeout(end, IDLE).unref());
  }

  return {
    take: async (caller, slow) => {
      const leave = await places.take(caller, slow);
      try {
        const [free] = idle.keys();
        const reader = free ? wake(free) : start();
        return {
          reader,
          giveBack: () => {
            rest(reader);
            leave();
          },
        };
      } catch (error) {
        leave();
        throw unavailable('cutOff', error);
      }
    },
    close: () => {
      places.close();
      for (const reader of all) reader.kill();
    },
  };
}

// A reader process as the service sees it: questions go in, promises come out, and it can be killed.

export interface ReaderProcess {
  /** Kills the process if there is no answer in time. */
  ask(question: Omit<Question, 'id'>): Promise<unknown>;
  /** Ends the process at once; questions without an answer fail with the reason. */
  kill(reason?: Error): void;
  readonly isGone: boolean;
  /** Whether a question has no answer yet. */
  readonly isBusy: boolean;
}

interface PendingAnswer {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  timer?: NodeJS.Timeout;
}

/** Works for compiled code, and for sources as tests run them. */
const EXTENSION = extname(__filename);
const PROGRAM = join(__dirname, `reader-program${EXTENSION}`);
const LOADER = EXTENSION === '.ts' ? ['--require', 'esbuild-register'] : [];
/** It only holds the pieces that it sends. */
const HEAP = ['--max-old-space-size=96', '--max-semi-space-size=2'];

/** `patience`: milliseconds that a question may take; Infinity for commands. `onEnd` is called once, when it is gone. */
export function startReader(options: ReaderOptions, patience: number, onEnd: () => void): ReaderProcess {
  const child = fork(PROGRAM, [JSON.stringify(options)], {
    execArgv: [...HEAP, ...LOADER],
    serialization: 'advanced',
    // The last pipe closes when this process ends, however it ends.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe'],
  });
  const waiting = new Map<number, PendingAnswer>();
  let asked = 0;
  let ready = false;
  let gone: Error | undefined;

  /** The time to start the process does not count. */
  function limit(one: PendingAnswer): void {
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
    if ('failure' in reply)
      asker?.reject(translate(Object.assign(new Error(reply.failure.message), reply.failure), options.file));
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
  child.on('error', (error) => end(unavailable('cutOff', error)));
  child.on('exit', (code, signal) =>
    end(unavailable('cutOff', new Error(`a reader process ended: ${signal ?? code}`))),
  );
  hold(child, false);
  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        if (gone) return reject(gone);
        hold(child, true);
        asked += 1;
        const one: PendingAnswer = { resolve, reject };
        waiting.set(asked, one);
        limit(one);
        // No process could be started: the event that says so comes later.
        if (!child.connected) return end(unavailable('cutOff', new Error('a reader process cannot be started')));
        child.send(
          { id: asked, ...question } satisfies Question,
          (error) => error && end(unavailable('cutOff', error)),
        );
      }),
    kill: (reason = unavailable('cutOff')) => end(reason),
    get isGone() {
      return gone !== undefined;
    },
    get isBusy() {
      return waiting.size > 0;
    },
  };
}

/** While no question is open, the service may end. */
function hold(child: ChildProcess, isBusy: boolean): void {
  child[isBusy ? 'ref' : 'unref']();
  child.channel?.[isBusy ? 'ref' : 'unref']();
  // Where no process could be started, there are no pipes.
  const lifeline = (child.stdio as ChildProcess['stdio'] | undefined)?.[4];
  // A socket, though its type does not say so.
  if (!isBusy && lifeline && 'unref' in lifeline && typeof lifeline.unref === 'function') lifeline.unref();
}
