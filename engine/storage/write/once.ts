/** Idempotency keys, kept in the transaction of the write. A body is never kept. */
import { Problem } from '../../problem.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Statement, Writer } from '../driver.ts';
import type { KeptAnswer, Once, Retried } from '../store.ts';
import { IDEMPOTENCY_TABLE } from '../tables.ts';

const FORGOTTEN_TOGETHER = 1000;

const READ: Statement = {
  sql: `select hash, status, identifiers from ${IDEMPOTENCY_TABLE} where identity = ? and key = ?`,
};
const KEEP: Statement = {
  sql: `update ${IDEMPOTENCY_TABLE} set status = ?, identifiers = ? where identity = ? and key = ?`,
};

/** An expired key counts as a new one. Where two come at once, the second waits here. Bound: identity, key, hash, 0, hours. */
const claimOf = ({ hoursAgo }: Dialect): Statement => ({
  sql: `insert into ${IDEMPOTENCY_TABLE} as known (identity, key, hash, created) values (?, ?, ?, ${hoursAgo})
    on conflict (identity, key) do update set hash = excluded.hash, created = excluded.created
    where known.created < ${hoursAgo}`,
});

/** Deletes expired keys. Bound: hours, how many at most. */
function forgetOf({ locks, hoursAgo }: Dialect): Statement {
  const expired = (columns: string): string =>
    `select ${columns} from ${IDEMPOTENCY_TABLE} where created < ${hoursAgo} order by created limit ?`;
  // As an array: PostgreSQL would join a subselect with the whole table.
  const found = locks
    ? `ctid = any (array(${expired('ctid')} for update skip locked))`
    : `(identity, key) in (${expired('identity, key')})`;
  return { sql: `delete from ${IDEMPOTENCY_TABLE} where ${found}` };
}

/**
 * Runs `first` in the writer's transaction, unless that was done before: then `again` answers, with the records that `read`
 * still finds. Throws a Problem where the key was used for something else.
 */
export function createOnce(dialect: Dialect) {
  const claim = claimOf(dialect);
  return async <A extends KeptAnswer>(
    writer: Writer,
    { identity, key, hash, hours }: Once,
    first: () => Promise<readonly [answer: A, identifiers: readonly number[]]>,
    again: (retried: Retried) => A,
    read?: (identifier: number) => Promise<string | undefined>,
  ): Promise<A> => {
    const { changes } = await writer.run(claim, [identity, key, hash, 0, hours]);
    if (changes === 0) {
      const [knownHash, status, kept] = (await writer.get(READ, [identity, key])) ?? [];
      if (knownHash !== hash) throw reused();
      const identifiers = JSON.parse(String(kept)) as readonly number[];
      const found = read ? await Promise.all(identifiers.map(read)) : [];
      return again({ status: Number(status), identifiers, bodies: found.flatMap((body) => body ?? []) });
    }
    const [answer, identifiers] = await first();
    await writer.run(KEEP, [answer.status, JSON.stringify(identifiers), identity, key]);
    return answer;
  };
}

export async function forgetKeys({ dialect, write }: Pick<Driver, 'dialect' | 'write'>, hours: number): Promise<void> {
  const forget = forgetOf(dialect);
  for (let changes = FORGOTTEN_TOGETHER; changes >= FORGOTTEN_TOGETHER;)
    ({ changes } = await write(async (writer) => writer.run(forget, [hours, FORGOTTEN_TOGETHER])));
}

function reused(): Problem {
  const message = 'This Idempotency-Key was sent with another request before; a new request needs a key of its own';
  return new Problem('idempotency-conflict', message, {
    errors: [{ header: 'Idempotency-Key', code: 'idempotency-conflict', message }],
  });
}
