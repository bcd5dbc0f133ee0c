/** A case in the making: requests, and what the oracle says that each must answer. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../engine/json.ts';
import type { Model, RecordType } from '../../engine/model/model.ts';
import { type Call, requestOf } from './call.ts';
import type { Case, Deployment, Step } from './case.ts';
import { fitted } from './checks.ts';
import { answer, type OracleAnswer } from './oracle.ts';
import type { ListRequest, ViewRequest } from './reads.ts';
import { Unreachable } from './refusal.ts';
import { representation } from './envelope.ts';
import { isSettable } from './values.ts';
import { adoptedValue, adoptRow, createWorld, type Id, idValue, rowOf, rowsOf, type World } from './world.ts';

/** Gives another number each time, so that no two records have a value in common by chance. */
export interface Seeds {
  next: number;
}

/** What rules make their cases from. */
export interface Context {
  readonly model: Model;
  readonly type: RecordType;
  readonly seeds: Seeds;
  readonly deployment: Deployment;
}

export interface Scene extends Context {
  readonly world: World;
  readonly steps: Step[];
}

/** A request; of the type that the case is about, where it does not say. */
type PartialCall = Omit<Call, 'type'> & { readonly type?: RecordType };
type More = Partial<Omit<Call, 'method' | 'id' | 'body'>>;

export function send(scene: Scene, sent: PartialCall, step: Pick<Step, 'given' | 'attempts'> = {}): OracleAnswer {
  const call = { type: scene.type, ...sent };
  const answered = answer(scene.world, call, scene.deployment, step.given);
  scene.steps.push({ ...step, request: requestOf(call), expect: answered.expect, changes: answered.changes });
  return answered;
}

/** The view of a write that does not care: later steps need the identifiers of what the body makes, shown or not. */
function viewOf({ relations }: RecordType, body: JsonObject): ViewRequest {
  const all = [...relations.values()];
  if (all.every(({ shown, name }) => shown || !(name in body))) return {};
  return { include: all.filter(({ shown, name }) => shown || name in body).map(({ name }) => name) };
}

/** Makes the record, which must go well. */
export function post(scene: Scene, body: JsonObject, more: More = {}): Id {
  const { type = scene.type } = more;
  if (!type.operations.has('create')) throw new Unreachable(`${type.name} has no create`);
  const whole = meeting(scene, type, undefined, body);
  const [id] = send(scene, { view: viewOf(type, body), ...more, method: 'POST', body: whole }).ids ?? [];
  if (id === undefined) throw new Unreachable(`${type.name} cannot be made so`);
  return id;
}

/** Makes all of them at once, which must go well. */
export function postMany(scene: Scene, bodies: readonly JsonObject[], more: More = {}): readonly Id[] {
  const { type } = scene;
  const body = bodies.map((one) => meeting(scene, type, undefined, one));
  const { ids } = send(scene, { view: viewOf(type, Object.assign({}, ...bodies)), ...more, method: 'POST', body });
  if (ids === undefined) throw new Unreachable(`an array of ${type.name} cannot be made so`);
  return ids;
}

function tagOf(scene: Scene, id: Id, { view = {} }: More): string {
  const tag = `tag ${(scene.seeds.next += 1)}`;
  get(scene, id, { view, tag });
  return `"{${tag}}"`;
}

/** Updates all of them at once, each with its body. */
export function patchMany(scene: Scene, ids: readonly Id[], bodies: readonly JsonObject[], more: More = {}): void {
  const { type } = scene;
  const body = ids.map((id, index) => ({
    ...meeting(scene, type, id, bodies[index] ?? {}),
    [type.identifier.name]: idValue(id),
    ...(type.preconditions === 'required' ? { '@etag': tagOf(scene, id, more) } : {}),
  }));
  send(scene, { ...more, method: 'PATCH', body });
}

/** Updates the record, where the type offers that and the rules let it. */
export function put(scene: Scene, id: Id, body: JsonObject, more: More = {}, method = 'PUT'): void {
  const { type = scene.type } = more;
  const whole = meeting(scene, type, id, body);
  if (type.operations.has('update')) send(scene, { view: viewOf(type, body), ...more, method, id, body: whole });
}

/** With further fields, where the body would break a check for want of them. */
function meeting({ world }: Scene, type: RecordType, id: Id | undefined, body: JsonObject): JsonObject {
  if (type.checks.length === 0) return body;
  const free = type.defaultVariant.fields.filter(({ name, readOnly }) => !readOnly && !Object.hasOwn(body, name));
  return fitted(type, rowOf(world, type, id), body, new Set(free));
}

/** The methods of an update. */
export const WAYS = ['PUT', 'PATCH'] as const;

/** Updates the record with one body after the other, each in each of the ways, and reads it back. */
export function puts(scene: Scene, id: Id, bodies: readonly JsonObject[], ways: readonly string[] = ['PUT']): void {
  for (const body of bodies) for (const method of ways) put(scene, id, body, {}, method);
  get(scene, id);
}

/** Reads the record back, where the type offers that. */
export function get(scene: Scene, id: Id, more: More = {}): void {
  if ((more.type ?? scene.type).operations.has('get')) send(scene, { ...more, method: 'GET', id });
}

/** The record as GET would answer it. */
export const shownAs = ({ world, type }: Scene, id: Id, view: ViewRequest = {}): JsonObject =>
  representation(world, { type, view }, id) ?? {};

/** Whether a case may delete the record: an adopted one could not be made again. */
export const isRemovable = ({ world, type: own }: Scene, id: Id, type: RecordType = own): boolean =>
  type.operations.has('delete') && !rowOf(world, type, id)?.adopted;

/** Deletes the record, where that may be. */
export function remove(scene: Scene, id: Id, more: More = {}): void {
  if (isRemovable(scene, id, more.type)) send(scene, { ...more, method: 'DELETE', id });
}

/** A list of some records only, whatever else is in the database. */
export const among = ({ type }: Scene, ids: readonly Id[], request: ListRequest = {}): ListRequest => ({
  ...request,
  filters: [{ path: type.identifier.name, operator: 'in', ids }, ...(request.filters ?? [])],
});

export function list(scene: Scene, ids: readonly Id[], request: ListRequest = {}, more: More = {}): void {
  if (scene.type.operations.has('list')) send(scene, { ...more, method: 'GET', list: among(scene, ids, request) });
}

/** Reads the records back, one by one and as a list: what stays, and what is gone. */
export function look(scene: Scene, ids: readonly Id[]): void {
  for (const id of ids) get(scene, id);
  list(scene, ids);
}

/** Whether a record that is there already can be found, changed and put back. */
export const isAdoptable = ({ operations, identifier, open }: RecordType): boolean =>
  !operations.has('create') && operations.has('list') && operations.has('get') && identifier.inRecord && !open;

/** Takes the next record of the list, in the order of identifiers; without one the case is skipped. */
export function adopt(scene: Scene, type: RecordType): Id {
  const offset = [...rowsOf(scene.world, type).values()].filter(({ adopted }) => adopted).length;
  const { id } = adoptRow(scene.world, type);
  const name = type.identifier.name;
  const call = {
    type,
    method: 'GET',
    list: { order: [{ path: name, descending: false }], offset, limit: 1 },
    view: { fields: [] },
  };
  const expect = { status: 200, body: [{ [name]: idValue(id) }], orSkip: true } as const;
  scene.steps.push({ request: requestOf(call), expect, changes: [] });
  get(scene, id, { type });
  return id;
}

/** Puts back what an adopted record was before. */
function restore(scene: Scene, { type, id }: RecordAddress): void {
  const row = rowOf(scene.world, type, id);
  const fields = type.defaultVariant.fields.filter(isSettable);
  const before = Object.fromEntries(fields.map(({ name }) => [name, adoptedValue(id, name)]));
  if (!row?.adopted || fields.every((field) => isDeepStrictEqual(row.values.get(field), before[field.name]))) return;
  put(scene, id, before, { type });
  get(scene, id, { type });
}

interface RecordAddress {
  readonly type: RecordType;
  readonly id: Id;
}

/** The records that the type lets clients delete and whose identifiers some answer showed, the youngest first. */
function made({ model, world, steps }: Scene): readonly RecordAddress[] {
  // Problems show no variable that is not known.
  const seen = JSON.stringify(steps.map(({ expect }) => ({ ...expect, problem: undefined })));
  const isSeen = (id: Id): boolean => typeof id === 'number' || seen.includes(`"${id}"`) || seen.includes(`{${id}}`);
  const all = [...model.types.values()].flatMap((type) =>
    [...rowsOf(world, type).values()].map(({ id }) => ({ type, id })),
  );
  return all.filter(({ id }) => isSeen(id)).toReversed();
}

/** Whether the record was deleted, or was gone already. */
function cleanUp(scene: Scene, { type, id }: RecordAddress): boolean {
  if (!rowsOf(scene.world, type).has(id)) return true;
  const count = scene.steps.length;
  remove(scene, id, { type });
  if (!rowsOf(scene.world, type).has(id)) return true;
  scene.steps.length = count;
  return false;
}

/** Deletes what can be deleted: what others refer to comes after them, which may take another round. */
function cleanUpAll(scene: Scene): void {
  const all = made(scene);
  let left = all.filter(({ type, id }) => isRemovable(scene, id, type));
  for (let before = Infinity; left.length < before;) {
    before = left.length;
    left = left.filter((address) => !cleanUp(scene, address));
  }
  for (const address of all) restore(scene, address);
}

/** The case that `build` makes, with everything that removes again what its requests made; undefined where it cannot be. */
export function caseOf(
  context: Context,
  about: Pick<Case, 'group' | 'title'>,
  build: (scene: Scene) => void,
): Case | undefined {
  const scene: Scene = { ...context, world: createWorld(), steps: [] };
  let count = 0;
  let adopted = 0;
  try {
    build(scene);
    count = scene.steps.length;
    adopted = scene.steps.filter(({ expect }) => expect.orSkip).length;
    cleanUpAll(scene);
  } catch (error) {
    if (error instanceof Unreachable) return undefined;
    throw error;
  }
  if (count === 0) return undefined;
  const rows = [...scene.world.rows].map(([type, all]) => [type.name, [...all.values()]] as const);
  const kept = rows.flatMap(([, all]) => all.filter((row) => row.adopted)).length;
  const leaves = rows.map(([name, all]) => [name, all.filter((row) => !row.adopted).length] as const);
  return {
    type: context.type.name,
    ...about,
    steps: scene.steps.slice(0, count),
    cleanup: scene.steps.slice(count),
    leaves: Object.fromEntries(leaves.filter(([, size]) => size > 0)),
    ...(kept < adopted ? { irreversible: true as const } : {}),
  };
}
