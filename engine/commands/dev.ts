/** `dev`: serves, and follows the descriptors: each save is checked, and served within a second if it has no fault. */
import { watch } from 'node:fs';
import { formatDiagnostics } from '../descriptor/report.ts';
import { readSettings } from '../settings.ts';
import { errorText } from '../log.ts';
import { StartError } from '../start-error.ts';
import { type Command, readFlags, stopSignal } from './command.ts';
import { type Reloading, serveReloading } from './reloading.ts';

/** Editors save in several steps; one save is one reload. In milliseconds. */
const QUIET = 80;

export const dev: Command = {
  run: async (options) => {
    readFlags(options, []);
    const settings = readSettings(process.env);
    const serving = await serveReloading(settings);
    printWarnings(serving);
    console.log(`Records are served at ${serving.url}/api/, and follow ${settings.schemaDirectory}`);
    const stop = follow(settings.schemaDirectory, () => reload(serving));
    await stopSignal();
    await stop();
    await serving.close();
    return 0;
  },
};

async function reload(serving: Reloading): Promise<void> {
  const started = performance.now();
  try {
    await serving.reload();
    printWarnings(serving);
    const { types } = serving.engine().model;
    console.log(`Now serving ${types.size} record types (${Math.round(performance.now() - started)} ms)`);
  } catch (error) {
    console.error(error instanceof StartError ? error.message : errorText(error));
    console.error('The schema from before goes on being served.');
  }
}

function printWarnings(serving: Reloading): void {
  const { warnings } = serving.engine();
  if (warnings.length > 0) console.error(formatDiagnostics(warnings));
}

/** One call of `changed` at a time; what changes meanwhile is followed by another one. Answers how to stop. */
function follow(directory: string, changed: () => Promise<void>): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const watcher = watch(directory, { recursive: true }, (_event, name) => {
    if (name !== null && !/\.ya?ml$/i.test(name)) return;
    clearTimeout(timer);
    timer = setTimeout(() => (running = running.then(changed)), QUIET);
  });
  return async () => {
    watcher.close();
    clearTimeout(timer);
    await running;
  };
}
