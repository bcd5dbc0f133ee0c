/** A connection for the time of one transaction: what is asked of it later could reach another one, and is refused. */
import { lateStatement } from '../ending-writer.ts';
import type { Connection } from './connection.ts';

export interface Lease {
  readonly connection: Connection;
  /** No statement is taken any more. Waits for those that are under way, and throws what one of them throws. */
  end(): Promise<void>;
}

export function lease(connection: Connection): Lease {
  const running = new Set<Promise<unknown>>();
  let ended = false;

  function during<T>(ask: () => Promise<T>): Promise<T> {
    if (ended) return Promise.reject(lateStatement());
    const asked = ask();
    const settled = (): void => void running.delete(asked);
    running.add(asked);
    asked.then(settled, settled);
    return asked;
  }

  return {
    connection: {
      ...connection,
      query: (statement, values, named) => during(() => connection.query(statement, values, named)),
      execute: (sql) => during(() => connection.execute(sql)),
    },
    end: async () => {
      ended = true;
      const failed = (await Promise.allSettled(running)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
    },
  };
}
