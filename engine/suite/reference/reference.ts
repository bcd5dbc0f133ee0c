/** The reference model: a service in a page of memory that says what the real one must answer. */
import type { JsonObject } from '../../json.ts';
import type { RecordType } from '../../model/model.ts';
import { type FilterRequest, listed, type OrderRequest } from './lists.ts';
import { Refusal } from './refusal.ts';
import { removeRow } from './removal.ts';
import { refuseDoubles, takesOver } from './unique.ts';
import { represent, shownBy, type ViewRequest } from './views.ts';
import { changedTables, copyWorld, createWorld, type Id, idIn, replaceWorld, rowOf, type World } from './world.ts';
import type { Run } from './values.ts';
import { createRecord, updateRecord } from './writes.ts';

export interface Accepted {
  readonly id: Id;
  /** The record as the answer shows it. */
  readonly body: JsonObject;
  /** The tables whose rows differ now. */
  readonly changes: readonly string[];
  /** A unique value went from one record to another: a service may refuse that, though in the end it is unique. */
  readonly takesOver: boolean;
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
function attempt(
  world: World,
  work: (run: Run) => () => Omit<Accepted, 'changes' | 'takesOver'>,
  patch: boolean,
): Accepted | Refusal {
  const run: Run = { world: copyWorld(world), patch, said: new Map(), links: [], touched: [] };
  try {
    const outcome = work(run);
    for (const link of run.links) link();
    for (const { type, id } of run.touched) refuseDoubles(run.world, type, id);
    const taken = run.touched.some(({ type, id }) => takesOver(world, run.world, type, id));
    const accepted = { ...outcome(), changes: changedTables(world, run.world), takesOver: taken };
    replaceWorld(world, run.world);
    return accepted;
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

function create(run: Run, type: RecordType, body: JsonObject, view?: ViewRequest) {
  const given = idIn(body, type);
  if (given !== undefined && rowOf(run.world, type, given))
    throw new Refusal('identifier-conflict', [], `${type.name} ${given} exists`);
  const id = createRecord(run, type, body, [], given);
  return () => ({ id, body: show(run.world, type, id, view) ?? {} });
}

function update(run: Run, type: RecordType, id: Id, body: JsonObject, view?: ViewRequest) {
  updateRecord(run, type, id, body, []);
  return () => ({ id, body: show(run.world, type, id, view) ?? {} });
}

function remove(run: Run, type: RecordType, id: Id, view?: ViewRequest) {
  const body = show(run.world, type, id, view);
  if (body === undefined) throw new Refusal('record-not-found', [], `there is no ${type.name} ${id}`);
  removeRow(run.world, type, id);
  return () => ({ id, body });
}

export function createReference(rank?: (id: Id) => number): Reference {
  const world = createWorld(rank);
  return {
    world,
    get: (type, id, view) => show(world, type, id, view),
    list: (type, request) => page(world, type, request),
    create: (type, body, { view, patch = false } = {}) => attempt(world, (run) => create(run, type, body, view), patch),
    update: (type, id, body, { view, patch = false } = {}) =>
      attempt(world, (run) => update(run, type, id, body, view), patch),
    remove: (type, id, view) => attempt(world, (run) => remove(run, type, id, view), false),
  };
}
