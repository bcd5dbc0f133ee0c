/** Locks the records in the body and the records that the ETag in If-Match covers, in one order to avoid deadlocks. */
import type { JsonObject } from '../../json/json.ts';
import { compareIdentifiers, type Identifier } from '../../model/identifier.ts';
import { type BodyRecord, type RecordType, recordsWithin } from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { COPIES_OF_TEXT, type Row } from '../driver.ts';
import type { ViewRow } from '../read/views.ts';
import { nameOf, remember, seenAmong, type Transaction, type WriteSession } from './session.ts';
import type { Strength } from './tables.ts';

/** From this count on, one statement for all is cheaper than one for each. */
const BULK_FROM = 8;

interface NamedRecord {
  readonly type: RecordType;
  readonly identifier: Identifier;
  /** undefined if the body does not name it. */
  readonly pointer: string | undefined;
  readonly strength: Strength;
}

/** By type and identifier. */
type NamedRecords = Map<string, NamedRecord>;

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
        if (shown === undefined && tagged.length > 1) throw new Problem('too-many-related', TAGS_TOO_LARGE);
        return shown;
      }
    : undefined;

const TAGS_TOO_LARGE =
  'The tags of this batch were made from too many related records; send fewer records at once, or take tags of less with fields= or include=';

/** Returns whether all shown records are locked. Records that appeared meanwhile cannot be locked in order any more. */
export async function lockNamed(
  session: WriteSession,
  type: RecordType,
  records: readonly BodyRecord[],
  findShown?: FindShown,
): Promise<boolean> {
  const { locks } = session.tables;
  if (!locks && type.relations.size === 0 && records.length < BULK_FROM) return true;
  const named: NamedRecords = new Map();
  for (const { identifier, pointer, body } of records) {
    if (identifier !== undefined) note(named, { type, identifier, pointer, strength: 'update' });
    nameWithin(named, type, body, pointer);
  }
  if (!locks || !findShown) {
    if (named.size > 0) await lockAll(session, named);
    return true;
  }
  // `update` also blocks new rows that refer to them, since their sets may be shown.
  for (const one of (await findShown()) ?? []) note(named, { ...one, pointer: undefined, strength: 'update' });
  const [locked, shown] = await Promise.all([lockAll(session, named), findShown()]);
  return shown !== undefined && shown.every((one) => locked.has(nameOf(one)));
}

function nameWithin(named: NamedRecords, type: RecordType, body: JsonObject, pointer: string): void {
  for (const { relation, body: item, identifier, pointer: at } of recordsWithin(type, body, pointer)) {
    if (identifier === undefined) continue;
    // Other writes must not delete a record that is only linked, but may link it.
    const isLink = relation.link.at !== 'target' && Object.keys(item).length === 1;
    note(named, { type: relation.target, identifier, pointer: at, strength: isLink ? 'key share' : 'update' });
  }
}

function note(named: NamedRecords, record: NamedRecord): void {
  const { pointer = record.pointer, strength } = named.get(nameOf(record)) ?? {};
  named.set(nameOf(record), { ...record, pointer, strength: strength === 'update' ? strength : record.strength });
}

/** Lets foreign keys check the linked records; false if the body names records to change. */
export function trustLinks(session: WriteSession, type: RecordType, body: JsonObject): boolean {
  const named: NamedRecords = new Map();
  nameWithin(named, type, body, '');
  for (const { type: linked, identifier, pointer = '', strength } of named.values()) {
    if (strength !== 'key share') return false;
    remember(session, linked, identifier, pointer, 'unread');
  }
  return true;
}

/** Returns the records locked against changes. */
async function lockAll(session: WriteSession, named: NamedRecords): Promise<ReadonlySet<string>> {
  // Adjacent records with the same lock share a statement.
  const runs: NamedRecord[][] = [];
  const inOrder = [...named.values()].toSorted(
    (a, b) => compareIdentifiers(a.type.name, b.type.name) || compareIdentifiers(a.identifier, b.identifier),
  );
  for (const record of inOrder) {
    const run = runs.at(-1);
    if (run?.[0] && isSameLock(run[0], record)) run.push(record);
    else runs.push([record]);
  }
  const locked = new Set<string>();
  const sent = runs.filter(({ length }) => session.tables.locks || length >= BULK_FROM);
  await Promise.all(sent.map((run) => lockRun(session, run, locked)));
  return locked;
}

const isSameLock = (one: NamedRecord, other: NamedRecord): boolean =>
  one.type === other.type && one.strength === other.strength && isNamed(one) === isNamed(other);

const isNamed = ({ pointer }: NamedRecord): boolean => pointer !== undefined;

async function lockRun(session: WriteSession, run: readonly NamedRecord[], locked: Set<string>): Promise<void> {
  const [first] = run;
  if (!first) return;
  const { type, strength } = first;
  const { load, lock } = session.tables.of(type).locking(strength);
  // A short body can name thousands of long records.
  const charge = (row: Row): void => {
    for (const value of row) if (typeof value === 'string') session.caller.take(COPIES_OF_TEXT * value.length);
  };
  const identifiers = JSON.stringify(run.map(({ identifier }) => identifier));
  const rows = await session.writer.all(
    isNamed(first) ? load : lock,
    [identifiers],
    run.length < BULK_FROM ? undefined : charge,
  );
  const stored = new Map(rows.map((row) => [row[0] as Identifier, row]));
  if (strength === 'update') for (const identifier of stored.keys()) locked.add(nameOf({ type, identifier }));
  if (!isNamed(first)) return;
  const seen = new Set(await seenAmong(session, type, [...stored.keys()]));
  for (const { identifier, pointer = '' } of run)
    remember(session, type, identifier, pointer, seen.has(identifier) ? stored.get(identifier) : undefined);
}
