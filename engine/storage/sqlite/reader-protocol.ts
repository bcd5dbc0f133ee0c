/** What a reader process is asked, and what it answers. */
import type { Values } from '../driver.ts';

/**
 * A session is one connection with one snapshot, which begins with its first question after `end`. `open` begins a
 * list, `next` reads some of its texts: undefined if there are no more. `checkpoint` copies the log into the database; its
 * answer is a LogState.
 */
export type Verb = 'get' | 'all' | 'value' | 'column' | 'count' | 'open' | 'next' | 'end' | 'close' | 'checkpoint';

export interface Question {
  readonly id: number;
  readonly session: number;
  readonly verb: Verb;
  /** Empty for verbs that need none. */
  readonly sql: string;
  readonly values: Values;
}

/** How far the log (`-wal`) is copied into the database. */
export interface LogState {
  /** Pages that are not copied yet. */
  readonly behind: number;
  /** Whether the file is empty now. */
  readonly isCut: boolean;
}

/** Errors lose their class when they are sent; SQLite's errors are recognized by their code. */
export interface ReaderFailure {
  readonly message: string;
  readonly code: string;
}

/** Sent once, before it is asked anything. */
export const READY = 'ready';

export type Reply =
  | typeof READY
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: ReaderFailure };

/** What a reader process is started with, as words on its command line. */
export interface ReaderOptions {
  readonly file: string;
  /** What each of its connections may keep of the file, in KiB; a sort that needs more goes to the disk. */
  readonly cache: number;
  /** Characters that one answer may have; unlimited for commands. */
  readonly longest: number;
}

/** The file descriptor that closes with the service. */
export const LIFELINE = 4;
