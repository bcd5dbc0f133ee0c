/** Locks the records that a body names before anything is compared, always in the same order, to avoid deadlocks. */
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { identifierIn, type RecordType, type Relation } from '../../model/model.ts';
import { rememberRow, type WriteSession } from './session.ts';
import { Problem } from '../../problem.ts';
import type { Dialect, Statement, Writer } from '../driver.ts';
import { IDEMPOTENCY_TABLE } from '../engine-tables.ts';
import type { KeptAnswer, Once } from '../store.ts';

interface LockedRecord {
  readonly pointer: string;
  /** Only linked: it must not be deleted, but others may link it too. */
  readonly kept: boolean;
}

/** From this many on, one statement that loads all is cheaper than one for each. */
const MANY = 8;

type Gathered = Map<RecordType, Map<number, LockedRecord>>;

/**
 * `identifier`: the record that is addressed; undefined for one that is to be made. Where writes run one by one, nothing
 * has to be locked, but many records of a type are still loaded at once.
 */
export async function lockNamed(
  session: WriteSession,
  type: RecordType,
  identifier: number | undefined,
  body: JsonObject,
): Promise<void> {
  const { locks } = session.tables;
  if (!locks && type.relations.size === 0) return;
  const gathered: Gathered = new Map();
  if (locks && identifier !== undefined) note(gathered, type, identifier, { pointer: '', kept: false });
  gatherFrom(gathered, type, body, '');
  const inOrder = [...gathered].toSorted(([a], [b]) => (a.name < b.name ? -1 : 1));
  for (const [named, records] of inOrder) {
    await lockAll(session, named, records, false);
    await lockAll(session, named, records, true);
  }
}

async function lockAll(
  session: WriteSession,
  type: RecordType,
  records: ReadonlyMap<number, LockedRecord>,
  kept: boolean,
): Promise<void> {
  const identifiers = [...records].flatMap(([identifier, named]) => (named.kept === kept ? [identifier] : []));
  if (identifiers.length < (session.tables.locks ? 1 : MANY)) return;
  const { lock, keep } = session.tables.of(type);
  const rows = await session.writer.all(kept ? keep : lock, [JSON.stringify(identifiers)]);
  for (const row of rows) rememberRow(session, type, row, records.get(Number(row[0]))?.pointer ?? '');
}

function note(gathered: Gathered, type: RecordType, identifier: number, { pointer, kept }: LockedRecord): void {
  const records = gathered.get(type) ?? new Map<number, LockedRecord>();
  gathered.set(type, records);
  const known = records.get(identifier);
  records.set(identifier, { pointer: known?.pointer ?? pointer, kept: kept && (known?.kept ?? true) });
}

function gatherFrom(gathered: Gathered, type: RecordType, body: JsonObject, pointer: string): void {
  for (const [key, value] of Object.entries(body)) {
    const relation = type.relations.get(key);
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
  const kept = link.at !== 'target' && Object.keys(value).length === 1;
  if (identifier !== undefined) note(gathered, target, identifier, { pointer, kept });
  gatherFrom(gathered, target, value, pointer);
}

// Requests that are repeated: the answer to the first one is stored in the same transaction as its write.

/** Expired keys that one request removes: more than it adds, so that they never pile up, and few enough to go unnoticed. */
const MAX_FORGOTTEN = 100;
/** An expired key counts as a new one. Where two come at once, the second waits here, and finds the answer of the first. */
const CLAIM: Statement = {
  sql: `insert into ${IDEMPOTENCY_TABLE} as known (key, hash, created) values (?, ?, ?)
    on conflict (key) do update set hash = excluded.hash, created = excluded.created where known.created < ?`,
};
const READ: Statement = { sql: `select hash, status, headers, body from ${IDEMPOTENCY_TABLE} where key = ?` };
const KEEP: Statement = { sql: `update ${IDEMPOTENCY_TABLE} set status = ?, headers = ?, body = ? where key = ?` };

/** Throws a Problem where the key was used for something else. `work` runs in the writer's transaction, or not at all. */
type RunOnce = (writer: Writer, request: Once, work: () => Promise<KeptAnswer>) => Promise<KeptAnswer>;

export function createOnce(dialect: Dialect): RunOnce {
  const forget = forgetStatement(dialect);
  return async (writer, request, work) => {
    const { key, hash, now, keptSince } = request;
    const oldest = keptSince.toISOString();
    await writer.run(forget, [oldest, MAX_FORGOTTEN]);
    const { changes } = await writer.run(CLAIM, [key, hash, now.toISOString(), oldest]);
    if (changes === 0) return keptAnswer(writer, request);
    const answer = await work();
    await writer.run(KEEP, [answer.status, JSON.stringify(answer.headers), answer.body ?? null, key]);
    return answer;
  };
}

/** Oldest first. Requests that come together do not wait for each other's. */
export function forgetStatement({ locks }: Dialect): Statement {
  const expired = `select key from ${IDEMPOTENCY_TABLE} where created < ? order by created limit ?`;
  // As an array: PostgreSQL would join a subselect with the whole table.
  const found = locks ? `= any (array(${expired} for update skip locked))` : `in (${expired})`;
  return { sql: `delete from ${IDEMPOTENCY_TABLE} where key ${found}` };
}

async function keptAnswer(writer: Writer, { key, hash }: Once): Promise<KeptAnswer> {
  const [knownHash, status, headers, body] = (await writer.get(READ, [key])) ?? [];
  if (knownHash !== hash) throw reused();
  const text = body === null || body === undefined ? undefined : String(body);
  return { status: Number(status), headers: JSON.parse(String(headers)), body: text };
}

function reused(): Problem {
  const message = 'This Idempotency-Key was sent with another request before; a new request needs a key of its own';
  return new Problem('idempotency-conflict', message, {
    errors: [{ header: 'Idempotency-Key', code: 'idempotency-conflict', message }],
  });
}
