/** A service whose engine can be exchanged: requests that have begun end where they began. */
import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Engine, startEngine } from '../engine.ts';
import { drain, listen, urlOf } from '../listener.ts';
import { answering, forHost } from '../serve.ts';
import type { Settings } from '../settings.ts';

export interface Reloading {
  readonly url: string;
  readonly engine: () => Engine;
  /** Throws a StartError where the schema does not let an engine start; the old one goes on then. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

interface Generation {
  readonly engine: Engine;
  readonly answer: RequestListener;
  /** Closes the engine once its last request is answered. */
  retire(): Promise<void>;
}

export async function serveReloading(wanted: Settings): Promise<Reloading> {
  const settings = forHost(wanted);
  let current = await open(settings);
  const listener = await listen((request, response) => current.answer(request, response), settings);
  return {
    url: urlOf(listener),
    engine: () => current.engine,
    reload: async () => {
      const next = await open(settings);
      const former = current;
      current = next;
      await former.retire();
    },
    close: async () => {
      current.engine.drain();
      await drain(listener, settings.shutdownTimeout);
      await current.retire();
    },
  };
}

async function open(settings: Settings): Promise<Generation> {
  const engine = await startEngine(settings);
  const answer = answering(engine, settings);
  let pending = 0;
  let ended: (() => void) | undefined;
  return {
    engine,
    answer: (request, response) => {
      pending++;
      response.once('close', () => {
        if (--pending === 0) ended?.();
      });
      answer(request, response);
    },
    retire: async () => {
      // Of requests that were pipelined on a connection that is gone, not all are told so.
      const over = new Promise<void>((resolve) => (ended = resolve));
      if (pending > 0) await Promise.race([over, sleep(settings.shutdownTimeout, undefined, { ref: false })]);
      await engine.close();
    },
  };
}
