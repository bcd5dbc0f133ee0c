/** Counts that a connection remembers until another one commits. It must not write: its own commits would go unnoticed. */
import type { Statement, Values } from '../driver.ts';
import type { SqliteConnection } from './connection.ts';

export interface RememberedCounts {
  count(statement: Statement, values: Values): number;
  /** Whether the count is remembered. */
  has(statement: Statement, values: Values): boolean;
  /** Changes with each commit of another connection, in this process or another. */
  version(): unknown;
  /** Remembers what was counted elsewhere. The version must not have changed meanwhile. */
  remember(statement: Statement, values: Values, count: number): void;
  /** From now on the version may have changed. */
  expire(): void;
}

const VERSION: Statement = { sql: 'pragma data_version' };
/** Of one statement with different values. */
const MAX_COUNTS = 100;

export function rememberingCounts(reader: SqliteConnection): RememberedCounts {
  let known = new WeakMap<Statement, Map<string, number>>();
  let seen: unknown;
  let isSure = false;

  function version(): unknown {
    if (isSure) return seen;
    const now = reader.value(VERSION, []);
    if (now !== seen) known = new WeakMap();
    [seen, isSure] = [now, true];
    return now;
  }

  function of(statement: Statement): Map<string, number> {
    version();
    const counts = known.get(statement) ?? new Map<string, number>();
    known.set(statement, counts);
    return counts;
  }

  function remember(statement: Statement, values: Values, counted: number): void {
    const counts = of(statement);
    if (counts.size < MAX_COUNTS) counts.set(keyOf(values), counted);
  }

  function count(statement: Statement, values: Values): number {
    const remembered = of(statement).get(keyOf(values));
    if (remembered !== undefined) return remembered;
    const fresh = Number(reader.value(statement, values));
    remember(statement, values, fresh);
    return fresh;
  }

  return {
    count,
    has: (statement, values) => of(statement).has(keyOf(values)),
    version,
    remember,
    expire: () => void (isSure = false),
  };
}

const keyOf = (values: Values): string => (values.length === 0 ? '' : JSON.stringify(values));
