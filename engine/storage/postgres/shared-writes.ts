/**
 * Writes of one statement that wait for nobody. Those that one turn of the event loop asks by the same statement share a
 * transaction: one write to a socket, one read, and one commit, which are most of what such a write costs.
 */
import { type Caller, CallerGone, PATIENT } from '../../edge/caller.ts';
import type { Row, Statement, Values } from '../driver.ts';
import {
  isConnectionLost,
  isLocked,
  isReadOnly,
  isRefusal,
  isRepeatable,
  isStale,
  isUnanswered,
  translate,
} from './errors.ts';
import type { Connections } from './pool.ts';
import { taken } from './transaction.ts';
import { outcomeUnknown } from '../unavailable.ts';
import { SHARED_WRITES } from './tuning.ts';

interface SharedWrite {
  readonly values: Values;
  readonly caller: Caller;
  readonly alone: () => Promise<Row | undefined>;
  readonly resolve: (row: Row | undefined | Promise<Row | undefined>) => void;
  readonly reject: (error: unknown) => void;
}

/** `alone` is asked for what comes alone, and for what could not be done together with others. */
type ShareWrite = (
  statement: Statement,
  values: Values,
  alone: () => Promise<Row | undefined>,
  caller?: Caller,
) => Promise<Row | undefined>;

export function shareWrites(connections: Connections): ShareWrite {
  let gathered = new Map<Statement, SharedWrite[]>();

  function send(): void {
    const all = gathered;
    gathered = new Map();
    for (const [statement, asked] of all)
      for (let at = 0; at < asked.length; at += SHARED_WRITES)
        void sendSome(statement, asked.slice(at, at + SHARED_WRITES));
  }

  async function sendSome(statement: Statement, asked: readonly SharedWrite[]): Promise<void> {
    const present = asked.filter(({ caller }) => !caller.isGone);
    for (const { caller, reject } of asked) if (caller.isGone) reject(new CallerGone());
    const [only, second] = present;
    if (only && !second) return only.resolve(only.alone());
    try {
      const values = present.map((one) => one.values);
      const done = await writeTogether(connections, statement, values);
      for (const [index, { caller, alone, resolve }] of present.entries()) {
        const row = done?.rows[index];
        if (row && done?.position !== undefined) caller.wrote?.(done.position);
        resolve(row ?? alone());
      }
    } catch (error) {
      for (const { reject } of present) reject(error);
    }
  }

  return (statement, values, alone, caller = PATIENT) =>
    new Promise((resolve, reject) => {
      // Bodies that arrived in the same turn are read one after the other.
      if (gathered.size === 0) setImmediate(send);
      const others = gathered.get(statement) ?? [];
      gathered.set(statement, others);
      others.push({ values, caller, alone, resolve, reject });
    });
}

interface WrittenTogether {
  /** Undefined where nothing was done. */
  readonly rows: readonly (Row | undefined)[];
  readonly position: string | undefined;
}

/** One transaction of the same statement with each of these values; undefined if it was given up, and may succeed for each alone. */
async function writeTogether(
  connections: Connections,
  statement: Statement,
  values: readonly Values[],
): Promise<WrittenTogether | undefined> {
  const connection = await taken(connections, PATIENT);
  try {
    const { answers, error } = await connection.queryAll(statement, values);
    if (error === undefined) return { rows: answers.map(({ rows }) => rows[0]), position: await connection.position() };
    if (isConnectionLost(error) || isStale(error)) connection.spoil();
    if (isUnanswered(error)) throw outcomeUnknown(error);
    if ([isRefusal, isRepeatable, isLocked, isReadOnly, isConnectionLost].some((is) => is(error))) return undefined;
    throw translate(error);
  } finally {
    connection.release();
  }
}
