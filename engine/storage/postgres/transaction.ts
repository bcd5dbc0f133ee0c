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
  type Statement,
  type Values,
  type Writer,
} from '../driver.ts';
import { lateStatement, outcomeUnknown, refusedByOthers, unavailable } from '../unavailable.ts';
import type { PostgresConnection } from './connection.ts';
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
import type { FastReads } from './fast-reads.ts';
import type { Answered } from './pipeline.ts';
import type { Connections } from './pool.ts';
import { LONGEST_PAUSE, MAX_CONFLICTS, MAX_LOST } from './tuning.ts';

export const READ_ONLY = 'begin isolation level repeatable read read only';

/** A constraint broke without a savepoint: the transaction is repeated with savepoints, so that it can look for the cause. */
class NeedsSavepoints extends Error {}

/** A COMMIT, or a statement that writes, got no answer: nobody knows how it ended, so it is not repeated. */
class Unknown extends Error {}

type RunQuery = (statement: Statement, values: Values, onRow?: OnRow<Row>) => Promise<Answered>;

/** What the statements of a connection answer. */
export const readerThrough = (ask: RunQuery): Reader =>
  readerOf(async (statement, values, onRow) => (await ask(statement, values, onRow)).rows);

const isConstraint = (error: unknown): boolean => translate(error) instanceof ConstraintError;

function writerOf({ query, execute }: PostgresConnection, savepoints: boolean): Writer {
  const plain: RunQuery = async (statement, values) => {
    try {
      return await query(statement, values);
    } catch (error) {
      throw isConstraint(error) ? new NeedsSavepoints() : error;
    }
  };
  const saved: RunQuery = async (statement, values) => {
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
  const oneByOne: RunQuery = (statement, values) => {
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

/** Runs the work on one snapshot. It only reads, so it can be repeated. */
export function readIn<T>(
  connections: Connections,
  work: (reader: Reader) => Awaitable<T>,
  caller: Caller,
): Promise<T> {
  const begin = connections.opening(READ_ONLY);
  // What was read is valid, however its transaction ends.
  const end = (connection: PostgresConnection): Promise<void> => connection.commit().catch(() => connection.spoil());
  return repeating(
    (connection) => inTransaction(connection, begin, ({ query }) => work(readerThrough(query)), end),
    connections,
    caller,
  );
}

export async function writeIn<T>(
  connections: Connections,
  begin: string,
  work: (writer: Writer) => Awaitable<T>,
  caller: Caller = PATIENT,
): Promise<T> {
  let savepoints = false;
  const opening = connections.opening(begin);
  const attempt = async (connection: PostgresConnection): Promise<T> => {
    try {
      return await inTransaction(connection, opening, (own) => work(writerOf(own, savepoints)), commit);
    } catch (error) {
      // Of concurrent statements, one after the broken constraint may be the first to report.
      throw !savepoints && isAborted(error) ? new NeedsSavepoints() : error;
    }
  };
  try {
    return await repeating(attempt, connections, caller);
  } catch (error) {
    if (!(error instanceof NeedsSavepoints)) throw withoutPlace(error);
    savepoints = true;
    return repeating(attempt, connections, caller);
  }
}

/** Of work that does not look for the value that is too long. */
const withoutPlace = (error: unknown): unknown =>
  error instanceof ConstraintError && error.kind === 'too-long'
    ? new Problem('invalid-body', 'A value is too long for an index of the database', { cause: error.cause })
    : error;

/** Each statement on its own; a record, and a page without its total, on the fast connections if there are any. */
export function alone(connections: Connections, caller = PATIENT, fast?: FastReads): Reader {
  const ask: RunQuery = (...asked) => repeating((connection) => connection.query(...asked), connections, caller);
  const reader = readerThrough(ask);
  if (!fast) return reader;
  const { value, column } = readerThrough((...asked) => fast.ask(asked, () => ask(...asked)));
  return { ...reader, value, column };
}

/** The same for a statement that writes. If it gets no answer, it is not repeated: the server may have done it. */
export function writeAlone(
  connections: Connections,
  statement: Statement,
  values: Values,
  caller: Caller = PATIENT,
): Promise<Row | undefined> {
  const attempt = async (connection: PostgresConnection): Promise<Row | undefined> => {
    try {
      return (await connection.write(statement, values)).rows[0];
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
  end: (connection: PostgresConnection) => Promise<void>,
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
    await end(connection);
    return result;
  } catch (error) {
    isOver = true;
    // What ends a silent connection is the time limit of its first statement; the others only say that it was ended.
    const reason: unknown = await begun.then(
      () => error,
      (first: unknown) => first,
    );
    if (isUseless(reason)) connection.spoil();
    else await connection.execute('rollback').catch(() => connection.spoil());
    throw reason;
  }
}

async function commit(connection: PostgresConnection): Promise<void> {
  try {
    await connection.commit(true);
  } catch (error) {
    if (isConnectionLost(error)) throw new Unknown('commit', { cause: error });
    // Constraints that are deferred are those of others.
    throw isConstraint(error) ? refusedByOthers(postgresReasonOf(error), error) : error;
  }
}

interface Tries {
  lost: number;
  readOnly: number;
  conflicts: number;
}

/** Takes a connection for each attempt. */
async function repeating<T>(
  attempt: (connection: PostgresConnection) => Promise<T>,
  connections: Connections,
  caller: Caller,
): Promise<T> {
  const tries: Tries = { lost: 0, readOnly: 0, conflicts: 0 };
  for (;;) {
    if (caller.isGone) throw new CallerGone();
    const connection = await taken(connections, caller);
    try {
      return await attempt(connection);
    } catch (error) {
      if (isUseless(error)) connection.spoil();
      if (isReadOnly(error)) connections.renew();
      if (!mayRepeat(error, tries)) throw explained(error);
    } finally {
      connection.release();
    }
    if (tries.conflicts > 0) await delay(Math.random() * LONGEST_PAUSE);
  }
}

/** Whether the connection can no longer be used. */
const isUseless = (error: unknown): boolean => error instanceof Unknown || isConnectionLost(error) || isStale(error);

function mayRepeat(error: unknown, tries: Tries): boolean {
  // The caller has waited long enough: the next connection may be as silent.
  if (isSilent(error)) return false;
  if (isConnectionLost(error)) return (tries.lost += 1) <= MAX_LOST;
  // The next connection may lead to a server that takes writes.
  if (isReadOnly(error)) return (tries.readOnly += 1) === 1;
  return (error instanceof Overtaken || isRepeatable(error)) && (tries.conflicts += 1) <= MAX_CONFLICTS;
}

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
