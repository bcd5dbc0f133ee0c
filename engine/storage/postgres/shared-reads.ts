/**
 * Reads of one statement. Those that one turn of the event loop asks by the same statement share a connection, and with it
 * one write to its socket and about one read: the two are most of what such a read costs. Only the same statement is
 * shared, so that a table that is locked holds up nobody but those who read it; and only one that was fast the last time,
 * since nothing that is shared is cancelled when its caller leaves.
 */
import { PATIENT } from '../../caller.ts';
import type { Statement, Values } from '../driver.ts';
import type { PostgresConnection } from './connection.ts';
import { isConnectionLost, isRepeatable, translate } from './errors.ts';
import type { Connections } from './pool.ts';
import type { Answered } from './prepared.ts';
import { taken } from './transaction.ts';

/** Statements that one connection gets at once: the server runs them one after the other. */
const MOST = 8;
/** Milliseconds that they should take together. Slower ones are better run side by side. */
const TOGETHER = 4;

interface SharedRead {
  readonly values: Values;
  readonly alone: () => Promise<Answered>;
  readonly resolve: (answered: Answered | Promise<Answered>) => void;
  readonly reject: (error: unknown) => void;
}

/** `alone` asks on a connection of its own: what is not known to be fast, and again what a shared connection lost. */
export type ShareRead = (statement: Statement, values: Values, alone: () => Promise<Answered>) => Promise<Answered>;

/** `now` tells the time in milliseconds. */
export function shareReads(connections: Connections, now = (): number => performance.now()): ShareRead {
  let gathered = new Map<Statement, SharedRead[]>();
  /** Milliseconds that each took, the last time. */
  const paces = new WeakMap<Statement, number>();

  const sizeOf = (statement: Statement): number =>
    Math.max(1, Math.min(MOST, Math.floor(TOGETHER / (paces.get(statement) ?? TOGETHER))));

  async function measured<T>(statement: Statement, count: number, work: () => Promise<T>): Promise<T> {
    const began = now();
    try {
      return await work();
    } finally {
      paces.set(statement, (now() - began) / count);
    }
  }

  function send(): void {
    const all = gathered;
    gathered = new Map();
    for (const [statement, asked] of all) {
      const size = sizeOf(statement);
      for (let at = 0; at < asked.length; at += size) void sendSome(statement, asked.slice(at, at + size));
    }
  }

  async function sendSome(statement: Statement, asked: readonly SharedRead[]): Promise<void> {
    try {
      const connection = await taken(connections, PATIENT);
      await measured(statement, asked.length, () => askAll(connection, statement, asked));
      connection.release();
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }

  /** Those behind one that fails are asked again. */
  async function askAll(
    connection: PostgresConnection,
    statement: Statement,
    asked: readonly SharedRead[],
  ): Promise<void> {
    const running = connection.queryAll(
      statement,
      asked.map(({ values }) => values),
    );
    if (!running) return askEach(connection, statement, asked);
    const { answers, error } = await running;
    for (const [index, answered] of answers.entries()) asked[index]?.resolve(answered);
    if (error === undefined || asked.length === answers.length) return undefined;
    const [failed, ...behind] = asked.slice(answers.length);
    if (failed) fail(connection, failed, error);
    if (!isAgain(error)) return askAll(connection, statement, behind);
    for (const one of behind) one.resolve(one.alone());
    return undefined;
  }

  /** The same where the connection does not know the statement yet: each is a transaction of its own. */
  async function askEach(
    connection: PostgresConnection,
    statement: Statement,
    asked: readonly SharedRead[],
  ): Promise<void> {
    const ask = async (one: SharedRead): Promise<void> => {
      try {
        one.resolve(await connection.query(statement, one.values));
      } catch (error) {
        fail(connection, one, error);
      }
    };
    await Promise.all(connection.atOnce(() => asked.map(ask)));
  }

  return (statement, values, alone) => {
    if (sizeOf(statement) === 1) return measured(statement, 1, alone);
    return new Promise((resolve, reject) => {
      if (gathered.size === 0) queueMicrotask(send);
      const others = gathered.get(statement);
      if (others) others.push({ values, alone, resolve, reject });
      else gathered.set(statement, [{ values, alone, resolve, reject }]);
    });
  };
}

/** What was only asked in the wrong place, or at the wrong time. */
const isAgain = (error: unknown): boolean => isConnectionLost(error) || isRepeatable(error);

function fail(connection: PostgresConnection, { alone, resolve, reject }: SharedRead, error: unknown): void {
  if (!isAgain(error)) return reject(translate(error));
  connection.spoil();
  resolve(alone());
}
