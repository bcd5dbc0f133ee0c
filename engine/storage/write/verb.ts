/** A verb: what a kind of write does, and what the runner in `writes.ts` must know of it. */
import type { View } from '../../query/list-query.ts';
import type { Driver, Writer } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type { RecordDeletion, WriteRequest } from '../store.ts';
import { createSession, type Given, NO_WRITER, type WriteSession } from './session.ts';
import { rowOf, type Tables } from './tables.ts';
import type { Stamp } from './values.ts';

export interface WriteContext {
  readonly driver: Driver;
  readonly reads: Reads;
  readonly tables: Tables;
  /** The same statements, without locks. */
  readonly unlocked: Tables;
  readonly writeRows: number | undefined;
}

/** A transaction, or the snapshot of a dry run. */
export interface Transaction extends WriteContext {
  readonly writer: Writer;
  /** Finds conflicting records before it writes, since a ConstraintError names none. */
  readonly isSearched: boolean;
}

/** Reruns of a request's transaction reuse its stamp: the author, and the time of `now`. */
export type Stamped<R> = R & { readonly stamp: Stamp };

/** What all writes have in common. */
export type Asked = Pick<WriteRequest, 'author' | 'caller' | 'dryRun' | 'rights'>;

export interface Verb<R, W> {
  /** A long search, before the transaction. */
  readonly prepare?: (context: WriteContext, request: Stamped<R>) => Promise<Stamped<R>>;
  readonly run: (transaction: Transaction, request: Stamped<R>) => Promise<W>;
  /** Without a transaction. undefined if it did nothing: a transaction then does it, or reports why not. */
  readonly single?: (context: WriteContext, request: Stamped<R>) => Promise<W | undefined>;
  /** The row whose writes queue. */
  readonly row: (request: R) => string | undefined;
  /** The numbers that are kept under an idempotency key. */
  readonly kept: (written: W) => readonly number[];
  /** The result of a retry, if those numbers say it; else the records are read again in this view. */
  readonly again?: (kept: readonly number[]) => W | undefined;
  readonly view?: (request: R) => View | undefined;
}

/** Dry runs, and writes sent without BEGIN, need no row locks. */
export function sessionOf(
  { tables, unlocked, writeRows, driver: { dialect } }: WriteContext,
  writer: Writer,
  { dryRun, ...given }: Omit<Given, 'writer' | 'tables' | 'dialect'> & Pick<WriteRequest, 'dryRun'>,
): WriteSession {
  const locking = dryRun || writer === NO_WRITER ? unlocked : tables;
  return createSession({ writeRows, ...given, writer, tables: locking, dialect: dialect.name });
}

export const rowDeletedBy = ({ view, identifier }: RecordDeletion): string => rowOf(view.type, identifier);
