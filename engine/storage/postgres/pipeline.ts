/**
 * Statements on a connection, parsed once by the server, sent in one piece and answered as one. pg itself asks for the
 * columns of a statement each time, and ends a transaction after each: that is a third of what such a statement costs.
 */
import { createHash } from 'node:crypto';
import { type Client, type Connection, Query } from 'pg';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { OnRow, Row, Statement, Values } from '../driver.ts';
import { numbered } from './pages.ts';

export interface Answered {
  readonly rows: readonly Row[];
  readonly changes: number;
}

export interface Ran {
  /** One for each of the values, up to those that failed. */
  readonly answers: readonly Answered[];
  /** The server has given up all of them, unless a transaction was open before. */
  readonly error?: unknown;
}

/** How a value of a column is read. */
type Parse = (text: string) => SqlValue;

/** By statement, how a connection reads its columns. They stay: if the tables change, the server refuses the statement. */
export type Parsers = Map<string, readonly Parse[]>;

interface RunOptions {
  /** Of this connection; undefined if its statements have no names. */
  readonly parsers: Parsers | undefined;
  /** Milliseconds; 0 is for ever. */
  readonly timeout: number;
  readonly onRow?: OnRow<Row> | undefined;
  /** Called once `onRow` has thrown: the rest is not wanted. */
  readonly onRefused: () => void;
}

/** The statement with one after the other of the values: in one transaction, unless one is open. Never rejects. */
export const run = (client: Client, statement: Statement, all: readonly Values[], options: RunOptions): Promise<Ran> =>
  new Promise((resolve) => void client.query(new PipelinedQuery(statement, all, options, resolve)));

interface Compiled {
  readonly text: string;
  readonly name: string;
}

const compiled = new WeakMap<Statement, Compiled>();
function compile(statement: Statement): Compiled {
  const known = compiled.get(statement);
  if (known) return known;
  const text = numbered(statement.sql);
  // By what it says: where instances share connections through a pooler, a name means the same to each of them.
  const fresh = { text, name: `s${createHash('sha256').update(text).digest('base64url').slice(0, 22)}` };
  compiled.set(statement, fresh);
  return fresh;
}

/** The names of statements that a connection has parsed, or is about to. */
interface ParsedNames {
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly submittedNamedStatements: Record<string, string>;
}

/** pg calls these methods for the messages of the server. */
class PipelinedQuery extends Query {
  declare callback: (error: unknown, result?: unknown) => void;
  /** pg notes it as parsed when the server says so. */
  readonly name: string;
  readonly query_timeout: number;
  readonly #text: string;
  readonly #all: readonly Values[];
  readonly #options: RunOptions;
  readonly #answers: Answered[] = [];
  #parsers: readonly Parse[] | undefined;
  #rows: Row[] = [];
  #refused: { readonly error: unknown } | undefined;

  constructor(statement: Statement, all: readonly Values[], options: RunOptions, resolve: (ran: Ran) => void) {
    super('', (error) => resolve(error ? { answers: this.#answers, error } : { answers: this.#answers }));
    const { text, name } = compile(statement);
    this.name = options.parsers ? name : '';
    this.#text = text;
    this.#all = all;
    this.#options = options;
    this.query_timeout = options.timeout;
  }

  override readonly submit = (connection: Connection): void => {
    const { stream } = connection;
    const { parsedStatements, submittedNamedStatements } = connection as Connection & ParsedNames;
    const statement = this.name;
    // A portal would hold its snapshot until the transaction ends, and indexes that are built beside it would wait.
    if (statement === '' && this.#all.every((values) => values.length === 0)) return connection.query(this.#text);
    this.#parsers = this.#options.parsers?.get(statement);
    let isDescribed = this.#parsers !== undefined;
    stream.cork();
    try {
      if (statement === '' || !(statement in parsedStatements || statement in submittedNamedStatements)) {
        connection.parse({ name: statement, text: this.#text, types: [] }, true);
        if (statement !== '') submittedNamedStatements[statement] = this.#text;
      }
      for (const values of this.#all) {
        connection.bind({ statement, values: values.map(textOf) }, true);
        if (!isDescribed) connection.describe({ type: 'P', name: '' }, true);
        isDescribed = true;
        connection.execute(null, true);
      }
      connection.sync();
    } finally {
      stream.uncork();
    }
  };

  handleRowDescription({ fields }: { readonly fields: readonly { readonly dataTypeID: number }[] }): void {
    this.#parsers = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (this.#refused) return;
    // Another query that is on its way may have asked for the columns.
    const parsers = (this.#parsers ??= this.#options.parsers?.get(this.name));
    const row = fields.map((text, index) => (text === null ? null : (parsers?.[index]?.(text) ?? text)));
    try {
      this.#options.onRow?.(row);
      this.#rows.push(row);
    } catch (error) {
      this.#refused = { error };
      this.#rows = [];
      this.#options.onRefused();
    }
  }

  /** The text ends in how many rows it was. */
  handleCommandComplete({ text }: { readonly text: string }): void {
    if (this.name !== '') this.#options.parsers?.set(this.name, this.#parsers ?? []);
    this.#answers.push({ rows: this.#rows, changes: Number(text.slice(text.lastIndexOf(' ') + 1)) || 0 });
    this.#rows = [];
  }

  handleError(error: unknown): void {
    this.callback(this.#refused ? this.#refused.error : error);
  }

  handleReadyForQuery(): void {
    this.callback(this.#refused?.error ?? null);
  }
}

const textOf = (value: SqlValue): string | null => (typeof value === 'number' ? String(value) : value);

// How PostgreSQL's values are read: as text, and whole numbers as numbers.

const asText: Parse = (text) => text;
const toNumber: Parse = (text) => Number(text);

/** By type OID (pg_type.oid). */
const parsers: ReadonlyMap<number, Parse> = new Map<number, Parse>([
  [20, toNumber],
  [21, toNumber],
  [23, toNumber],
  // PostgreSQL writes 1e-07 where JavaScript writes 1e-7; equal numbers must be equal texts.
  [701, (text) => String(Number(text))],
]);

export const types = { getTypeParser: (oid: number): Parse => parsers.get(oid) ?? asText };
