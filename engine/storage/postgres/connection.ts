/** One connection to PostgreSQL: the server parses each statement once, and a statement can be cancelled. */
import { createHash } from 'node:crypto';
import { type Client, Connection, type PoolClient, Query } from 'pg';
import { type Caller, CallerGone } from '../../edge/caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { tooSlow } from '../../problem.ts';
import { type OnRow, Overtaken, type Row, type Statement, type Values } from '../driver.ts';
import { numbered, postgresDialect } from './dialect.ts';
import { abortedBefore, isCancelled, isDividedByZero, isSilent } from './errors.ts';
import { POSITION } from './replicas.ts';

/** Milliseconds after which this side gives up, too: the server does not answer at all then. */
const GRACE = 1000;
/** Milliseconds until a request to cancel is repeated: the server forgets one that it gets before it has read the statement. */
const CANCEL_AGAIN = 200;
/** Milliseconds for the request to cancel: a server that has not taken it by then will not. */
const CANCEL_PATIENCE = 2000;

export interface Answered {
  readonly rows: readonly Row[];
  readonly changes: number;
  /** The server's name for the statement: `COMMIT`, `UPDATE 3`. */
  readonly tag: string;
}

const NOTHING: Answered = { rows: [], changes: 0, tag: '' };

interface Ran {
  /** One for each of the values, up to those that failed. */
  readonly answers: readonly Answered[];
  /** The server has given up all of them, unless a transaction was open before. */
  readonly error?: unknown;
}

export interface PostgresConnection {
  /** `named` false for statements that are run once. Throws CallerGone once the caller has left. */
  query(statement: Statement, values: Values, onRow?: OnRow<Row>, named?: boolean): Promise<Answered>;
  /** The statement with one after the other of the values, in one transaction and one round trip. Never rejects. */
  queryAll(statement: Statement, all: readonly Values[]): Promise<Ran>;
  /** Tells the caller the position after its write, if positions are wanted. Never rejects. */
  tellPosition(callers?: readonly Caller[]): Promise<void>;
  /** One statement or more, without values. */
  execute(sql: string): Promise<Answered>;
  /**
   * Throws if the transaction had been given up because a statement failed, or if the tables no longer have the revision;
   * undefined asks for none.
   */
  commit(revision?: SqlValue): Promise<void>;
  /** Closes the connection when it is released. */
  spoil(): void;
  release(): void;
}

interface ConnectionOptions {
  /** Whether the server keeps statements under their names. */
  readonly prepared: boolean;
  /** Milliseconds that a statement may take on the server; 0 means no limit. */
  readonly timeout: number;
  readonly caller: Caller;
  readonly positions: boolean;
}

/** Sent together with COMMIT: where the tables have changed, it fails, and nothing is committed. */
const UNCHANGED: Statement = {
  sql: `select 1 / count(*) from (${postgresDialect.revision.sql}) as now (revision) where revision = ?::text`,
};

/** A connection for as long as it is taken. When the caller leaves, its statement is cancelled in the server. */
export function connectionOf(
  client: PoolClient,
  { prepared, timeout, caller, positions }: ConnectionOptions,
): PostgresConnection {
  const query_timeout = timeout === 0 ? 0 : timeout + GRACE;
  let isSpoilt = false;
  let running = 0;
  let isCommitting = false;
  let cancelling: Promise<void> | undefined;

  function cancel(): void {
    if (running === 0 || isCommitting) return;
    cancelling = requestCancel();
  }

  async function requestCancel(): Promise<void> {
    if (await cancelStatement(client)) setTimeout(cancel, CANCEL_AGAIN).unref();
    else isSpoilt = true;
  }

  const stop = caller.onGone(cancel);

  function explained(error: unknown): unknown {
    // The server may still be running a statement that it does not answer.
    if (isSilent(error)) cancel();
    if (!isCancelled(error)) return error;
    return cancelling === undefined ? tooSlow(timeout, error) : new CallerGone();
  }

  async function queryAll(
    statement: Statement,
    all: readonly Values[],
    onRow?: OnRow<Row>,
    named = prepared,
  ): Promise<Ran> {
    running += 1;
    const { answers, error } = await new Promise<Ran>((resolve) => {
      // Queries of one turn of the event loop are written together: a write to the socket costs more than most statements.
      const { stream } = client.connection;
      stream.cork();
      process.nextTick(() => stream.uncork());
      client.query(new RowsQuery(statement, all, { named, onRow, onRefused: cancel, query_timeout }, resolve));
    });
    const ran = error === undefined ? { answers } : { answers, error: explained(error) };
    running -= 1;
    return ran;
  }

  async function ask(...asked: Parameters<typeof queryAll>): Promise<Answered> {
    const { answers, error } = await queryAll(...asked);
    if (error !== undefined) throw error;
    return answers.at(-1) ?? NOTHING;
  }

  const execute = (sql: string): Promise<Answered> => ask({ sql }, [[]], undefined, false);

  return {
    query: async (statement, values, onRow, named = true) => {
      if (caller.isGone) throw new CallerGone();
      return ask(statement, [values], onRow, prepared && named);
    },
    queryAll,
    tellPosition: async (callers = [caller]) => {
      if (!positions) return;
      const { answers } = await queryAll(POSITION, [[]]);
      const position = answers[0]?.rows[0]?.[0];
      if (typeof position === 'string') for (const one of callers) one.wrote?.(position);
    },
    execute,
    commit: async (revision) => {
      isCommitting = true;
      stop();
      const unchanged = revision === undefined ? undefined : queryAll(UNCHANGED, [[revision]]);
      // The server answers ROLLBACK, without an error, if the transaction had been given up.
      if ((await execute('commit')).tag === 'COMMIT') return;
      const { error = abortedBefore() } = (await unchanged) ?? {};
      throw isDividedByZero(error) ? new Overtaken() : error;
    },
    spoil: () => void (isSpoilt = true),
    release: () => {
      stop();
      const free = (): void => client.release(isSpoilt);
      // A cancel that comes late must not end the statement of another caller.
      if (cancelling) void cancelling.then(free);
      else free();
    },
  };
}

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

type Parse = (text: string) => SqlValue;

const toNumber: Parse = (text) => Number(text);

/** By type OID (pg_type.oid): whole numbers are read as numbers, the rest as text. */
const PARSERS: ReadonlyMap<number, Parse> = new Map<number, Parse>([
  [20, toNumber],
  [21, toNumber],
  [23, toNumber],
  // PostgreSQL writes 1e-07 where JavaScript writes 1e-7; equal numbers must be equal texts.
  [701, (text) => String(Number(text))],
]);

export const types = { getTypeParser: (oid: number): Parse => PARSERS.get(oid) ?? String };

interface Compiled {
  readonly text: string;
  readonly name: string;
  /** Parsers of its columns. They stay: if the tables change, the server refuses the statement. */
  columns: readonly Parse[] | undefined;
}

const compiled = new WeakMap<Statement, Compiled>();

function compile(statement: Statement): Compiled {
  const known = compiled.get(statement);
  if (known) return known;
  const text = numbered(statement.sql);
  // The name is made from the text: instances that share connections through a pooler must mean the same by a name.
  const name = `s${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`;
  const fresh = { text, name, columns: undefined };
  compiled.set(statement, fresh);
  return fresh;
}

interface QueryOptions {
  readonly named: boolean;
  /** Milliseconds; 0 is for ever. */
  readonly query_timeout: number;
  readonly onRow: OnRow<Row> | undefined;
  /** Called once `onRow` has thrown: the other rows are not wanted. */
  readonly onRefused: () => void;
}

/** Names of statements that a connection has parsed, or is about to. */
interface ParsedNames {
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly submittedNamedStatements: Record<string, string>;
}

const textOf = (value: SqlValue): string | null => (typeof value === 'number' ? String(value) : value);

/**
 * A query as pg runs it, which calls these methods for the messages of the server. pg's own asks for the columns of a
 * statement each time: a fifth of the cost of a short read.
 */
class RowsQuery extends Query {
  declare callback: (error: unknown, result?: unknown) => void;
  /** pg notes it as parsed when the server says so. */
  readonly name: string;
  readonly query_timeout: number;
  readonly #statement: Statement;
  readonly #all: readonly Values[];
  readonly #options: QueryOptions;
  readonly #answers: Answered[] = [];
  #columns: readonly Parse[] = [];
  #rows: Row[] = [];
  #refused: { readonly error: unknown } | undefined;

  constructor(statement: Statement, all: readonly Values[], options: QueryOptions, resolve: (ran: Ran) => void) {
    super('', (error) => resolve(error ? { answers: this.#answers, error } : { answers: this.#answers }));
    this.name = options.named ? compile(statement).name : '';
    this.query_timeout = options.query_timeout;
    this.#statement = statement;
    this.#all = all;
    this.#options = options;
  }

  override readonly submit = (connection: Connection): void => {
    const { name: statement } = this;
    // A portal would hold its snapshot until the transaction ends, and indexes that are built beside it would wait.
    if (statement === '' && this.#all.every((values) => values.length === 0))
      return connection.query(this.#statement.sql);
    const { parsedStatements, submittedNamedStatements } = connection as Connection & ParsedNames;
    const { text, columns } = compile(this.#statement);
    if (statement === '' || !(statement in parsedStatements || statement in submittedNamedStatements)) {
      connection.parse({ name: statement, text, types: [] }, true);
      if (statement !== '') submittedNamedStatements[statement] = text;
    }
    this.#columns = columns ?? [];
    for (const [index, values] of this.#all.entries()) {
      connection.bind({ statement, values: values.map(textOf) }, true);
      if (index === 0 && columns === undefined) connection.describe({ type: 'P', name: '' }, true);
      connection.execute(null, true);
    }
    connection.sync();
  };

  handleRowDescription({ fields }: { readonly fields: readonly { readonly dataTypeID: number }[] }): void {
    this.#columns = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (this.#refused) return;
    const row = fields.map((text, index) => (text === null ? null : (this.#columns[index]?.(text) ?? text)));
    try {
      this.#options.onRow?.(row);
      this.#rows.push(row);
    } catch (error) {
      this.#refused = { error };
      this.#rows = [];
      this.#options.onRefused();
    }
  }

  handleCommandComplete({ text: tag }: { readonly text: string }): void {
    const known = compiled.get(this.#statement);
    if (known) known.columns ??= this.#columns;
    const changes = Number(tag.slice(tag.lastIndexOf(' ') + 1)) || 0;
    this.#answers.push({ rows: this.#rows, changes, tag });
    this.#rows = [];
  }

  handleError(error: unknown): void {
    this.callback(this.#refused ? this.#refused.error : error);
  }

  handleReadyForQuery(): void {
    this.callback(this.#refused?.error ?? null);
  }
}
