/** Transactions: begun with the first statement, repeated if that is safe, and never if it is not known how they ended. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, CallerGone, PATIENT } from '../../edge/caller.ts';
import { Problem } from '../../problem.ts';
import {
  type Awaitable,
  ConstraintError,
  type OnRow,
  Overtaken,
  type Reader,
  readerOf,
  type Row,
  type Snapshot,
  type Statement,
  type Values,
  type Writer,
} from '../driver.ts';
import { lateStatement, outcomeUnknown, refusedByOthers, unavailable } from '../unavailable.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Answered, PostgresConnection } from './connection.ts';
import {
  isAborted,
  isConnectionLost,
  isReadOnly,
  isRepeatable,
  isSilent,
  isStale,
  isUnanswered,
  postgresReasonOf,
  translate,
} from './errors.ts';
import type { Connections } from './pool.ts';
import { FIRST_ROWS, LONGEST_PAUSE, MAX_CONFLICTS, MAX_LOST, MOST_ROWS, PIECE_LENGTH } from './tuning.ts';

const READ_ONLY = 'begin isolation level repeatable read read only';

/** A constraint broke without a savepoint: the transaction is repeated with savepoints, so that it can look for the cause. */
class NeedsSavepoints extends Error {}

/** A COMMIT, or a statement that writes, got no answer: nobody knows how it ended, so it is not repeated. */
class Unknown extends Error {}

type Ask = (statement: Statement, values: Values, onRow?: OnRow<Row>) => Promise<Answered>;

const readerThrough = (ask: Ask): Reader =>
  readerOf(async (statement, values, onRow) => (await ask(statement, values, onRow)).rows);

/** Each statement in a snapshot of its own. */
export const alone = (connections: Connections, caller = PATIENT): Reader =>
  readerThrough((...asked) => repeating((connection) => connection.query(...asked), connections, caller));

/** Runs the work on one snapshot. It only reads, so it can be repeated. */
export function readIn<T>(
  connections: Connections,
  work: (reader: Reader) => Awaitable<T>,
  caller: Caller,
): Promise<T> {
  const begin = connections.opening(READ_ONLY);
  const attempt = (connection: PostgresConnection): Promise<T> =>
    inTransaction(connection, begin, ({ query }) => work(readerThrough(query)), end);
  return repeating(attempt, connections, caller);
}

/** The rows that were read are valid, however their transaction ends. */
const end = (connection: PostgresConnection): Promise<void> => connection.commit().catch(() => connection.spoil());

export async function writeIn<T>(
  connections: Connections,
  begin: string,
  work: (writer: Writer) => Awaitable<T>,
  caller: Caller = PATIENT,
  revision: () => SqlValue | undefined = () => undefined,
): Promise<T> {
  const commit = (connection: PostgresConnection): Promise<void> => committed(connection, revision());
  const opening = connections.opening(begin);
  const write = (savepoints: boolean): Promise<T> =>
    repeating(
      async (connection) => {
        try {
          return await inTransaction(connection, opening, (own) => work(writerOf(own, savepoints)), commit);
        } catch (error) {
          // Of concurrent statements, one after the broken constraint may be the first to report.
          throw !savepoints && isAborted(error) ? new NeedsSavepoints() : error;
        }
      },
      connections,
      caller,
    );
  try {
    return await write(false);
  } catch (error) {
    if (error instanceof NeedsSavepoints) return write(true);
    // The work does not look for the value that is too long.
    throw error instanceof ConstraintError && error.kind === 'too-long'
      ? new Problem('invalid-body', 'A value is too long for an index of the database', { cause: error.cause })
      : error;
  }
}

const isConstraint = (error: unknown): boolean => translate(error) instanceof ConstraintError;

function writerOf({ query, execute }: PostgresConnection, savepoints: boolean): Writer {
  const plain: Ask = async (statement, values) => {
    try {
      return await query(statement, values);
    } catch (error) {
      throw isConstraint(error) ? new NeedsSavepoints() : error;
    }
  };
  const saved: Ask = async (statement, values) => {
    await execute('savepoint run');
    try {
      const answered = await query(statement, values);
      await execute('release run');
      return answered;
    } catch (error) {
      if (!isConstraint(error)) throw error;
      await execute('rollback to run');
      throw translate(error);
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  /** Savepoints of concurrent statements would be mistaken for each other. */
  const oneByOne: Ask = (statement, values) => {
    const mine = last.then(() => saved(statement, values));
    last = mine.catch(() => undefined);
    return mine;
  };
  const run = savepoints ? oneByOne : plain;
  return {
    ...readerThrough(query),
    run: async (statement, values) => {
      const { changes, rows } = await run(statement, values);
      return { changes, identifier: Number(rows[0]?.[0] ?? 0), rows };
    },
  };
}

async function committed(connection: PostgresConnection, revision: SqlValue | undefined): Promise<void> {
  try {
    await connection.commit(revision);
  } catch (error) {
    if (isConnectionLost(error)) throw new Unknown('commit', { cause: error });
    // The engine's own constraints are not deferred.
    throw isConstraint(error) ? refusedByOthers(postgresReasonOf(error), error) : error;
  }
  await connection.tellPosition();
}

/** One statement that writes, in a transaction of its own. If it gets no answer, the server may have done it: it is not repeated. */
export function writeAlone(
  connections: Connections,
  statement: Statement,
  values: Values,
  caller: Caller = PATIENT,
): Promise<Row | undefined> {
  const attempt = async (connection: PostgresConnection): Promise<Row | undefined> => {
    try {
      const { rows } = await connection.query(statement, values);
      await connection.tellPosition();
      return rows[0];
    } catch (error) {
      throw isUnanswered(error) ? new Unknown('statement', { cause: error }) : error;
    }
  };
  return repeating(attempt, connections, caller);
}

/** Statements that come after the work are rejected: they could run in another transaction. */
async function inTransaction<T>(
  connection: PostgresConnection,
  begin: string,
  work: (own: PostgresConnection) => Awaitable<T>,
  finish: (connection: PostgresConnection) => Promise<void>,
): Promise<T> {
  let isOver = false;
  const inTime =
    <A extends readonly unknown[], R>(ask: (...asked: A) => Promise<R>): ((...asked: A) => Promise<R>) =>
    (...asked) =>
      isOver ? Promise.reject(lateStatement()) : ask(...asked);
  // Not awaited: it is sent together with the first statement.
  const begun = connection.execute(begin);
  begun.catch(() => undefined);
  try {
    const result = await work({
      ...connection,
      query: inTime(connection.query),
      execute: inTime(connection.execute),
    });
    isOver = true;
    await begun;
    await finish(connection);
    return result;
  } catch (error) {
    isOver = true;
    // BEGIN reports why a silent connection was ended; the statements after it only say that it was.
    const reason: unknown = await begun.then(
      () => error,
      (first: unknown) => first,
    );
    if (isUseless(reason)) connection.spoil();
    else await connection.execute('rollback').catch(() => connection.spoil());
    throw reason;
  }
}

/** Takes a connection for each attempt. */
async function repeating<T>(
  attempt: (connection: PostgresConnection) => Promise<T>,
  connections: Connections,
  caller: Caller,
): Promise<T> {
  const tries = { lost: 0, readOnly: 0, conflicts: 0 };

  function mayRepeat(error: unknown): boolean {
    // The caller has waited long enough: the next connection may be as silent.
    if (isSilent(error)) return false;
    if (isConnectionLost(error)) return (tries.lost += 1) <= MAX_LOST;
    // The next connection may lead to a server that takes writes.
    if (isReadOnly(error)) return (tries.readOnly += 1) === 1;
    return (error instanceof Overtaken || isRepeatable(error)) && (tries.conflicts += 1) <= MAX_CONFLICTS;
  }

  for (;;) {
    if (caller.isGone) throw new CallerGone();
    const connection = await taken(connections, caller);
    try {
      return await attempt(connection);
    } catch (error) {
      if (isUseless(error)) connection.spoil();
      if (isReadOnly(error)) connections.renew();
      if (!mayRepeat(error)) throw explained(error);
    } finally {
      connection.release();
    }
    if (tries.conflicts > 0) await delay(Math.random() * LONGEST_PAUSE);
  }
}

/** Whether the connection can no longer be used. */
const isUseless = (error: unknown): boolean => error instanceof Unknown || isConnectionLost(error) || isStale(error);

function explained(error: unknown): unknown {
  if (error instanceof Unknown) return outcomeUnknown(error.cause);
  return error instanceof Overtaken ? unavailable('busy', error) : translate(error);
}

export async function taken(connections: Connections, caller: Caller): Promise<PostgresConnection> {
  try {
    return await connections.take(caller);
  } catch (error) {
    throw translate(error);
  }
}

/** A list that is streamed: a cursor in a transaction of its own, on a connection that nothing else uses. */
export async function openSnapshot(connections: Connections, caller: Caller): Promise<Snapshot> {
  const connection = await beginSnapshot(connections, caller);
  const ask: PostgresConnection['query'] = async (...asked) => {
    try {
      return await connection.query(...asked);
    } catch (error) {
      if (isConnectionLost(error)) connection.spoil();
      throw translate(error);
    }
  };
  let open = true;
  return {
    ...readerThrough(ask),
    texts: (statement, values) => texts(ask, statement, values, caller),
    close: async () => {
      if (!open) return;
      open = false;
      await end(connection);
      connection.release();
    },
  };
}

/** The first connection may have been closed by the server while it was idle. */
async function beginSnapshot(connections: Connections, caller: Caller): Promise<PostgresConnection> {
  for (let attempt = 0; ; attempt += 1) {
    const connection = await taken(connections, caller);
    try {
      await connection.execute(connections.opening(READ_ONLY));
      return connection;
    } catch (error) {
      connection.spoil();
      connection.release();
      if (attempt > 0) throw translate(error);
    }
  }
}

/** A piece is held twice: as it was received, and in the answer. */
const COPIES = 2;

async function* texts(
  ask: PostgresConnection['query'],
  { sql }: Statement,
  values: Values,
  caller: Caller,
): AsyncGenerator<readonly string[]> {
  // A piece is held until the client has taken it: what it takes is refused before the first one is sent.
  let charged = COPIES * PIECE_LENGTH;
  caller.take(charged);
  await ask({ sql: `declare records no scroll cursor for ${sql}` }, values, undefined, false);
  for (let wanted = FIRST_ROWS; ;) {
    const { rows } = await ask({ sql: `fetch ${wanted} from records` }, [], undefined, false);
    const some = rows.map(([text]) => String(text));
    const length = some.reduce((sum, text) => sum + text.length, 0);
    if (COPIES * length > charged) caller.take(COPIES * length - charged);
    charged = Math.max(charged, COPIES * length);
    if (some.length > 0) yield some;
    if (some.length < wanted) return;
    wanted = Math.max(1, Math.min(MOST_ROWS, Math.floor((PIECE_LENGTH * some.length) / length)));
  }
}
