/** Writes of records: each is resolved as a whole, carried out in one transaction, and answered from it. */
import { PATIENT } from '../../edge/caller.ts';
import type { JsonObject } from '../../json/json.ts';
import { identifierIn, type Model, type RecordType, wholeBody } from '../../model/model.ts';
import { Problem, throwTogether } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { ConstraintError, type Driver, Overtaken, type Reader, type Writer } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type {
  CreateRequest,
  DoneOnce,
  RecordDeletion,
  Store,
  Upserted,
  UpsertRequest,
  WriteEffect,
  WriteRequest,
  Written,
  WrittenRecords,
} from '../store.ts';
import { tooManyRows } from './cascade.ts';
import { refuseConflicts } from './conflicts.ts';
import { createFlatWrites } from './flat.ts';
import { createDeleteFound, createUpsert } from './found.ts';
import { createOnce, forgetKeys } from './once.ts';
import { apply, newValues, planDeletion, planWrite } from './plan.ts';
import { effectsOf, numberNew, previewReader } from './preview.ts';
import { checkBody, requireFound, resolveBody } from './resolve.ts';
import {
  createSession,
  type FindShown,
  lockNamed,
  NO_WRITER,
  type Node,
  onlyReading,
  type Rules,
  type WriteSession,
} from './session.ts';
import { createTables, rowOf } from './tables.ts';
import { type Clock, createStamp, type Stamp } from './values.ts';

/** `locked` is called once the records are locked. */
type NewRecords = Omit<CreateRequest, 'mergePatch' | 'view'> & { readonly locked?: () => Promise<void> };

export type Writes = Pick<Store, 'create' | 'update' | 'upsert' | 'delete' | 'deleteFound' | 'once' | 'forgetKeys'> & {
  /** A create inside the caller's transaction. */
  insert(writer: Writer, records: NewRecords, rules: Rules): Promise<void>;
};

/** One time for each request, whatever it writes, and however often its transaction is begun. */
type Stamped<R> = R & { readonly stamp: Stamp };

export interface WriteOptions {
  /** As it fits the tables now: they can get other names and columns while the service runs. */
  readonly served: () => Model;
  /** Rows that one write may touch. */
  readonly writeRows?: number | undefined;
  /** For tests: the time that records are stamped with, in place of the database's. */
  readonly clock?: Clock | undefined;
}

export function createWrites(driver: Driver, reads: Reads, { served, writeRows, clock }: WriteOptions): Writes {
  const { dialect } = driver;
  const tables = createTables(dialect, served);
  const unlocked = createTables({ ...dialect, locks: false, lockOwnership: undefined }, served);
  const flat = createFlatWrites(driver, tables);
  const runOnce = createOnce(dialect);

  const stamped = <R extends Pick<WriteRequest, 'author' | 'dryRun'>>(request: R): Stamped<R> => ({
    ...request,
    // A dry run has no statement that would tell the database's time.
    stamp: createStamp(request.dryRun ? (clock ?? (() => new Date())) : clock, request.author),
  });

  type Given = Omit<Parameters<typeof createSession>[0], 'writer' | 'tables' | 'dialect'>;
  /** A dry run does not lock what it compares. */
  const sessionOf = (writer: Writer, given: Given & Pick<WriteRequest, 'dryRun'>): WriteSession =>
    createSession({ writeRows, ...given, writer, tables: given.dryRun ? unlocked : tables, dialect: dialect.name });

  /**
   * Works out what the body says, and refuses it as a whole or writes it. A dry run only makes the plan. `isSearched`: looks
   * for conflicting records first; otherwise the database refuses them with a ConstraintError that names none.
   */
  async function carryOut(
    writer: Writer,
    request: Stamped<NewRecords> & Partial<Pick<WriteRequest, 'view'>>,
    rules: Rules,
    isSearched: boolean,
  ): Promise<{ readonly roots: readonly Node[]; readonly effects?: readonly WriteEffect[]; readonly reader?: Reader }> {
    const { type, items: records, precondition, dryRun, view } = request;
    const limits = rules.readOnlyToo ? { writeRows: undefined } : {};
    const session = sessionOf(writer, { ...request, records, rules, ...limits });
    const isLocked = await lockNamed(session, type, records, shownTo(session, request));
    await request.locked?.();
    const roots = await resolveBody(session, type);
    checkBody(session);
    requireFound(session, roots);
    precondition?.();
    await requireExpected(writer, request, isLocked);
    const plan = await planWrite(session);
    if (isSearched) await refuseConflicts(session);
    if (dryRun) {
      await numberNew(session);
      const effects = effectsOf(session.rights, plan);
      return {
        roots,
        effects,
        ...(view && { reader: await previewReader({ session, plan, dialect, reads }, view, roots) }),
      };
    }
    try {
      await apply(session, plan);
    } catch (error) {
      if (!isSearched || !(error instanceof ConstraintError)) throw error;
      throw new Problem('unique-conflict', `Another record has a value that must be unique in ${type.name}`);
    }
    return { roots };
  }

  async function write(
    writer: Writer,
    request: Stamped<CreateRequest> & NewRecords,
    isSearched: boolean,
  ): Promise<WrittenRecords> {
    const { view, mergePatch, caller, unread = false } = request;
    const rules = { mergePatch, readOnlyToo: false };
    const { roots, effects, reader = writer } = await carryOut(writer, request, rules, isSearched);
    const identifiers = roots.map(({ identifier = 0 }) => identifier);
    const texts = unread ? undefined : await reads.records(reader, view, identifiers, caller);
    const records = identifiers.map((identifier, index) => ({
      identifier,
      body: texts ? (texts[index] ?? notFound(view, identifier)) : '',
    }));
    return { records, ...(effects ? { effects } : {}) };
  }

  /** Returns the record as it was. Throws if there is none, or if it is not what the client expects. */
  async function remove(writer: Writer, request: Stamped<RecordDeletion>): Promise<Written> {
    const { type, view, identifier, precondition, caller } = request;
    const session = sessionOf(writer, request);
    const item = { ...wholeBody({}, identifier), precondition };
    const isLocked = await lockNamed(session, type, [item], shownTo(session, { items: [item], view }));
    const body = (await reads.record(writer, view, identifier, caller)) ?? notFound(view, identifier);
    precondition?.(body);
    if (precondition && !isLocked) throw new Overtaken();
    const deletion = { type, identifiers: [identifier], pointer: '' };
    const plan = await planDeletion(session, deletion, session.writeRows, (_, through) =>
      tooManyRows(session.writeRows, { relation: through }, `"${through}"`),
    );
    if (request.dryRun) return { identifier, body, effects: effectsOf(session.rights, plan) };
    await apply(session, plan);
    return { identifier, body };
  }

  /** A new record without identifier and relations is resolved without the database. */
  async function createFlat(request: Stamped<CreateRequest>): Promise<Written | undefined> {
    const { type, items: records, faults = [], precondition, mergePatch } = request;
    const [item] = records;
    if (!flat || request.dryRun || faults.length > 0 || item === undefined || records.length > 1) return undefined;
    if (identifierIn(item.body, type) !== undefined || hasRelations(item.body, type)) return undefined;
    const session = sessionOf(NO_WRITER, { ...request, records, rules: { mergePatch, readOnlyToo: false } });
    const [node] = await resolveBody(session, type);
    checkBody(session);
    precondition?.();
    if (!node) return undefined;
    const columns = node.table.columns.map(({ name }) => name);
    return flat.create(request, node.table, newValues(node, columns));
  }

  /** One record whose body has no relations. */
  async function updateFlat(request: Stamped<WriteRequest>): Promise<Written | undefined> {
    const [item] = request.items;
    if (!flat || request.dryRun || item?.identifier === undefined || request.items.length > 1) return undefined;
    return flat.update({ ...request, ...item, identifier: item.identifier }, request.stamp);
  }

  /** Throws unless each record is what the client expects. */
  async function requireExpected(
    writer: Writer,
    { items, view, caller }: NewRecords & Partial<Pick<WriteRequest, 'view'>>,
    isLocked: boolean,
  ): Promise<void> {
    const expected = items.flatMap(({ identifier, precondition }) =>
      precondition && identifier !== undefined ? [{ identifier, precondition }] : [],
    );
    if (expected.length === 0 || view === undefined) return;
    const identifiers = expected.map(({ identifier }) => identifier);
    const texts = await reads.records(writer, view, identifiers, caller);
    throwTogether(
      expected.map(
        ({ precondition, identifier }, index) =>
          () =>
            precondition(texts[index] ?? notFound(view, identifier)),
      ),
    );
    if (!isLocked) throw new Overtaken();
  }

  /** Finds the related records that the client's tags were made from: they are locked, too. */
  function shownTo(
    { writer }: WriteSession,
    { items, view }: Pick<WriteRequest, 'items'> & Partial<Pick<WriteRequest, 'view'>>,
  ): FindShown | undefined {
    const tagged = items.flatMap(({ identifier, precondition }) =>
      precondition && identifier !== undefined ? [identifier] : [],
    );
    if (view === undefined || view.relations.length === 0 || tagged.length === 0) return undefined;
    return async () => {
      const shown = await reads.shown(writer, view, tagged);
      if (shown === undefined && tagged.length > 1) throw tagsTooLarge();
      return shown;
    };
  }

  const upsert = createUpsert<Stamped<UpsertRequest>>(tables, dialect, write);
  const deleteFound = createDeleteFound(reads, writeRows ?? Infinity, sessionOf);

  /**
   * A dry run reads in a transaction that cannot write. A write that broke a constraint was undone: it runs again, and looks
   * for the records in its way before it writes.
   */
  async function transact<T>(
    { caller = PATIENT, dryRun }: Pick<WriteRequest, 'caller' | 'dryRun'>,
    work: (writer: Writer, isSearched: boolean) => Promise<T>,
    row?: string,
  ): Promise<T> {
    if (dryRun) return driver.read((reader) => work(onlyReading(reader), true), caller);
    try {
      return await driver.write((writer) => work(writer, false), caller, row);
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
      return driver.write((writer) => work(writer, true), caller, row);
    }
  }

  const writeAll = (request: Stamped<CreateRequest>): Promise<WrittenRecords> =>
    transact(request, (writer, isSearched) => write(writer, request, isSearched), rowIn(request));

  /** Reads the records that are still there: `reads.records` expects that all are. */
  async function bodiesOf(
    writer: Writer,
    { view, caller }: Pick<WriteRequest, 'view' | 'caller'>,
    identifiers: readonly number[],
  ): Promise<readonly string[]> {
    const { hold } = tables.of(view.type);
    const found = await writer.column(hold('key share'), [JSON.stringify(identifiers)]);
    const there = new Set(found.map(Number));
    const left = identifiers.filter((identifier) => there.has(identifier));
    return (await reads.records(writer, view, left, caller)).flatMap((text) => text ?? []);
  }

  const keyed =
    <R extends Pick<WriteRequest, 'author' | 'view' | 'caller' | 'unread'>, W extends WrittenRecords | Written>(
      work: (writer: Writer, request: Stamped<R>, isSearched: boolean) => Promise<W>,
      rowFor: (request: R) => string | undefined,
    ): DoneOnce<R, W> =>
    (asked, key, answer, again) => {
      const request = stamped(asked);
      return transact(
        asked,
        (writer, isSearched) => {
          const first = async () => {
            const written = await work(writer, request, isSearched);
            const identifiers = 'records' in written ? written.records.map(({ identifier }) => identifier) : [];
            return [answer(written), identifiers] as const;
          };
          return runOnce(writer, key, first, again, asked.unread ? undefined : (some) => bodiesOf(writer, asked, some));
        },
        rowFor(asked),
      );
    };

  return {
    upsert: (asked) => {
      const request = stamped(asked);
      return transact(request, (writer, isSearched) => upsert(writer, request, isSearched), rowIn(request));
    },
    deleteFound: (asked) => deleteFound(stamped(asked), (work) => transact(asked, work)),
    insert: async (writer, records, rules) => void (await carryOut(writer, stamped(records), rules, true)),
    create: async (asked) => {
      const request = stamped(asked);
      const written = await createFlat(request);
      return written ? { records: [written] } : writeAll(request);
    },
    update: async (asked) => {
      const request = stamped(asked);
      const written = await updateFlat(request);
      return written ? { records: [written] } : writeAll(request);
    },
    delete: async (asked) => {
      const request = stamped(asked);
      const written = request.dryRun ? undefined : await flat?.delete(request);
      return (
        written ?? transact(request, (writer) => remove(writer, request), rowOf(asked.view.type, asked.identifier))
      );
    },
    once: {
      create: keyed(write, rowIn),
      update: keyed(write, rowIn),
      upsert: keyed<UpsertRequest, Upserted>(upsert, rowIn),
      delete: keyed(remove, ({ view, identifier }) => rowOf(view.type, identifier)),
      deleteFound: (asked, key, answer, again) =>
        deleteFound(stamped(asked), (work) =>
          driver.write((writer) => {
            const first = async () => {
              const written = await work(writer);
              return [answer(written), [written.deleted, written.affected]] as const;
            };
            // No records are left to show: the counts are kept in place of identifiers.
            return runOnce(writer, key, first, (retried) => {
              const [deleted, affected] = retried.identifiers;
              // An earlier release kept no counts.
              return deleted === undefined || affected === undefined ? again(retried) : answer({ deleted, affected });
            });
          }, asked.caller),
        ),
    },
    forgetKeys: (hours) => forgetKeys(driver, hours),
  };
}

/** The name that a write of one record waits for. */
function rowIn({
  view,
  items,
}: Pick<WriteRequest, 'view'> & { readonly items: readonly object[] }): string | undefined {
  const [item] = items;
  const identifier = item && 'identifier' in item ? item.identifier : undefined;
  return items.length === 1 && typeof identifier === 'number' ? rowOf(view.type, identifier) : undefined;
}

const hasRelations = (body: JsonObject, { relations }: RecordType): boolean =>
  relations.size > 0 && Object.keys(body).some((key) => relations.has(key));

function tagsTooLarge(): Problem {
  const message =
    'The tags of this batch were made from too many related records; send fewer records at once, or take tags of less with fields= or include=';
  return new Problem('too-many-related', message);
}

function notFound({ type }: View, identifier: number): never {
  throw new Problem('record-not-found', `There is no ${type.name} ${identifier}`);
}
