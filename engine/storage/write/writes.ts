/** Runs the verbs: as a dry run, in one round trip, in a transaction, or once under an idempotency key. */
import { NO_CLIENT } from '../../edge/caller.ts';
import { MAX_IN_VALUES } from '../../field-types/field-type.ts';
import type { Identifier } from '../../model/identifier.ts';
import { type Model, namesByValues, relationsIn, type UniqueMembers, wholeOf } from '../../model/model.ts';
import { ALL_RIGHTS, entryOf, namesRecords } from '../../model/rights.ts';
import { faultyRequest, Problem, reworded, throwTogether } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { type Clock, createStamp } from '../columns.ts';
import { inGroups } from '../dialect.ts';
import { type Driver, Overtaken, type Reader, type Statement, type Writer } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type * as stored from '../store.ts';
import { METADATA } from '../tables.ts';
import { noDeletion, planRestore, restoreFault } from '../log/restore.ts';
import { allow, confirm, forbiddenFirst } from './allowed.ts';
import { apply, isViolation, located, RefusedRow } from './apply.ts';
import { type Refusal, tooManyRows } from './cascade.ts';
import { effectsOf, numbered, previewReader, seenIn } from './dry-run.ts';
import { lockNamed, shownTo } from './locks.ts';
import { numberOf, placeholdersIn, planDeletion, planWrite, type WritePlan } from './plan.ts';
import { resolveBody } from './resolve.ts';
import {
  createSession,
  onlyReading,
  seenAmong,
  type Stamped,
  touch,
  type Transaction,
  UNLIMITED_ROWS,
  type WriteContext,
  type WriteSession,
} from './session.ts';
import { deleteSingle, writeSingle } from './single.ts';
import { createTables, rowOf } from './tables.ts';
import { findItems, withLinked } from './unique-values.ts';

export type Writes = Pick<
  stored.Store,
  'write' | 'upsert' | 'delete' | 'restore' | 'deleteFound' | 'may' | 'forgetKeys'
> & {
  insert(writer: Writer, records: Pick<stored.WriteRequest, 'type' | 'items'>): Promise<void>;
  remove(writer: Writer, record: Pick<stored.RecordDeletion, 'type' | 'view' | 'identifier'>): Promise<stored.Written>;
};

export interface WriteOptions {
  /** The model, adapted to the current tables, which newer instances may migrate at any time. */
  readonly served: () => Model;
  readonly writeRows?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** Records per statement on SQLite, where other requests wait for it. */
const SQLITE_BATCH = 20;

/** What all writes have in common. */
type Common = Pick<stored.WriteRequest, 'author' | 'caller' | 'dryRun' | 'rights'>;

/** A kind of write: what it does, and what the runner must know of it. */
interface Verb<R, W> {
  /** A long search, before the transaction. */
  readonly prepare?: (context: WriteContext, request: Stamped<R>) => Promise<Stamped<R>>;
  readonly run: (transaction: Transaction, request: Stamped<R>) => Promise<W>;
  /** Without a transaction. undefined if it did nothing: a transaction then does it, or reports why not. */
  readonly single?: (context: WriteContext, request: Stamped<R>) => Promise<W | undefined>;
  /** The row whose writes queue. */
  readonly row?: (request: R) => string | undefined;
  /** The identifiers, or counts, to keep under an idempotency key. */
  readonly kept: (written: W) => readonly Identifier[];
  /** The result of a retry, if these say it; else the records are read again in this view. */
  readonly again?: (kept: readonly Identifier[]) => W | undefined;
  readonly view?: (request: R) => View | undefined;
}

const ofRecords = {
  kept: ({ records }: stored.WrittenRecords) => records.map(({ identifier }) => identifier),
  view: ({ view, unread }: Pick<stored.WriteRequest, 'view' | 'unread'>) => (unread ? undefined : view),
};

const write: Verb<stored.WriteRequest, stored.WrittenRecords> = {
  ...ofRecords,
  run: writeRecords,
  single: writeSingle,
  row: ({ type, items: [item, ...others] }) =>
    item?.identifier === undefined || others.length > 0 ? undefined : rowOf(type, item.identifier),
};

const upsert: Verb<stored.UpsertRequest, stored.Upserted> = {
  ...ofRecords,
  run: async (transaction, request) => {
    const { created, ...items } = await findItems(transaction, request);
    return { ...(await writeRecords(transaction, { ...request, ...items })), made: created };
  },
};

const remove: Verb<stored.RecordDeletion, stored.Written> = {
  run: deleteOne,
  single: deleteSingle,
  row: ({ type, identifier }) => rowOf(type, identifier),
  kept: () => [],
};

const restore: Verb<stored.RecordRestoration, stored.WrittenRecords> = { ...ofRecords, run: restoreRecord };

/** `candidates`: by a search before the transaction, which deletes only those that still match. */
type FoundDeletion = stored.DeleteFoundRequest & { readonly candidates?: readonly Identifier[] };

const removeFound: Verb<FoundDeletion, stored.DeletedRecords> = {
  prepare: async ({ reads, writeRows }, request) => {
    const { query, most, caller } = request;
    return { ...request, candidates: await reads.found({ ...query, limit: Math.min(most, writeRows) + 1 }, caller) };
  },
  run: deleteFound,
  kept: ({ deleted, affected }) => [deleted, affected],
  // Keys of older releases lack counts.
  again: ([deleted, affected]) =>
    typeof deleted === 'number' && typeof affected === 'number' ? { deleted, affected } : undefined,
};

export function createWrites(
  driver: Driver,
  reads: Reads,
  { served, writeRows = UNLIMITED_ROWS, clock }: WriteOptions,
): Writes {
  const { dialect } = driver;
  const tables = createTables(dialect, served);
  const unlocked = createTables({ ...dialect, locks: false, lockOwnership: undefined }, served);
  const context: WriteContext = { driver, reads, tables, unlocked, writeRows };
  const claim = METADATA.claimKey(dialect);

  async function stamped<R extends Common, W>(verb: Verb<R, W>, request: R): Promise<Stamped<R>> {
    // A dry run writes nothing, so the database supplies no time.
    const time = request.dryRun ? (clock ?? (() => new Date())) : clock;
    const all = { ...request, stamp: createStamp(time, request.author) };
    return verb.prepare ? verb.prepare(context, all) : all;
  }

  const performing =
    <R extends Common, W>(verb: Verb<R, W>): stored.WriteVerb<R, W> =>
    async (asked, answer, keyed) => {
      const request = await stamped(verb, asked);
      const row = verb.row?.(asked);
      if (!keyed) {
        const single = driver.writeSingle && !asked.dryRun ? await verb.single?.(context, request) : undefined;
        return answer(single ?? (await transact(context, asked, (transaction) => verb.run(transaction, request), row)));
      }
      const view = verb.view?.(asked);
      const work = async (transaction: Transaction) => {
        const { writer } = transaction;
        const kept = await claimKey(writer, claim, keyed);
        if (kept) {
          const written = verb.again?.(kept.identifiers);
          if (written !== undefined) return answer(written);
          // The records may have had identifiers of another type.
          const read = async (identifier: Identifier) =>
            view?.type.identifier.type.parse(String(identifier)) === identifier
              ? reads.record(writer, view, identifier, asked.caller)
              : undefined;
          const bodies = await Promise.all(kept.identifiers.map(read));
          return keyed.again({ ...kept, bodies: bodies.flatMap((body) => body ?? []) });
        }
        const written = await verb.run(transaction, request);
        const answered = answer(written);
        const identifiers = JSON.stringify(verb.kept(written));
        await writer.run(METADATA.answerKey, [identifiers, answered.status, keyed.identity, keyed.key]);
        return answered;
      };
      return transact(context, asked, work, row);
    };

  return {
    write: performing(write),
    upsert: performing(upsert),
    delete: performing(remove),
    restore: performing(restore),
    deleteFound: performing(removeFound),
    insert: async (writer, records) => {
      const request = { ...records, mergePatch: false, readOnlyToo: true, stamp: createStamp(clock, null) };
      await writeRecords({ ...context, writer, isSearched: true }, request);
    },
    remove: (writer, record) =>
      deleteOne({ ...context, writer, isSearched: true }, { ...record, author: null, stamp: createStamp(clock, null) }),
    may: async (action, type, identifier, rights, caller) => {
      const { where, owners } = entryOf(rights, type.name, action) ?? {};
      const meeting = (reader: Reader) => reads.meeting(reader, rights, type, where, [identifier]);
      return owners !== undefined || (await driver.read(meeting, caller)).has(identifier);
    },
    forgetKeys: (hours) => forgetKeys(driver, hours),
  };
}

// Idempotency keys are stored in the transaction of the write, without bodies.

const FORGOTTEN_TOGETHER = 1000;

/**
 * Claims the key in the writer's transaction. Returns the status and the records of an earlier write that had it; throws a
 * Problem if that was another request. `claim`: of METADATA.
 */
export async function claimKey(writer: Writer, claim: Statement, { identity, key, hash, hours }: stored.Once) {
  const { changes } = await writer.run(claim, [0, hash, identity, key, hours]);
  if (changes > 0) return undefined;
  const [knownHash, status, kept] = (await writer.get(METADATA.key, [identity, key])) ?? [];
  if (knownHash !== hash) {
    const message = 'This idempotency key was sent with another request before; a new request needs a key of its own';
    throw faultyRequest('idempotency-conflict', [{ header: 'Idempotency-Key', code: 'idempotency-conflict', message }]);
  }
  return { status: Number(status), identifiers: JSON.parse(String(kept)) as readonly Identifier[] };
}

export async function forgetKeys(driver: Pick<Driver, 'dialect' | 'write'>, hours: number): Promise<void> {
  const forget = METADATA.forgetKeys(driver.dialect);
  for (let changes = FORGOTTEN_TOGETHER; changes >= FORGOTTEN_TOGETHER;)
    ({ changes } = await driver.write(async (writer) => writer.run(forget, [hours, FORGOTTEN_TOGETHER])));
}

/** After a violation of a constraint, runs `work` again, to name the conflicting records or the refused row. */
async function transact<T>(
  context: WriteContext,
  { caller = NO_CLIENT, dryRun, rights = ALL_RIGHTS }: Omit<Common, 'author'>,
  work: (transaction: Transaction) => Promise<T>,
  row: string | undefined,
): Promise<T> {
  const { driver, unlocked } = context;
  const run = (isSearched: boolean, end = (result: T): T => result): Promise<T> =>
    driver.write(async (writer) => end(await work({ ...context, writer, isSearched })), caller, row);
  // SQLite reads what a dry run needs without a pause.
  if (dryRun) await caller.turn();
  try {
    if (dryRun && rights.checked) return await undone((pass) => run(true, pass));
    if (dryRun)
      return await driver.preview(
        (reader) => work({ ...context, tables: unlocked, writer: onlyReading(reader), isSearched: true }),
        caller,
      );
    return await run(false).catch((error: unknown) => {
      if (!isViolation(error) || error instanceof RefusedRow) throw error;
      return run(true);
    });
  } catch (error) {
    throw error instanceof RefusedRow ? await located(error, { tables: unlocked, rights }, driver) : error;
  }
}

/** For a role, whose conditions only the written tables can tell: a dry run writes, and the transaction is undone. */
async function undone<T>(work: (end: (result: T) => never) => Promise<T>): Promise<T> {
  const results: T[] = [];
  const end = new Error('A dry run is undone');
  return work((result) => {
    results.push(result);
    throw end;
  }).catch((error: unknown) => {
    if (error !== end) throw error;
    return results.at(-1) as T;
  });
}

interface RecordsRequest extends Stamped<Omit<stored.WriteRequest, 'view' | 'author'>> {
  readonly view?: View;
  /** Called once the records are locked. */
  readonly locked?: () => Promise<void>;
  readonly readOnlyToo?: boolean;
  readonly unique?: UniqueMembers;
}

/** Resolves a body as a whole, applies its plan, and reads the records back; a dry run only plans. */
async function writeRecords(transaction: Transaction, asked: RecordsRequest): Promise<stored.WrittenRecords> {
  const request = asked.items.some(({ body }) => namesByValues(asked.type, body))
    ? await withLinked(transaction, asked)
    : asked;
  const { writer, reads } = transaction;
  const { type, items, view, caller } = request;
  const session = createSession(transaction, request);
  const expected = items.flatMap(({ identifier, precondition }) =>
    precondition && identifier !== undefined ? [{ identifier, precondition }] : [],
  );
  const tagged = expected.map(({ identifier }) => identifier);
  const findShown = view && tagged.length > 0 ? shownTo(transaction, view, tagged) : undefined;
  const isNew = items.every(({ body, identifier }) => identifier === undefined && relationsIn(type, body).length === 0);
  const isLocked = isNew || (await lockNamed(session, type, items, findShown));
  await request.locked?.();
  const { nodes: roots, allowed } = await resolveBody(session, type);
  const checked = async (): Promise<void> => {
    request.precondition?.();
    if (!view || expected.length === 0) return;
    const bodies = await reads.records(writer, view, tagged, caller);
    throwTogether(bodies.map((body, index) => () => expected[index]?.precondition(body)));
  };
  // Some conditions of a role only the end of the write can tell; the refusal undoes it.
  const trial = async () => apply({ ...session, isDry: true }, await planWrite(session, allowed, roots));
  await forbiddenFirst(session, allowed, checked(), trial);
  if (expected.length > 0 && view && !isLocked) throw new Overtaken();
  return carriedOut(transaction, request, session, await planWrite(session, allowed, roots));
}

async function deleteOne(transaction: Transaction, request: Stamped<stored.RecordDeletion>): Promise<stored.Written> {
  const { writer, reads } = transaction;
  const { type, view, identifier, precondition, caller, dryRun } = request;
  const session = createSession(transaction, request);
  const shown = precondition && shownTo(transaction, view, [identifier]);
  const isLocked = await lockNamed(session, type, [{ body: {}, identifier, pointer: '' }], shown);
  const [body = ''] = await reads.records(writer, view, [identifier], caller);
  const allowed = await allow(session, [{ type, action: 'delete', records: [identifier], pointer: '' }]);
  precondition?.(body);
  if (precondition && !isLocked) throw new Overtaken();
  const deletion = { type, identifiers: [identifier], pointer: '' };
  const { plan } = await planDeletion(session, allowed, deletion, session.writeRows, (_, through) =>
    tooManyRows(session.writeRows, { relation: through }, `"${through}"`),
  );
  if (dryRun) return { identifier, body, effects: effectsOf(session, plan, []) };
  await apply(session, plan);
  return { identifier, body };
}

async function deleteFound(transaction: Transaction, request: Stamped<FoundDeletion>): Promise<stored.DeletedRecords> {
  const { writer, reads, writeRows } = transaction;
  const { query, most, candidates = [], dryRun } = request;
  const type = wholeOf(query.view.type);
  const tooMany: Refusal = (_deletion, _through, affected) =>
    affected > most ? tooManyAffected(most) : tooManyRows(writeRows, { parameter: '_cnd' }, 'The request');
  const session = createSession(transaction, request);
  const { locks, of } = session.tables;
  if (locks && candidates.length > 0)
    await writer.column(of(type).locking('update').lock, [JSON.stringify(candidates)]);
  const identifiers: Identifier[] = [];
  for (const some of inGroups(candidates, locks ? MAX_IN_VALUES : SQLITE_BATCH))
    identifiers.push(...(await reads.among(writer, query, some)));
  const deletion = { type, identifiers, pointer: '' };
  const allowed = await allow(session, [{ type, action: 'delete', records: identifiers, pointer: '' }]);
  const { plan, affected } = await planDeletion(session, allowed, deletion, writeRows, tooMany, most);
  const counts = { deleted: identifiers.length, affected };
  if (dryRun) return { ...counts, effects: effectsOf(session, plan, []) };
  await apply(session, plan);
  return counts;
}

function tooManyAffected(most: number): Problem {
  const message =
    `The request would delete or unlink more records than the ${most} that max-affected allows; nothing was deleted. ` +
    'Use narrower filters or a higher max-affected; where it is high enough, dryRun=true says which records it would be';
  return faultyRequest('too-many-affected', [{ header: 'Prefer', code: 'too-many-affected', message }]);
}

/** Brings back a deleted record. Whoever may not read it is told that there was none. */
async function restoreRecord(
  transaction: Transaction,
  request: Stamped<stored.RecordRestoration>,
): Promise<stored.WrittenRecords> {
  const { type, identifier, rights = ALL_RIGHTS } = request;
  const session = createSession(transaction, { ...request, restores: true });
  // Another session: the one that plans must not know of a record that is not there.
  const { stored } = await touch(createSession(transaction, request), type, identifier, '');
  const message = `${type.name} ${identifier} is there already`;
  if (stored) throw faultyRequest('identifier-conflict', [{ pointer: '', code: 'taken', message }]);
  const work = async () =>
    carriedOut(transaction, request, session, await planRestore(session, transaction.driver.dialect, request));
  const written = await reworded(work, restoreFault).catch((error: unknown) => {
    const isRefusal = error instanceof Problem && [409, 422].includes(error.status);
    throw isRefusal && !namesRecords(rights, type) ? noDeletion(request) : error;
  });
  if (rights.checked === undefined) return written;
  if (written.records.some(({ body }) => body === '')) throw noDeletion(request);
  const { expected } = await allow(session, [{ type, action: 'create', records: [identifier], pointer: '' }]);
  await confirm(session, expected);
  return written;
}

/** Applies the plan of a write, or numbers its new records for a dry run, and reads the records. */
async function carriedOut(
  { writer, reads, tables, isSearched, driver: { dialect } }: Transaction,
  request: Pick<RecordsRequest, 'type' | 'view' | 'caller' | 'unread' | 'dryRun' | 'rights'>,
  session: WriteSession,
  planned: WritePlan,
): Promise<stored.WrittenRecords> {
  const { type, view, caller, unread = !view, dryRun, rights = ALL_RIGHTS } = request;
  const plan = dryRun ? await numbered(session, planned) : planned;
  const isApplied = !dryRun || rights.checked !== undefined;
  if (isApplied && isSearched && tables.checkNow) await writer.run(tables.checkNow, []);
  const created = isApplied ? await apply(session, plan) : placeholdersIn(plan);
  const identifiers = plan.roots.map((row) => numberOf(row, created));
  const shown = view ? await seenAmong({ reads, writer, rights, sight: new Map() }, type, identifiers) : [];
  const parts = { session, plan, created, dialect, reads };
  const reader = view && !unread ? await (isApplied ? writer : previewReader(parts, view)) : undefined;
  const bodies = view && reader ? await reads.records(reader, view, shown, caller) : [];
  const bodyOf = new Map(shown.map((identifier, index) => [identifier, bodies[index]]));
  const records = identifiers.map((identifier) => ({ identifier, body: bodyOf.get(identifier) ?? '' }));
  return {
    records,
    ...(dryRun ? { effects: effectsOf(session, plan, created, await seenIn(session, plan, created)) } : {}),
  };
}
