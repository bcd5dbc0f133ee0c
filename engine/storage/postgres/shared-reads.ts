/**
 * Reads of single records. Those that one turn of the event loop asks by the same statement share a connection, and with
 * it one write to its socket and about one read: the two are most of what such a read costs. Only the same statement is
 * shared, so that a table that is locked holds up nobody but those who read it.
 */
import { PATIENT } from '../../caller.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Awaitable, Reader, Statement, Values } from '../driver.ts';
import type { PostgresConnection } from './connection.ts';
import { isConnectionLost, isRepeatable, translate } from './errors.ts';
import type { Connections } from './pool.ts';
import { taken } from './transaction.ts';

/** Statements that one connection gets at once: the server runs them one after the other. */
const MOST = 8;
/** Milliseconds that they should take together. Slower ones are better run side by side. */
const TOGETHER = 4;

interface SharedRead {
  readonly values: Values;
  readonly resolve: (value: Awaitable<SqlValue | undefined>) => void;
  readonly reject: (error: unknown) => void;
}

/** `alone` reads again what a connection lost. `now` tells the time in milliseconds. */
export function shareReads(
  connections: Connections,
  alone: Reader['value'],
  now = (): number => performance.now(),
): Reader['value'] {
  let gathered = new Map<Statement, SharedRead[]>();
  /** Milliseconds that each took, the last time. */
  const paces = new WeakMap<Statement, number>();

  function send(): void {
    const all = gathered;
    gathered = new Map();
    for (const [statement, asked] of all) {
      const size = Math.max(1, Math.min(MOST, Math.floor(TOGETHER / (paces.get(statement) ?? TOGETHER))));
      for (let at = 0; at < asked.length; at += size) void sendSome(statement, asked.slice(at, at + size));
    }
  }

  async function sendSome(statement: Statement, asked: readonly SharedRead[]): Promise<void> {
    try {
      const connection = await taken(connections, PATIENT);
      const began = now();
      const answered = connection.atOnce(() => asked.map((one) => ask(connection, statement, one)));
      await Promise.all(answered);
      paces.set(statement, (now() - began) / asked.length);
      connection.release();
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }

  /** Each statement is a transaction of its own: that one fails means nothing to the others. */
  async function ask(connection: PostgresConnection, statement: Statement, asked: SharedRead): Promise<void> {
    try {
      const { rows } = await connection.query(statement, asked.values);
      asked.resolve(rows[0]?.[0]);
    } catch (error) {
      const isAgain = isConnectionLost(error) || isRepeatable(error);
      if (isAgain) connection.spoil();
      if (isAgain) asked.resolve(alone(statement, asked.values));
      else asked.reject(translate(error));
    }
  }

  return (statement, values) =>
    new Promise((resolve, reject) => {
      if (gathered.size === 0) queueMicrotask(send);
      const others = gathered.get(statement);
      if (others) others.push({ values, resolve, reject });
      else gathered.set(statement, [{ values, resolve, reject }]);
    });
}
