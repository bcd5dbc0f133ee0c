/**
 * Statements that a connection already knows, sent in one piece and answered as one. pg itself asks for the columns of a
 * statement each time, and ends a transaction after each: that is a third of what such a statement costs.
 */
import { type Client, type Connection, Query } from 'pg';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Row, Values } from '../driver.ts';

/** How a value of a column is read. */
type Parse = (text: string) => SqlValue;

export interface Answered {
  readonly rows: readonly Row[];
  readonly changes: number;
}

/** A statement as a connection knows it. */
export interface KnownStatement {
  readonly name: string;
  /** By column. They stay: if the tables change, the server refuses the statement. */
  readonly parsers: readonly Parse[];
}

export interface KnownCall {
  readonly known: KnownStatement;
  readonly values: Values;
}

export interface Ran {
  /** One for each of the calls, up to the one that failed. */
  readonly answers: readonly Answered[];
  /** The server has given up all of them, unless a transaction was open before. */
  readonly error?: unknown;
}

/** All of them in order: in one transaction, unless one is open. Never rejects. */
export const runPrepared = (client: Client, calls: readonly KnownCall[], milliseconds: number): Promise<Ran> =>
  new Promise((resolve) => void client.query(new PreparedQuery(calls, milliseconds, resolve)));

/** pg calls these methods for the messages of the server. */
class PreparedQuery extends Query {
  declare callback: (error: unknown, result?: unknown) => void;
  readonly query_timeout: number;
  readonly #calls: readonly KnownCall[];
  readonly #answers: Answered[] = [];
  #rows: Row[] = [];

  constructor(calls: readonly KnownCall[], milliseconds: number, resolve: (ran: Ran) => void) {
    super('', (error) => resolve(error ? { answers: this.#answers, error } : { answers: this.#answers }));
    this.#calls = calls;
    this.query_timeout = milliseconds;
  }

  override readonly submit = (connection: Connection): void => {
    const { stream } = connection;
    stream.cork();
    try {
      for (const { known, values } of this.#calls) {
        connection.bind({ statement: known.name, values: values.map(textOf) }, true);
        connection.execute(null, true);
      }
      connection.sync();
    } finally {
      stream.uncork();
    }
  };

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const parsers = this.#calls[this.#answers.length]?.known.parsers;
    this.#rows.push(fields.map((text, index) => (text === null ? null : (parsers?.[index]?.(text) ?? text))));
  }

  /** The text ends in how many rows it was. */
  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#answers.push({ rows: this.#rows, changes: Number(text.slice(text.lastIndexOf(' ') + 1)) || 0 });
    this.#rows = [];
  }

  handleReadyForQuery(): void {
    this.callback(null);
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
