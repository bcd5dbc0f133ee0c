/** Files that commands write: readable by their owner only, named when they are whole, and never replacing another unasked. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { reasonOf, StartError } from './start-error.ts';

const OWNER_ONLY = 0o600;
/** What SQLite keeps beside a database file. */
export const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

export interface NewFile {
  /** Where it is until it is whole. It is there, and empty. */
  readonly partial: string;
  /** Gives the file its name, once it is on the disk. */
  finish(): void;
  /** Removes what was written. After `finish` there is nothing to remove. */
  discard(): void;
}

export interface OutputOptions {
  /** Whether a file of this name may be replaced. */
  readonly force: boolean;
  /** The file of the database, which is never replaced; undefined where there is none. */
  readonly database: string | undefined;
}

/** Throws a StartError where the name is taken or the file cannot be made; nothing is touched then. */
export function newFile(file: string, naming: OutputOptions): NewFile {
  refuseDatabase(file, naming);
  if (!naming.force && isThere(file)) throw taken(file);
  const partial = `${file}.${randomBytes(6).toString('hex')}.partial`;
  said(file, () => closeSync(openSync(partial, 'wx', OWNER_ONLY)));
  return {
    partial,
    finish: () =>
      said(file, () => {
        synced(partial);
        (naming.force ? renameSync : renameToFree)(partial, file);
        synced(dirname(file));
      }),
    discard: () => {
      for (const suffix of ['', ...COMPANIONS]) rmSync(partial + suffix, { force: true });
    },
  };
}

/** Makes the file of a database readable by its owner only; one that is there keeps its mode. SQLite gives its companions the same. */
export function makeOwnerOnly(file: string): void {
  // Through a link, too: what is there is opened, and nothing of it is changed.
  if (!existsSync(file)) said(file, () => closeSync(openSync(file, 'a', OWNER_ONLY)));
}

/** A file, or a folder and with it the names in it, is on the disk. */
function synced(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function refuseDatabase(file: string, { database }: OutputOptions): void {
  if (database === undefined) return;
  const names = ['', ...COMPANIONS].map((suffix) => database + suffix);
  if (names.some((name) => isSame(name, file)))
    throw new StartError(`${file} is the database itself, or belongs to it; choose another name. Nothing was changed.`);
}

const taken = (file: string): StartError =>
  new StartError(`${file} is there already; choose another name, or replace it with --force`);

/** Whatever has the name, a link that leads nowhere included. */
const isThere = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false }) !== undefined;

function isSame(one: string, other: string): boolean {
  const [a, b] = [identityOf(one), identityOf(other)];
  return placeOf(one) === placeOf(other) || (a !== undefined && a === b);
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}

function placeOf(path: string): string {
  const folder = resolve(dirname(path));
  return join(existsSync(folder) ? realpathSync(folder) : folder, basename(path));
}

const WITHOUT_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** A rename replaces what is there; a link does not. */
function renameToFree(from: string, to: string): void {
  try {
    linkSync(from, to);
    rmSync(from);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') throw taken(to);
    if (!WITHOUT_LINKS.has(code)) throw error;
    // This file system has no links: the name is taken first.
    closeSync(openSync(to, 'wx', OWNER_ONLY));
    renameSync(from, to);
  }
}

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';

function said(file: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`${file} cannot be written: ${reasonOf(error)}`, { cause: error });
  }
}
