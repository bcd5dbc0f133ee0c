/**
 * Judges a history. Every answer must be one that the documentation promises, every record that was seen must come from a
 * write that may have happened, and no read may miss a write that was acknowledged before it began.
 */
import type { Assembly } from '../../support/write-load.ts';
import { codeOf, type History, type Op, outcomeOf } from './clients.ts';

/** A broken promise, with the requests that show it. */
export interface Violation {
  readonly rule: string;
  readonly ops: readonly Op[];
}

/** Failures that a client may see. */
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

export function judge({ ops }: History): Violation | undefined {
  return ops.flatMap((op) => ofAnswer(op) ?? [])[0] ?? ofTags(ops) ?? ofWrites(ops) ?? ofReads(ops);
}

/** Parts of two writes must not show in one record. */
const isTorn = ({ stamp, parts, box }: Assembly): boolean =>
  parts.length !== 3 || [...parts, box].some((other) => other?.stamp !== stamp);

function ofAnswer(op: Op): Violation | undefined {
  const { answer, title, write, seen } = op;
  if (answer === undefined) return undefined;
  const { status, headers } = answer;
  if (seen.some(isTorn)) return { rule: 'A record shows parts of two writes', ops: [op] };
  // A retry under a key shows what is there now.
  const isShown = write === undefined || write.kind === 'delete' || write.key !== undefined || status >= 300;
  if (!isShown && seen[0]?.stamp !== write.stamp) return { rule: 'The answer to a write does not show it', ops: [op] };
  if (status < 300) return undefined;
  const code = codeOf(answer);
  if (REFUSALS.get(code) !== status) return { rule: `An answer that is not promised: ${status} ${code}`, ops: [op] };
  // A POST is not idempotent: sent again without a key, it could be done twice.
  const isUnsafe = status === 504 && title.startsWith('POST') && write?.key === undefined;
  if (status > 500 && (headers['retry-after'] === undefined) !== isUnsafe)
    return { rule: `${code}: Retry-After is ${isUnsafe ? 'present' : 'missing'}`, ops: [op] };
  return undefined;
}

/** One entity tag never stands for two texts. */
function ofTags(ops: readonly Op[]): Violation | undefined {
  const tagged = ops.filter(({ answer, seen }) => seen.length > 0 && answer?.headers.etag !== undefined);
  for (const [, all] of Map.groupBy(tagged, ({ answer }) => answer?.headers.etag)) {
    const other = all.find(({ answer }) => answer?.text !== all[0]?.answer?.text);
    if (other) return { rule: 'One entity tag, two texts', ops: [all[0] as Op, other] };
  }
  return undefined;
}

function ofWrites(ops: readonly Op[]): Violation | undefined {
  const writes = Map.groupBy(
    ops.filter(({ write }) => write !== undefined),
    ({ write }) => write?.stamp ?? 0,
  );
  const made = new Map<number, { readonly id: number; readonly op: Op }>();
  for (const op of ops)
    for (const { id, stamp } of op.seen) {
      const all = writes.get(stamp) ?? [];
      const [first] = all;
      const fault = (what: string): Violation => ({
        rule: `Assembly ${id} shows ${stamp}, ${what}`,
        ops: [...all, op],
      });
      if (first?.write === undefined) return fault('which nobody wrote');
      if (all.every((one) => outcomeOf(one) === 'refused')) return fault('which was refused');
      if (first.write.id !== undefined && first.write.id !== id) return fault('which was written to another record');
      const other = first.write.kind === 'create' ? made.get(stamp) : undefined;
      if (other && other.id !== id) return fault(`and so does assembly ${other.id}: one request made two records`);
      made.set(stamp, { id, op });
    }
  const done = ops.filter((op) => op.write !== undefined && outcomeOf(op) === 'done');
  const twice = (of: (op: Op) => string | undefined): readonly Op[] | undefined =>
    [...Map.groupBy(done, of)].find(([key, all]) => key !== undefined && all.length > 1)?.[1];
  const deleted = twice(({ write }) => (write?.kind === 'delete' ? String(write.id) : undefined));
  if (deleted) return { rule: 'A record was deleted twice', ops: deleted };
  const followed = twice(({ write }) => (write?.basis === undefined ? undefined : `${write.id} ${write.basis}`));
  return followed && { rule: 'Two writes followed on one state of a record', ops: followed };
}

/** Reads that show less than what was acknowledged before they began. */
function ofReads(ops: readonly Op[]): Violation | undefined {
  const created = new Map(ops.flatMap(({ seen }) => seen.map(({ id, stamp }) => [stamp, id] as const)));
  const writes = ops.filter(({ write }) => write !== undefined && write.kind !== 'delete');
  const byId = Map.groupBy(writes, ({ write }) => write?.id ?? created.get(write?.stamp ?? 0) ?? 0);
  const deletions = Map.groupBy(
    ops.filter((op) => op.write?.kind === 'delete' && outcomeOf(op) !== 'refused'),
    ({ write }) => write?.id ?? 0,
  );
  const born = new Map<number, Op>();
  for (const op of ops) for (const { id } of op.seen) if ((born.get(id)?.to ?? Infinity) > op.to) born.set(id, op);
  for (const op of ops.filter(({ write, answer }) => write === undefined && answer !== undefined)) {
    for (const { id, stamp } of op.seen) {
      const dead = deletions.get(id)?.find((one) => outcomeOf(one) === 'done' && one.to < op.from);
      if (dead) return { rule: `Assembly ${id} was deleted, and is there`, ops: [dead, op] };
      const all = byId.get(id) ?? [];
      const seen = all.filter(({ write }) => write?.stamp === stamp);
      const doneAt = Math.min(Infinity, ...seen.filter((one) => outcomeOf(one) === 'done').map(({ to }) => to));
      const later = all.find((one) => outcomeOf(one) === 'done' && one.to < op.from && doneAt < one.from);
      if (later)
        return { rule: `Assembly ${id} shows ${stamp}, which a later write replaced`, ops: [...seen, later, op] };
    }
    const own = Number(/assemblies\/(\d+)/.exec(op.title)?.[1] ?? 0);
    const isMissing = op.answer?.status === 404;
    const shown = new Set(op.seen.map(({ id }) => id));
    const isList = own === 0 && op.answer?.status === 200;
    for (const id of isMissing ? [own] : isList ? [...born.keys()].filter((one) => !shown.has(one)) : []) {
      const before = born.get(id);
      if (!before || before.to >= op.from || deletions.get(id)?.some(({ from }) => from < op.to)) continue;
      return { rule: `Assembly ${id} is gone, and nobody deleted it`, ops: [before, op] };
    }
  }
  return undefined;
}
