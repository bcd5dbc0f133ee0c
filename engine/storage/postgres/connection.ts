/** One connection to PostgreSQL: statements are parsed by the server once, under a name, and then only bound. */
import type { PoolClient } from 'pg';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Row, Statement, Values } from '../driver.ts';

export interface Answered {
  readonly rows: readonly Row[];
  readonly changes: number;
}

export interface Connection {
  /** `named` false for statements that are run once. */
  query(statement: Statement, values: Values, named?: boolean): Promise<Answered>;
  /** One statement or more, without values. */
  execute(sql: string): Promise<void>;
  /** Throws where there was nothing to commit, because a statement had failed. */
  commit(): Promise<void>;
  /** It is not used again. */
  spoil(): void;
  release(): void;
}

interface Compiled {
  readonly text: string;
  readonly name: string;
}

/** Clients choose the shapes of lists: a connection that knows this many statements makes way for a fresh one. */
const MAX_STATEMENTS = 2000;

const compiled = new WeakMap<Statement, Compiled>();
let statements = 0;

function compile(statement: Statement): Compiled {
  const known = compiled.get(statement);
  if (known) return known;
  const fresh = { text: numbered(statement.sql), name: `s${(statements += 1)}` };
  compiled.set(statement, fresh);
  return fresh;
}

/** `?` outside of quotes becomes `$1`, `$2`, …; what Knex has compiled has none left. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g, (piece) => (piece === '?' ? `$${(count += 1)}` : piece));
}

/**
 * `names`: the statements that this connection has been told; undefined where statements have no names. A statement
 * that is not answered within `patience` milliseconds ends the connection; 0 waits for ever.
 */
export function connectionOf(client: PoolClient, names: Set<string> | undefined, patience: number): Connection {
  const inTime = { query_timeout: patience };
  let spoilt = false;
  return {
    query: async (statement, values, named = true) => {
      const { text, name } = compile(statement);
      const remembered = named && names !== undefined;
      if (remembered) names.add(name);
      const result = await client.query<SqlValue[]>({
        text,
        values: [...values],
        rowMode: 'array',
        ...(remembered ? { name } : {}),
        ...inTime,
      });
      return { rows: result.rows, changes: result.rowCount ?? 0 };
    },
    execute: async (sql) => void (await client.query({ text: sql, ...inTime })),
    commit: async () => {
      const { command } = await client.query({ text: 'commit', ...inTime });
      // The answer to COMMIT is ROLLBACK then, and no error.
      if (command !== 'COMMIT') throw new Error('The transaction was given up before its end');
    },
    spoil: () => void (spoilt = true),
    release: () => client.release(spoilt || (names?.size ?? 0) > MAX_STATEMENTS),
  };
}
