/** Writes of records: each is resolved as a whole, carried out in one transaction, and answered from it. */
import { Problem } from '../../problem.ts';
import type { JsonObject } from '../../json.ts';
import { identifierIn, type Model, type RecordType } from '../../model/model.ts';
import type { View } from '../../query/list-query.ts';
import { type Driver, Overtaken, Rehearsed, type Writer } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type { CreateRequest, KeptAnswer, Store, WriteRequest, Written } from '../store.ts';
import { checkBody, execute, newValues } from './execute.ts';
import type { Effects } from './effects.ts';
import { createDeleteFound } from './delete-found.ts';
import { createFlatWrites, rowOf, type UpdateRequest } from './flat.ts';
import { resolveBody } from './record.ts';
import { createOnce, type FindShown, lockNamed } from './locks.ts';
import {
  createSession,
  make as makeNode,
  NO_WRITER,
  type Node,
  type Rules,
  touch,
  type WriteSession,
} from './session.ts';
import { deleteRecords, requireFewRows } from './release.ts';
import { type Clock, createStamp, type Stamp, systemClock } from './stamps.ts';
import { createTables } from './tables.ts';
import { noteLinks, planTree } from './tree.ts';

type NewRecord = Pick<WriteRequest, 'type' | 'body' | 'raw' | 'faults' | 'disagreements' | 'author' | 'dryRun'> &
  Pick<CreateRequest, 'precondition'>;

export type Writes = Pick<Store, 'create' | 'createOnce' | 'update' | 'delete' | 'deleteFound'> & {
  /** A create inside the caller's transaction. Returns the identifier. */
  insert(writer: Writer, record: NewRecord, rules: Rules): Promise<number>;
};

export interface WriteOptions {
  /** As it fits the tables now: they can get other names and columns while the service runs. */
  readonly served: () => Model;
  /** Rows that one write may touch. */
  readonly writeRows?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** A record that is there, and what the client expects of it. */
type Addressed = Parameters<Store['delete']>[0];

/** One time for each request, whatever it writes, and however often its transaction is begun. */
interface Stamped {
  readonly stamp: Stamp;
}

const DELETING: Rules = { mergePatch: false, readOnlyToo: false };

interface Made {
  readonly identifier: number;
  readonly effects: Effects | undefined;
}

export function createWrites(
  driver: Driver,
  reads: Reads,
  { served, writeRows, clock = systemClock }: WriteOptions,
): Writes {
  const tables = createTables(driver.dialect, served);
  const dialect = driver.dialect.name;
  const once = createOnce(driver.dialect);
  const flat = createFlatWrites(driver, reads, tables);

  const stamped = <R extends Pick<WriteRequest, 'author'>>(request: R): R & Stamped => ({
    ...request,
    stamp: createStamp(clock, request.author),
  });

  /** The statements that need no transaction; undefined for what needs one. */
  const alone = ({ dryRun }: Pick<WriteRequest, 'dryRun'>): typeof flat => (dryRun === true ? undefined : flat);

  async function make(writer: Writer, record: NewRecord & Stamped, rules: Rules): Promise<Made> {
    const { type, body, raw, faults, disagreements, precondition, dryRun, stamp } = record;
    const session = createSession(writer, tables, dialect, rules, {
      body,
      raw,
      faults,
      dryRun,
      stamp,
      ...(rules.readOnlyToo ? {} : { writeRows }),
    });
    await lockNamed(session, type, undefined, body);
    const node = makeNode(session, type, identifierIn(body, type), '');
    await resolveBody(session, node);
    await checkBody(session, { type, identifier: undefined, disagreements });
    precondition?.();
    await execute(session);
    return { identifier: made(node), effects: session.effects };
  }

  async function create(writer: Writer, request: CreateRequest & Stamped): Promise<Written> {
    const rules = { mergePatch: request.mergePatch, readOnlyToo: false };
    const { identifier, effects } = await make(writer, request, rules);
    return written(reads, writer, { ...request, identifier }, effects);
  }

  async function update(writer: Writer, request: UpdateRequest & Stamped): Promise<Written> {
    const { type, body, raw, faults, disagreements, mergePatch, view, identifier, precondition, ...rest } = request;
    const { dryRun, stamp } = rest;
    const rules = { mergePatch, readOnlyToo: false };
    const session = createSession(writer, tables, dialect, rules, { body, raw, faults, writeRows, dryRun, stamp });
    const isLocked = await lock(session, request);
    const node = await touch(session, type, identifier, '');
    if (node) await resolveBody(session, node);
    await checkBody(session, { type, identifier, disagreements });
    if (!node) throw notFound(view, identifier);
    if (precondition) await current(writer, request, isLocked);
    await execute(session);
    return written(reads, writer, request, session.effects);
  }

  async function remove(writer: Writer, request: Addressed & Stamped): Promise<Written> {
    const { view, identifier, dryRun, stamp } = request;
    const session = createSession(writer, tables, dialect, DELETING, { writeRows, dryRun, stamp });
    const body = await current(writer, request, await lock(session, request));
    await requireFewRows(session, { type: view.type, identifier });
    await deleteRecords(session, view.type, [identifier], '');
    return withEffects({ identifier, body }, session.effects);
  }

  /** The one way to a transaction that clients ask for: a dry run is undone when it has come to its end. */
  async function transact<T>(
    { caller, dryRun }: Pick<WriteRequest, 'caller' | 'dryRun'>,
    work: (writer: Writer) => Promise<T>,
    row?: string,
  ): Promise<T> {
    if (dryRun !== true) return driver.write(work, caller, row);
    let ended: { readonly result: T } | undefined;
    const undone = async (writer: Writer): Promise<never> => {
      ended = { result: await work(writer) };
      throw new Rehearsed();
    };
    try {
      return await driver.write(undone, caller, row);
    } catch (error) {
      if (ended && error instanceof Rehearsed) return ended.result;
      throw error;
    }
  }

  /** A new record that compares nothing with others is worked out without the database. */
  async function createFlat(request: CreateRequest & Stamped): Promise<Written | undefined> {
    const { type, body, raw, faults = [], mergePatch, stamp } = request;
    if (!alone(request) || faults.length > 0 || identifierIn(body, type) !== undefined) return undefined;
    const rules = { mergePatch, readOnlyToo: false };
    const session = createSession(NO_WRITER, tables, dialect, rules, { body, raw, writeRows, stamp });
    if (hasRelations(body, type)) return createTree(request, session);
    const node = await workedOut(session, request);
    const columns = node.table.columns.map(({ name }) => name);
    return flat?.create(request, node.table, newValues(node, columns));
  }

  /** The same with records around it. What fails here is told by the transaction, which also knows what it links. */
  async function createTree(request: CreateRequest, session: WriteSession): Promise<Written | undefined> {
    const { type, body, view } = request;
    if (!noteLinks(session, type, body)) return undefined;
    const tree = await workedOut(session, request).then(
      (root) => planTree(session, view, root),
      () => undefined,
    );
    return tree && flat?.createTree(request, tree);
  }

  async function workedOut(session: WriteSession, { type, disagreements, precondition }: CreateRequest): Promise<Node> {
    const node = makeNode(session, type, undefined, '');
    await resolveBody(session, node);
    await checkBody(session, { type, identifier: undefined, disagreements });
    precondition?.();
    return node;
  }

  /** The record as it is now. Throws if there is none, or if it is not what the client expects. */
  async function current(
    writer: Writer,
    { view, identifier, precondition, caller }: Addressed,
    isLocked: boolean,
  ): Promise<string> {
    const body = await reads.record(writer, view, identifier, caller);
    if (body === undefined) throw notFound(view, identifier);
    precondition?.(body);
    if (!isLocked) throw new Overtaken();
    return body;
  }

  /** Also what the record shows of others, if a precondition relies on it. */
  function lock(session: WriteSession, { view, identifier, precondition }: Addressed): Promise<boolean> {
    const findShown = (): ReturnType<FindShown> => reads.shown(session.writer, view, identifier);
    const isShown = precondition !== undefined && view.relations.length > 0;
    return lockNamed(session, view.type, identifier, session.body, isShown ? findShown : undefined);
  }

  const deleteFound = createDeleteFound({
    dialect: driver.dialect,
    reads,
    writeRows: writeRows ?? Infinity,
    sessionOf: (writer, request) =>
      createSession(writer, tables, dialect, DELETING, { writeRows, dryRun: request.dryRun, stamp: request.stamp }),
    transact,
    write: (work, caller) => driver.write(work, caller),
  });

  return {
    deleteFound: (asked) => deleteFound(stamped(asked)),
    insert: async (writer, record, rules) => (await make(writer, stamped(record), rules)).identifier,
    create: async (asked) => {
      const request = stamped(asked);
      return (await createFlat(request)) ?? transact(request, (writer) => create(writer, request));
    },
    createOnce: (given, asked, answer) => {
      const request = stamped(given);
      const answered = async (writer: Writer): Promise<KeptAnswer> => answer(await create(writer, request));
      return driver.write((writer) => once(writer, asked, () => answered(writer)), request.caller);
    },
    update: async (asked) => {
      const request = stamped(asked);
      const row = rowOf(request.view, request.identifier);
      return (
        (await alone(request)?.update(request, request.stamp)) ??
        transact(request, (writer) => update(writer, request), row)
      );
    },
    delete: async (asked) => {
      const request = stamped(asked);
      const row = rowOf(request.view, request.identifier);
      return (await alone(request)?.delete(request)) ?? transact(request, (writer) => remove(writer, request), row);
    },
  };
}

const hasRelations = (body: JsonObject, { relations }: RecordType): boolean =>
  relations.size > 0 && Object.keys(body).some((key) => relations.has(key));

function made({ identifier }: Node): number {
  if (identifier === undefined) throw new Error('the record was not made');
  return identifier;
}

const notFound = ({ type }: View, identifier: number): Problem =>
  new Problem('record-not-found', `There is no ${type.recordName} ${identifier}`);

async function written(
  reads: Reads,
  writer: Writer,
  { view, identifier, caller }: Pick<UpdateRequest, 'view' | 'identifier' | 'caller'>,
  effects: Effects | undefined,
): Promise<Written> {
  const body = await reads.record(writer, view, identifier, caller);
  if (body === undefined) throw notFound(view, identifier);
  return withEffects({ identifier, body }, effects);
}

const withEffects = (done: Written, effects: Effects | undefined): Written =>
  effects ? { ...done, effects: effects.all() } : done;
