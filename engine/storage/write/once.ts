/** Requests that are sent again: the answer to the first is kept, in the transaction that carried it out. */
import { Problem } from '../../problem.ts';
import type { Dialect, Statement, Writer } from '../driver.ts';
import { IDEMPOTENCY_TABLE } from '../engine-tables.ts';
import type { KeptAnswer, Once } from '../store.ts';

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
export type RunOnce = (writer: Writer, request: Once, work: () => Promise<KeptAnswer>) => Promise<KeptAnswer>;

export function createOnce(dialect: Dialect): RunOnce {
  const forget = forgetStatement(dialect);
  return async (writer, request, work) => {
    const { key, hash, now, keptSince } = request;
    const oldest = keptSince.toISOString();
    await writer.run(forget, [oldest, MAX_FORGOTTEN]);
    const { changes } = await writer.run(CLAIM, [key, hash, now.toISOString(), oldest]);
    if (changes === 0) return kept(writer, request);
    const answer = await work();
    await writer.run(KEEP, [answer.status, JSON.stringify(answer.headers), answer.body ?? null, key]);
    return answer;
  };
}

/** Oldest first. Requests that come together do not wait for each other's. */
export function forgetStatement({ locks }: Dialect): Statement {
  const expired = `select key from ${IDEMPOTENCY_TABLE} where created < ? order by created limit ?`;
  // As an array: PostgreSQL's planner would join a subselect with the whole table.
  const found = locks ? `= any (array(${expired} for update skip locked))` : `in (${expired})`;
  return { sql: `delete from ${IDEMPOTENCY_TABLE} where key ${found}` };
}

async function kept(writer: Writer, { key, hash }: Once): Promise<KeptAnswer> {
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
