/**
 * Judges a history. Every answer must be one that the README promises, every state that was seen must come from a write
 * that may have happened, and all requests together must have happened in one order that agrees with what each of them
 * saw and with which ended before which began (strict serializability).
 */
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
import { isInCycle } from './order.ts';
import { transactionsOf } from './transactions.ts';

/** The first violation of the first rule that is broken. */
export function judge({ ops }: History): Violation | undefined {
  const writes = writesIn(ops);
  for (const rule of [answers, tornRecords, ownWrites, tagRule()])
    for (const op of ops) {
      const violation = rule(op);
      if (violation) return violation;
    }
  const { transactions, violation } = transactionsOf(ops, writes);
  return sources(ops, writes) ?? violation ?? isInCycle(transactions);
}

/** What is known of a stamp. */
export interface Writing {
  readonly write: Write;
  readonly ops: Op[];
}
export type Writings = ReadonlyMap<string, Writing>;

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

/** The answer to a write shows what it wrote. */
function ownWrites(op: Op): Violation | undefined {
  const { write, seen, status } = op;
  if (write === undefined || write.kind === 'delete' || seen === undefined || status >= 300) return undefined;
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
