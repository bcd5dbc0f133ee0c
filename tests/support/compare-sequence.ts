/** Sends a random sequence of requests and compares each answer with the reference model's. */
import { isObject, type JsonObject, type JsonValue } from '../../engine/json.ts';
import type { Model, RecordType } from '../../engine/model/model.ts';
import { type Bindings, fill, fillPath } from '../../engine/suite/bindings.ts';
import { compareAnswer } from '../../engine/suite/compare-answer.ts';
import type { Answer } from '../../engine/suite/client.ts';
import type { Client } from '../../engine/suite/client.ts';
import { readJson, writeJson } from '../../engine/suite/json-tree.ts';
import { match } from '../../engine/suite/match.ts';
import { listQuery, viewQuery } from '../../engine/suite/query-text.ts';
import { createReference, type Reference } from '../../engine/suite/reference/reference.ts';
import { Refusal } from '../../engine/suite/reference/refusal.ts';
import type { ViewRequest } from '../../engine/suite/reference/views.ts';
import { type Id, rankByCreation, rowsOf } from '../../engine/suite/reference/world.ts';
import { collectionPath, itemPath } from '../../engine/suite/addresses.ts';
import { type Draw, drawBody, drawFrom, type Operation } from './random-operations.ts';
import { drawList, drawView } from './random-queries.ts';
import type { Bench } from './replaying.ts';

interface Session {
  readonly client: Client;
  readonly reference: Reference;
  readonly bindings: Bindings;
  readonly bench: Bench;
  /** What was sent so far, for the report. */
  readonly log: string[];
}

async function send(session: Session, method: string, path: string, body?: JsonObject): Promise<Answer> {
  const filled = fillPath(path, session.bindings);
  const text = body === undefined ? undefined : writeJson(fill(body, session.bindings));
  session.log.push(`${method} ${filled} ${text ?? ''}`);
  const headers: Record<string, string> = text === undefined ? {} : { 'content-type': 'application/json' };
  return session.client.send({ method, path: filled, headers, text });
}

function fail(session: Session, differences: unknown, answer: Answer): never {
  const lines = [
    ...session.log,
    `-> ${answer.status} ${answer.text.slice(0, 1000)}`,
    JSON.stringify(differences, null, 1),
  ];
  throw new Error(lines.join('\n'));
}

const pointersIn = (answer: Answer): readonly JsonValue[] => {
  const problem: JsonValue = JSON.parse(answer.text) as JsonValue;
  const errors = isObject(problem) && Array.isArray(problem['errors']) ? problem['errors'] : [];
  return errors.flatMap((error: JsonValue) => (isObject(error) ? (error['pointer'] ?? []) : []));
};

/** Refused for the reason that comes first, with all places of that one, in their order. Who has a unique value is not in a body. */
function checkRefused(session: Session, answer: Answer, refusal: Refusal): void {
  const { status, code, pointers } = refusal;
  const told = answer.status === status ? String((JSON.parse(answer.text) as JsonObject)['type']) : '';
  const exact = code !== 'unique-conflict' && code !== 'restrict-conflict';
  const named = pointersIn(answer);
  if (told !== `urn:problem:${code}` || (exact && named.join(' ') !== pointers.join(' ')))
    fail(session, { expected: { status, code, pointers }, named }, answer);
}

async function write(
  session: Session,
  type: RecordType,
  operation: Operation,
  draw: Draw,
  id: Id | undefined,
): Promise<void> {
  const { reference } = session;
  const drawn = drawBody(reference.world, draw, type, id);
  const view: ViewRequest = drawn.paths.length === 0 ? {} : { include: drawn.paths };
  const patch = operation.kind === 'patch';
  const path = id === undefined ? collectionPath(type, viewQuery(view)) : itemPath(type, id, viewQuery(view));
  const method = id === undefined ? 'POST' : patch ? 'PATCH' : 'PUT';
  const before = await session.bench.observer.snapshot();
  const answer = await send(session, method, path, drawn.body);
  const options = { view, patch, misfits: drawn.faults };
  const outcome =
    id === undefined ? reference.create(type, drawn.body, options) : reference.update(type, id, drawn.body, options);
  if (outcome instanceof Refusal) checkRefused(session, answer, outcome);
  else {
    const expected = { status: id === undefined ? 201 : 200, body: outcome.body };
    const differences = compareAnswer(expected, answer, session.bindings);
    if (differences.length > 0) fail(session, differences, answer);
  }
  await checkTables(session, before, outcome instanceof Refusal ? [] : outcome.changes, answer);
}

async function checkTables(
  session: Session,
  before: ReadonlyMap<string, string>,
  expected: readonly string[],
  answer: Answer,
): Promise<void> {
  const after = await session.bench.observer.snapshot();
  const changed = [...after.keys()].filter((table) => before.get(table) !== after.get(table)).toSorted();
  if (changed.join() !== expected.join()) fail(session, { changed, expected }, answer);
}

async function remove(session: Session, type: RecordType, id: Id): Promise<void> {
  const answer = await send(session, 'DELETE', itemPath(type, id));
  const outcome = session.reference.remove(type, id);
  if (outcome instanceof Refusal) return checkRefused(session, answer, outcome);
  const differences = compareAnswer({ status: 200, body: outcome.body }, answer, session.bindings);
  if (differences.length > 0) fail(session, differences, answer);
}

async function read(session: Session, type: RecordType, id: Id, draw: Draw): Promise<void> {
  const view = drawView(draw, type);
  const answer = await send(session, 'GET', itemPath(type, id, viewQuery(view)));
  const body = session.reference.get(type, id, view);
  const expected = body === undefined ? { status: 404 } : { status: 200, body };
  const differences = compareAnswer(expected, answer, session.bindings);
  if (differences.length > 0) fail(session, differences, answer);
}

/** A page in a random order, of the records that a random filter finds. */
async function list(session: Session, type: RecordType, draw: Draw): Promise<void> {
  const request = drawList(session.reference.world, draw, type);
  const answer = await send(session, 'GET', collectionPath(type, listQuery(request)));
  const { body, total } = session.reference.list(type, request);
  const expect = { status: 200, headers: { 'x-total-count': String(total) }, body };
  const differences = compareAnswer(expect, answer, session.bindings);
  if (differences.length > 0) fail(session, differences, answer);
}

function pick(session: Session, type: RecordType, draw: Draw): Id | undefined {
  const ids = [...rowsOf(session.reference.world, type).keys()];
  return ids[draw(Math.max(1, ids.length))];
}

async function perform(session: Session, model: Model, operation: Operation): Promise<void> {
  const types = [...model.types.values()];
  const type = types[operation.type % types.length];
  if (type === undefined) return;
  const draw = drawFrom(operation.choices);
  if (operation.kind === 'list') return list(session, type, draw);
  if (operation.kind === 'create') return write(session, type, operation, draw, undefined);
  const id = pick(session, type, draw);
  if (id === undefined) return;
  if (operation.kind === 'delete') return remove(session, type, id);
  if (operation.kind === 'get') return read(session, type, id, draw);
  return write(session, type, operation, draw, operation.choices.length % 20 === 19 ? NOWHERE : id);
}

/** Every record of every type, as both see it in the end. */
async function compareAll(session: Session, model: Model): Promise<void> {
  for (const type of model.types.values()) {
    const answer = await send(session, 'GET', collectionPath(type));
    const { body } = session.reference.list(type, {});
    const differences = match(body, readJson(answer.text), 'body', session.bindings);
    if (differences.length > 0) fail(session, differences, answer);
  }
  const dangling = await session.bench.observer.danglingRows();
  if (dangling.length > 0) throw new Error(`rows refer to nothing: ${JSON.stringify(dangling)}`);
}

const NEW = 2 ** 50;
/** The identifier of no record. */
const NOWHERE = 2 ** 51;

export async function compareSequence(bench: Bench, model: Model, operations: readonly Operation[]): Promise<void> {
  const bindings: Bindings = new Map();
  const rank = (id: Id): number => Number(typeof id === 'number' ? id : (bindings.get(id) ?? NEW + rankByCreation(id)));
  const session = {
    client: bench.client,
    reference: createReference(rank),
    bindings,
    bench,
    log: [],
  };
  for (const operation of operations) await perform(session, model, operation);
  await compareAll(session, model);
}
