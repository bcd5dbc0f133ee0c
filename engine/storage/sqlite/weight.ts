/** Which lists look at so many rows that they would hold the other requests up. */
import type Database from 'better-sqlite3';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { ListWork, Statement, TextWork, Values } from '../driver.ts';
import type { TurnReader } from './turn-reader.ts';

/** Rows that one request may read, sort and skip, or count along an index: a millisecond or two. */
const MAX_SCANNED = 20_000;
const MAX_COUNTED = 100_000;
/** Rows that are counted before a list is streamed, which other lists of the same process wait for. */
const MAX_STREAMED = 5_000_000;
/** Nanoseconds that the filters and orders of a smaller table may take, and that one filter takes for each row. */
const MAX_MATCHING = 5_000_000;
const PER_FILTER = 50;

export function createScales(reader: TurnReader, database: Database.Database): (list: ListWork) => boolean {
  const plans = new WeakMap<Statement, readonly string[]>();

  function planOf(statement: Statement, values: Values): readonly string[] {
    const known = plans.get(statement) ?? explain(database, statement, values);
    plans.set(statement, known);
    return known;
  }

  function isSearched({ rows, values, filters }: ListWork): boolean {
    const plan = planOf(rows, values);
    const sorted = plan.some((step) => step.startsWith('USE TEMP B-TREE'));
    // A filter that no index answers is asked of row after row, until the page is full.
    const scanned = filters > 1 || (filters === 1 && plan.some((step) => step.startsWith('SCAN')));
    return sorted || scanned;
  }

  function isLongMatch({ filters, texts }: ListWork, size: number): boolean {
    const most = ({ longest, perByte }: TextWork): number => size * longest * perByte;
    // The database knows the length of a text without reading it.
    const exact = ({ total, perByte }: TextWork): number => (total ? reader.count(total, []) : Infinity) * perByte;
    const nanoseconds = texts.reduce(
      (sum, text) => sum + (most(text) > MAX_MATCHING ? exact(text) : most(text)),
      size * filters * PER_FILTER,
    );
    return nanoseconds > MAX_MATCHING;
  }

  return (list) => {
    const { newest, filters, offset, whole, limited, counted } = list;
    // Identifiers are never used again: there cannot be more rows than the newest one says.
    const size = Number(reader.count(newest, []));
    if (size <= MAX_SCANNED) return isLongMatch(list, size);
    if (offset > MAX_SCANNED || isSearched(list)) return true;
    if (whole && limited) return true;
    const countable = filters > 0 ? MAX_SCANNED : whole ? MAX_STREAMED : MAX_COUNTED;
    return counted !== undefined && size > countable && !reader.isCounted(counted.statement, counted.values);
  };
}

interface PlanStep {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

/** The steps of the list itself; what is read for each of its records is bounded by the records. */
function explain(database: Database.Database, { sql }: Statement, values: Values): readonly string[] {
  const steps = database.prepare<SqlValue[], PlanStep>(`explain query plan ${sql}`).all(...values);
  const within = new Set<number>();
  for (const { id, parent, detail } of steps) if (detail.startsWith('CORRELATED') || within.has(parent)) within.add(id);
  return steps.filter(({ id }) => !within.has(id)).map(({ detail }) => detail);
}
