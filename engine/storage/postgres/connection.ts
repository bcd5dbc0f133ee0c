/** A connection to PostgreSQL that prepares each statement once and can cancel the running statement. */
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { type Client, type ClientBase, Connection, type PoolClient, Query } from 'pg';
import { type Caller, CallerGone, onGone } from '../../edge/caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { memoized } from '../../memo.ts';
import { failureOf, tooSlow } from '../../problem.ts';
import { type BoundStatement, type OnRow, Overtaken, type Row, type Statement, type Values } from '../driver.ts';
import { lateStatement, outcomeUnknown } from '../unavailable.ts';
import { numbered, postgresDialect } from './dialect.ts';
import {
  abortedBefore,
  isCancelled,
  isConnectionLost,
  isDividedByZero,
  isSilent,
  isStale,
  isUnanswered,
  silent,
  translate,
} from './errors.ts';
import { POSITION } from './replicas.ts';
import {
  ACQUIRE_TIMEOUT_MS,
  MAX_KEPT_CHARS,
  MAX_PREPARED_CHARS,
  POLL_INTERVAL_MS,
  SOCKET_TIMEOUT_MARGIN_MS,
} from './tuning.ts';

export interface Answered {
  readonly rows: readonly Row[];
  readonly changes: number;
  /** The server's name for the statement: `COMMIT`, `UPDATE 3`. */
  readonly tag: string;
}

const NOTHING: Answered = { rows: [], changes: 0, tag: '' };

interface ConnectionOptions {
  readonly prepared: boolean;
  /** Milliseconds that a statement may run on the server; 0 means no limit. */
  readonly timeout: number;
  readonly positions: boolean;
}

/** Connections to close on release. */
export const outdated = new WeakSet<Connection>();

/** Sent with COMMIT: aborts the transaction if the tables have changed. */
const UNCHANGED: Statement = {
  sql: `select 1 / count(*) from (${postgresDialect.revision.sql}) as now (revision) where revision = ?::text`,
};

const uncork = (stream: Writable): void => stream.uncork();

/** A connection in use by one caller: when the caller leaves, the server cancels its statement. */
export class PostgresConnection {
  readonly #client: PoolClient;
  readonly #caller: Caller;
  readonly #options: ConnectionOptions;
  readonly #stop: () => void;
  #running = 0;
  #isOver = false;
  #cancelling: Promise<void> | undefined;

  constructor(client: PoolClient, caller: Caller, options: ConnectionOptions) {
    this.#client = client;
    this.#caller = caller;
    this.#options = options;
    this.#stop = onGone(caller, () => this.#cancel());
  }

  /** `named`: false for statements run only once. */
  query(statement: Statement, values: Values, onRow?: OnRow<Row>, named = true): Promise<Answered> {
    if (this.#caller.signal.aborted) return Promise.reject(new CallerGone());
    return this.#isOver ? Promise.reject(lateStatement()) : this.#ask(statement, values, named, onRow);
  }

  execute(sql: string): Promise<Answered> {
    return this.#ask({ sql }, [], false);
  }

  /** Runs the statements in one transaction and one round trip. */
  async queryAll(all: readonly BoundStatement[]): Promise<readonly Answered[]> {
    try {
      return await this.#send(all, true);
    } catch (error) {
      throw isUnanswered(error) ? outcomeUnknown(error) : error;
    }
  }

  async #ask(statement: Statement, values: Values, named: boolean, onRow?: OnRow<Row>): Promise<Answered> {
    const answers = await this.#send([{ statement, values }], named, onRow);
    return answers.at(-1) ?? NOTHING;
  }

  #send(all: readonly BoundStatement[], named: boolean, onRow?: OnRow<Row>): Promise<readonly Answered[]> {
    this.#running += 1;
    // Corks the socket for a turn: each write to it costs more than most statements.
    const { stream } = this.#client.connection;
    stream.cork();
    process.nextTick(uncork, stream);
    return new Promise((resolve, reject) => {
      const settle = (error: unknown, answers: readonly Answered[]): void => {
        if (error === undefined) resolve(answers);
        else reject(this.#explained(error));
        this.#running -= 1;
      };
      const isNamed = named && this.#options.prepared;
      this.#client.query(new RowsQuery(all, isNamed, onRow, () => this.#cancel(), settle));
    });
  }

  #cancel(): void {
    if (this.#running > 0 && !this.#isOver) this.#cancelling = this.#requestCancel();
  }

  async #requestCancel(): Promise<void> {
    // The server ignores a cancellation that arrives before its statement.
    if (await cancelStatement(this.#client)) setTimeout(() => this.#cancel(), POLL_INTERVAL_MS).unref();
    else this.discard();
  }

  #explained(error: unknown): unknown {
    if (isSilent(error)) this.#cancel();
    if (isConnectionLost(error) || isStale(error)) this.discard();
    if (!isCancelled(error)) return translate(error);
    return this.#cancelling === undefined ? tooSlow(this.#options.timeout, error) : new CallerGone();
  }

  /** Gives callers the WAL position of their write. Never rejects. */
  async reportPosition(callers: readonly Caller[] = [this.#caller]): Promise<void> {
    if (!this.#options.positions) return;
    const { rows } = await this.#ask(POSITION, [], true).catch(() => NOTHING);
    const position = rows[0]?.[0];
    if (typeof position === 'string') for (const caller of callers) caller.advance?.(position);
  }

  /** Throws if a statement of the transaction failed or the tables have another revision. */
  async commit(revision?: SqlValue): Promise<void> {
    this.#isOver = true;
    this.#stop();
    const asking = revision === undefined ? undefined : failureOf(this.#ask(UNCHANGED, [revision], true));
    // After a failed statement, COMMIT succeeds with the tag ROLLBACK.
    if ((await this.#ask({ sql: 'commit' }, [], false)).tag === 'COMMIT') return;
    const error = await asking;
    throw isDividedByZero(error) ? new Overtaken() : (error ?? abortedBefore());
  }

  async rollback(): Promise<void> {
    this.#isOver = true;
    if (!outdated.has(this.#client.connection))
      await this.#ask({ sql: 'rollback' }, [], false).catch(() => this.discard());
  }

  discard(): void {
    outdated.add(this.#client.connection);
  }

  release(): void {
    this.#stop();
    const client = this.#client;
    // A late cancellation must not end the statement of another caller.
    const release = (): void => client.release(outdated.has(client.connection));
    if (this.#cancelling) void this.#cancelling.then(release);
    else release();
  }
}

/** Members missing in the types of pg. */
interface Backend {
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly readyForQuery: boolean;
  readonly connection: { readonly stream: Socket };
}
interface Wire extends Connection {
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

/** Closes a connection if its server or network is silent for longer than a statement may take. */
export function endWhenSilent(client: ClientBase, timeout: number): void {
  const { connection } = client as ClientBase & Backend;
  // Socket activity restarts this timer: a timer per statement would cost a tenth of a short read.
  connection.stream.setTimeout(timeout + SOCKET_TIMEOUT_MARGIN_MS).on('timeout', () => {
    if (!(client as ClientBase & Backend).readyForQuery) connection.stream.destroy(silent());
  });
}

/** Sends CancelRequest over a new connection. Returns `false` if it might still cancel another statement. */
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
    const timer = setTimeout(end, ACQUIRE_TIMEOUT_MS, false).unref();
    wire.on('error', () => end(false));
    wire.once('end', () => end(true));
    if (ssl) wire.once('connect', () => wire.requestSsl()).once('sslconnect', send);
    else wire.once('connect', send);
    if (host.startsWith('/')) wire.connect(`${host}/.s.PGSQL.${port}`);
    else wire.connect(port, host);
  });
}

type Parse = (text: string) => SqlValue;

/** Parsers by pg_type.oid; values of other types stay strings. */
const PARSERS: ReadonlyMap<number, Parse> = new Map<number, Parse>([
  [20, Number],
  [21, Number],
  [23, Number],
  // PostgreSQL writes 1e-07, JavaScript 1e-7; equal numbers must be equal strings.
  [701, (text) => String(Number(text))],
]);

interface Compiled {
  readonly text: string;
  /** Empty if the text is too long to be kept by the server. */
  readonly name: string;
  /** Parsers of its columns: the server refuses the statement if the tables have changed. */
  columns: readonly Parse[] | undefined;
}

const compile = memoized(({ sql }: Statement): Compiled => {
  const text = numbered(sql);
  // A name must mean the same SQL in all instances that share a pooler.
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  return { text, name: text.length > MAX_PREPARED_CHARS ? '' : `s${hash}`, columns: undefined };
});

interface ParsedNames {
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly submittedNamedStatements: Record<string, string>;
}

/** Characters of the statements that the server keeps for a connection. */
const keptChars = new WeakMap<Connection, number>();

/** pg calls these methods on server messages. Its own class always requests column types: a fifth of a short read. */
class RowsQuery extends Query {
  declare callback: (error: unknown, result?: unknown) => void;
  /** The name of the running statement; pg stores it once the server has parsed it. */
  name = '';
  readonly #all: readonly BoundStatement[];
  readonly #isNamed: boolean;
  readonly #onRow: OnRow<Row> | undefined;
  readonly #onRefused: () => void;
  readonly #answers: Answered[] = [];
  #columns: readonly Parse[] = [];
  #rows: Row[] = [];
  #refused: { readonly error: unknown } | undefined;

  /** `isNamed`: the server keeps the statements. Calls `onRefused` once `onRow` has thrown. */
  constructor(
    all: readonly BoundStatement[],
    isNamed: boolean,
    onRow: OnRow<Row> | undefined,
    onRefused: () => void,
    settle: (error: unknown, answers: readonly Answered[]) => void,
  ) {
    super('', (error) => settle(error ?? undefined, this.#answers));
    this.#all = all;
    this.#isNamed = isNamed;
    this.#onRow = onRow;
    this.#onRefused = onRefused;
  }

  override readonly submit = (connection: Connection): void => {
    const [first] = this.#all;
    // A portal would hold its snapshot until the transaction ends, blocking index builds.
    if (first?.values.length === 0 && !this.#isNamed) return connection.query(first.statement.sql);
    const { parsedStatements, submittedNamedStatements } = connection as Connection & ParsedNames;
    for (const { statement, values } of this.#all) {
      const { text, columns, name: known } = compile(statement);
      const name = this.#isNamed ? known : '';
      if (name === '' || !(name in parsedStatements || name in submittedNamedStatements)) {
        connection.parse({ name, text, types: [] }, true);
        if (name !== '') {
          submittedNamedStatements[name] = text;
          const kept = (keptChars.get(connection) ?? 0) + text.length;
          keptChars.set(connection, kept);
          if (kept > MAX_KEPT_CHARS) outdated.add(connection);
        }
      }
      const texts = values.map((value) => (typeof value === 'number' ? String(value) : value));
      connection.bind({ statement: name, values: texts }, true);
      if (columns === undefined) connection.describe({ type: 'P', name: '' }, true);
      connection.execute(null, true);
    }
    connection.sync();
    this.#expect(0);
  };

  /** Prepares for a statement's response. */
  #expect(place: number): void {
    const next = this.#all[place];
    if (next === undefined) return;
    const { name, columns } = compile(next.statement);
    this.name = this.#isNamed ? name : '';
    this.#columns = columns ?? [];
  }

  handleRowDescription({ fields }: { readonly fields: readonly { readonly dataTypeID: number }[] }): void {
    this.#columns = fields.map(({ dataTypeID }) => PARSERS.get(dataTypeID) ?? String);
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (this.#refused) return;
    const row = fields.map((text, index) => (text === null ? null : (this.#columns[index]?.(text) ?? text)));
    try {
      this.#onRow?.(row);
      this.#rows.push(row);
    } catch (error) {
      this.#refused = { error };
      this.#rows = [];
      this.#onRefused();
    }
  }

  handleCommandComplete({ text: tag }: { readonly text: string }): void {
    const known = this.#all[this.#answers.length];
    if (known) compile(known.statement).columns ??= this.#columns;
    const changes = Number(tag.slice(tag.lastIndexOf(' ') + 1)) || 0;
    this.#answers.push({ rows: this.#rows, changes, tag });
    this.#rows = [];
    this.#expect(this.#answers.length);
  }

  handleError(error: unknown, { submittedNamedStatements }: ParsedNames): void {
    // The server parses no statements after a failed statement.
    for (const { statement } of this.#all.slice(this.#answers.length + 1))
      delete submittedNamedStatements[compile(statement).name];
    this.callback(this.#refused ? this.#refused.error : error);
  }

  handleReadyForQuery(): void {
    this.callback(this.#refused?.error ?? null);
  }
}
