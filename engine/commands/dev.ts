/** `dev` serves the records, and reloads descriptors within a second after they are saved. */
import { statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { findDescriptors } from '../descriptor/load.ts';
import type { Settings } from '../settings/settings.ts';
import { followSettled } from '../files.ts';
import { reasonOf } from '../problem.ts';
import { print, printError } from '../process.ts';
import { command, messageOf, printWarnings, stopSignal } from './command.ts';
import { startEngine } from '../engine.ts';
import { announcement, answering, forHost, listen } from '../server/serve.ts';

const POLL_MS = 120;
const RETIRE_MS = 10;

const USAGE = 'records dev: serves the records, and reloads the descriptors whenever they are saved';

export const dev = command(USAGE, {}, [], async (_, __, settings) => {
  const look = (): string => [settings.schemaDirectory, settings.accessDirectory].map(stateOf).join('\n');
  const before = look();
  const serving = await serveReloading(settings);
  const changed = async (): Promise<void> => {
    const started = performance.now();
    try {
      await serving.reload();
      printWarnings(serving.engine(), settings);
      print(`Now serving the changed descriptors (${Math.round(performance.now() - started)} ms)`);
    } catch (error) {
      printError(messageOf(error));
      printError('Still serving the previous descriptors.');
    }
  };
  printWarnings(serving.engine(), settings);
  const { url } = serving;
  print(announcement(`Serving records at ${url}/api/, watching ${settings.schemaDirectory}`, url, settings, true));
  const stop = followSettled(before, { look: async () => look(), every: POLL_MS, changed });
  await stopSignal();
  await stop();
  await serving.close();
  return 0;
});

function stateOf(directory: string): string {
  try {
    return findDescriptors(directory).map(describeFile).join('\n');
  } catch (error) {
    return reasonOf(error);
  }
}

function describeFile(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? file : `${file} ${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`;
}

/** A service with a replaceable engine: the engine that started a request finishes it. */
export async function serveReloading(wanted: Settings) {
  const settings = forHost(wanted);
  let current = await open(settings);
  const listener = await listen(
    (request, response) => current.answer(request, response),
    settings,
    current.engine.budget,
  );
  return {
    url: listener.url,
    engine: () => current.engine,
    /** Throws a StartError if the new descriptors cannot be served; the old engine keeps running. */
    reload: async () => {
      const next = await open(settings);
      const former = current;
      current = next;
      await former.retire();
    },
    close: async () => {
      current.engine.drain();
      await listener.drain(settings.shutdownTimeout);
      await current.retire();
    },
  };
}

async function open(settings: Settings) {
  const engine = await startEngine(settings);
  const answer = answering(engine, settings);
  const unanswered = new Set<ServerResponse>();
  return {
    engine,
    answer: (request: IncomingMessage, response: ServerResponse): void => {
      unanswered.add(response);
      response.once('close', () => unanswered.delete(response));
      answer(request, response);
    },
    retire: async () => {
      // Some requests pipelined on a closed connection get no `close` event.
      const end = performance.now() + settings.shutdownTimeout;
      while (unanswered.size > 0 && performance.now() < end) await sleep(RETIRE_MS, undefined, { ref: false });
      await engine.close();
    },
  };
}
