/** Runs transactions; repeats them where that is safe, never if their outcome is unknown. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, CallerGone, NO_CLIENT } from '../../edge/caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { Problem } from '../../problem.ts';
import { inGroups } from '../dialect.ts';
import {
  type Awaitable,
  type BoundStatement,
  ConstraintError,
  COPIES_OF_TEXT,
  type Driver,
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
import { outcomeUnknown, RefusedByOthers, unavailable } from '../unavailable.ts';
import type { Answered, PostgresConnection } from './connection.ts';
import { isConnectionLost, isDividedByZero, isReadOnly, isRepeatable, isSilent, postgresReasonOf } from './errors.ts';
import type { Connections } from './pool.ts';
import {
  FETCH_CHARS,
  FIRST_FETCH_ROWS,
  MAX_BATCHED_WRITES,
  MAX_CONFLICT_BACKOFF_MS,
  MAX_CONFLICT_RETRIES,
  MAX_CONNECTION_RETRIES,
  MAX_FETCH_ROWS,
} from './tuning.ts';

const READ_ONLY = 'begin isolation level repeatable read read only';

type Ask = (statement: Statement, values: Values, onRow?: OnRow<Row>) => Promise<Answered>;

const readerThrough = (ask: Ask): Reader =>
  readerOf(async (statement, values, onRow) => (await ask(statement, values, onRow)).rows);

const readerOn = (connection: PostgresConnection): Reader => readerThrough((...asked) => connection.query(...asked));

export const autocommit = (connections: Connections, caller = NO_CLIENT): Reader =>
  readerThrough((...asked) => repeating((connection) => connection.query(...asked), connections, caller));

export const readIn = <T>(
  connections: Connections,
  work: (reader: Reader) => Awaitable<T>,
  caller: Caller,
): Promise<T> => inTransaction(connections, READ_ONLY, (connection) => work(readerOn(connection)), end, caller);

/** Rows are valid even if the COMMIT after reading fails. */
const end = (connection: PostgresConnection): Promise<void> => connection.commit().catch(() => connection.discard());

export function writeIn<T>(
  connections: Connections,
  begin: string,
  work: (writer: Writer) => Awaitable<T>,
  caller: Caller = NO_CLIENT,
  revision: () => SqlValue | undefined = () => undefined,
): Promise<T> {
  const commit = (connection: PostgresConnection): Promise<void> => committed(connection, revision());
  return inTransaction(connections, begin, (connection) => work(writerOf(connection)), commit, caller);
}

const writerOf = (connection: PostgresConnection): Writer => ({
  ...readerOn(connection),
  run: async (statement, values) => {
    const { changes, rows } = await connection.query(statement, values);
    return { changes, identifier: Number(rows[0]?.[0] ?? 0), rows };
  },
});

async function committed(connection: PostgresConnection, revision: SqlValue | undefined): Promise<void> {
  try {
    await connection.commit(revision);
  } catch (error) {
    if (isConnectionLost(error)) throw outcomeUnknown(error);
    // Only third-party constraints are deferred.
    throw error instanceof ConstraintError ? new RefusedByOthers(postgresReasonOf(error), error) : error;
  }
  await connection.reportPosition();
}

function inTransaction<T>(
  connections: Connections,
  begin: string,
  work: (connection: PostgresConnection) => Awaitable<T>,
  finish: (connection: PostgresConnection) => Promise<void>,
  caller: Caller,
): Promise<T> {
  const opening = connections.opening(begin);
  const attempt = async (connection: PostgresConnection): Promise<T> => {
    // BEGIN is sent with the first statement, which fails if BEGIN does.
    const begun = connection.execute(opening);
    begun.catch(() => undefined);
    try {
      const result = await work(connection);
      await begun;
      await finish(connection);
      return result;
    } catch (error) {
      await connection.rollback();
      throw error;
    }
  };
  return repeating(attempt, connections, caller);
}

const isOutcomeUnknown = (error: unknown): boolean => error instanceof Problem && error.code === 'outcome-unknown';

async function repeating<T>(
  attempt: (connection: PostgresConnection) => Promise<T>,
  connections: Connections,
  caller: Caller,
): Promise<T> {
  let [lost, conflicts] = [0, 0];

  function mayRepeat(error: unknown): boolean {
    // A retry would wait as long again for a silent server.
    if (isSilent(error) || isOutcomeUnknown(error)) return false;
    // The next connection might reach a server that accepts writes.
    if (isConnectionLost(error) || isReadOnly(error)) return (lost += 1) <= MAX_CONNECTION_RETRIES;
    return (error instanceof Overtaken || isRepeatable(error)) && (conflicts += 1) <= MAX_CONFLICT_RETRIES;
  }

  for (;;) {
    if (conflicts > 0) await delay(Math.random() * MAX_CONFLICT_BACKOFF_MS);
    if (caller.signal.aborted) throw new CallerGone();
    let connection: PostgresConnection | undefined;
    try {
      connection = await connections.take(caller);
      return await attempt(connection);
    } catch (error) {
      if (connection === undefined) throw error;
      if (isReadOnly(error)) void connections.renew();
      if (mayRepeat(error)) continue;
      throw error instanceof Overtaken ? unavailable('busy', error) : error;
    } finally {
      connection?.release();
    }
  }
}

interface SharedWrite {
  readonly statement: Statement;
  readonly values: Values;
  readonly before: readonly BoundStatement[];
  readonly caller: Caller;
  readonly resolve: (row: Row | undefined | Promise<Row | undefined>) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs each write in one round trip; combinable writes of one turn share it, and its commit. */
export function createSingleWriter(connections: Connections): NonNullable<Driver['writeSingle']> {
  let gathered: SharedWrite[] = [];

  function send(): void {
    const all = Map.groupBy(gathered, ({ statement }) => statement);
    gathered = [];
    for (const [statement, writes] of all)
      for (const some of inGroups(writes, MAX_BATCHED_WRITES)) void sendBatch(statement, some);
  }

  async function sendBatch(statement: Statement, writes: readonly SharedWrite[]): Promise<void> {
    const { batched = statement } = statement;
    try {
      const rows = writes.length > 1 ? await runBatch(connections, batched, writes) : [];
      for (const [index, { before, values, caller, resolve }] of writes.entries())
        resolve(rows[index] ?? runSingle(connections, [...before, { statement, values }], caller));
    } catch (error) {
      for (const { reject } of writes) reject(error);
    }
  }

  return (statement, values, caller = NO_CLIENT, _row, before = []) => {
    if (!statement.batched) return runSingle(connections, [...before, { statement, values }], caller);
    return new Promise((resolve, reject) => {
      // Bodies of one turn are parsed in sequence: wait for all.
      if (gathered.length === 0) setImmediate(send);
      gathered.push({ statement, values, before, caller, resolve, reject });
    });
  };
}

function runSingle(connections: Connections, all: readonly BoundStatement[], caller: Caller): Promise<Row | undefined> {
  const attempt = async (connection: PostgresConnection): Promise<Row | undefined> => {
    try {
      const answers = await connection.queryAll(all);
      await connection.reportPosition();
      return answers.at(-1)?.rows[0];
    } catch (error) {
      if (isDividedByZero(error)) return undefined;
      throw error;
    }
  };
  return repeating(attempt, connections, caller);
}

/** Returns the row of each write that was done; none if the transaction failed, as each may succeed alone. */
async function runBatch(
  connections: Connections,
  statement: Statement,
  writes: readonly SharedWrite[],
): Promise<readonly (Row | undefined)[]> {
  const connection = await connections.take();
  try {
    const all = writes.map(({ before, values }) => [...before, { statement, values }]);
    const answers = await connection.queryAll(all.flat());
    let sent = 0;
    const rows = all.map(({ length }) => answers[(sent += length) - 1]?.rows[0]);
    await connection.reportPosition(writes.flatMap(({ caller }, index) => (rows[index] ? caller : [])));
    return rows;
  } catch (error) {
    if (isOutcomeUnknown(error)) throw error;
    return [];
  } finally {
    connection.release();
  }
}

export async function openSnapshot(connections: Connections, caller: Caller): Promise<Snapshot> {
  const connection = await beginSnapshot(connections, caller);
  return {
    ...readerOn(connection),
    texts: (statement, values) => texts(connection, statement, values, caller),
    close: async () => {
      await end(connection);
      connection.release();
    },
  };
}

/** Retries, since the server may have closed an idle connection. */
async function beginSnapshot(connections: Connections, caller: Caller): Promise<PostgresConnection> {
  for (let attempt = 0; ; attempt += 1) {
    const connection = await connections.take(caller);
    try {
      await connection.execute(connections.opening(READ_ONLY));
      return connection;
    } catch (error) {
      connection.release();
      if (attempt > 0) throw error;
    }
  }
}

async function* texts(
  connection: PostgresConnection,
  { sql }: Statement,
  values: Values,
  caller: Caller,
): AsyncGenerator<readonly string[]> {
  await connection.query({ sql: `declare records no scroll cursor for ${sql}` }, values, undefined, false);
  let charged = 0;
  for (let wanted = FIRST_FETCH_ROWS; ;) {
    const { rows } = await connection.query({ sql: `fetch ${wanted} from records` }, [], undefined, false);
    const some = rows.map(([text]) => String(text));
    const length = some.reduce((sum, text) => sum + text.length, 0);
    const isLast = some.length < wanted;
    // Refuses a long list for lack of memory before its first chunk is sent.
    const held = COPIES_OF_TEXT * (isLast ? length : Math.max(length, FETCH_CHARS));
    if (held > charged) caller.take(held - charged);
    charged = Math.max(charged, held);
    await caller.turn();
    if (some.length > 0) yield some;
    if (isLast) return;
    wanted = Math.max(1, Math.min(MAX_FETCH_ROWS, Math.floor((FETCH_CHARS * some.length) / length)));
  }
}
