/** The process: its package, its worker number, and escapes for terminals. */
import cluster from 'node:cluster';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Walks up to package.json, since sources and compiled code are at different depths. */
function folderOfPackage(directory: string): string {
  const found = existsSync(join(directory, 'package.json')) || dirname(directory) === directory;
  return found ? directory : folderOfPackage(dirname(directory));
}

export const PACKAGE_FOLDER = folderOfPackage(__dirname);

const manifest = JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8')) as {
  readonly name: string;
  readonly version: string;
  readonly engines: { readonly node: string };
};

export const { name: PACKAGE_NAME, version: VERSION } = manifest;

/** Why this version of Node.js is refused; the database driver would crash without a message. */
export function nodeFault(version = process.versions.node): string | undefined {
  const needed = Number(/\d+/.exec(manifest.engines.node)?.[0]);
  if (Number.parseInt(version, 10) >= needed) return undefined;
  return `The service needs Node.js ${needed} or later, but this is ${version}. Install a newer one from https://nodejs.org; in a clone, npm start and npx records have their own`;
}

export const WORKER_VARIABLE = 'RECORDS_WORKER';

/** 1 to WORKERS; undefined without workers. */
export const workerNumber: number | undefined = cluster.isWorker
  ? Number(process.env[WORKER_VARIABLE]) || undefined
  : undefined;

/** Terminals and supervisors send these, some of them to a whole group of processes. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const;

export function ignoreSignals(signals: readonly NodeJS.Signals[]): void {
  for (const signal of signals) process.on(signal, () => undefined);
}

/** C0 and C1 controls except tab and newline, and characters that reorder or separate text. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** Escapes, as JSON does, characters that could move the cursor or disguise text. */
export const printable = (text: string): string =>
  text.replaceAll(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const print = (text: string): void => console.log(printable(text));

export const printError = (text: string): void => console.error(printable(text));
