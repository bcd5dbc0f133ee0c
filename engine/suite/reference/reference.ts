/** The reference model: a service in a page of memory that says what the real one must answer. */
import { type JsonObject, pointer } from '../../json.ts';
import type { RecordType } from '../../model/model.ts';
import { bodyFaults, inOrder } from './body-faults.ts';
import { type FilterRequest, listed, type OrderRequest } from './lists.ts';
import { linkConflicts } from './linked.ts';
import { leavingIn, referenceFaults } from './references.ts';
import { Refusal, type RefusalCode } from './refusal.ts';
import { removeRow } from './removal.ts';
import { allSpeeches, type Speech, speechOf } from './speeches.ts';
import { refuseDoubles } from './unique.ts';
import { represent, shownBy, type ViewRequest } from './views.ts';
import { changedTables, copyWorld, createWorld, type Id, idIn, replaceWorld, rowOf, type World } from './world.ts';
import { applySpeeches, makeRows } from './writes.ts';

export interface Accepted {
  readonly id: Id;
  /** The record as the answer shows it. */
  readonly body: JsonObject;
  /** The tables whose rows differ now. */
  readonly changes: readonly string[];
}

export interface ListRequest {
  readonly filters?: readonly FilterRequest[];
  readonly order?: readonly OrderRequest[];
  readonly offset?: number;
  readonly limit?: number;
  readonly view?: ViewRequest;
}

export interface WriteOptions {
  readonly view?: ViewRequest;
  /** Merge patches reach into open keys and values of any shape. */
  readonly patch?: boolean;
  /** Places in the body whose values do not fit their type: whoever wrote the body knows them. */
  readonly misfits?: readonly string[];
}

export interface Listed {
  readonly ids: readonly Id[];
  readonly body: readonly JsonObject[];
  /** How many records match, whatever the page. */
  readonly total: number;
}

export interface Reference {
  readonly world: World;
  get(type: RecordType, id: Id, view?: ViewRequest): JsonObject | undefined;
  list(type: RecordType, request: ListRequest): Listed;
  create(type: RecordType, body: JsonObject, options?: WriteOptions): Accepted | Refusal;
  update(type: RecordType, id: Id, body: JsonObject, options?: WriteOptions): Accepted | Refusal;
  remove(type: RecordType, id: Id, view?: ViewRequest): Accepted | Refusal;
}

function show(world: World, type: RecordType, id: Id, view: ViewRequest = {}): JsonObject | undefined {
  const row = rowOf(world, type, id);
  return row && represent(world, type, row, shownBy(type, view));
}

/** All or nothing: the work is done on a copy, which replaces the world only when no rule was broken. */
function attempt(world: World, work: (copy: World) => Omit<Accepted, 'changes'>): Accepted | Refusal {
  const copy = copyWorld(world);
  try {
    const accepted = work(copy);
    const changes = changedTables(world, copy);
    replaceWorld(world, copy);
    return { ...accepted, changes };
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function page(world: World, type: RecordType, { filters = [], order, offset = 0, limit, view = {} }: ListRequest) {
  const rows = listed(world, type, filters, order);
  const shown = rows.slice(offset, limit === undefined ? undefined : offset + limit);
  const body = shown.map((row) => represent(world, type, row, shownBy(type, view)));
  return { ids: shown.map(({ id }) => id), body, total: rows.length };
}

/** Refuses for the first reason that there is, with all places of that one. */
function refuseFor(code: RefusalCode, body: JsonObject, places: readonly string[]): void {
  if (places.length > 0) throw new Refusal(code, inOrder(body, places), `${code} at ${places.join(', ')}`);
}

/** `id`: of the record that is addressed; undefined where one is to be made. */
function write(world: World, type: RecordType, id: Id | undefined, body: JsonObject, options: WriteOptions) {
  const { patch = false, misfits = [], view } = options;
  const before = copyWorld(world);
  const root = speechOf(before, type, body, id);
  const speeches = allSpeeches(root);
  refuseFor('invalid-body', body, bodyFaults(root, id !== undefined, idIn(body, type), patch, misfits));
  if (root.lost) throw new Refusal('record-not-found', [], `there is no ${type.name} ${id}`);
  const ids = makeRows(world, speeches);
  applySpeeches(world, speeches, ids, patch);
  refuseFor('invalid-reference', body, referenceFaults(before, world, speeches));
  refuseFor('link-conflict', body, linkConflicts(world, speeches, ids, patch));
  for (const { relation, row } of leavingIn(before, speeches))
    if (relation.owned) removeRow(world, relation.target, row.id);
  const gone = speeches.filter(({ type: one, who }) => !rowOf(world, one, ids.get(who) ?? ''));
  refuseFor('invalid-reference', body, goneAt(gone));
  if (id === undefined && root.id !== undefined && rowOf(before, type, root.id))
    throw new Refusal('identifier-conflict', [pointer([type.identifier.name])], `${type.name} ${root.id} exists`);
  for (const { type: one, who } of speeches) refuseDoubles(world, one, ids.get(who) ?? '');
  const written = ids.get(root.who) ?? '';
  return { id: written, body: show(world, type, written, view) ?? {} };
}

const goneAt = (speeches: readonly Speech[]): readonly string[] =>
  speeches.filter(({ named }) => named).map(({ at, type }) => `${at}${pointer([type.identifier.name])}`);

function remove(world: World, type: RecordType, id: Id, view?: ViewRequest) {
  const body = show(world, type, id, view);
  if (body === undefined) throw new Refusal('record-not-found', [], `there is no ${type.name} ${id}`);
  removeRow(world, type, id);
  return { id, body };
}

export function createReference(rank?: (id: Id) => number): Reference {
  const world = createWorld(rank);
  return {
    world,
    get: (type, id, view) => show(world, type, id, view),
    list: (type, request) => page(world, type, request),
    create: (type, body, options = {}) => attempt(world, (copy) => write(copy, type, undefined, body, options)),
    update: (type, id, body, options = {}) => attempt(world, (copy) => write(copy, type, id, body, options)),
    remove: (type, id, view) => attempt(world, (copy) => remove(copy, type, id, view)),
  };
}
