/** Requests that are sent again: the answer to the first is kept, in the transaction that carried it out. */
import { Problem } from '../../problem.ts';
import type { Statement, Writer } from '../driver.ts';
import { IDEMPOTENCY_TABLE } from '../engine-tables.ts';
import type { KeptAnswer, Once } from '../store.ts';

const FORGET: Statement = { sql: `delete from ${IDEMPOTENCY_TABLE} where created < ?` };
/** Where two come at once, the second waits here, and finds the answer of the first. */
const CLAIM: Statement = {
  sql: `insert into ${IDEMPOTENCY_TABLE} (key, hash, created) values (?, ?, ?) on conflict do nothing`,
};
const READ: Statement = { sql: `select hash, status, headers, body from ${IDEMPOTENCY_TABLE} where key = ?` };
const KEEP: Statement = { sql: `update ${IDEMPOTENCY_TABLE} set status = ?, headers = ?, body = ? where key = ?` };

/** Throws a Problem where the key was used for something else. `work` runs in the writer's transaction, or not at all. */
export async function once(writer: Writer, request: Once, work: () => Promise<KeptAnswer>): Promise<KeptAnswer> {
  const { key, hash, now, keptSince } = request;
  await writer.run(FORGET, [keptSince.toISOString()]);
  const { changes } = await writer.run(CLAIM, [key, hash, now.toISOString()]);
  if (changes === 0) return kept(writer, request);
  const answer = await work();
  await writer.run(KEEP, [answer.status, JSON.stringify(answer.headers), answer.body ?? null, key]);
  return answer;
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
