/** Each write is resolved as a whole, applied in one transaction, and read back inside it. */
import { NO_CLIENT } from '../../edge/caller.ts';
import type { DialectName, SqlValue } from '../../field-types/field-type.ts';
import type { JsonObject } from '../../json/json.ts';
import { identifierIn, type Model, relationsIn, wholeBody } from '../../model/model.ts';
import { ALL_RIGHTS } from '../../model/rights.ts';
import { Problem, throwTogether } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { withFolded } from '../columns.ts';
import { ConstraintError, type Driver, Overtaken, type Writer } from '../driver.ts';
import { type Reads, UNCHARGED_CHARS } from '../read/reads.ts';
import type {
  CreateRequest,
  DoneOnce,
  RecordDeletion,
  Store,
  Upserted,
  UpsertRequest,
  WriteRequest,
  Written,
  WrittenRecords,
} from '../store.ts';
import { RefusedByOthers } from '../unavailable.ts';
import { tooManyRows } from './cascade.ts';
import { refuseConflicts } from './conflicts.ts';
import { deleteFound, foundFirst } from './found.ts';
import { createOnce, forgetKeys } from './once.ts';
import { apply, insertsOf, newValues, planDeletion, planWrite } from './plan.ts';
import { effectsOf, numberNew, previewReader } from './preview.ts';
import { located, RefusedRow } from './refused.ts';
import { checkBody, requireFound, resolveBody } from './resolve.ts';
import {
  createSession,
  type FindShown,
  lockNamed,
  NO_WRITER,
  onlyReading,
  trustLinks,
  type WriteSession,
} from './session.ts';
import { createTables, rowOf, type WriteTable } from './tables.ts';
import { type Clock, createStamp, encodedAs, type Stamp, stampValues } from './values.ts';

interface Creation extends Omit<CreateRequest, 'view'> {
  readonly view?: View;
  readonly locked?: () => Promise<void>;
  readonly readOnlyToo?: boolean;
}

export type Writes = Pick<Store, 'create' | 'update' | 'upsert' | 'delete' | 'deleteFound' | 'once' | 'forgetKeys'> & {
  insert(writer: Writer, records: Pick<CreateRequest, 'type' | 'items'>): Promise<void>;
};

/** Reruns of a request's transaction reuse its stamp: the author, and the time of `now`. */
type Stamped<R> = R & { readonly stamp: Stamp };

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
  const runOnce = createOnce(dialect);

  const stamped = <R extends Pick<WriteRequest, 'author' | 'dryRun'>>(request: R): Stamped<R> => ({
    ...request,
    // A dry run writes nothing, so the database supplies no time.
    stamp: createStamp(request.dryRun ? (clock ?? (() => new Date())) : clock, request.author),
  });

  type Given = Omit<Parameters<typeof createSession>[0], 'writer' | 'tables' | 'dialect'>;
  /** Dry runs, and writes sent without BEGIN, need no row locks. */
  const sessionOf = (writer: Writer, { dryRun, ...given }: Given & Pick<WriteRequest, 'dryRun'>): WriteSession => {
    const locking = dryRun || writer === NO_WRITER ? unlocked : tables;
    return createSession({ writeRows, ...given, writer, tables: locking, dialect: dialect.name });
  };

  /** A dry run only plans. `isSearched`: finds conflicting records first, since a ConstraintError names none. */
  async function write(writer: Writer, request: Stamped<Creation>, isSearched: boolean): Promise<WrittenRecords> {
    const { type, items, view, caller, unread = !view } = request;
    const session = sessionOf(writer, { ...request, records: items, isSearched });
    const expected = items.flatMap(({ identifier, precondition }) =>
      precondition && identifier !== undefined ? [{ identifier, precondition }] : [],
    );
    const tagged = expected.map(({ identifier }) => identifier);
    const isLocked = await lockNamed(
      session,
      type,
      items,
      view && tagged.length > 0 ? shownTo(writer, view, tagged) : undefined,
    );
    await request.locked?.();
    const roots = await resolveBody(session, type);
    checkBody(session);
    requireFound(session, roots);
    request.precondition?.();
    if (view && expected.length > 0) {
      const texts = await reads.records(writer, view, tagged, caller);
      const bodies = texts.map((text, index) => text ?? notFound(view, tagged[index] ?? 0));
      throwTogether(bodies.map((body, index) => () => expected[index]?.precondition(body)));
      if (!isLocked) throw new Overtaken();
    }
    const plan = await planWrite(session);
    if (isSearched) await refuseConflicts(session);
    if (isSearched && tables.checkNow && !request.dryRun) await writer.run(tables.checkNow, []);
    if (request.dryRun) await numberNew(session, plan);
    else await apply(session, plan);
    const identifiers = roots.map(({ identifier = 0 }) => identifier);
    const reader =
      request.dryRun && view && !unread ? await previewReader({ session, plan, dialect, reads }, view, roots) : writer;
    const texts = view && !unread ? await reads.records(reader, view, identifiers, caller) : undefined;
    const records = identifiers.map((identifier, index) => ({
      identifier,
      body: view && texts ? (texts[index] ?? notFound(view, identifier)) : '',
    }));
    return { records, ...(request.dryRun ? { effects: effectsOf(session.rights, plan) } : {}) };
  }

  async function remove(writer: Writer, request: Stamped<RecordDeletion>): Promise<Written> {
    const { type, view, identifier, precondition, caller } = request;
    const session = sessionOf(writer, request);
    const shown = precondition && shownTo(writer, view, [identifier]);
    const isLocked = await lockNamed(session, type, [wholeBody({}, identifier)], shown);
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

  // On PostgreSQL, a write that needs no reads first is sent without BEGIN. If it does not find what it expects, it
  // changes nothing and returns undefined; a transaction then repeats it, or reports the reason.

  const alone = async (...asked: Parameters<NonNullable<Driver['writeAlone']>>) =>
    driver.writeAlone?.(...asked).catch((error: unknown) => {
      if (isViolation(error)) return undefined;
      throw error;
    });

  async function createAlone(request: Stamped<CreateRequest>): Promise<WrittenRecords | undefined> {
    const { type, items: records, faults = [], view, caller } = request;
    const [item] = records;
    if (faults.length > 0 || !item || records.length > 1) return undefined;
    if (identifierIn(item.body, type) !== undefined || isDeep(view)) return undefined;
    const session = sessionOf(NO_WRITER, { ...request, records });
    if (!trustLinks(session, type, item.body)) return undefined;
    const [node] = await resolveBody(session, type);
    checkBody(session);
    request.precondition?.();
    if (!node || session.made.length + session.pairs.size > MOST_ALONE) return undefined;
    const { table } = node;
    const isFlat = relationsIn(type, item.body).length === 0;
    if (!isFlat && charsOf(session) > UNCHARGED_CHARS) return undefined;
    const row = await (isFlat
      ? alone(table.createAlone(view.key, view), [-1, ...newValues(node, table.names)], caller)
      : alone(
          table.answerNew(view.key, view),
          [-1, JSON.stringify(clashes(session))],
          caller,
          undefined,
          insertsOf(session, await planWrite(session)),
        ));
    return row && { records: [{ identifier: Number(row[0]), body: String(row[1]) }] };
  }

  async function updateFlat(request: Stamped<WriteRequest>): Promise<WrittenRecords | undefined> {
    const { type, view, items, stamp } = request;
    const [item] = items;
    if (item?.identifier === undefined || items.length > 1) return undefined;
    if (view.relations.length > 0 || item.precondition) return undefined;
    const { identifier, body } = item;
    const table = tables.of(type);
    const given = valuesIn(request, body, table, dialect.name);
    if (!given) return undefined;
    const columns = given.map(([column]) => column);
    const statement = table.updateAlone(`${view.key}|${columns.join()}`, [view, columns]);
    const stamps = stampValues({ stamp, dialect: dialect.name }, table.filled);
    const values = [identifier, ...given.map(([, value]) => value), ...stamps];
    const row = await alone(statement, values, request.caller, rowOf(view.type, identifier));
    return row && { records: [{ identifier, body: String(row[0]) }] };
  }

  async function deleteFlat(request: RecordDeletion): Promise<Written | undefined> {
    const { type, view, identifier, precondition } = request;
    if (view.relations.length > 0 || precondition) return undefined;
    // The DELETE must not delete or unlink other records.
    if (type.referrers.some(({ reference }) => reference.onDelete !== 'restrict')) return undefined;
    if (tables.joinsOf(type).length > 0) return undefined;
    const statement = tables.of(type).removeAlone(view.key, view);
    const row = await alone(statement, [identifier], request.caller, rowDeletedBy(request));
    return row && { identifier, body: String(row[0]) };
  }

  /** Finds the related records that the client's ETags cover, to lock them too. */
  const shownTo = (writer: Writer, view: View, tagged: readonly number[]): FindShown | undefined =>
    view.relations.length > 0
      ? async () => {
          const shown = await reads.shown(writer, view, tagged);
          if (shown === undefined && tagged.length > 1) throw tagsTooLarge();
          return shown;
        }
      : undefined;

  async function upsert(writer: Writer, request: Stamped<UpsertRequest>, isSearched: boolean): Promise<Upserted> {
    const { made, ...found } = await foundFirst(writer, tables, dialect, request);
    return { ...(await write(writer, { ...request, ...found }, isSearched)), made };
  }

  const deletion = [reads, writeRows ?? Infinity, sessionOf] as const;

  /** After a constraint violation, runs `work` again with `isSearched`, to name the conflicting records. */
  async function transact<T>(
    { caller = NO_CLIENT, dryRun, rights = ALL_RIGHTS }: Pick<WriteRequest, 'caller' | 'dryRun' | 'rights'>,
    work: (writer: Writer, isSearched: boolean) => Promise<T>,
    row?: string,
  ): Promise<T> {
    if (dryRun) return driver.read((reader) => work(onlyReading(reader), true), caller);
    try {
      return await driver.write((writer) => work(writer, false), caller, row);
    } catch (error) {
      if (!isViolation(error)) throw error;
      if (error instanceof RefusedRow) throw await located(error, { tables, rights }, driver);
    }
    return driver
      .write((writer) => work(writer, true), caller, row)
      .catch(async (error: unknown) => {
        throw error instanceof RefusedRow ? await located(error, { tables, rights }, driver) : error;
      });
  }

  const verb =
    <R extends Pick<WriteRequest, 'author' | 'caller' | 'dryRun' | 'rights'>, W>(
      work: (writer: Writer, request: Stamped<R>, isSearched: boolean) => Promise<W>,
      rowFor: (request: R) => string | undefined,
      writeAlone?: (request: Stamped<R>) => Promise<W | undefined>,
    ) =>
    async (asked: R): Promise<W> => {
      const request = stamped(asked);
      const written = driver.writeAlone && !asked.dryRun ? await writeAlone?.(request) : undefined;
      return written ?? transact(asked, (writer, isSearched) => work(writer, request, isSearched), rowFor(asked));
    };

  const keyed =
    <R extends Pick<WriteRequest, 'author' | 'view' | 'caller' | 'unread'>, W extends WrittenRecords | Written>(
      work: (writer: Writer, request: Stamped<R>, isSearched: boolean) => Promise<W>,
      rowFor: (request: R) => string | undefined,
    ): DoneOnce<R, W> =>
    (asked, key, answer, again) => {
      const once = verb((writer, request: Stamped<R>, isSearched) => {
        const first = async () => {
          const written = await work(writer, request, isSearched);
          const identifiers = 'records' in written ? written.records.map(({ identifier }) => identifier) : [];
          return [answer(written), identifiers] as const;
        };
        const read = (identifier: number) => reads.record(writer, asked.view, identifier, asked.caller);
        return runOnce(writer, key, first, again, asked.unread ? undefined : read);
      }, rowFor);
      return once(asked);
    };

  return {
    create: verb<CreateRequest, WrittenRecords>(write, rowIn, createAlone),
    update: verb<WriteRequest, WrittenRecords>(write, rowIn, updateFlat),
    upsert: verb<UpsertRequest, Upserted>(upsert, rowIn),
    delete: verb<RecordDeletion, Written>(remove, rowDeletedBy, deleteFlat),
    deleteFound: (asked) => deleteFound(...deletion, stamped(asked), (work) => transact(asked, work)),
    insert: async (writer, records) =>
      void (await write(writer, stamped({ ...records, author: null, mergePatch: false, readOnlyToo: true }), true)),
    once: {
      create: keyed<CreateRequest, WrittenRecords>(write, rowIn),
      update: keyed<WriteRequest, WrittenRecords>(write, rowIn),
      upsert: keyed<UpsertRequest, Upserted>(upsert, rowIn),
      delete: keyed(remove, rowDeletedBy),
      deleteFound: (asked, key, answer, again) =>
        deleteFound(...deletion, stamped(asked), (work) =>
          driver.write((writer) => {
            const first = async () => {
              const written = await work(writer);
              return [answer(written), [written.deleted, written.affected]] as const;
            };
            // The key stores the two counts instead of identifiers.
            return runOnce(writer, key, first, (retried) => {
              const [deleted, affected] = retried.identifiers;
              // Keys of older releases lack counts.
              return deleted === undefined || affected === undefined ? again(retried) : answer({ deleted, affected });
            });
          }, asked.caller),
        ),
    },
    forgetKeys: (hours) => forgetKeys(driver, hours),
  };
}

/** Pairs of a new record's number and a linked identifier of its type. Foreign keys accept links to new records. */
const clashes = ({ made, existing }: WriteSession): readonly (readonly [number: number, linked: number])[] =>
  made.flatMap(({ type }, index) =>
    [...(existing.get(type)?.keys() ?? [])].map((linked) => [index + 1, linked] as const),
  );

/** Of the new records. If their JSON were too long to be free, the statements would use up identifiers in vain. */
const charsOf = ({ made }: WriteSession): number =>
  made
    .flatMap(({ assigned }) => [...assigned.values()])
    .reduce((sum, { value }) => (typeof value === 'string' ? sum + value.length : sum), 0);

/** Above this, one statement per type is cheaper. */
const MOST_ALONE = 8;

const isDeep = ({ relations }: View): boolean => relations.some(({ view }) => view.relations.length > 0);

const rowDeletedBy = ({ view, identifier }: RecordDeletion): string => rowOf(view.type, identifier);

function rowIn({
  view,
  items,
}: Pick<WriteRequest, 'view'> & { readonly items: readonly object[] }): string | undefined {
  const [item] = items;
  const identifier = item && 'identifier' in item ? item.identifier : undefined;
  return items.length === 1 && typeof identifier === 'number' ? rowOf(view.type, identifier) : undefined;
}

/** Columns to set, with values; undefined if stored values are needed, as for checks. */
function valuesIn(
  { type, raw, faults = [], mergePatch }: WriteRequest,
  body: JsonObject,
  table: WriteTable,
  dialect: DialectName,
): readonly (readonly [column: string, value: SqlValue])[] | undefined {
  if (faults.length > 0) return undefined;
  if (type.checks.some(({ fields }) => fields.some(({ name: key }) => Object.hasOwn(body, key)))) return undefined;
  const given: (readonly [column: string, value: SqlValue])[] = [];
  let keys = type.identifier.inRecord && Object.hasOwn(body, type.identifier.name) ? 1 : 0;
  for (const [key, field] of type.fields) {
    if (!Object.hasOwn(body, key)) continue;
    keys += 1;
    const { keepsText } = field.type;
    if (field.generated !== undefined) continue;
    if (field.readOnly || (keepsText && mergePatch)) return undefined;
    const value = body[key] ?? null;
    given.push([field.column, encodedAs(field, dialect, raw?.get(body), value)]);
  }
  return given.length === 0 || keys < Object.keys(body).length ? undefined : withFolded(table, given);
}

const isViolation = (error: unknown): boolean => error instanceof ConstraintError || error instanceof RefusedByOthers;

function tagsTooLarge(): Problem {
  const message =
    'The tags of this batch were made from too many related records; send fewer records at once, or take tags of less with fields= or include=';
  return new Problem('too-many-related', message);
}

function notFound({ type }: View, identifier: number): never {
  throw new Problem('record-not-found', `There is no ${type.name} ${identifier}`);
}
