/** Stores idempotency keys in the transaction of the write, without bodies. */
import { faultyRequest, type Problem } from '../../problem.ts';
import type { Identifier } from '../../model/identifier.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Writer } from '../driver.ts';
import type { KeptAnswer, Once, Retried } from '../store.ts';
import { METADATA } from '../tables.ts';

const FORGOTTEN_TOGETHER = 1000;

/**
 * Runs `first` in the writer's transaction. If the key was used before, calls `again` with the records that `read` still
 * finds; throws a Problem if another request used it.
 */
export function createOnce(dialect: Dialect) {
  const claim = METADATA.claimKey(dialect);
  return async <A extends KeptAnswer>(
    writer: Writer,
    { identity, key, hash, hours }: Once,
    first: () => Promise<readonly [answer: A, identifiers: readonly Identifier[]]>,
    again: (retried: Retried) => A,
    read?: (identifier: Identifier) => Promise<string | undefined>,
  ): Promise<A> => {
    const { changes } = await writer.run(claim, [0, hash, identity, key, hours]);
    if (changes === 0) {
      const [knownHash, status, kept] = (await writer.get(METADATA.key, [identity, key])) ?? [];
      if (knownHash !== hash) throw reused();
      const identifiers = JSON.parse(String(kept)) as readonly Identifier[];
      const found = read ? await Promise.all(identifiers.map(read)) : [];
      return again({ status: Number(status), identifiers, bodies: found.flatMap((body) => body ?? []) });
    }
    const [answer, identifiers] = await first();
    await writer.run(METADATA.answerKey, [JSON.stringify(identifiers), answer.status, identity, key]);
    return answer;
  };
}

export async function forgetKeys({ dialect, write }: Pick<Driver, 'dialect' | 'write'>, hours: number): Promise<void> {
  const forget = METADATA.forgetKeys(dialect);
  for (let changes = FORGOTTEN_TOGETHER; changes >= FORGOTTEN_TOGETHER;)
    ({ changes } = await write(async (writer) => writer.run(forget, [hours, FORGOTTEN_TOGETHER])));
}

function reused(): Problem {
  const message = 'This idempotency key was sent with another request before; a new request needs a key of its own';
  return faultyRequest('idempotency-conflict', [{ header: 'Idempotency-Key', code: 'idempotency-conflict', message }]);
}
