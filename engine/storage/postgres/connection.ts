/** One connection to PostgreSQL: the server parses each statement once, under a name. */
import { type Client, Connection, type PoolClient } from 'pg';
import { type Caller, CallerGone } from '../../edge/caller.ts';
import { tooSlow } from '../../problem.ts';
import type { OnRow, Row, Statement, Values } from '../driver.ts';
import { abortedBefore, isCancelled, isSilent } from './errors.ts';
import { POSITION } from './replicas.ts';
import { type Answered, type Parsers, type Ran, run } from './pipeline.ts';
import { CANCEL_AGAIN, CANCEL_PATIENCE, GRACE, MAX_STATEMENTS } from './tuning.ts';

export interface PostgresConnection {
  /** `named` false for statements that are run once. Throws CallerGone once the caller has left. */
  query(statement: Statement, values: Values, onRow?: OnRow<Row>, named?: boolean): Promise<Answered>;
  /** The same for a statement that writes, without a transaction around it. */
  write(statement: Statement, values: Values): Promise<Answered>;
  /** The statement with one after the other of the values, in one transaction and one round trip. Never rejects. */
  queryAll(statement: Statement, all: readonly Values[]): Promise<Ran>;
  /** The position after what was written last, if callers are told positions. Never rejects. */
  position(): Promise<string | undefined>;
  /** One statement or more, without values. */
  execute(sql: string): Promise<void>;
  /** What is asked in this turn of the event loop is sent in one piece. */
  cork(): void;
  /** Without waiting for answers. */
  destroy(): void;
  /** Throws if the transaction had been given up because a statement failed. `wrote`: whether it was one that writes. */
  commit(wrote?: boolean): Promise<void>;
  /** It is not used again. */
  spoil(): void;
  release(): void;
}

interface Leased {
  readonly client: PoolClient;
  /** Of the statements that this connection knows; undefined if statements have no names. */
  readonly parsers: Parsers | undefined;
  /** Milliseconds that a statement may take on the server; 0 means no limit. */
  readonly timeout: number;
  readonly caller: Caller;
  /** Whether the caller is told the position of what it wrote. */
  readonly positions: boolean;
}

/** A connection for as long as it is taken. When the caller leaves, its statement is cancelled in the server. */
export function connectionOf({ client, parsers, timeout, caller, positions }: Leased): PostgresConnection {
  const inTime = { query_timeout: timeout === 0 ? 0 : timeout + GRACE };
  let spoilt = false;
  let running = 0;
  let cancelling: Promise<unknown> | undefined;
  let committing = false;

  function cancel(): void {
    if (running === 0 || committing) return;
    cancelling = requestCancel().catch(() => (spoilt = true));
  }

  async function requestCancel(): Promise<void> {
    // The server forgets a request to cancel that it gets before it has read the statement.
    if (await cancelStatement(client)) setTimeout(cancel, CANCEL_AGAIN).unref();
    else spoilt = true;
  }

  const stop = caller.onGone(cancel);

  function explained(error: unknown): unknown {
    // The server may still be running a statement that it does not answer.
    if (isSilent(error)) cancel();
    if (!isCancelled(error)) return error;
    return cancelling === undefined ? tooSlow(timeout, error) : new CallerGone();
  }

  async function during<T>(ask: () => Promise<T>): Promise<T> {
    running += 1;
    try {
      return await ask();
    } catch (error) {
      throw explained(error);
    } finally {
      running -= 1;
    }
  }

  async function runAll(statement: Statement, all: readonly Values[], named = true, onRow?: OnRow<Row>): Promise<Ran> {
    running += 1;
    try {
      const known = named ? parsers : undefined;
      const options = { parsers: known, timeout: inTime.query_timeout, onRow, onRefused: cancel };
      const { answers, error } = await run(client, statement, all, options);
      return error === undefined ? { answers } : { answers, error: explained(error) };
    } finally {
      running -= 1;
    }
  }

  const query: PostgresConnection['query'] = async (statement, values, onRow, named) => {
    if (caller.isGone) throw new CallerGone();
    const { answers, error } = await runAll(statement, [values], named, onRow);
    if (error !== undefined) throw error;
    return answers[0] ?? { rows: [], changes: 0 };
  };

  /** Sent together with what writes. Without the answer, the client has no position, but its write. */
  const positionAfter = async (): Promise<string | undefined> => (positions ? positionOf(client, inTime) : undefined);

  const tell = (reached: string | undefined): void => {
    if (reached !== undefined) caller.wrote?.(reached);
  };

  return {
    query,
    queryAll: (statement, all) => runAll(statement, all),
    position: positionAfter,
    write: async (statement, values) => {
      const asked = query(statement, values);
      const position = positionAfter();
      const answered = await asked;
      tell(await position);
      return answered;
    },
    cork: () => {
      const { stream } = client.connection;
      if (stream.writableCorked > 0) return;
      stream.cork();
      setImmediate(() => stream.uncork());
    },
    destroy: () => void client.connection.stream.destroy(),
    execute: async (sql) => void (await during(() => client.query({ text: sql, ...inTime }))),
    commit: async (wrote = false) => {
      committing = true;
      stop();
      const committed = during(() => client.query({ text: 'commit', ...inTime }));
      const position = wrote ? positionAfter() : undefined;
      const { command } = await committed;
      // Then the server answers ROLLBACK, without an error.
      if (command !== 'COMMIT') throw abortedBefore();
      tell(await position);
    },
    spoil: () => void (spoilt = true),
    release: () => {
      stop();
      const free = (): void => client.release(spoilt || (parsers?.size ?? 0) > MAX_STATEMENTS);
      // A cancel that comes late must not end the statement of another caller.
      if (cancelling) void cancelling.then(free, free);
      else free();
    },
  };
}

const POSITION_QUERY = { text: `select ${POSITION}`, rowMode: 'array' as const };

/** Never rejects. */
const positionOf = (client: Client, inTime: object): Promise<string | undefined> =>
  client.query<[string]>({ ...POSITION_QUERY, ...inTime }).then(
    ({ rows }) => rows[0]?.[0],
    () => undefined,
  );

// Asks the server to end the statement that a connection is waiting for.

/** Parts of pg's clients and connections that its types leave out. */
interface Backend {
  readonly processID: number | null;
  readonly secretKey: number | null;
}
interface Wire extends Connection {
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

/**
 * Sends CancelRequest over a new connection; poolers pass it on too. Resolves when the server has closed that connection:
 * from then on it cannot end another statement. `false` if the server did not close it.
 */
function cancelStatement(client: Client): Promise<boolean> {
  const { processID, secretKey } = client as Client & Backend;
  if (processID === null || secretKey === null) return Promise.resolve(false);
  const { host, port, ssl } = client;
  const wire = new Connection({ ssl }) as Wire;
  const send = (): void => wire.cancel(processID, secretKey);
  return new Promise((resolve) => {
    const end = (isDone: boolean): void => {
      clearTimeout(timer);
      wire.stream.destroy();
      resolve(isDone);
    };
    const timer = setTimeout(end, CANCEL_PATIENCE, false).unref();
    wire.on('error', () => end(false));
    wire.once('end', () => end(true));
    if (ssl) wire.once('connect', () => wire.requestSsl()).once('sslconnect', send);
    else wire.once('connect', send);
    if (host.startsWith('/')) wire.connect(`${host}/.s.PGSQL.${port}`);
    else wire.connect(port, host);
  });
}
