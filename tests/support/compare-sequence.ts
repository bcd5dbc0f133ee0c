/** Sends a random sequence of requests and compares each answer with the oracle's. */
import type { Model, RecordType } from '../../engine/model/model.ts';
import { type Bindings, fill, fillPath, writeJson } from '../../engine/suite/template.ts';
import { type Call, linkTo, requestOf } from '../../engine/suite/call.ts';
import { compareAnswer } from '../../engine/suite/compare.ts';
import type { ReceivedAnswer, Client } from '../../engine/suite/client.ts';
import { answer as oracle, type OracleAnswer } from '../../engine/suite/oracle.ts';
import { Unreachable } from '../../engine/suite/refusal.ts';
import { createWorld, type Id, rankByCreation, rowsOf, type World } from '../../engine/suite/world.ts';
import { type Draw, drawBody, drawFrom, type Operation } from './random-operations.ts';
import { drawList, drawSummary, drawView } from './random-queries.ts';
import type { Bench } from './replaying.ts';

interface Session {
  readonly client: Client;
  readonly world: World;
  readonly bindings: Bindings;
  readonly bench: Bench;
  /** What was sent so far, for the report. */
  readonly log: string[];
}

async function send(session: Session, call: Call): Promise<ReceivedAnswer> {
  const { method, path, body } = requestOf(call);
  const filled = fillPath(path, session.bindings);
  const text = body === undefined ? undefined : writeJson(fill(body, session.bindings));
  session.log.push(`${method} ${filled} ${text ?? ''}`);
  const headers: Record<string, string> = text === undefined ? {} : { 'content-type': 'application/json' };
  return session.client.send({ method, path: filled, headers, text });
}

function fail(session: Session, differences: unknown, answer: ReceivedAnswer): never {
  const lines = [
    ...session.log,
    `-> ${answer.status} ${answer.text.slice(0, 1000)}`,
    JSON.stringify(differences, null, 1),
  ];
  throw new Error(lines.join('\n'));
}

/** What the oracle says; undefined if only the service knows, as with the order of times. Then the request is not sent. */
function told({ world }: Session, call: Call): OracleAnswer | undefined {
  try {
    return oracle(world, call);
  } catch (error) {
    if (error instanceof Unreachable) return undefined;
    throw error;
  }
}

/** The service answers what the oracle says, and changes the tables that it says. */
async function check(session: Session, call: Call): Promise<void> {
  const known = told(session, call);
  if (!known) return;
  const { expect, changes = [] } = known;
  const before = call.method === 'GET' ? undefined : await session.bench.observer.snapshot();
  const answer = await send(session, call);
  const differences = compareAnswer(expect, answer, session.bindings);
  if (differences.length > 0) fail(session, differences, answer);
  if (before) await checkTables(session, before, changes, answer);
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
  const body = drawn.map((one) => one.body);
  return checkWrite(session, operation, { type, method: isMade ? 'POST' : 'PATCH', body, view });
}

/** Some are tried first. */
async function checkWrite(session: Session, { choices }: Operation, call: Call): Promise<void> {
  if (choices.length % 3 === 1) await check(session, { ...call, dryRun: true });
  await check(session, call);
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

async function perform(session: Session, model: Model, operation: Operation): Promise<void> {
  const types = [...model.types.values()];
  const type = types[operation.type % types.length];
  if (type === undefined) return;
  const draw = drawFrom(operation.choices);
  if (operation.kind === 'list') {
    // Served types without a list have no summary.
    const isSummary = type.operations.has('list') && draw(3) === 2;
    const drawn = isSummary ? drawSummary(draw, type) : drawList(session.world, draw, type);
    return check(session, { type, method: 'GET', ...drawn });
  }
  if (operation.kind === 'create') return write(session, type, operation, draw, undefined);
  if (operation.kind === 'createMany' || operation.kind === 'patchMany')
    return writeMany(session, type, operation, draw);
  const id = pick(session, type, draw);
  if (id === undefined) return;
  if (operation.kind === 'delete') return checkWrite(session, operation, { type, method: 'DELETE', id });
  if (operation.kind === 'get') return check(session, { type, method: 'GET', id, view: drawView(draw, type) });
  return write(session, type, operation, draw, operation.choices.length % 20 === 19 ? NOWHERE : id);
}

/** Every record of every type, as both see it in the end. */
async function compareAll(session: Session, model: Model): Promise<void> {
  for (const type of model.types.values()) await check(session, { type, method: 'GET', list: {} });
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
    world: createWorld({ rank, alone: true }),
    bindings,
    bench,
    log: [],
  };
  for (const operation of operations) await perform(session, model, operation);
  await compareAll(session, model);
}
