/** Transactions: begun with the first statement, repeated if that is safe, and never if it is not known how they ended. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, CallerGone, PATIENT } from '../../caller.ts';
import {
  type Awaitable,
  ConstraintError,
  Overtaken,
  type OnRow,
  type Reader,
  readerOf,
  type Row,
  type Statement,
  type Values,
  type Writer,
} from '../driver.ts';
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
import { Problem } from '../../problem.ts';
import { lateStatement, outcomeUnknown, refusedByOthers, unavailable } from '../unavailable.ts';
import type { Connections } from './pool.ts';
import type { Answered } from './pipeline.ts';
import type { FastReads } from './fast-reads.ts';

/** Each conflict means that another transaction succeeded: many may have to wait for one row. */
const MAX_CONFLICTS = 50;
const MAX_LOST = 2;
const LONGEST_PAUSE = 20;

export const READ_ONLY = 'begin isolation level repeatable read read only';

/** A constraint broke without a savepoint: the transaction is repeated with savepoints, so that it can look for the cause. */
class NeedsSavepoints extends Error {}

/** An error of the database as it came; the work's own errors stay as they are. */
class DatabaseError extends Error {
  constructor(cause: unknown) {
    super('database', { cause });
  }
}

type RunQuery = (statement: Statement, values: Values, onRow?: OnRow<Row>) => Promise<Answered>;

/** What the statements of a connection answer. */
export const readerThrough = (ask: RunQuery): Reader =>
  readerOf(async (statement, values, onRow) => (await ask(statement, values, onRow)).rows);

function writerOf(connection: PostgresConnection, savepoints: boolean): Writer {
  const ask: RunQuery = connection.query;
  const plainRun: RunQuery = async (statement, values) => {
    try {
      return await ask(statement, values);
    } catch (error) {
      throw isConstraint(error) ? new NeedsSavepoints() : error;
    }
  };
  const savedRun: RunQuery = async (statement, values) => {
    await connection.execute('savepoint run');
    try {
      const answered = await ask(statement, values);
      await connection.execute('release run');
      return answered;
    } catch (error) {
      if (!isConstraint(error)) throw error;
      await connection.execute('rollback to run');
      throw translate(causeOf(error));
    }
  };
  const run = savepoints ? oneByOne(savedRun) : plainRun;
  return {
    ...readerThrough(ask),
    run: async (statement, values) => {
      const { changes, rows } = await run(statement, values);
      return { changes, identifier: Number(rows[0]?.[0] ?? 0), rows };
    },
  };
}

/** Savepoints of concurrent statements would be mistaken for each other. */
function oneByOne(ask: RunQuery): RunQuery {
  let last: Promise<unknown> = Promise.resolve();
  return (statement, values) => {
    const mine = last.then(() => ask(statement, values));
    last = mine.catch(() => undefined);
    return mine;
  };
}

const causeOf = (error: unknown): unknown => (error instanceof DatabaseError ? error.cause : error);
const isConstraint = (error: unknown): boolean => translate(causeOf(error)) instanceof ConstraintError;

function fail(error: unknown): never {
  throw new DatabaseError(error);
}

/** Runs the work on one snapshot. It only reads, so it can be repeated. */
export function readIn<T>(
  connections: Connections,
  work: (reader: Reader) => Awaitable<T>,
  caller: Caller,
): Promise<T> {
  const begin = connections.opening(READ_ONLY);
  return repeating(
    (connection) => inTransaction(connection, begin, (leased) => readerThrough(leased.query), work, endRead),
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
      return await inTransaction(connection, opening, (leased) => writerOf(leased, savepoints), work, commit);
    } catch (error) {
      // Of concurrent statements, one after the broken constraint may be the first to report.
      throw !savepoints && isAborted(causeOf(error)) ? new NeedsSavepoints() : error;
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
  const ask: RunQuery = (statement, values, onRow) =>
    repeating((connection) => connection.query(statement, values, onRow).catch(fail), connections, caller);
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
      throw isUnanswered(error) ? new Unknown('statement', { cause: error }) : new DatabaseError(error);
    }
  };
  return repeating(attempt, connections, caller);
}

/** A COMMIT got no answer: nobody knows how it ended, so it is not repeated. */
class Unknown extends Error {}

async function inTransaction<R, T>(
  connection: PostgresConnection,
  begin: string,
  subjectOf: (leased: PostgresConnection) => R,
  work: (subject: R) => Awaitable<T>,
  end: (connection: PostgresConnection) => Promise<void>,
): Promise<T> {
  // Not awaited: it is sent together with the first statement.
  const begun = connection.execute(begin).then(
    () => undefined,
    (error: unknown) => new DatabaseError(error),
  );
  const result = await worked(connection, begun, subjectOf, work);
  await end(connection);
  return result;
}

async function commit(connection: PostgresConnection): Promise<void> {
  try {
    await connection.commit(true);
  } catch (error) {
    if (isConnectionLost(error)) throw new Unknown('commit', { cause: error });
    // Constraints that are deferred are those of others.
    throw isConstraint(error) ? refusedByOthers(postgresReasonOf(error), error) : new DatabaseError(error);
  }
}

/** What was read is valid, however its transaction ends. */
const endRead = (connection: PostgresConnection): Promise<void> => connection.commit().catch(() => connection.spoil());

async function worked<R, T>(
  connection: PostgresConnection,
  begun: Promise<DatabaseError | undefined>,
  subjectOf: (leased: PostgresConnection) => R,
  work: (subject: R) => Awaitable<T>,
): Promise<T> {
  const leased = lease(connection);
  try {
    const result = await work(subjectOf(leased.connection));
    await leased.end();
    const failed = await begun;
    if (failed) throw failed;
    return result;
  } catch (error) {
    await leased.end().catch(() => undefined);
    const reason = (await begun) ?? leased.reasonOf(error);
    if (isConnectionLost(causeOf(reason))) connection.spoil();
    else await connection.execute('rollback').catch(() => connection.spoil());
    throw reason;
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
      if (isReadOnly(causeOf(error))) connections.renew();
      if (!mayRepeat(error, tries)) throw told(error);
    } finally {
      connection.release();
    }
    if (tries.conflicts > 0) await delay(Math.random() * LONGEST_PAUSE);
  }
}

/** Whether the connection can no longer be used. */
const isUseless = (error: unknown): boolean =>
  error instanceof Unknown || isConnectionLost(causeOf(error)) || isStale(causeOf(error));

function mayRepeat(error: unknown, tries: Tries): boolean {
  // The caller has waited long enough: the next connection may be as silent.
  if (isSilent(causeOf(error))) return false;
  if (isConnectionLost(causeOf(error))) return (tries.lost += 1) <= MAX_LOST;
  // The next connection may lead to a server that takes writes.
  if (isReadOnly(causeOf(error))) return (tries.readOnly += 1) === 1;
  return (error instanceof Overtaken || isRepeatable(causeOf(error))) && (tries.conflicts += 1) <= MAX_CONFLICTS;
}

function told(error: unknown): unknown {
  if (error instanceof Unknown) return outcomeUnknown(error.cause);
  if (error instanceof Overtaken) return unavailable('busy', error);
  return error instanceof DatabaseError ? translate(error.cause) : error;
}

export async function taken(connections: Connections, caller: Caller): Promise<PostgresConnection> {
  try {
    return await connections.take(caller);
  } catch (error) {
    throw translate(error);
  }
}

// A connection for one transaction. Statements that come later are rejected: they could run in another transaction.

interface Lease {
  readonly connection: PostgresConnection;
  /** Accepts no further statement, waits for those that are running, and throws what one of them throws. */
  end(): Promise<void>;
  /** The error that comes first, where this one only says that another statement had failed before. */
  reasonOf(error: unknown): unknown;
}

function lease(connection: PostgresConnection): Lease {
  const running = new Set<Promise<unknown>>();
  let ended = false;
  let first: unknown;

  function during<T>(ask: () => Promise<T>): Promise<T> {
    if (ended) return Promise.reject(lateStatement());
    const asked = ask().catch((error: unknown) => {
      // A broken constraint is rolled back to a savepoint.
      if (!isAborted(error) && !isConstraint(error)) first ??= error;
      return fail(error);
    });
    const settled = (): void => void running.delete(asked);
    running.add(asked);
    asked.then(settled, settled);
    return asked;
  }

  return {
    connection: {
      ...connection,
      query: (...asked) => during(() => connection.query(...asked)),
      execute: (sql) => during(() => connection.execute(sql)),
    },
    end: async () => {
      ended = true;
      const failed = (await Promise.allSettled(running)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
    },
    reasonOf: (error) => (first !== undefined && isAborted(causeOf(error)) ? new DatabaseError(first) : error),
  };
}
