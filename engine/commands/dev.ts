/** `dev`: serves, and follows the descriptors: each save is checked, and served within a second if it has no fault. */
import { statSync } from 'node:fs';
import { findDescriptors } from '../descriptor/find.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import { readSettings } from '../settings.ts';
import { followSettled } from '../settled.ts';
import { reasonOf } from '../start-error.ts';
import { print, printError } from '../terminal.ts';
import { type Command, messageOf, readFlags, stopSignal } from './command.ts';
import { type Reloading, serveReloading } from './reloading.ts';

/** Milliseconds between two looks at the descriptors. */
const LOOK_MS = 120;

export const dev: Command = {
  run: async (options) => {
    readFlags(options, []);
    const settings = readSettings(process.env);
    const before = stateOf(settings.schemaDirectory);
    const serving = await serveReloading(settings);
    printWarnings(serving);
    print(`Records are served at ${serving.url}/api/, and follow ${settings.schemaDirectory}`);
    const stop = follow(settings.schemaDirectory, before, () => reload(serving));
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
    print(`Now serving ${types.size} record types (${Math.round(performance.now() - started)} ms)`);
  } catch (error) {
    printError(messageOf(error));
    printError('The schema from before goes on being served.');
  }
}

function printWarnings(serving: Reloading): void {
  const { warnings } = serving.engine();
  if (warnings.length > 0) printError(formatDiagnostics(warnings));
}

const follow = (directory: string, before: string, changed: () => Promise<void>): (() => Promise<void>) =>
  followSettled(before, {
    look: async () => stateOf(directory),
    textOf: (state) => state,
    every: LOOK_MS,
    changed,
  });

/** Every descriptor as the file system knows it, whatever leads to it; what cannot be looked at is a state as well. */
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
