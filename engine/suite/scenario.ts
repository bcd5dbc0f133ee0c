/** Builds a case request by request: the reference model works out each answer, and how to clean up afterwards. */
import type { JsonObject } from '../json.ts';
import { type Model, MAX_GIVEN_IDENTIFIER, type RecordType, type Relation } from '../model/model.ts';
import type { Case, Expectation, ExpectedProblem, Request, Step } from './case.ts';
import { idText, listQuery, type Query, search, viewQuery } from './query-text.ts';
import { type Accepted, createReference, type ListRequest, type Reference } from './reference/reference.ts';
import { Refusal } from './reference/refusal.ts';
import type { ViewRequest } from './reference/views.ts';
import { type Id, idValue, rowsOf } from './reference/world.ts';
import { fullest, type Seeds, smallest } from './samples.ts';

/** A case in the making. */
export interface Scenario {
  readonly model: Model;
  readonly reference: Reference;
  readonly seeds: Seeds;
  readonly steps: Step[];
}

/** The model offers no request that makes such a record: whoever generates cases leaves this one out. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export const startScenario = (model: Model, seeds: Seeds): Scenario => ({
  model,
  seeds,
  reference: createReference(),
  steps: [],
});

/** An identifier that no record has: clients cannot choose it. */
export const MISSING_ID = MAX_GIVEN_IDENTIFIER + 1;

export const collectionPath = (type: RecordType, query: Query = []): string =>
  `/api/${encodeURIComponent(type.path)}${search(query)}`;

export const itemPath = (type: RecordType, id: Id, query: Query = []): string =>
  `/api/${encodeURIComponent(type.path)}/${idText(id)}${search(query)}`;

/** What a write to a type with `preconditions: required` needs; any record that is there will do. */
export const guard = (type: RecordType): Pick<Request, 'headers'> =>
  type.preconditions === 'required' ? { headers: { 'if-match': '*' } } : {};

export function step(
  scenario: Scenario,
  request: Request,
  expect: Expectation,
  changes: readonly string[] | undefined = [],
): void {
  scenario.steps.push({ request, expect, changes });
}

/** A request that is refused and changes nothing. */
export function refused(scenario: Scenario, request: Request, status: number, problem: ExpectedProblem = {}): void {
  step(scenario, request, { status, problem });
}

function accepted(outcome: Accepted | Refusal): Accepted {
  if (outcome instanceof Refusal) throw new Error(`the reference model refuses what a case needs: ${outcome.message}`);
  return outcome;
}

export function post(scenario: Scenario, type: RecordType, body: JsonObject, view: ViewRequest = {}): Id {
  if (!type.operations.has('create')) throw new Unreachable(`${type.name} has no create`);
  const done = accepted(scenario.reference.create(type, body, { view }));
  const request = { method: 'POST', path: collectionPath(type, viewQuery(view)), body };
  step(
    scenario,
    request,
    { status: 201, headers: { location: itemPath(type, done.id) }, body: done.body },
    done.changes,
  );
  return done.id;
}

export function put(
  scenario: Scenario,
  type: RecordType,
  id: Id,
  body: JsonObject,
  view: ViewRequest = {},
  method = 'PUT',
): void {
  const done = accepted(scenario.reference.update(type, id, body, { view, patch: method === 'PATCH' }));
  const request = { method, path: itemPath(type, id, viewQuery(view)), body, ...guard(type) };
  step(scenario, request, { status: 200, body: done.body }, done.changes);
}

const pointersOf = ({ pointers }: Refusal): ExpectedProblem => (pointers.length > 0 ? { pointers } : {});

function mustRefuse(outcome: Accepted | Refusal): Refusal {
  if (outcome instanceof Refusal) return outcome;
  throw new Error('the reference model accepts what a case wants refused');
}

/** A write that the reference model refuses as well. Its pointers are those of the answer. */
export function refusedPut(scenario: Scenario, type: RecordType, id: Id, body: JsonObject, method = 'PUT'): void {
  const refusal = mustRefuse(scenario.reference.update(type, id, body, { patch: method === 'PATCH' }));
  refused(scenario, { method, path: itemPath(type, id), body, ...guard(type) }, refusal.status, pointersOf(refusal));
}

/** A write that is accepted or refused as the reference model has it. */
export function putAsModelled(scenario: Scenario, type: RecordType, id: Id, body: JsonObject): void {
  const outcome = scenario.reference.update(type, id, body);
  const request = { method: 'PUT', path: itemPath(type, id), body, ...guard(type) };
  if (outcome instanceof Refusal) refused(scenario, request, outcome.status, pointersOf(outcome));
  else step(scenario, request, { status: 200, body: outcome.body }, outcome.changes);
}

export function refusedPost(scenario: Scenario, type: RecordType, body: JsonObject): void {
  const refusal = mustRefuse(scenario.reference.create(type, body));
  refused(scenario, { method: 'POST', path: collectionPath(type), body }, refusal.status, pointersOf(refusal));
}

/** Reads the record back, where the type offers that. */
export function get(scenario: Scenario, type: RecordType, id: Id, view: ViewRequest = {}): void {
  if (!type.operations.has('get')) return;
  const body = scenario.reference.get(type, id, view);
  const request = { method: 'GET', path: itemPath(type, id, viewQuery(view)) };
  if (body === undefined) refused(scenario, request, 404, { code: 'record-not-found' });
  else step(scenario, request, { status: 200, body });
}

export function remove(scenario: Scenario, type: RecordType, id: Id, view: ViewRequest = {}): void {
  const outcome = scenario.reference.remove(type, id, view);
  const request = { method: 'DELETE', path: itemPath(type, id, viewQuery(view)), ...guard(type) };
  if (outcome instanceof Refusal) refused(scenario, request, outcome.status);
  else step(scenario, request, { status: 200, body: outcome.body }, outcome.changes);
}

/** A list of some records only, whatever else is in the database. */
export function list(
  scenario: Scenario,
  type: RecordType,
  among: readonly Id[],
  request: ListRequest,
  extra: Query = [],
): void {
  if (!type.operations.has('list')) return;
  const own = { path: type.identifier.name, operator: 'in', ids: among } as const;
  const narrowed = { ...request, filters: [own, ...(request.filters ?? [])] };
  const { body, total } = scenario.reference.list(type, narrowed);
  const path = collectionPath(type, [...listQuery(narrowed), ...extra]);
  step(scenario, { method: 'GET', path }, { status: 200, headers: { 'x-total-count': String(total) }, body });
}

/** The creatable types whose body may nest a new record of the type, with the relation that does. */
function waysTo(model: Model, type: RecordType): Relation[] {
  return [...model.types.values()]
    .filter((source) => source.operations.has('create'))
    .flatMap((source) =>
      [...source.relations.values()].filter((relation) => relation.target === type && relation.nested === 'write'),
    );
}

function nestedIn(scenario: Scenario, relation: Relation): Id {
  const { source, target, toMany, name } = relation;
  const child = fullest(target, scenario.seeds, linkMaker(scenario), relation);
  const body = { ...smallest(source, scenario.seeds, linkMaker(scenario)), [name]: toMany ? [child] : child };
  const before = new Set(rowsOf(scenario.reference.world, target).keys());
  post(scenario, source, body);
  const made = [...rowsOf(scenario.reference.world, target).keys()].find((id) => !before.has(id));
  if (made === undefined) throw new Unreachable(`${name} of ${source.name} made no ${target.name}`);
  return made;
}

/** A record of the type, made by whatever request makes one: its own, or one of a type that nests it. */
export function obtain(scenario: Scenario, type: RecordType): Id {
  if (type.operations.has('create')) return post(scenario, type, fullest(type, scenario.seeds, linkMaker(scenario)));
  const [way] = type.identifier.inRecord ? waysTo(scenario.model, type) : [];
  if (way === undefined) throw new Unreachable(`no request makes a ${type.name}`);
  return nestedIn(scenario, way);
}

const links = new WeakMap<Scenario, Set<RecordType>>();

/** Makes what required links need. A circle of them leads nowhere. */
export function linkMaker(scenario: Scenario): (relation: Relation) => JsonObject {
  return ({ target }) => {
    const open = links.get(scenario) ?? new Set();
    links.set(scenario, open);
    if (open.has(target)) throw new Unreachable(`${target.name} needs itself`);
    open.add(target);
    const id = obtain(scenario, target);
    open.delete(target);
    return linkTo(target, id);
  };
}

export const linkTo = (type: RecordType, id: Id): JsonObject => ({ [type.identifier.name]: idValue(id) });

export const smallBody = (scenario: Scenario, type: RecordType): JsonObject =>
  smallest(type, scenario.seeds, linkMaker(scenario));
export const fullBody = (scenario: Scenario, type: RecordType): JsonObject =>
  fullest(type, scenario.seeds, linkMaker(scenario));

interface Address {
  readonly type: RecordType;
  readonly id: Id;
}

/** The records that the type lets clients delete and whose identifiers some answer showed, the youngest first. */
function removable({ model, reference, steps }: Scenario): readonly Address[] {
  const seen = JSON.stringify(steps.map(({ expect }) => expect));
  const isSeen = (id: Id): boolean => typeof id === 'number' || seen.includes(`"${id}"`) || seen.includes(`{${id}}`);
  const types = [...model.types.values()].filter((type) => type.operations.has('delete'));
  const all = types.flatMap((type) => [...rowsOf(reference.world, type).keys()].map((id) => ({ type, id })));
  return all.filter(({ id }) => isSeen(id)).toReversed();
}

/** Whether the record could be deleted, or was gone already. */
function cleanUp(scenario: Scenario, { type, id }: Address): boolean {
  if (!rowsOf(scenario.reference.world, type).has(id)) return true;
  const outcome = scenario.reference.remove(type, id);
  if (outcome instanceof Refusal) return false;
  const request = { method: 'DELETE', path: itemPath(type, id), ...guard(type) };
  step(scenario, request, { status: 200, body: outcome.body }, outcome.changes);
  return true;
}

/** Deletes what can be deleted: what others refer to comes after them, which may take another round. */
function cleanUpAll(scenario: Scenario): void {
  let left = removable(scenario);
  for (let before = Infinity; left.length < before;) {
    before = left.length;
    left = left.filter((address) => !cleanUp(scenario, address));
  }
}

function leftOvers(scenario: Scenario): Record<string, number> {
  const counts = [...scenario.reference.world.rows].map(([type, rows]) => [type.name, rows.size] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** The case with everything that the reference model knows how to remove again. */
export function finish(scenario: Scenario, about: Pick<Case, 'type' | 'group' | 'title' | 'irreversible'>): Case {
  const count = scenario.steps.length;
  cleanUpAll(scenario);
  const steps = scenario.steps.slice(0, count);
  return { ...about, steps, cleanup: scenario.steps.slice(count), leaves: leftOvers(scenario) };
}
