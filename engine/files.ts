/** Output files of commands: readable by their owner only, renamed into place when complete, replacing files only if asked to. */
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
/** Suffixes of the files that SQLite keeps beside a database. */
export const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

export interface NewFile {
  /** Path of the file until it is complete; created empty. */
  readonly partial: string;
  /** Flushes the file to disk and renames it into place. */
  finish(): void;
  /** Removes the partial file; does nothing after `finish`. */
  discard(): void;
}

export interface OutputOptions {
  /** Whether a file of this name may be replaced. */
  readonly force: boolean;
  /** The database file, which is never replaced; undefined without one. */
  readonly database: string | undefined;
}

/** Throws a StartError if the name is taken or the file cannot be created. */
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

/** Creates the database file readable by its owner only; an existing one keeps its mode. SQLite's companion files get the same mode. */
export function makeOwnerOnly(file: string): void {
  // Mode 'a' follows links and changes nothing in an existing file.
  if (!existsSync(file)) said(file, () => closeSync(openSync(file, 'a', OWNER_ONLY)));
}

/** Flushes a file, or the entries of a folder, to disk. */
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
  new StartError(`${file} already exists; choose another name, or replace it with --force`);

/** Whether the name exists, even as a dangling link. */
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

/** A rename would replace an existing file; a link does not. */
function renameToFree(from: string, to: string): void {
  try {
    linkSync(from, to);
    rmSync(from);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') throw taken(to);
    if (!WITHOUT_LINKS.has(code)) throw error;
    // The file system has no hard links: reserve the name first.
    closeSync(openSync(to, 'wx', OWNER_ONLY));
    renameSync(from, to);
  }
}

/** The code of an error of Node or SQLite; empty if it has none. */
export const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';

function said(file: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`${file} cannot be written: ${reasonOf(error)}`, { cause: error });
  }
}
