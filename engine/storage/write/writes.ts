/** Writes of records: each is resolved as a whole, carried out in one transaction, and answered from it. */
import { PATIENT } from '../../edge/caller.ts';
import type { JsonObject } from '../../json/json.ts';
import { wholeBody } from '../../model/bodies.ts';
import { identifierIn, type Model, type RecordType } from '../../model/model.ts';
import { Problem, throwTogether } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { type Driver, Overtaken, type Reader, type Writer } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type {
  CreateRequest,
  DeletedRecords,
  RecordDeletion,
  Store,
  Upserted,
  UpsertRequest,
  WriteEffect,
  WriteRequest,
  Written,
  WrittenRecords,
} from '../store.ts';
import { apply } from './apply.ts';
import { tooManyRows } from './cascade.ts';
import { findConflicts } from './conflicts.ts';
import { effectsOf } from './effects.ts';
import { createDeleteFound, createUpsert, type UpsertHooks } from './found.ts';
import { createFlatWrites, rowIn, rowOf } from './flat.ts';
import { newValues, planDeletion, planWrite } from './plan.ts';
import { numberNew, previewReader } from './preview.ts';
import { checkBody, requireFound, resolveBody } from './resolve.ts';
import { type FindShown, lockNamed } from './locks.ts';
import { createKeyed, forgetKeys, noneIn, writtenIn } from './once.ts';
import { createSession, NO_WRITER, type Node, onlyReading, type Rules, type WriteSession } from './session.ts';
import { type Clock, createStamp, type Stamp } from './stamps.ts';
import { createTables, type Tables } from './tables.ts';

type NewRecords = Omit<CreateRequest, 'mergePatch' | 'view'>;

export type Writes = Pick<Store, 'create' | 'update' | 'upsert' | 'delete' | 'deleteFound' | 'once' | 'forgetKeys'> & {
  /** A create inside the caller's transaction. */
  insert(writer: Writer, records: NewRecords, rules: Rules): Promise<void>;
};

/** One time for each request, whatever it writes, and however often its transaction is begun. */
interface Stamped {
  readonly stamp: Stamp;
}

/** The result of a request. */
interface CarriedOut {
  readonly identifiers: readonly number[];
  /** Of a dry run: its report, and what reads the records as they would be. */
  readonly effects?: readonly WriteEffect[];
  readonly reader?: Reader | undefined;
}

export interface WriteOptions {
  /** As it fits the tables now: they can get other names and columns while the service runs. */
  readonly served: () => Model;
  /** Rows that one write may touch. */
  readonly writeRows?: number | undefined;
  /** For tests: the time that records are stamped with, in place of the database's. */
  readonly clock?: Clock | undefined;
}

const DELETING: Rules = { mergePatch: false, readOnlyToo: false };

export function createWrites(driver: Driver, reads: Reads, { served, writeRows, clock }: WriteOptions): Writes {
  const { dialect } = driver;
  const tables = createTables(dialect, served);
  const unlocked = createTables({ ...dialect, locks: false, lockOwnership: undefined }, served);
  /** The one place where a dry run is told not to lock what it compares. */
  const tablesFor = ({ dryRun }: Pick<WriteRequest, 'dryRun'>): Tables => (dryRun === true ? unlocked : tables);
  const flat = createFlatWrites(driver, tables);

  const stamped = <R extends Pick<WriteRequest, 'author' | 'dryRun'>>(request: R): R & Stamped => ({
    ...request,
    // A dry run has no statement that would tell the database's time.
    stamp: createStamp(request.dryRun ? (clock ?? (() => new Date())) : clock, request.author),
  });

  /** The statements that need no transaction; undefined for what needs one. */
  const alone = ({ dryRun }: Pick<WriteRequest, 'dryRun'>): typeof flat => (dryRun === true ? undefined : flat);

  /** Works out what the body says, and refuses it as a whole or writes it. A dry run only makes the plan. */
  async function carryOut(
    writer: Writer,
    request: NewRecords & Stamped & UpsertHooks & Partial<Pick<WriteRequest, 'view'>>,
    rules: Rules,
  ): Promise<CarriedOut> {
    const { type, items, raw, faults, precondition, dryRun, caller, stamp, rights, view } = request;
    const limits = rules.readOnlyToo ? {} : { writeRows };
    const given = { records: items, raw, faults, ...limits, caller, stamp, rights };
    const session = createSession(writer, tablesFor(request), dialect.name, rules, given);
    const isLocked = await lockNamed(session, type, items, shownTo(session, request));
    await request.locked?.();
    const roots = await resolveBody(session, type);
    checkBody(session);
    requireFound(session, roots);
    precondition?.();
    await requireExpected(writer, request, isLocked);
    const plan = await planWrite(session);
    if (dryRun) {
      const conflict = await findConflicts(session);
      if (conflict) throw conflict;
      await numberNew(session);
      const reader = view && (await previewReader({ session, plan, dialect, reads }, view, roots));
      return { identifiers: roots.map(made), effects: effectsOf(session.rights, plan), reader };
    }
    try {
      await apply(session, plan);
    } catch (error) {
      await request.refused?.(session, error);
      throw error;
    }
    return { identifiers: roots.map(made) };
  }

  async function write(writer: Writer, request: CreateRequest & Stamped & UpsertHooks): Promise<WrittenRecords> {
    const { view, mergePatch, caller, unread = false } = request;
    const {
      identifiers,
      effects,
      reader = writer,
    } = await carryOut(writer, request, { mergePatch, readOnlyToo: false });
    const texts = unread ? undefined : await reads.records(reader, view, identifiers, caller);
    const records = identifiers.map((identifier, index) => ({
      identifier,
      body: texts ? (texts[index] ?? notFound(view, identifier)) : '',
    }));
    return { records, ...(effects ? { effects } : {}) };
  }

  async function remove(writer: Writer, request: RecordDeletion & Stamped): Promise<Written> {
    const { type, identifier, stamp, rights } = request;
    const session = createSession(writer, tablesFor(request), dialect.name, DELETING, { writeRows, stamp, rights });
    const body = await current(session, request);
    const deletion = { type, identifiers: [identifier], pointer: '' };
    const plan = await planDeletion(session, deletion, session.writeRows, (_, through) =>
      tooManyRows(session.writeRows, { relation: through }, `"${through}"`),
    );
    if (request.dryRun) return { identifier, body, effects: effectsOf(session.rights, plan) };
    await apply(session, plan);
    return { identifier, body };
  }

  /** The one way to a transaction that clients ask for: a dry run reads in one that cannot write. */
  const transact = async <T>(
    { caller, dryRun }: Pick<WriteRequest, 'caller' | 'dryRun'>,
    work: (writer: Writer) => Promise<T>,
    row?: string,
  ): Promise<T> =>
    dryRun === true
      ? driver.read((reader) => work(onlyReading(reader)), caller ?? PATIENT)
      : driver.write(work, caller, row);

  /** A new record without identifier and relations is resolved without the database. */
  async function createFlat(request: CreateRequest & Stamped): Promise<Written | undefined> {
    const { type, items, raw, faults = [], precondition, mergePatch, stamp } = request;
    const [item] = items;
    const statements = alone(request);
    if (!statements || faults.length > 0 || item === undefined || items.length > 1) return undefined;
    if (identifierIn(item.body, type) !== undefined || hasRelations(item.body, type)) return undefined;
    const rules = { mergePatch, readOnlyToo: false };
    const session = createSession(NO_WRITER, tables, dialect.name, rules, { records: items, raw, writeRows, stamp });
    const [node] = await resolveBody(session, type);
    checkBody(session);
    precondition?.();
    if (!node) return undefined;
    const columns = node.table.columns.map(({ name }) => name);
    return statements.create(request, node.table, newValues(node, columns));
  }

  /** One record whose body has no relations. */
  async function updateFlat(request: WriteRequest & Stamped): Promise<Written | undefined> {
    const [item] = request.items;
    if (item?.identifier === undefined || request.items.length > 1) return undefined;
    return alone(request)?.update({ ...request, ...item, identifier: item.identifier }, request.stamp);
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
    session: WriteSession,
    { items, view }: Pick<WriteRequest, 'items'> & Partial<Pick<WriteRequest, 'view'>>,
  ): FindShown | undefined {
    if (view === undefined || view.relations.length === 0) return undefined;
    const tagged = items.flatMap(({ identifier, precondition }) =>
      precondition && identifier !== undefined ? [identifier] : [],
    );
    if (tagged.length === 0) return undefined;
    return async () => {
      const shown = await reads.shown(session.writer, view, tagged);
      if (shown === undefined && tagged.length > 1) throw tagsTooLarge();
      return shown;
    };
  }

  /** The record that is to be deleted, once it is locked. Throws if there is none, or if it is not what the client expects. */
  async function current(
    session: WriteSession,
    { type, view, identifier, precondition, caller }: RecordDeletion,
  ): Promise<string> {
    const item = { ...wholeBody({}, identifier), precondition };
    const isLocked = await lockNamed(session, type, [item], shownTo(session, { items: [item], view }));
    const body = (await reads.record(session.writer, view, identifier, caller)) ?? notFound(view, identifier);
    precondition?.(body);
    if (precondition && !isLocked) throw new Overtaken();
    return body;
  }

  const deleteFound = createDeleteFound({
    reads,
    writeRows: writeRows ?? Infinity,
    sessionOf: (writer, request) =>
      createSession(writer, tablesFor(request), dialect.name, DELETING, { writeRows, ...request }),
  });

  const upsert = createUpsert<UpsertRequest & Stamped>({ tables, dialect, write });

  const keyed = createKeyed({ driver, reads, tables });
  const beginning =
    <R extends Pick<WriteRequest, 'author'>, W>(work: (writer: Writer, request: R & Stamped) => Promise<W>) =>
    (asked: R) => {
      const request = stamped(asked);
      return (writer: Writer): Promise<W> => work(writer, request);
    };

  return {
    upsert: (asked) => {
      const request = stamped(asked);
      return transact(request, (writer) => upsert(writer, request), rowIn(request));
    },
    deleteFound: (asked) => deleteFound(stamped(asked), (work) => transact<DeletedRecords>(asked, work)),
    insert: async (writer, records, rules) => void (await carryOut(writer, stamped(records), rules)),
    create: async (asked) => {
      const request = stamped(asked);
      const written = await createFlat(request);
      return written ? { records: [written] } : transact(request, (writer) => write(writer, request), rowIn(request));
    },
    update: async (asked) => {
      const request = stamped(asked);
      const written = await updateFlat(request);
      return written ? { records: [written] } : transact(request, (writer) => write(writer, request), rowIn(request));
    },
    delete: async (asked) => {
      const request = stamped(asked);
      const row = rowOf(request.view, request.identifier);
      return (await alone(request)?.delete(request)) ?? transact(request, (writer) => remove(writer, request), row);
    },
    once: {
      create: keyed.once(beginning(write), writtenIn, rowIn),
      update: keyed.once(beginning(write), writtenIn, rowIn),
      upsert: keyed.once<UpsertRequest, Upserted>(beginning(upsert), writtenIn, rowIn),
      delete: keyed.once(beginning(remove), noneIn, ({ view, identifier }) => rowOf(view, identifier)),
      deleteFound: (asked, key, answer, again) => {
        const keep = keyed.keep(key, again);
        return deleteFound(stamped(asked), (work) =>
          driver.write((writer) => keep(writer, async () => answer(await work(writer))), asked.caller),
        );
      },
    },
    forgetKeys: (hours) => forgetKeys(driver, hours),
  };
}

const hasRelations = (body: JsonObject, { relations }: RecordType): boolean =>
  relations.size > 0 && Object.keys(body).some((key) => relations.has(key));

function made({ identifier }: Node): number {
  if (identifier === undefined) throw new Error('the record was not made');
  return identifier;
}

function tagsTooLarge(): Problem {
  const message =
    'The tags of this batch were made from too many related records; send fewer records at once, or take tags of less with fields= or include=';
  return new Problem('too-many-related', message);
}

function notFound({ type }: View, identifier: number): never {
  throw new Problem('record-not-found', `There is no ${type.name} ${identifier}`);
}
