/**
 * Reads that take microseconds in the server: two connections of their own run them one after the other, sent as they
 * come (pipeline mode). Nothing here is cancelled, and whatever fails, or hits the short limits of these connections, is
 * asked again on a connection of the pool.
 */
import type { OnRow, Row, Statement, Values } from '../driver.ts';
import type { PostgresConnection } from './connection.ts';
import { isLimit } from './errors.ts';
import type { Connections } from './pool.ts';
import type { Answered } from './pipeline.ts';
import { AVOIDED_FOR, FAST_CONNECTIONS, LEASE, MOST_READS, SILENCE } from './tuning.ts';

type Asked = [statement: Statement, values: Values, onRow?: OnRow<Row> | undefined];

export interface FastReads {
  /** `again` asks on a connection of the pool. */
  ask(asked: Asked, again: () => Promise<Answered>): Promise<Answered>;
  close(): void;
}

interface Leased {
  readonly connection: PostgresConnection;
  /** When it gets its last read. */
  readonly until: number;
  reads: number;
  running: number;
  silence: NodeJS.Timeout | undefined;
}

export function createFastReads(connections: Connections): FastReads {
  const leased = new Set<Leased>();
  /** Statements that hit a limit, and until when each is asked elsewhere. */
  const avoided = new WeakMap<Statement, number>();
  let opening = 0;
  let isClosed = false;

  async function open(): Promise<void> {
    opening += 1;
    try {
      const connection = await connections.take();
      const until = performance.now() + LEASE;
      if (isClosed) connection.release();
      else leased.add({ connection, until, reads: 0, running: 0, silence: undefined });
    } catch {
      // The pool meets the same server, and reports why.
    } finally {
      opening -= 1;
    }
  }

  /** It gets no further reads. */
  function end(one: Leased): void {
    if (leased.delete(one) && one.running === 0) one.connection.release();
  }

  function leastBusy(): Leased | undefined {
    if (leased.size + opening < FAST_CONNECTIONS) void open();
    let found: Leased | undefined;
    for (const one of leased) if (found === undefined || one.running < found.running) found = one;
    return found;
  }

  async function read(one: Leased, asked: Asked): Promise<Answered> {
    one.reads += 1;
    one.running += 1;
    one.silence ??= setTimeout(() => one.connection.destroy(), SILENCE);
    try {
      one.connection.cork();
      return await one.connection.query(...asked);
    } finally {
      one.running -= 1;
      answered(one);
    }
  }

  function answered(one: Leased): void {
    if (one.running > 0) one.silence?.refresh();
    else {
      clearTimeout(one.silence);
      one.silence = undefined;
      if (!leased.has(one)) one.connection.release();
    }
    if (one.reads >= MOST_READS || performance.now() > one.until) end(one);
  }

  return {
    ask: async (asked, again) => {
      const [statement] = asked;
      const one = performance.now() < (avoided.get(statement) ?? 0) ? undefined : leastBusy();
      if (one === undefined) return again();
      try {
        return await read(one, asked);
      } catch (error) {
        if (isLimit(error)) avoided.set(statement, performance.now() + AVOIDED_FOR);
        else {
          one.connection.spoil();
          end(one);
        }
        return again();
      }
    },
    close: () => {
      isClosed = true;
      for (const one of leased) end(one);
    },
  };
}
