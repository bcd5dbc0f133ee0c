/** A verb: what a kind of write does, and what the runner in `writes.ts` must know of it. */
import type { View } from '../../query/list-query.ts';
import type { Identifier } from '../../model/identifier.ts';
import type { Writer } from '../driver.ts';
import type { WriteRequest } from '../store.ts';
import type { Stamp } from '../columns.ts';
import type { WriteContext } from './session.ts';

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
  readonly kept: (written: W) => readonly Identifier[];
  /** The result of a retry, if those numbers say it; else the records are read again in this view. */
  readonly again?: (kept: readonly Identifier[]) => W | undefined;
  readonly view?: (request: R) => View | undefined;
}
