/** Sends a random sequence of requests and compares each answer with the oracle's. */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, type JsonValue } from '../../engine/json/json.ts';
import type { Model, RecordType } from '../../engine/model/model.ts';
import { type Bindings, fill, fillPath, isGiven, Variables, writeJson } from './template.ts';
import { type Call, deletesFound, foundDeletion, linkTo, requestOf, uniquesOf } from './call.ts';
import { compareAnswer } from './compare.ts';
import { answer as oracle, type OracleAnswer } from './oracle.ts';
import { Unreachable } from './refusal.ts';
import {
  copyWorld,
  createWorld,
  givenId,
  type Id,
  idIn,
  isField,
  rankByCreation,
  type RecordRow,
  related,
  rowOf,
  rowsOf,
  type World,
} from './world.ts';
import { type Draw, drawBody, drawFrom, type Operation } from './random-operations.ts';
import { drawConditions, drawList, drawView } from './random-queries.ts';
import type { Bench, ReceivedAnswer } from '../support/replaying.ts';

export const START = Date.UTC(2030, 0, 1);

interface Session {
  readonly world: World;
  readonly bindings: Bindings;
  readonly bench: Bench;
  readonly log: string[];
  /** Whether the request gives an identifier to a record that is to be made: others that it makes may come before it. */
  gives: boolean;
}

async function send(session: Session, call: Call): Promise<ReceivedAnswer> {
  const { method, path, body, headers: given = {} } = requestOf(call);
  const filled = fillPath(path, session.bindings);
  const text = body === undefined ? undefined : writeJson(fill(body, session.bindings));
  const headers: Record<string, string> = {
    ...given,
    ...(text === undefined ? {} : { 'content-type': 'application/json' }),
  };
  session.log.push(`${method} ${filled} ${JSON.stringify(given)} ${text ?? ''}`);
  return session.bench.send(`${method} ${filled}`, headers, text);
}

function fail(session: Session, differences: unknown, answer: ReceivedAnswer): never {
  const lines = [
    ...session.log,
    `-> ${answer.status} ${answer.text.slice(0, 1000)}`,
    JSON.stringify(differences, null, 1),
  ];
  throw new Error(lines.join('\n'));
}

/** Also of what is counted while answers are worked out. */
const wholeCopy = (world: World): World => ({
  ...copyWorld(world),
  given: { ...world.given },
  stamps: { ...world.stamps },
});

/** The oracle's response; undefined if only the service can know, as with the order of times. Then the request is not sent. */
function told(world: World, call: Call): OracleAnswer | undefined {
  try {
    return oracle(world, call);
  } catch (error) {
    if (error instanceof Unreachable) return undefined;
    throw error;
  }
}

/** Whether a request holds a time that no answer has shown yet, as that of a record which lost its parent. */
function isAhead({ bindings }: Session, call: Call): boolean {
  const { path, body = null } = requestOf(call);
  const times = `${path} ${JSON.stringify(body)}`.match(/\b(?:time|day) \d+/g) ?? [];
  return times.some((name) => !bindings.has(name));
}

/** Compares the response and the changed tables with the oracle's. */
async function check(session: Session, call: Call): Promise<ReceivedAnswer | undefined> {
  session.gives = [call.body ?? []].flat().some((item: JsonValue) => {
    const id = isObject(item) ? idIn(item, call.type) : undefined;
    return typeof id === 'number' && !rowOf(session.world, call.type, id);
  });
  const past = wholeCopy(session.world);
  const known = isAhead(session, call) ? undefined : told(session.world, call);
  if (!known) return undefined;
  const { expect, changes } = known;
  const before = call.method === 'GET' ? undefined : await session.bench.observer.snapshot();
  const answer = await send(session, call);
  const differences = compareAnswer(expect, answer, session.bindings);
  if (differences.length > 0) {
    // Which of several new records has the larger identifier is known now: sets are in that order.
    const again = told(past, call);
    if (!again || compareAnswer(again.expect, answer, session.bindings).length > 0)
      fail(session, { differences, problem: expect.problem ?? null }, answer);
  }
  if (before) await checkTables(session, before, changes, answer);
  return answer;
}

function write(
  session: Session,
  type: RecordType,
  operation: Operation,
  draw: Draw,
  id: Id | undefined,
): Promise<void> {
  const { body, paths } = drawBody(session.world, draw, type, id);
  const view = paths.length === 0 ? {} : { include: paths };
  const method = id === undefined ? 'POST' : operation.kind === 'patch' ? 'PATCH' : 'PUT';
  return checkWrite(session, operation, { type, method, id, body, view });
}

/** Up to four records in one array, each with a body of its own. */
function writeMany(session: Session, type: RecordType, operation: Operation, draw: Draw): Promise<void> {
  const isMade = operation.kind === 'createMany';
  const ids = isMade ? [] : [...rowsOf(session.world, type).keys()];
  const first = draw(Math.max(1, ids.length));
  const chosen = isMade ? Array.from({ length: 1 + draw(3) }, () => undefined) : ids.slice(first, first + 1 + draw(3));
  const drawn = chosen.map((id) => {
    const { body, paths } = drawBody(session.world, draw, type, id);
    return { body: id === undefined ? body : { ...body, ...linkTo(type, id) }, paths };
  });
  const paths = [...new Set(drawn.flatMap((one) => one.paths))];
  const view = paths.length === 0 ? {} : { include: paths };
  const body =
    isMade && draw(3) === 2
      ? linkingEachOther(
          type,
          drawn.map((one) => one.body),
          FIRST_GIVEN + GIVEN_APART * session.log.length,
          draw,
        )
      : drawn.map((one) => one.body);
  return checkWrite(session, operation, { type, method: isMade ? 'POST' : 'PATCH', body, view });
}

/** Each item has an identifier of its own, and some link another one, or themselves. */
function linkingEachOther(
  type: RecordType,
  bodies: readonly JsonObject[],
  first: number,
  draw: Draw,
): readonly JsonObject[] {
  if (!type.identifier.inRecord) return bodies;
  const links = [...type.relations.values()].filter(
    ({ target, owned, inverse }) => target === type && !owned && !inverse?.owned,
  );
  return bodies.map((body, index) => {
    const relation = links[draw(Math.max(1, links.length))];
    const link = linkTo(type, givenId(type, first + draw(bodies.length)));
    const value = relation?.toMany ? [link] : link;
    return { ...body, ...linkTo(type, givenId(type, first + index)), ...(relation ? { [relation.name]: value } : {}) };
  });
}

/** Identifiers rise with each request: one that was refused may have moved the sequence of one database, which then gives the next ones. */
const FIRST_GIVEN = 50_000_000;
const GIVEN_APART = 1000;

/** A PUT of the collection by unique values: mostly those of a record that is there. */
function upsert(session: Session, type: RecordType, operation: Operation, draw: Draw): Promise<void> {
  const { world } = session;
  const uniques = uniquesOf(type);
  const members = uniques[draw(Math.max(1, uniques.length))];
  if (members === undefined) return Promise.resolve();
  const isThere = draw(3) > 0;
  const id = isThere ? pick(session, type, draw) : undefined;
  const row = id === undefined ? undefined : rowOf(world, type, id);
  const { body, paths } = drawBody(world, draw, type, id);
  const values = members.flatMap((member) => {
    const value = draw(8) === 7 ? undefined : memberValue(world, draw, member, row);
    return value === undefined ? [] : [[member.name, value] as const];
  });
  const view = paths.length === 0 ? {} : { include: paths };
  const on = members.map(({ name }) => name);
  return checkWrite(session, operation, {
    type,
    method: 'PUT',
    on,
    body: { ...body, ...Object.fromEntries(values) },
    view,
  });
}

function memberValue(
  world: World,
  draw: Draw,
  member: ReturnType<typeof uniquesOf>[number][number],
  row: RecordRow | undefined,
): JsonValue | undefined {
  if (isField(member)) return row?.values.get(member) ?? member.type.good(member, draw(8));
  const own = row && related(world, member, row)[0]?.id;
  const ids = [...rowsOf(world, member.target).keys()];
  const id = own ?? ids[draw(Math.max(1, ids.length))];
  return id === undefined ? undefined : linkTo(member.target, id);
}

/** A deletion by filters, skipped if they find more than a few records. */
function deleteFound(session: Session, type: RecordType, operation: Operation, draw: Draw): Promise<void> {
  const filters = drawConditions(session.world, draw, type);
  if (filters.length === 0 || !deletesFound(type)) return Promise.resolve();
  return checkWrite(session, operation, { type, ...foundDeletion(filters, draw(4) === 3 ? 1000 : draw(4)) });
}

/** Some are tried first. */
async function checkWrite(session: Session, { choices }: Operation, call: Call): Promise<void> {
  const tried = choices.length % 3 === 1 ? await check(session, { ...call, dryRun: true }) : undefined;
  const done = await check(session, call);
  if (tried && done) checkTried(session, tried, done);
}

/** The response that a dry run tells is that of the write which follows. */
function checkTried(session: Session, tried: ReceivedAnswer, done: ReceivedAnswer): void {
  const [reported, got] = [tried.text, done.text].map((text) => JSON.parse(text) as JsonObject);
  if (tried.status >= 400) {
    const [{ instance: _, ...problem }, { instance: __, ...other }] = [reported ?? {}, got ?? {}];
    if (!isDeepStrictEqual(problem, other)) fail(session, { told: problem }, done);
    return;
  }
  const { answer, effects } = reported as unknown as DryRunReport;
  // In earnest, new records may get other identifiers, and it is later.
  if (effects.some(({ effect }) => effect === 'created') || done.text.includes(STARTED)) return;
  const expected = { status: done.status, etag: done.headers['etag'], body: got };
  const { status, headers, body } = answer;
  if (!isDeepStrictEqual({ status, etag: headers.ETag, body }, expected)) fail(session, { told: answer }, done);
}

/** How times of these requests begin. */
const STARTED = `"${new Date(START).getUTCFullYear()}-`;

interface DryRunReport {
  readonly answer: { readonly status: number; readonly headers: { readonly ETag?: string }; readonly body: JsonValue };
  readonly effects: readonly { readonly effect: string }[];
}

async function checkTables(
  session: Session,
  before: ReadonlyMap<string, string>,
  expected: readonly string[],
  answer: ReceivedAnswer,
): Promise<void> {
  const after = await session.bench.observer.snapshot();
  const changed = [...after.keys()].filter((table) => before.get(table) !== after.get(table)).toSorted();
  if (changed.join() !== expected.join()) fail(session, { changed, expected }, answer);
}

function pick(session: Session, type: RecordType, draw: Draw): Id | undefined {
  const ids = [...rowsOf(session.world, type).keys()];
  return ids[draw(Math.max(1, ids.length))];
}

async function perform(session: Session, model: Model, operation: Operation): Promise<unknown> {
  const types = [...model.types.values()];
  const type = types[operation.type % types.length];
  if (type === undefined) return undefined;
  const draw = drawFrom(operation.choices);
  if (operation.kind === 'list') {
    return check(session, { type, method: 'GET', ...drawList(session.world, draw, type) });
  }
  if (operation.kind === 'create') return write(session, type, operation, draw, undefined);
  if (operation.kind === 'createMany' || operation.kind === 'patchMany')
    return writeMany(session, type, operation, draw);
  if (operation.kind === 'upsert') return upsert(session, type, operation, draw);
  if (operation.kind === 'deleteFound') return deleteFound(session, type, operation, draw);
  const id = pick(session, type, draw);
  if (id === undefined) return undefined;
  if (operation.kind === 'delete') return checkWrite(session, operation, { type, method: 'DELETE', id });
  if (operation.kind === 'get') return check(session, { type, method: 'GET', id, view: drawView(draw, type) });
  return write(session, type, operation, draw, operation.choices.length % 20 === 19 ? givenId(type, NOWHERE) : id);
}

/** Every record of every type, as both see it in the end. */
async function compareAll(session: Session, model: Model): Promise<void> {
  for (const type of model.types.values()) await check(session, { type, method: 'GET', list: {} });
  const dangling = await session.bench.observer.danglingRows();
  if (dangling.length > 0) throw new Error(`rows refer to nothing: ${JSON.stringify(dangling)}`);
}

const NEW = 2n ** 130n;
/** The identifier of no record. */
const NOWHERE = 2 ** 51;

export async function compareSequence(bench: Bench, model: Model, operations: readonly Operation[]): Promise<number> {
  const bindings: Bindings = new Variables();
  const rank: World['rank'] = (id) => {
    if (typeof id === 'number' || isGiven(id)) return rankByCreation(id);
    const known = bindings.get(id);
    if (known === undefined && session.gives)
      throw new Unreachable('only the service knows which identifier is larger');
    if (known === undefined) return NEW + BigInt(rankByCreation(id));
    return typeof known === 'string' ? BigInt(`0x${known.replaceAll('-', '')}`) : Number(known);
  };
  const session: Session = {
    world: createWorld(rank),
    bindings,
    bench,
    log: [],
    gives: false,
  };
  for (const operation of operations) {
    const { length } = session.log;
    try {
      await perform(session, model, operation);
    } catch (error) {
      // A body that would copy what only the service knows cannot be drawn.
      if (!(error instanceof Unreachable) || session.log.length > length) throw error;
    }
  }
  await compareAll(session, model);
  return session.log.length;
}
