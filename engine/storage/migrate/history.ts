/** Every model that was applied to the database, in order: the one it has now, and those that it has left behind. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonValue } from '../../json/json.ts';
import type { Model } from '../../model/model.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Dialect } from '../dialect.ts';
import { HISTORY_TABLE, MODEL_TABLE } from '../tables.ts';
import type { Reader, Row, Statement, Writer } from '../driver.ts';
import { type AppliedModel, NO_MODEL, parseApplied, readAppliedModel, writeAppliedModel } from './applied.ts';

const COLUMNS = 'number, digest, applied, at';
const LAST: Statement = { sql: `select ${COLUMNS} from ${HISTORY_TABLE} order by number desc limit 1` };
const OWN: Statement = { sql: `select ${COLUMNS} from ${HISTORY_TABLE} where digest = ? order by number desc limit 1` };
const FIRST: Statement = { sql: `select min(number) from ${HISTORY_TABLE} where digest = ?` };
const NUMBER: Statement = { sql: `select max(number) from ${HISTORY_TABLE}` };
const APPEND: Statement = { sql: `insert into ${HISTORY_TABLE} (${COLUMNS}) values (?, ?, ?, ?)` };

interface HistoryEntry {
  /** 1 for the first model. */
  readonly number: number;
  /** Of the descriptors that were applied. */
  readonly digest: string;
  /** The tables as they were then: what the descriptors name, and what was kept besides. */
  readonly applied: AppliedModel;
  readonly at: string;
}

/** The position of descriptors in the history of a database. */
export interface Standing {
  /**
   * current: applied last. behind: the database has a model that was applied for the first time after this one. new: all
   * others, so also descriptors that come again after the database went back to older ones.
   */
  readonly state: 'new' | 'current' | 'behind';
  readonly digest: string;
  /** The tables as they are. */
  readonly applied: AppliedModel;
  /** The current entry; undefined for a database without tables. */
  readonly last: HistoryEntry | undefined;
  /** The last time that these descriptors were applied. */
  readonly own: HistoryEntry | undefined;
}

/** `tables`: names of those that exist. */
export async function standingOf(
  model: Model,
  wanted: AppliedModel,
  reader: Reader,
  tables: readonly SqlValue[],
): Promise<Standing> {
  const digest = digestOf(model, wanted);
  const applied = tables.includes(MODEL_TABLE) ? await readAppliedModel(reader) : NO_MODEL;
  const hasHistory = tables.includes(HISTORY_TABLE);
  const last = hasHistory ? entryOf(await reader.get(LAST, [])) : undefined;
  if (last?.digest === digest) return { state: 'current', digest, applied, last, own: last };
  const own = hasHistory ? entryOf(await reader.get(OWN, [digest])) : undefined;
  const isBehind = own !== undefined && (await firstNumber(digest, reader)) < (await firstNumber(last?.digest, reader));
  return { state: isBehind ? 'behind' : 'new', digest, applied, last, own };
}

/** Of the first entry with this digest; infinite if there is none. */
async function firstNumber(digest: string | undefined, reader: Reader): Promise<number> {
  const number = digest === undefined ? null : await reader.value(FIRST, [digest]);
  return number === null || number === undefined ? Infinity : Number(number);
}

function entryOf(row: Row | undefined): HistoryEntry | undefined {
  if (row === undefined) return undefined;
  const [number, digest, applied, at] = row;
  return { number: Number(number), digest: String(digest), applied: parseApplied(String(applied)), at: String(at) };
}

/** Of the model that the database has. */
export const currentNumber = async (reader: Reader): Promise<number> => Number(await reader.value(NUMBER, []));

/** In the transaction that changes the tables. */
export async function remember(
  writer: Writer,
  { applied: before, last, digest }: Standing,
  applied: AppliedModel,
  { revision }: Pick<Dialect, 'revision'>,
): Promise<void> {
  const entry = [(last?.number ?? 0) + 1, digest, JSON.stringify(applied), new Date().toISOString()] as const;
  await writer.run(APPEND, entry);
  if (!isDeepStrictEqual(before, applied)) await writeAppliedModel(writer, applied);
  // Instances that run notice.
  for (const sql of revision.renew) await writer.run({ sql }, []);
}

// A digest of the tables that descriptors ask for, whatever the order and form in which they are written.

function digestOf(model: Model, wanted: AppliedModel): string {
  const renames = [...model.types.values()].flatMap(({ name, renamedFrom, fields, relations }) => [
    [name, renamedFrom],
    ...[...fields.values(), ...relations.values()].map((one) => [`${name}.${one.name}`, one.renamedFrom]),
  ]);
  const given = renames.flatMap(([name, from]) => (from === undefined ? [] : [`${name} ${from}`]));
  return digestOfApplied(wanted, given);
}

/** Without the SQL of tables and indexes: another version of the engine may word it differently. */
function digestOfApplied({ types, joins }: AppliedModel, renames: readonly string[]): string {
  const asked = [...Object.entries(types), ...joins.map((join) => [join.table, join] as const)].map(
    ([name, table]) => [name, { ...table, made: null }] as const,
  );
  const parts: unknown = { asked: Object.fromEntries(asked), renames: renames.toSorted() };
  return createHash('sha256')
    .update(JSON.stringify(ordered(parts as JsonValue)))
    .digest('hex');
}

/** With the keys of objects in one order. */
function ordered(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(ordered);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, ordered(one)] as const);
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
