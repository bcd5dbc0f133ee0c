/**
 * Long values of records that are deleted or unlinked. SQLite frees and copies them page by page, in the process of the
 * service, and a thousand megabytes take seconds. So they go some megabytes at a time before the statement that the rest
 * takes: other requests have their turns in between. But other writes wait until the transaction ends, so one write may
 * free or copy only so many bytes. PostgreSQL does that work in a process of its own, and its other writes do not wait.
 */
import { append } from '../../append.ts';
import { memoized } from '../../memo.ts';
import type { RecordType } from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import { type MetRecords, newlyMet } from './effects.ts';
import type { WriteSession } from './session.ts';
import { stampValues } from './stamps.ts';
import { isLong } from './tables.ts';

/** Bytes of long values of one statement: a millisecond or two. */
const AT_ONCE = 4 * 1024 * 1024;

const MIB = 1024 ** 2;

/** Bytes of long values that one write may free or copy: a third of a second. */
export const MOST_LONG_BYTES = 1024 * MIB;

/** Whether deleting records of this type may delete or unlink records with long values. */
const reachesLong = memoized((type: RecordType): boolean => {
  const gone = new Set([type]);
  const cut = new Set<RecordType>();
  for (const one of gone)
    for (const { type: child, reference } of one.referrers) {
      if (reference.onDelete === 'cascade') gone.add(child);
      else if (reference.onDelete === 'setNull') cut.add(child);
    }
  return [...gone, ...cut].some((one) => one.open || [...one.fields.values(), ...one.hidden].some(isLong));
});

/** Called before the records are deleted, and with them what the database deletes or unlinks. All is counted first. */
export async function dropLongValues(
  session: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
  pointer: string,
): Promise<void> {
  const { tables, writer, writeRows } = session;
  if (tables.locks || !reachesLong(type)) return;
  const met: MetRecords = new Map([[type.table, new Set(identifiers)]]);
  const agenda: (readonly [RecordType, readonly number[]])[] = [[type, identifiers]];
  const steps: (() => Promise<unknown>)[] = [];
  for (const [parent, some] of agenda) {
    append(steps, await shortenings(session, parent, some, pointer));
    for (const { type: child, reference } of parent.referrers) {
      if (reference.onDelete === 'restrict' || !reachesLong(child)) continue;
      const { someChildren } = tables.of(child);
      const found = await writer.column(someChildren(reference.column), [JSON.stringify(some), writeRows]);
      if (reference.onDelete === 'setNull') {
        for (const group of await longGroups(session, child, found.map(Number), pointer))
          steps.push(() => unlinkAll(session, child, reference.column, group));
        continue;
      }
      const fresh = newlyMet(met, child, found);
      if (fresh.length > 0) agenda.push([child, fresh]);
    }
  }
  for (const step of steps) await step();
}

/** Unlinks these records from what the column refers to. */
export async function unlinkMany(
  session: WriteSession,
  type: RecordType,
  column: string,
  identifiers: readonly number[],
  pointer: string,
): Promise<void> {
  const groups = session.tables.locks ? [] : await longGroups(session, type, identifiers, pointer);
  const long = new Set(groups.flat());
  for (const group of [identifiers.filter((identifier) => !long.has(identifier)), ...groups])
    if (group.length > 0) await unlinkAll(session, type, column, group);
}

async function unlinkAll(
  session: WriteSession,
  type: RecordType,
  column: string,
  identifiers: readonly number[],
): Promise<void> {
  const table = session.tables.of(type);
  const values = [...stampValues(session, table.filled), JSON.stringify(identifiers)];
  await session.writer.run(table.unlinkMany(column), values);
}

async function shortenings(
  session: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
  pointer: string,
): Promise<readonly (() => Promise<unknown>)[]> {
  const { shorten } = session.tables.of(type);
  if (shorten === undefined) return [];
  const groups = await longGroups(session, type, identifiers, pointer);
  return groups.map((group) => async () => session.writer.run(shorten, [JSON.stringify(group)]));
}

/** Those with long values, as many at a time as one statement should take. */
async function longGroups(
  session: WriteSession,
  type: RecordType,
  identifiers: readonly number[],
  pointer: string,
): Promise<readonly (readonly number[])[]> {
  const { tables, writer, long } = session;
  const { longRows } = tables.of(type);
  // One record alone is as long as a body at most.
  if (longRows === undefined || identifiers.length < 2) return [];
  const groups: number[][] = [];
  let room = 0;
  for (const [identifier, bytes] of await writer.all(longRows, [JSON.stringify(identifiers)])) {
    if (room <= 0) {
      groups.push([]);
      room = AT_ONCE;
    }
    groups.at(-1)?.push(Number(identifier));
    room -= Number(bytes);
    long.left -= Number(bytes);
    if (long.left < 0) throw tooManyBytes(long.most, pointer);
  }
  return groups;
}

function tooManyBytes(most: number, pointer: string): Problem {
  const message =
    `The write would delete or unlink records with more than ${most / MIB} MiB of long values in one step, while all other ` +
    'writes wait: do it in several, or let an operator remove a large tree with "records delete TYPE ID --chunked"';
  return new Problem('too-many-rows', message, { errors: [{ pointer, code: 'too-many-rows', message }] });
}
