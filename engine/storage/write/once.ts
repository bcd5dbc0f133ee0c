/** Stores idempotency keys in the transaction of the write, without bodies. */
import { faultyRequest } from '../../problem.ts';
import type { Identifier } from '../../model/identifier.ts';
import type { Driver, Statement, Writer } from '../driver.ts';
import type { Once } from '../store.ts';
import { METADATA } from '../tables.ts';

const FORGOTTEN_TOGETHER = 1000;

/**
 * Claims the key in the writer's transaction. Returns the status and the records of an earlier write that had it; throws a
 * Problem if that was another request. `claim`: of METADATA.
 */
export async function claimKey(writer: Writer, claim: Statement, { identity, key, hash, hours }: Once) {
  const { changes } = await writer.run(claim, [0, hash, identity, key, hours]);
  if (changes > 0) return undefined;
  const [knownHash, status, kept] = (await writer.get(METADATA.key, [identity, key])) ?? [];
  if (knownHash !== hash) {
    const message = 'This idempotency key was sent with another request before; a new request needs a key of its own';
    throw faultyRequest('idempotency-conflict', [{ header: 'Idempotency-Key', code: 'idempotency-conflict', message }]);
  }
  return { status: Number(status), identifiers: JSON.parse(String(kept)) as readonly Identifier[] };
}

export async function forgetKeys({ dialect, write }: Pick<Driver, 'dialect' | 'write'>, hours: number): Promise<void> {
  const forget = METADATA.forgetKeys(dialect);
  for (let changes = FORGOTTEN_TOGETHER; changes >= FORGOTTEN_TOGETHER;)
    ({ changes } = await write(async (writer) => writer.run(forget, [hours, FORGOTTEN_TOGETHER])));
}
