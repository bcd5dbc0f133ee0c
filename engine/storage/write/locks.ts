/** Locks the records in the body and the records that the ETag in If-Match covers, in one order to avoid deadlocks. */
import { escapeStep, isObject, type JsonObject } from '../../json/json.ts';
import { compareIdentifiers, type Identifier } from '../../model/identifier.ts';
import { type BodyRecord, identifierIn, type RecordType, relationsIn } from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { COPIES_OF_TEXT, type Row } from '../driver.ts';
import type { ViewRow } from '../read/views.ts';
import { remember, type Transaction, type WriteSession } from './session.ts';
import type { Strength } from './tables.ts';

/** From this count on, one statement for all is cheaper than one for each. */
const BULK_FROM = 8;

interface LockedRecord {
  readonly identifier: Identifier;
  readonly pointer: string | undefined;
  readonly strength: Strength;
}

type Named = Map<RecordType, Map<Identifier, LockedRecord>>;

/** Finds the related records that the ETag covers; undefined if they exceed the limit of a response. */
type FindShown = () => Promise<readonly ViewRow[] | undefined>;

/** Finds the related records that the client's ETags cover, to lock them too. */
export const shownTo = (
  { reads, writer }: Transaction,
  view: View,
  tagged: readonly Identifier[],
): FindShown | undefined =>
  view.relations.length > 0
    ? async () => {
        const shown = await reads.shown(writer, view, tagged);
        if (shown === undefined && tagged.length > 1) throw tagsTooLarge();
        return shown;
      }
    : undefined;

function tagsTooLarge(): Problem {
  const message =
    'The tags of this batch were made from too many related records; send fewer records at once, or take tags of less with fields= or include=';
  return new Problem('too-many-related', message);
}

/** Returns whether all shown records are locked. Records that appeared meanwhile cannot be locked in order any more. */
export async function lockNamed(
  session: WriteSession,
  type: RecordType,
  records: readonly BodyRecord[],
  findShown?: FindShown,
): Promise<boolean> {
  const { locks } = session.tables;
  if (!locks && type.relations.size === 0 && records.length < BULK_FROM) return true;
  const named: Named = new Map();
  for (const { identifier, pointer, body } of records) {
    if (identifier !== undefined) note(named, type, { identifier, pointer, strength: 'update' });
    nameWithin(named, type, body, pointer);
  }
  if (!locks || !findShown) {
    if (named.size > 0) await lockAll(session, named);
    return true;
  }
  // `update` also blocks new rows that refer to them, since their sets may be shown.
  for (const one of (await findShown()) ?? [])
    note(named, one.type, { identifier: one.identifier, pointer: undefined, strength: 'update' });
  const [held, shown] = await Promise.all([lockAll(session, named), findShown()]);
  return shown !== undefined && shown.every((one) => held.has(`${one.type.name} ${one.identifier}`));
}

function nameWithin(named: Named, type: RecordType, body: JsonObject, pointer: string): void {
  for (const key of relationsIn(type, body)) {
    const relation = type.relations.get(key);
    const value = body[key] ?? null;
    for (const [index, item] of (Array.isArray(value) ? value : [value]).entries()) {
      if (!relation || !isObject(item)) continue;
      const { target, link } = relation;
      const at = `${pointer}/${escapeStep(key)}${Array.isArray(value) ? `/${index}` : ''}`;
      const identifier = identifierIn(item, target);
      // Other writes must not delete a record that is only linked, but may link it.
      const isLink = link.at !== 'target' && Object.keys(item).length === 1;
      const strength = isLink ? 'key share' : 'update';
      if (identifier !== undefined) note(named, target, { identifier, pointer: at, strength });
      nameWithin(named, target, item, at);
    }
  }
}

function note(named: Named, type: RecordType, { identifier, pointer, strength }: LockedRecord): void {
  const records = named.get(type) ?? new Map<Identifier, LockedRecord>();
  const known = records.get(identifier);
  const strongest = known?.strength === 'update' ? 'update' : strength;
  named.set(type, records.set(identifier, { identifier, pointer: known?.pointer ?? pointer, strength: strongest }));
}

/** Lets foreign keys check the linked records; false if the body names records to change. */
export function trustLinks(session: WriteSession, type: RecordType, body: JsonObject): boolean {
  const named: Named = new Map();
  nameWithin(named, type, body, '');
  for (const [linked, records] of named)
    for (const { identifier, pointer = '', strength } of records.values()) {
      if (strength !== 'key share') return false;
      remember(session, linked, identifier, pointer, 'unread');
    }
  return true;
}

/** Returns the records locked against changes. */
async function lockAll(session: WriteSession, named: Named): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  const locked: Promise<void>[] = [];
  for (const [type, records] of [...named].toSorted(([a], [b]) => (a.name < b.name ? -1 : 1))) {
    // Adjacent records with the same lock share a statement.
    const runs: LockedRecord[][] = [];
    for (const record of [...records.values()].toSorted((a, b) => compareIdentifiers(a.identifier, b.identifier))) {
      const run = runs.at(-1);
      if (run && run[0]?.strength === record.strength && isNamed(run[0]) === isNamed(record)) run.push(record);
      else runs.push([record]);
    }
    for (const run of runs)
      if (session.tables.locks || run.length >= BULK_FROM) locked.push(lockRun(session, type, run, held));
  }
  await Promise.all(locked);
  return held;
}

const isNamed = ({ pointer }: LockedRecord): boolean => pointer !== undefined;

async function lockRun(session: WriteSession, type: RecordType, run: readonly LockedRecord[], held: Set<string>) {
  const [first] = run;
  if (!first) return;
  const { lock, hold } = session.tables.of(type);
  const statement = (isNamed(first) ? lock : hold)(first.strength);
  // A short body can name thousands of long records.
  const charge = (row: Row): void => {
    for (const value of row) if (typeof value === 'string') session.caller.take(COPIES_OF_TEXT * value.length);
  };
  const identifiers = JSON.stringify(run.map(({ identifier }) => identifier));
  const rows = await session.writer.all(statement, [identifiers], run.length < BULK_FROM ? undefined : charge);
  const stored = new Map(rows.map((row) => [row[0] as Identifier, row]));
  if (first.strength === 'update') for (const identifier of stored.keys()) held.add(`${type.name} ${identifier}`);
  if (!isNamed(first)) return;
  for (const { identifier, pointer = '' } of run) remember(session, type, identifier, pointer, stored.get(identifier));
}
