/**
 * Locks the records that a write compares, always in the same order, to avoid deadlocks: those that the body names, and
 * those that the tag in If-Match was made from.
 */
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../../json/json.ts';
import { type BodyRecord, relationsIn } from '../../model/bodies.ts';
import { identifierIn, type RecordType, type Relation } from '../../model/model.ts';
import { rememberAbsent, rememberRow, type WriteSession } from './session.ts';
import type { Row } from '../driver.ts';
import type { ViewRow } from '../read/view-limits.ts';
import type { Strength } from './tables.ts';

interface LockedRecord {
  /** Its place in the body; undefined if only the tag was made from it. */
  readonly pointer: string | undefined;
  readonly strength: Strength;
}

/** From this many on, one statement that loads all is cheaper than one for each. */
const MANY = 8;

/** Values and what is made of them. */
const COPIES = 2;

type Records = Map<number, LockedRecord>;
type Gathered = Map<RecordType, Records>;

/** Identifiers of records that are locked against every change. */
type Held = Map<RecordType, Set<number>>;

/** The related records that the tag in If-Match was made from; undefined if they are more than an answer may show. */
export type FindShown = () => Promise<readonly ViewRow[] | undefined>;

/**
 * Where writes run one by one, nothing has to be locked, but many records of a type are still loaded at once. Returns
 * whether all that is shown is locked.
 */
export async function lockNamed(
  session: WriteSession,
  type: RecordType,
  records: readonly BodyRecord[],
  findShown?: FindShown,
): Promise<boolean> {
  const { locks } = session.tables;
  if (!locks && type.relations.size === 0 && records.length < MANY) return true;
  const gathered: Gathered = new Map();
  for (const { identifier, pointer } of records)
    if (identifier !== undefined) note(gathered, type, identifier, { pointer, strength: 'update' });
  if (type.relations.size > 0) for (const { body, pointer } of records) gatherFrom(gathered, type, body, pointer);
  if (!locks) await loadMany(session, gathered);
  else if (findShown) return lockShown(session, gathered, findShown);
  else await lockAll(session, gathered);
  return true;
}

async function loadMany(session: WriteSession, gathered: Gathered): Promise<void> {
  for (const [type, records] of gathered) {
    if (records.size < MANY) continue;
    const statement = session.tables.of(type).lock('update');
    const rows = await session.writer.all(statement, [JSON.stringify([...records.keys()])]);
    rememberRows(session, type, rows, records);
  }
}

/** All rows of the records that were asked for: the others are not there. A short body can name thousands of long records. */
function rememberRows(session: WriteSession, type: RecordType, rows: readonly Row[], asked: Records): void {
  const texts = rows.flatMap((row) => row.filter((value) => typeof value === 'string'));
  if (rows.length >= MANY) session.caller.take(texts.reduce((sum, text) => sum + COPIES * text.length, 0));
  const absent = new Set(asked.keys());
  for (const row of rows) {
    const identifier = Number(row[0]);
    absent.delete(identifier);
    rememberRow(session, type, row, asked.get(identifier)?.pointer ?? '');
  }
  for (const identifier of absent) rememberAbsent(session, type, identifier, asked.get(identifier)?.pointer ?? '');
}

/**
 * A record can come into view until all that are shown are locked: then it is too late to lock it in order, too. Against
 * new rows that refer to it, since a set of it may be shown.
 */
async function lockShown(session: WriteSession, gathered: Gathered, findShown: FindShown): Promise<boolean> {
  const held: Held = new Map();
  for (const { type, identifier } of (await findShown()) ?? [])
    note(gathered, type, identifier, { pointer: undefined, strength: 'update' });
  const [, shown] = await Promise.all([lockAll(session, gathered, held), findShown()]);
  return shown !== undefined && shown.every(({ type, identifier }) => held.get(type)?.has(identifier));
}

/** The statements are sent together, and run one after the other. */
async function lockAll(session: WriteSession, gathered: Gathered, held: Held = new Map()): Promise<void> {
  const inOrder = [...gathered].toSorted(([a], [b]) => (a.name < b.name ? -1 : 1));
  const locked = inOrder.flatMap(([type, records]) => runsOf(records).map((run) => lockRun(session, type, run, held)));
  await Promise.all(locked);
}

async function lockRun(
  session: WriteSession,
  type: RecordType,
  { records, strength, isNamed }: Run,
  held: Held,
): Promise<void> {
  const { lock, hold } = session.tables.of(type);
  const rows = await session.writer.all((isNamed ? lock : hold)(strength), [JSON.stringify([...records.keys()])]);
  const known = held.get(type) ?? new Set<number>();
  held.set(type, known);
  if (strength === 'update') for (const row of rows) known.add(Number(row[0]));
  if (isNamed) rememberRows(session, type, rows, records);
}

/** Records that one statement locks. */
interface Run {
  readonly records: Records;
  readonly strength: Strength;
  readonly isNamed: boolean;
}

/** In the order of identifiers, however they are locked. */
function runsOf(records: Records): readonly Run[] {
  const runs: Run[] = [];
  for (const [identifier, record] of [...records].toSorted(([a], [b]) => a - b)) {
    const { strength, pointer } = record;
    const isNamed = pointer !== undefined;
    const last = runs.at(-1);
    if (last?.strength === strength && last.isNamed === isNamed) last.records.set(identifier, record);
    else runs.push({ records: new Map([[identifier, record]]), strength, isNamed });
  }
  return runs;
}

function note(gathered: Gathered, type: RecordType, identifier: number, { pointer, strength }: LockedRecord): void {
  const records: Records = gathered.get(type) ?? new Map();
  gathered.set(type, records);
  const known = records.get(identifier);
  records.set(identifier, {
    pointer: known?.pointer ?? pointer,
    strength: known?.strength === 'update' ? 'update' : strength,
  });
}

function gatherFrom(gathered: Gathered, type: RecordType, body: JsonObject, pointer: string): void {
  for (const key of relationsIn(type, body)) {
    const relation = type.relations.get(key);
    const value = body[key];
    if (!relation || typeof value !== 'object') continue;
    const at = `${pointer}/${escapeStep(key)}`;
    if (Array.isArray(value))
      for (const [index, item] of value.entries()) gatherOne(gathered, relation, item, `${at}/${index}`);
    else gatherOne(gathered, relation, value, at);
  }
}

function gatherOne(gathered: Gathered, relation: Relation, value: JsonValue, pointer: string): void {
  if (!isObject(value)) return;
  const { target, link } = relation;
  const identifier = identifierIn(value, target);
  // Only linked: it must not be deleted, but others may link it too.
  const isLink = link.at !== 'target' && Object.keys(value).length === 1;
  if (identifier !== undefined)
    note(gathered, target, identifier, { pointer, strength: isLink ? 'key share' : 'update' });
  gatherFrom(gathered, target, value, pointer);
}
