/** Runs the verbs: as a dry run, in one round trip, in a transaction, or once under an idempotency key. */
import { NO_CLIENT } from '../../edge/caller.ts';
import type { Identifier } from '../../model/identifier.ts';
import type { Model } from '../../model/model.ts';
import { ALL_RIGHTS } from '../../model/rights.ts';
import { type Clock, createStamp } from '../columns.ts';
import type { Driver, Writer } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type { CreateRequest, DoneOnce, KeptAnswer, Once, Retried, Store } from '../store.ts';
import { remove } from './delete.ts';
import { deleteFound } from './delete-found.ts';
import { createOnce, forgetKeys } from './once.ts';
import { create, update, writeRecords } from './records.ts';
import { isViolation, located, RefusedRow } from './refused.ts';
import { onlyReading, type WriteContext } from './session.ts';
import { createTables } from './tables.ts';
import { upsert } from './upsert.ts';
import type { Asked, Stamped, Transaction, Verb } from './verb.ts';

export type Writes = Pick<Store, 'create' | 'update' | 'upsert' | 'delete' | 'deleteFound' | 'once' | 'forgetKeys'> & {
  insert(writer: Writer, records: Pick<CreateRequest, 'type' | 'items'>): Promise<void>;
};

export interface WriteOptions {
  /** The model, adapted to the current tables, which newer instances may migrate at any time. */
  readonly served: () => Model;
  readonly writeRows?: number | undefined;
  readonly clock?: Clock | undefined;
}

export function createWrites(driver: Driver, reads: Reads, { served, writeRows, clock }: WriteOptions): Writes {
  const { dialect } = driver;
  const tables = createTables(dialect, served);
  const unlocked = createTables({ ...dialect, locks: false, lockOwnership: undefined }, served);
  const context: WriteContext = { driver, reads, tables, unlocked, writeRows };
  const runOnce = createOnce(dialect);
  const stampOf = ({ dryRun, author }: Pick<Asked, 'author' | 'dryRun'>) =>
    // A dry run writes nothing, so the database supplies no time.
    createStamp(dryRun ? (clock ?? (() => new Date())) : clock, author);

  const doing =
    <R extends Asked, W>(verb: Verb<R, W>) =>
    async (asked: R): Promise<W> => {
      const request = await prepared(verb, asked);
      const single = driver.writeSingle && !asked.dryRun ? await verb.single?.(context, request) : undefined;
      return single ?? transact(context, asked, (transaction) => verb.run(transaction, request), verb.row(asked));
    };

  const doingOnce =
    <R extends Asked, W>(verb: Verb<R, W>): DoneOnce<R, W> =>
    async <A extends KeptAnswer>(asked: R, key: Once, answer: (written: W) => A, again: (retried: Retried) => A) => {
      const request = await prepared(verb, asked);
      const view = verb.view?.(asked);
      const work = (transaction: Transaction): Promise<A> => {
        const { writer } = transaction;
        const first = async () => {
          const written = await verb.run(transaction, request);
          return [answer(written), verb.kept(written)] as const;
        };
        const retried = (kept: Retried): A => {
          const written = verb.again?.(kept.identifiers);
          return written === undefined ? again(kept) : answer(written);
        };
        const read = view && ((identifier: Identifier) => reads.record(writer, view, identifier, asked.caller));
        return runOnce(writer, key, first, retried, read);
      };
      return transact(context, asked, work, verb.row(asked));
    };

  async function prepared<R extends Asked, W>(verb: Verb<R, W>, asked: R): Promise<Stamped<R>> {
    const request = { ...asked, stamp: stampOf(asked) };
    return verb.prepare ? verb.prepare(context, request) : request;
  }

  return {
    create: doing(create),
    update: doing(update),
    upsert: doing(upsert),
    delete: doing(remove),
    deleteFound: doing(deleteFound),
    insert: async (writer, records) => {
      const request = { ...records, author: null, mergePatch: false, readOnlyToo: true };
      const transaction = { ...context, writer, isSearched: true };
      await writeRecords(transaction, { ...request, stamp: stampOf(request) });
    },
    once: {
      create: doingOnce(create),
      update: doingOnce(update),
      upsert: doingOnce(upsert),
      delete: doingOnce(remove),
      deleteFound: doingOnce(deleteFound),
    },
    forgetKeys: (hours) => forgetKeys(driver, hours),
  };
}

/** After a violation of a constraint, runs `work` again, to name the conflicting records or the refused row. */
async function transact<T>(
  context: WriteContext,
  { caller = NO_CLIENT, dryRun, rights = ALL_RIGHTS }: Omit<Asked, 'author'>,
  work: (transaction: Transaction) => Promise<T>,
  row: string | undefined,
): Promise<T> {
  const { driver, tables } = context;
  const run = (isSearched: boolean): Promise<T> =>
    driver.write((writer) => work({ ...context, writer, isSearched }), caller, row);
  try {
    if (dryRun)
      return await driver.preview(
        (reader) => work({ ...context, writer: onlyReading(reader), isSearched: true }),
        caller,
      );
    return await run(false).catch((error: unknown) => {
      if (!isViolation(error) || error instanceof RefusedRow) throw error;
      return run(true);
    });
  } catch (error) {
    throw error instanceof RefusedRow ? await located(error, { tables, rights }, driver) : error;
  }
}
