/** What the thread for scans is asked, and what it answers. */
import type { Values } from '../driver.ts';

/** A session is one connection with one snapshot: begun, asked, ended, and begun again. */
export type Verb = 'begin' | 'get' | 'all' | 'value' | 'column' | 'count' | 'open' | 'next' | 'end' | 'close';

export interface Question {
  readonly id: number;
  readonly session: number;
  readonly verb: Verb;
  /** Empty for verbs that need none. */
  readonly sql: string;
  readonly values: Values;
}

/** Errors lose their class on the way; SQLite's are known by their code. */
export interface Failure {
  readonly message: string;
  readonly code: string;
}

export type Reply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: Failure };
