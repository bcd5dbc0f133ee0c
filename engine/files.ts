/** Writes files for commands, and polls files for changes. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf, StartError } from './problem.ts';

const OWNER_ONLY = 0o600;
export const NO_FILE = 'a folder, a pipe or a device';
export const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

export interface NewFile {
  /** Temporary path; created empty. */
  readonly partial: string;
  finish(): void;
  discard(): void;
}

/** Creates a file for its owner only; `finish` renames it. Throws a StartError if `file` exists or cannot be written. */
export function newFile(
  file: string,
  { force, database }: { readonly force: boolean; readonly database: string | undefined },
): NewFile {
  // The rename would put the file in the place of a device, such as /dev/null.
  if (file === '-' || statSync(file, { throwIfNoEntry: false })?.isFile() === false)
    throw new StartError(`${file} is ${NO_FILE}, and this needs a file. Nothing was changed.`);
  const own = database === undefined ? [] : ['', ...COMPANIONS].map((suffix) => canonicalPath(database + suffix));
  if (own.includes(canonicalPath(file)))
    throw new StartError(`${file} is the database itself, or belongs to it; choose another name. Nothing was changed.`);
  // Dangling links exist as well.
  if (!force && lstatSync(file, { throwIfNoEntry: false }) !== undefined) throw taken(file);
  const partial = `${file}.${randomBytes(6).toString('hex')}.partial`;
  writing(file, () => closeSync(openSync(partial, 'wx', OWNER_ONLY)));
  return {
    partial,
    finish: () =>
      writing(file, () => {
        flush(partial);
        // A rename would replace a file of this name: 'wx' fails if it exists.
        if (!force) closeSync(openSync(file, 'wx', OWNER_ONLY));
        renameSync(partial, file);
        flush(dirname(file));
      }),
    discard: () => {
      for (const suffix of ['', ...COMPANIONS]) rmSync(partial + suffix, { force: true });
    },
  };
}

/** Creates the database file for its owner only; SQLite gives its companion files the same mode. */
export function makeOwnerOnly(file: string): void {
  // Flag 'a' does not change an existing file.
  if (!existsSync(file)) writing(file, () => closeSync(openSync(file, 'a', OWNER_ONLY)));
}

/** Node's own recursion never ends below a folder like /proc, which exists and makes no others. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  writing(folder, () => mkdirSync(folder));
}

function flush(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

const taken = (file: string): StartError =>
  new StartError(`${file} already exists; choose another name, or replace it with --force`);

function canonicalPath(file: string): string {
  if (existsSync(file)) return realpathSync.native(file);
  const folder = resolve(dirname(file));
  return join(existsSync(folder) ? realpathSync.native(folder) : folder, basename(file));
}

export const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';

export const isOfSystem = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;

function writing(file: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw taken(file);
    throw new StartError(`${file} cannot be written: ${reasonOf(error)}`, { cause: error });
  }
}

// Polls for changes: file system events get lost on network file systems, in containers, and after a rename.

/** Reports a change that does not settle after this many polls. */
const MAX_LOOKS = 3;

interface Looking {
  readonly look: () => Promise<string>;
  readonly every: number;
  /** Called when two polls in a row find the same change. */
  readonly changed: () => unknown;
}

/** Returns a function that stops polling. */
export function followSettled(first: string, { look, every, changed }: Looking): () => Promise<void> {
  let [known, last, looks] = [first, first, 0];
  const stopping = new AbortController();
  const { signal } = stopping;
  const lookOnce = async (): Promise<void> => {
    const found = await look();
    const isSettled = found === last;
    last = found;
    looks = found === known ? 0 : looks + 1;
    if (signal.aborted || looks === 0 || (!isSettled && looks < MAX_LOOKS)) return;
    known = found;
    looks = 0;
    await changed();
  };
  const follow = async (): Promise<void> => {
    while (await sleep(every, true, { ref: false, signal }).catch(() => false)) await lookOnce().catch(() => undefined);
  };
  const running = follow();
  return async () => {
    stopping.abort();
    await running;
  };
}
