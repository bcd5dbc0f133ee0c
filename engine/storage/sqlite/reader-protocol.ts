/** What a reader process is asked, and what it answers. */
import type { Values } from '../driver.ts';

/**
 * A process has one connection; its snapshot begins with the first question after `end`. `open` begins a list, `next` reads
 * some of its texts: undefined if there are no more.
 */
export type Verb = 'get' | 'all' | 'value' | 'column' | 'count' | 'open' | 'next' | 'end';

export interface Question {
  readonly id: number;
  readonly verb: Verb;
  /** Empty for verbs that need none. */
  readonly sql: string;
  readonly values: Values;
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
  /** Characters that one answer may have; unlimited for commands. */
  readonly longest: number;
}

/** The file descriptor that closes with the service. */
export const LIFELINE = 4;
