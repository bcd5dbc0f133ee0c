/** Requests that are repeated: what was done is kept in the transaction of the write, but never a body. */
import { Problem } from '../../problem.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Statement, Writer } from '../driver.ts';
import { IDEMPOTENCY_TABLE } from '../tables.ts';
import type { Reads } from '../read/reads.ts';
import type { CreateRequest, DoneOnce, KeptAnswer, Once, Retried, WriteRequest, WrittenRecords } from '../store.ts';
import type { Tables } from './tables.ts';

/** Rows that one statement deletes. */
const FORGOTTEN_TOGETHER = 1000;

interface OnceStatements {
  /** An expired key counts as a new one. Where two come at once, the second waits here. Bound: identity, key, hash, 0, hours. */
  readonly claim: Statement;
  /** Bound: hours, how many. */
  readonly forget: Statement;
}

const READ: Statement = {
  sql: `select hash, status, identifiers from ${IDEMPOTENCY_TABLE} where identity = ? and key = ?`,
};
const KEEP: Statement = {
  sql: `update ${IDEMPOTENCY_TABLE} set status = ?, identifiers = ? where identity = ? and key = ?`,
};

export function onceStatements({ locks, hoursAgo }: Pick<Dialect, 'locks' | 'hoursAgo'>): OnceStatements {
  const expired = (columns: string): string =>
    `select ${columns} from ${IDEMPOTENCY_TABLE} where created < ${hoursAgo} order by created limit ?`;
  // As an array: PostgreSQL would join a subselect with the whole table.
  const found = locks
    ? `ctid = any (array(${expired('ctid')} for update skip locked))`
    : `(identity, key) in (${expired('identity, key')})`;
  return {
    claim: {
      sql: `insert into ${IDEMPOTENCY_TABLE} as known (identity, key, hash, created) values (?, ?, ?, ${hoursAgo})
        on conflict (identity, key) do update set hash = excluded.hash, created = excluded.created
        where known.created < ${hoursAgo}`,
    },
    forget: { sql: `delete from ${IDEMPOTENCY_TABLE} where ${found}` },
  };
}

/** The result of a write, from which a retry is answered. */
interface WrittenOnce {
  readonly status: number;
  readonly identifiers: readonly number[];
}

interface WorkOnce<A> {
  readonly first: () => Promise<readonly [answer: A, kept: WrittenOnce]>;
  readonly again: (kept: WrittenOnce) => Promise<A>;
}

/** Throws a Problem where the key was used for something else. `first` runs in the writer's transaction, or not at all. */
type RunOnce = <A>(writer: Writer, request: Once, work: WorkOnce<A>) => Promise<A>;

export function createOnce(dialect: Dialect): RunOnce {
  const { claim } = onceStatements(dialect);
  return async (writer, { identity, key, hash, hours }, { first, again }) => {
    const { changes } = await writer.run(claim, [identity, key, hash, 0, hours]);
    if (changes === 0) {
      const [knownHash, status, identifiers] = (await writer.get(READ, [identity, key])) ?? [];
      if (knownHash !== hash) throw reused();
      return again({ status: Number(status), identifiers: JSON.parse(String(identifiers)) });
    }
    const [answer, { status, identifiers }] = await first();
    await writer.run(KEEP, [status, JSON.stringify(identifiers), identity, key]);
    return answer;
  };
}

/** Deletes the keys that are older than some hours, some at a time. */
export async function forgetKeys({ dialect, write }: Pick<Driver, 'dialect' | 'write'>, hours: number): Promise<void> {
  const { forget } = onceStatements(dialect);
  for (let changes = FORGOTTEN_TOGETHER; changes >= FORGOTTEN_TOGETHER;)
    ({ changes } = await write(async (writer) => writer.run(forget, [hours, FORGOTTEN_TOGETHER])));
}

function reused(): Problem {
  const message = 'This Idempotency-Key was sent with another request before; a new request needs a key of its own';
  return new Problem('idempotency-conflict', message, {
    errors: [{ header: 'Idempotency-Key', code: 'idempotency-conflict', message }],
  });
}

type KeyedRequest = Pick<WriteRequest, 'caller' | 'view'> & Pick<CreateRequest, 'unread'>;

export const writtenIn = ({ records }: WrittenRecords): readonly number[] =>
  records.map(({ identifier }) => identifier);
export const noneIn = (): readonly number[] => [];

const keptOf = <A extends KeptAnswer>(answer: A, identifiers: readonly number[]): readonly [A, WrittenOnce] => [
  answer,
  { status: answer.status, identifiers },
];

interface Keyed {
  /** `begin` is called once, what it returns with each transaction that is begun. */
  once<R extends KeyedRequest, W>(
    begin: (request: R) => (writer: Writer) => Promise<W>,
    identifiersOf: (written: W) => readonly number[],
    rowFor: (request: R) => string | undefined,
  ): DoneOnce<R, W>;
  /** The same for work in the caller's own transaction that writes no record which is left. */
  keep<A extends KeptAnswer>(
    key: Once,
    again: (retried: Retried) => A,
  ): (writer: Writer, work: () => Promise<A>) => Promise<A>;
}

interface KeyedParts {
  readonly driver: Driver;
  readonly reads: Reads;
  readonly tables: Tables;
}

export function createKeyed({ driver, reads, tables }: KeyedParts): Keyed {
  const runOnce = createOnce(driver.dialect);

  /** Many are read at once only where all of them are there. */
  async function present(
    writer: Writer,
    { type }: KeyedRequest['view'],
    identifiers: readonly number[],
  ): Promise<readonly number[]> {
    const found = await writer.column(tables.of(type).hold('key share'), [JSON.stringify(identifiers)]);
    const there = new Set(found.map(Number));
    return identifiers.filter((identifier) => there.has(identifier));
  }

  /** Of the records that are still there. */
  async function bodiesNow(
    writer: Writer,
    { view, caller, unread = false }: KeyedRequest,
    identifiers: readonly number[],
  ): Promise<readonly string[]> {
    if (unread || identifiers.length === 0) return [];
    const left = identifiers.length === 1 ? identifiers : await present(writer, view, identifiers);
    return (await reads.records(writer, view, left, caller)).flatMap((text) => text ?? []);
  }

  return {
    once: (begin, identifiersOf, rowFor) => (request, key, answer, again) => {
      const work = begin(request);
      const first = (writer: Writer) => async () => {
        const written = await work(writer);
        return keptOf(answer(written), identifiersOf(written));
      };
      const retry = (writer: Writer) => async (known: WrittenOnce) =>
        again({
          ...known,
          bodies: await bodiesNow(writer, request, known.identifiers),
        });
      return driver.write(
        (writer) => runOnce(writer, key, { first: first(writer), again: retry(writer) }),
        request.caller,
        rowFor(request),
      );
    },
    keep: (key, again) => (writer, work) =>
      runOnce(writer, key, {
        first: async () => keptOf(await work(), []),
        again: async (known) => again({ ...known, bodies: [] }),
      }),
  };
}
