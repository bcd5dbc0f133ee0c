/**
 * Judges a history. Every answer must be one that the README promises, every state that was seen must come from a write
 * that may have happened, and no read may miss a write that was acknowledged before it began.
 */
import { isMissing } from './clients.ts';
import {
  codeOf,
  GONE,
  type History,
  type Op,
  outcomeOf,
  type Sighting,
  type Violation,
  type Write,
} from './history.ts';

/** The first violation of the first rule that is broken. */
export function judge({ ops }: History): Violation | undefined {
  const writes = writesIn(ops);
  for (const rule of [answers, tornRecords, ownWrites, tagRule()])
    for (const op of ops) {
      const violation = rule(op);
      if (violation) return violation;
    }
  return sources(ops, writes) ?? deletedTwice(ops) ?? lostUpdate(writes) ?? lost(ops, writes);
}

/** What is known of a stamp. */
interface Writing {
  readonly write: Write;
  readonly ops: Op[];
}
type Writings = ReadonlyMap<string, Writing>;

function writesIn(ops: readonly Op[]): Writings {
  const writes = new Map<string, Writing>();
  for (const op of ops) {
    if (op.write === undefined) continue;
    const known = writes.get(op.write.stamp) ?? { write: op.write, ops: [] };
    known.ops.push(op);
    writes.set(op.write.stamp, known);
  }
  return writes;
}

const pathOf = ({ title }: Op): string => title.split('/api/')[1]?.split('?')[0] ?? '';
const isDelete = ({ write }: Op): boolean => write?.kind === 'delete';
/** The moment at which the write had surely happened; Infinity where nobody was told. */
const doneAt = ({ ops }: Writing): number =>
  Math.min(Infinity, ...ops.filter((op) => outcomeOf(op) === 'done').map(({ to }) => to));
const begunAt = ({ ops }: Writing): number => Math.min(...ops.map(({ from }) => from));

function deletedTwice(ops: readonly Op[]): Violation | undefined {
  const done = ops.filter((op) => isDelete(op) && outcomeOf(op) === 'done');
  const [path, twice] = [...Map.groupBy(done, pathOf)].find(([, all]) => all.length > 1) ?? [];
  return twice && { rule: `${path} was deleted twice`, ops: twice };
}

/** Two writes with the tag of one state cannot both have been in time. */
function lostUpdate(writings: Writings): Violation | undefined {
  const followers = new Map<string, Writing>();
  for (const writing of writings.values()) {
    const { objects, basis } = writing.write;
    if (doneAt(writing) === Infinity) continue;
    for (const { object, state } of basis?.sightings ?? []) {
      if (!objects.includes(object)) continue;
      const other = followers.get(`${object}=${state}`);
      if (other) return { rule: `Two writes followed on ${object}=${state}`, ops: [...other.ops, ...writing.ops] };
      followers.set(`${object}=${state}`, writing);
    }
  }
  return undefined;
}

/** Reads that show less than what was acknowledged before they began. */
function lost(ops: readonly Op[], writings: Writings): Violation | undefined {
  const born = new Map<string, Op>();
  const writers = new Map<string, { readonly state: string | null; readonly writing: Writing }[]>();
  const note = (object: string, state: string | null, writing: Writing): void =>
    void writers.set(object, [...(writers.get(object) ?? []), { state, writing }]);
  for (const op of ops)
    for (const { object } of op.seen?.sightings ?? [])
      if (!object.includes('#') && (born.get(object)?.to ?? Infinity) > op.to) born.set(object, op);
  const created = new Map<string, string>();
  for (const { object, state } of ops.flatMap(({ seen }) => seen?.sightings ?? [])) {
    const write = writings.get(state ?? '')?.write;
    if (write?.kind === 'create' && object.startsWith(`${write.type}/`) && !object.includes('#'))
      created.set(write.stamp, object);
  }
  for (const writing of writings.values()) {
    const { kind, stamp, fields, objects } = writing.write;
    const own = kind === 'create' ? [created.get(stamp) ?? []].flat() : objects;
    if (kind === 'delete') continue;
    for (const object of own) note(object, stamp, writing);
    for (const [field, state] of Object.entries(fields)) if (own[0]) note(`${own[0]}#${field}`, state, writing);
  }
  const deletes = Map.groupBy(
    ops.filter((op) => isDelete(op) && outcomeOf(op) !== 'refused'),
    pathOf,
  );
  for (const op of ops.filter(({ write }) => write === undefined)) {
    for (const { object, state } of op.seen?.sightings ?? []) {
      const dead = deletes
        .get(object.split('#')[0] ?? '')
        ?.find((one) => outcomeOf(one) === 'done' && one.to < op.from);
      if (dead) return { rule: `${object} was deleted, and is there`, ops: [dead, op] };
      const all = writers.get(object) ?? [];
      const seen = all.filter((one) => one.state === state);
      const [first] = seen;
      const later = all.find(
        ({ writing }) => doneAt(writing) < op.from && seen.every((one) => doneAt(one.writing) < begunAt(writing)),
      );
      if (first && later)
        return {
          rule: `${object} shows "${state}", which a later write replaced`,
          ops: [...first.writing.ops, ...later.writing.ops, op],
        };
    }
    const missing = isMissing(op)
      ? [pathOf(op)]
      : (op.seen?.sets ?? []).flatMap(({ of, members }) =>
          [...born.keys()].filter((object) => object.startsWith(`${of}/`) && !members.includes(object)),
        );
    for (const object of missing) {
      const before = born.get(object);
      if (!before || before.to >= op.from || deletes.get(object)?.some(({ from }) => from < op.to)) continue;
      return { rule: `${object} is gone, and nobody deleted it`, ops: [before, op] };
    }
  }
  return undefined;
}

/** What a client may be told besides success. */
const REFUSALS: ReadonlyMap<string, number> = new Map([
  ['record-not-found', 404],
  ['request-timeout', 408],
  ['precondition-failed', 412],
  ['invalid-body', 422],
  ['invalid-reference', 422],
  ['storage-busy', 503],
  ['overloaded', 503],
  ['statement-timeout', 503],
  ['outcome-unknown', 504],
]);

function answers(op: Op): Violation | undefined {
  const { status, answer, title, write } = op;
  if (status === 0 || status < 300 || status === 304) return undefined;
  const code = codeOf(answer) ?? '';
  // Older descriptors do not know this type.
  const isKnown = REFUSALS.get(code) === status || (code === 'path-not-found' && title.includes('/memos'));
  if (!isKnown) return { rule: `An answer that is not promised: ${status} ${code}`, ops: [op] };
  const retryAfter = answer?.headers['retry-after'];
  // Neither POST nor PATCH is idempotent: sent again without a key, it could be done twice.
  const isUnsafe = status === 504 && /^P(OST|ATCH)/.test(title) && write?.key === undefined;
  if (status > 500 && (retryAfter === undefined) !== isUnsafe)
    return { rule: `${code}: Retry-After is ${isUnsafe ? 'there, and invites to do it twice' : 'missing'}`, ops: [op] };
  return undefined;
}

function tornRecords(op: Op): Violation | undefined {
  return op.seen?.torn[0] === undefined ? undefined : { rule: 'A record shows parts of two writes', ops: [op] };
}

/** The answer to a write shows what it wrote; a retry under a key shows what is there now. */
function ownWrites(op: Op): Violation | undefined {
  const { write, seen, status } = op;
  if (write === undefined || write.kind === 'delete' || write.key !== undefined || seen === undefined || status >= 300)
    return undefined;
  const { objects, type, stamp } = write;
  const shows = seen.sightings.some(
    ({ object, state }) =>
      state === stamp && (objects.length > 0 ? object === objects[0] : object.startsWith(`${type}/`)),
  );
  return shows ? undefined : { rule: 'The answer to a write does not show it', ops: [op] };
}

/** One entity tag never stands for two texts. */
function tagRule(): (op: Op) => Violation | undefined {
  const firsts = new Map<string, Op>();
  return (op) => {
    const { answer, seen } = op;
    const etag = answer?.headers.etag;
    if (answer === undefined || etag === undefined || seen === undefined || !answer.text.startsWith('{'))
      return undefined;
    const first = firsts.get(etag) ?? op;
    firsts.set(etag, first);
    return first.answer?.text === answer.text ? undefined : { rule: 'One entity tag, two texts', ops: [first, op] };
  };
}

/** Every state was written by a request that may have done so. */
function sources(ops: readonly Op[], writes: Writings): Violation | undefined {
  const created = new Map<string, { readonly object: string; readonly op: Op }>();
  for (const op of ops)
    for (const sighting of op.seen?.sightings ?? []) {
      const rule = fault(sighting, writes.get(sighting.state ?? ''));
      if (rule !== undefined) return { rule, ops: [...(writes.get(sighting.state ?? '')?.ops ?? []), op] };
      const { object, state } = sighting;
      const writing = writes.get(state ?? '');
      if (writing?.write.kind !== 'create' || object.includes('#') || !object.startsWith(writing.write.type)) continue;
      const first = created.get(state ?? '') ?? { object, op };
      created.set(state ?? '', first);
      if (first.object !== object)
        return {
          rule: `${writing.write.key === undefined ? 'One request' : 'One idempotency key'} made two records: ${first.object} and ${object}`,
          ops: [...writing.ops, first.op, op],
        };
    }
  return undefined;
}

function fault({ object, state }: Sighting, writing: Writing | undefined): string | undefined {
  if (state === null || state === GONE) return undefined;
  if (writing === undefined) return `Nobody wrote "${state}", which ${object} shows`;
  if (writing.ops.every((op) => outcomeOf(op) === 'refused')) return `${object} shows "${state}", which was refused`;
  const { write } = writing;
  const [type = ''] = object.split('/');
  const isPart = write.type === 'assemblies' && (type === 'parts' || type === 'boxes');
  const isMeant = write.kind === 'create' ? write.type === type : write.objects.includes(object);
  return isPart || isMeant
    ? undefined
    : `${object} shows "${state}", which was written to ${write.objects.join(', ') || write.type}`;
}
