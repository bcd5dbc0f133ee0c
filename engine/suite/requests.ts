/** The requests of a case: the reference model works out what each must answer. */
import type { JsonObject } from '../json.ts';
import type { RecordType } from '../model/model.ts';
import { collectionPath, guard, itemPath } from './addresses.ts';
import type { ExpectedProblem } from './case.ts';
import { listQuery, type Query, viewQuery } from './query-text.ts';
import type { Accepted, ListRequest } from './reference/reference.ts';
import { Refusal } from './reference/refusal.ts';
import type { ViewRequest } from './reference/views.ts';
import type { Id } from './reference/world.ts';
import { refused, type Scenario, step, Unreachable } from './scenario.ts';

export function accepted(outcome: Accepted | Refusal): Accepted {
  if (outcome instanceof Refusal) throw new Error(`the reference model refuses what a case needs: ${outcome.message}`);
  return outcome;
}

/** Whether records of the type have entity tags. */
export const etag = ({ preconditions }: RecordType): { readonly etag: string | null } => ({
  etag: preconditions === 'off' ? null : '"{*}"',
});

/** The view of a write that does not care: later steps need the identifiers of what the body makes, shown or not. */
function viewOf({ relations }: RecordType, body: JsonObject): ViewRequest {
  const all = [...relations.values()];
  if (all.every(({ shown, name }) => shown || !(name in body))) return {};
  return { include: all.filter(({ shown, name }) => shown || name in body).map(({ name }) => name) };
}

export function post(scenario: Scenario, type: RecordType, body: JsonObject, view = viewOf(type, body)): Id {
  if (!type.operations.has('create')) throw new Unreachable(`${type.name} has no create`);
  const done = accepted(scenario.reference.create(type, body, { view }));
  const request = { method: 'POST', path: collectionPath(type, viewQuery(view)), body };
  step(
    scenario,
    request,
    { status: 201, headers: { location: itemPath(type, done.id), ...etag(type) }, body: done.body },
    done.changes,
  );
  return done.id;
}

export function put(
  scenario: Scenario,
  type: RecordType,
  id: Id,
  body: JsonObject,
  view: ViewRequest = viewOf(type, body),
  method = 'PUT',
): void {
  const done = accepted(scenario.reference.update(type, id, body, { view, patch: method === 'PATCH' }));
  const request = { method, path: itemPath(type, id, viewQuery(view)), body, ...guard(type) };
  step(scenario, request, { status: 200, headers: etag(type), body: done.body }, done.changes);
}

const problemOf = ({ code, pointers }: Refusal): ExpectedProblem => ({
  code,
  ...(pointers.length > 0 ? { pointers } : {}),
});

function mustRefuse(outcome: Accepted | Refusal): Refusal {
  if (outcome instanceof Refusal) return outcome;
  throw new Error('the reference model accepts what a case wants refused');
}

/** A write that the reference model refuses as well. Its pointers are those of the answer. */
export function refusedPut(scenario: Scenario, type: RecordType, id: Id, body: JsonObject, method = 'PUT'): void {
  const refusal = mustRefuse(scenario.reference.update(type, id, body, { patch: method === 'PATCH' }));
  refused(scenario, { method, path: itemPath(type, id), body, ...guard(type) }, refusal.status, problemOf(refusal));
}

/** A write that is accepted or refused as the reference model has it. */
export function putAsModelled(scenario: Scenario, type: RecordType, id: Id, body: JsonObject): void {
  const view = viewOf(type, body);
  const outcome = scenario.reference.update(type, id, body, { view });
  const request = { method: 'PUT', path: itemPath(type, id, viewQuery(view)), body, ...guard(type) };
  if (outcome instanceof Refusal) refused(scenario, request, outcome.status, problemOf(outcome));
  else step(scenario, request, { status: 200, headers: etag(type), body: outcome.body }, outcome.changes);
}

export function refusedPost(scenario: Scenario, type: RecordType, body: JsonObject): void {
  const refusal = mustRefuse(scenario.reference.create(type, body));
  refused(scenario, { method: 'POST', path: collectionPath(type), body }, refusal.status, problemOf(refusal));
}

/** Reads the record back, where the type offers that. */
export function get(scenario: Scenario, type: RecordType, id: Id, view: ViewRequest = {}): void {
  if (!type.operations.has('get')) return;
  const body = scenario.reference.get(type, id, view);
  const request = { method: 'GET', path: itemPath(type, id, viewQuery(view)) };
  if (body === undefined) refused(scenario, request, 404, { code: 'record-not-found' });
  else step(scenario, request, { status: 200, headers: etag(type), body });
}

export function remove(scenario: Scenario, type: RecordType, id: Id, view: ViewRequest = {}): void {
  const outcome = scenario.reference.remove(type, id, view);
  const request = { method: 'DELETE', path: itemPath(type, id, viewQuery(view)), ...guard(type) };
  if (outcome instanceof Refusal) refused(scenario, request, outcome.status, problemOf(outcome));
  else step(scenario, request, { status: 200, headers: { etag: null }, body: outcome.body }, outcome.changes);
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
  const links = narrowed.limit === undefined ? {} : { links: { first: '*' } };
  step(scenario, { method: 'GET', path }, { status: 200, headers: { 'x-total-count': String(total) }, ...links, body });
}
