/**
 * Writes of one statement that wait for nobody. Those that arrive in one turn of the event loop with the same statement
 * share a transaction: one write to a socket, one read and one commit, which are most of what such a write costs.
 */
import { type Caller, CallerGone, PATIENT } from '../../edge/caller.ts';
import type { Row, Statement, Values } from '../driver.ts';
import { outcomeUnknown } from '../unavailable.ts';
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
import { SHARED_WRITES } from './tuning.ts';

interface SharedWrite {
  readonly values: Values;
  readonly caller: Caller;
  /** The same write in a transaction of its own. */
  readonly alone: () => Promise<Row | undefined>;
  readonly resolve: (row: Row | undefined | Promise<Row | undefined>) => void;
  readonly reject: (error: unknown) => void;
}

type ShareWrite = (
  statement: Statement,
  values: Values,
  alone: SharedWrite['alone'],
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
    for (const { caller, reject } of asked) if (caller.isGone) reject(new CallerGone());
    const present = asked.filter(({ caller }) => !caller.isGone);
    try {
      const rows = present.length > 1 ? await writeTogether(connections, statement, present) : undefined;
      for (const [index, { alone, resolve }] of present.entries()) resolve(rows?.[index] ?? alone());
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

/** The row of each write; undefined if the transaction was given up, and each write may succeed alone. */
async function writeTogether(
  connections: Connections,
  statement: Statement,
  writes: readonly SharedWrite[],
): Promise<readonly (Row | undefined)[] | undefined> {
  const connection = await taken(connections, PATIENT);
  try {
    const { answers, error } = await connection.queryAll(
      statement,
      writes.map(({ values }) => values),
    );
    if (error === undefined) {
      const rows = answers.map((answer) => answer.rows[0]);
      await connection.tellPosition(writes.flatMap(({ caller }, index) => (rows[index] ? caller : [])));
      return rows;
    }
    if (isConnectionLost(error) || isStale(error)) connection.spoil();
    if (isUnanswered(error)) throw outcomeUnknown(error);
    if ([isRefusal, isRepeatable, isLocked, isReadOnly, isConnectionLost].some((is) => is(error))) return undefined;
    throw translate(error);
  } finally {
    connection.release();
  }
}
