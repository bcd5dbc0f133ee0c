/** Counts that a connection remembers until another one commits. It never writes itself: that would go unnoticed. */
import type { Reader, Statement, Values } from '../driver.ts';
import type { Connection } from './connection.ts';

/** Another number after each commit of another connection, be it of this process or not. */
const VERSION: Statement = { sql: 'pragma data_version' };
/** Of one statement with different values. */
const MAX_COUNTS = 100;

type Counts = Map<string, number>;

export function rememberingCounts(reader: Connection): Reader['count'] {
  let version: unknown;
  let known = new WeakMap<Statement, Counts>();

  function countsOf(statement: Statement): Counts {
    const now = reader.value(VERSION, []);
    if (now !== version) known = new WeakMap();
    version = now;
    const counts = known.get(statement) ?? new Map<string, number>();
    known.set(statement, counts);
    return counts;
  }

  return (statement: Statement, values: Values) => {
    const counts = countsOf(statement);
    const key = values.length === 0 ? '' : JSON.stringify(values);
    const remembered = counts.get(key);
    if (remembered !== undefined) return remembered;
    const fresh = Number(reader.value(statement, values));
    if (counts.size < MAX_COUNTS) counts.set(key, fresh);
    return fresh;
  };
}
